/**
 * To hold a feed: to be the one process that is at it, and to keep its position.
 *
 * I11: each put takes the turn that follows the one it has seen, and goes in only where that still
 * stands. So a position is moved by who was last at the feed alone, and only forward; it goes back
 * where an operator has taken the turn to move it, and whoever was at it hears of that at its next
 * put.
 */
import { assert } from "../../core/assert.ts";
import { CorruptDataError, StoreError } from "../../core/errors.ts";
import type { FeedNotes, FeedState, FeedStore } from "../../core/feed-port.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import { notesOf, withFailure, withSuccess } from "./feed-notes.ts";
import { isBelow, parsePosition, positionText } from "./position.ts";
import type { ChangePosition, ConsumeOptions } from "./types.ts";

/** Somebody else has taken it over: this one was slow, his clock is ahead, or it was moved. */
export class TakenOverError extends Error {}

export class FeedHold {
  /** All up to here is handled. */
  position: ChangePosition | undefined;
  readonly #feeds: FeedStore;
  readonly #options: Pick<ConsumeOptions, "name" | "tables">;
  readonly #ports: Pick<ClientPorts, "clock" | "random">;
  readonly #holder: string;
  #turn = 0;
  #keptMs = 0;
  #kept: ChangePosition | undefined;
  #notes: FeedNotes = notesOf(undefined, undefined);
  #isListed = false;
  #round: number | undefined;
  #lost: TakenOverError | undefined;
  #putting: Promise<void> = Promise.resolve();

  constructor(
    feeds: FeedStore,
    options: Pick<ConsumeOptions, "name" | "tables">,
    ports: Pick<ClientPorts, "clock" | "random">,
  ) {
    this.#feeds = feeds;
    this.#options = options;
    this.#ports = ports;
    this.#holder = Buffer.from(ports.random.bytes(12)).toString("hex");
  }

  /** Whether it is free now, and so taken. @throws CorruptDataError; StoreError. */
  async take(signal: AbortSignal | undefined): Promise<boolean> {
    const call = signal === undefined ? {} : { signal };
    const { name, tables } = this.#options;
    const state = await this.#feeds.read(name, call);
    if (state !== undefined && isHeld(state, this.#ports.clock.nowMs())) return false;
    this.position = this.#placeOf(state);
    this.#kept = this.position;
    this.#turn = state?.turn ?? 0;
    this.#notes = notesOf(state?.notes, tables);
    this.#round = state?.round;
    this.#isListed = state?.isListed === true || (await this.#enlisted(call));
    try {
      await this.#put(this.#holder, call);
    } catch (error) {
      if (error instanceof TakenOverError) return false;
      throw error;
    }
    return true;
  }

  #placeOf(state: FeedState | undefined): ChangePosition | undefined {
    if (state?.position === undefined) return undefined;
    const position = parsePosition(state.position);
    if (position !== undefined) return position;
    throw new CorruptDataError(`the position of the feed ${this.#options.name} is none`);
  }

  /** Rights of one release back do not reach to the list: then it is not in it. */
  async #enlisted(call: CallOptions): Promise<boolean> {
    try {
      await this.#feeds.enlist(this.#options.name, call);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === "AccessDeniedException") return false;
      throw error;
    }
  }

  /** From 0 on, one more each time when what is done once is to be done once more. */
  get round(): number {
    return this.#round ?? 0;
  }

  /** As far as is known. @throws TakenOverError. */
  assertHeld(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** A change was handled, or nothing is left. The next put tells. */
  noteSuccess(): void {
    this.#notes = withSuccess(this.#notes);
  }

  /** The next put tells: that of its release. */
  noteFailure(cause: unknown): void {
    this.#notes = withFailure(this.#notes, cause, this.#ports.clock.nowMs());
  }

  /**
   * At once where it begins for the first time, before anything is handled: "now" would be later
   * the next time.
   * @throws TakenOverError.
   */
  async keepNowAndThen(): Promise<void> {
    const isFirst = this.#kept === undefined;
    const isDue = this.#ports.clock.monotonicMs() - this.#keptMs >= limits.feedKeepMs;
    if ((isFirst || isDue) && this.#hasMoved) await this.#keep();
  }

  #keep(): Promise<void> {
    const put = this.#putting.then(() => this.#put(this.#holder, {}));
    this.#putting = put.catch(() => undefined);
    return put;
  }

  /** Says again and again that it is held, also while a change takes its handler long. */
  renewing(): { stop(): Promise<void> } {
    const { clock } = this.#ports;
    const stopped = new AbortController();
    const { signal } = stopped;
    const running = (async () => {
      while (this.#lost === undefined) {
        await clock.sleep(limits.feedHoldMs / 3, signal);
        // Where it fails, the next position that is kept tells.
        await this.#keep().catch(() => undefined);
      }
    })().catch(() => undefined);
    return {
      stop: async () => {
        stopped.abort();
        await running;
      },
    };
  }

  /** Others need not wait. Where it fails, they do, and what was done since comes again. */
  async release(): Promise<void> {
    await this.#putting;
    if (this.#lost === undefined) await this.#put(undefined, {}).catch(() => undefined);
  }

  get #hasMoved(): boolean {
    const { position } = this;
    if (position === undefined || this.#kept === undefined) return position !== this.#kept;
    return positionText(position) !== positionText(this.#kept);
  }

  async #put(holder: string | undefined, call: CallOptions): Promise<void> {
    const { clock } = this.#ports;
    const { position } = this;
    const { name } = this.#options;
    const isBack =
      this.#kept !== undefined && (position === undefined || isBelow(position, this.#kept));
    assert(!isBack, `I11: the position of the feed ${name} goes back`);
    const nowMs = clock.nowMs();
    const notes = this.#hasMoved ? { ...this.#notes, movedMs: nowMs } : this.#notes;
    const state: FeedState = {
      ...{ position: position && positionText(position), turn: this.#turn + 1, holder },
      ...{ heldUntilMs: nowMs + limits.feedHoldMs, notes, isListed: this.#isListed },
      round: this.#round,
    };
    if (!(await this.#feeds.put(name, state, call))) {
      const there = await this.#feeds.read(name, call);
      // A lost answer of its own.
      // mutant: feed-moved-unheard-of
      const isOwn = there?.turn === state.turn && there.holder === holder;
      if (!isOwn) {
        // probe: feed-taken-over
        this.#lost = new TakenOverError(`the feed ${name} was taken over`);
        throw this.#lost;
      }
    }
    this.#turn = state.turn;
    this.#kept = position;
    this.#keptMs = clock.monotonicMs();
    this.#notes = { ...this.#notes, movedMs: notes.movedMs };
  }
}

/** Clocks that no honest one can be so far ahead are not believed. */
export function isHeld(
  { holder, heldUntilMs }: Pick<FeedState, "holder" | "heldUntilMs">,
  nowMs: number,
): boolean {
  const heldForMs = heldUntilMs - nowMs;
  // mutant: feed-believes-any-hold
  const isPossible = heldForMs <= limits.feedHoldMs + limits.feedClockMarginMs;
  return holder !== undefined && heldForMs > 0 && isPossible;
}
