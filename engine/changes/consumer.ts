/**
 * A named consumer of changes: how far it has come stands in the control table, so that it goes on
 * there after a crash, wherever it runs. What it has done since it last said so comes again: at
 * least once.
 *
 * One process is at it at a time. Who is holds it for a while, and says so again before that is
 * over; whoever comes meanwhile waits. Holding goes by clocks, and only bounds what is done twice:
 * each put takes the turn of the one before, so of two that are at it the slower one finds out.
 *
 *               hold                    put: done              released, at its end
 *     waiting ────────▶ at it, position ─────────▶ at it ... ──────────────────────▶ waiting
 *                            └── put: another's turn ──▶ waiting
 */
import { CorruptDataError, StoreError, TransactionError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts, FeedState, FeedStore } from "../../core/ports.ts";
import { assert } from "../../core/assert.ts";
import { waitBackoff } from "../backoff.ts";
import { ChangeFeed, type FeedParts } from "./changes.ts";
import { parsePosition, positionText } from "./position.ts";
import type { ChangePosition, CommittedChanges, ConsumeOptions } from "./types.ts";

type Handle = (changes: CommittedChanges) => Promise<void>;

const retryBackoff = { baseMs: 200, capMs: 10_000 };

/** Somebody else has taken it over, since this one was slow, or his clock is ahead. */
class TakenOverError extends Error {}

/**
 * Handles changes until the signal is aborted, or all has been handled that there is.
 * @throws what the handler throws, once the position before that change is kept.
 * @throws ChangesExpiredError, InvalidRequestError, CorruptDataError as the feed does. What is
 * worth another try is tried again.
 */
export async function consume(
  parts: FeedParts,
  options: ConsumeOptions,
  handle: Handle,
): Promise<void> {
  const { clock, random, feeds } = parts.core.ports;
  assert(feeds !== undefined, "whoever consumes has a store of positions");
  const { signal, until } = options;
  for (let failures = 0; signal?.aborted !== true;) {
    const hold = new Hold(feeds, options.name, { clock, random });
    try {
      if (!(await hold.take(signal))) {
        // probe: feed-held-by-another
        if (until === "caught-up") return;
        await clock.sleep(limits.feedWaitMs, signal);
        continue;
      }
      await handleHeld(parts, options, {
        hold,
        handle: async (changes) => {
          await handle(changes);
          failures = 0;
        },
      });
      if (until === "caught-up") return;
    } catch (error) {
      if (isStopped(error, signal)) return;
      if (error instanceof TakenOverError) continue;
      if (error instanceof HandlerError) {
        // A handler may well give up by the same signal.
        if (isStopped(error.cause, signal)) return;
        throw error.cause;
      }
      if (!isWorthAnother(error)) throw error;
      if (until === "caught-up") throw error;
      await waitBackoff({ clock, random }, { backoff: retryBackoff, attempt: failures++, signal })
        // Stopped meanwhile: that is how it ends, here as anywhere else.
        .catch((reason: unknown) => {
          if (!isStopped(reason, signal)) throw reason;
        });
    }
  }
}

async function handleHeld(
  parts: FeedParts,
  options: ConsumeOptions,
  { hold, handle }: { readonly hold: Hold; readonly handle: Handle },
): Promise<void> {
  const renewing = hold.renewing();
  const { first, until, signal } = options;
  const isFirst = hold.position === undefined;
  const feed = new ChangeFeed(
    { ...parts, placeField: isFirst ? "first" : "position" },
    { ...options, from: hold.position ?? first },
  );
  try {
    for await (const look of feed.looks()) {
      // mutant: feed-keeps-what-is-not-handled
      if (typeof look === "object") await handled(look, handle);
      // Also of what was passed by: else who is asked for little never comes on.
      // mutant: feed-keeps-no-position-of-rare-changes
      hold.position = feed.position;
      await hold.keepNowAndThen();
      if (signal?.aborted === true) return;
      if (look === "caught-up" && until === "caught-up") return;
    }
  } finally {
    await renewing.stop();
    await hold.release();
  }
}

/** What a handler throws is the caller's, whatever it looks like. */
class HandlerError extends Error {}

async function handled(changes: CommittedChanges, handle: Handle): Promise<void> {
  try {
    await handle(changes);
  } catch (cause) {
    throw new HandlerError("a handler of changes has failed", { cause });
  }
}

function isStopped(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

function isWorthAnother(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof TransactionError && error.retryable);
}

class Hold {
  /** All up to here is handled. */
  position: ChangePosition | undefined;
  readonly #feeds: FeedStore;
  readonly #name: string;
  readonly #ports: Pick<ClientPorts, "clock" | "random">;
  readonly #holder: string;
  #turn = 0;
  #keptMs = 0;
  #kept: string | undefined;
  #putting: Promise<void> = Promise.resolve();

  constructor(feeds: FeedStore, name: string, ports: Pick<ClientPorts, "clock" | "random">) {
    this.#feeds = feeds;
    this.#name = name;
    this.#ports = ports;
    this.#holder = Buffer.from(ports.random.bytes(12)).toString("hex");
  }

  /** Whether it is free now, and so taken. @throws CorruptDataError; StoreError. */
  async take(signal: AbortSignal | undefined): Promise<boolean> {
    const call = signal === undefined ? {} : { signal };
    const state = await this.#feeds.read(this.#name, call);
    const heldForMs = state === undefined ? 0 : state.heldUntilMs - this.#ports.clock.nowMs();
    // mutant: feed-believes-any-hold
    const isPossible = heldForMs <= limits.feedHoldMs + limits.feedClockMarginMs;
    if (state?.holder !== undefined && heldForMs > 0 && isPossible) return false;
    this.position = this.#placeOf(state);
    this.#kept = state?.position;
    this.#turn = state?.turn ?? 0;
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
    throw new CorruptDataError(`the position of the feed ${this.#name} is none`);
  }

  /**
   * At once where it begins for the first time, before anything is handled: "now" would be later
   * the next time.
   * @throws TakenOverError.
   */
  async keepNowAndThen(): Promise<void> {
    const isFirst = this.#kept === undefined;
    const isDue = this.#ports.clock.monotonicMs() - this.#keptMs >= limits.feedKeepMs;
    if ((isFirst || isDue) && this.#text() !== this.#kept) await this.#keep();
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
      for (;;) {
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
    await this.#put(undefined, {}).catch(() => undefined);
  }

  #text(): string | undefined {
    return this.position && positionText(this.position);
  }

  async #put(holder: string | undefined, call: CallOptions): Promise<void> {
    const { clock } = this.#ports;
    const position = this.#text();
    const heldUntilMs = clock.nowMs() + limits.feedHoldMs;
    const state: FeedState = { position, turn: this.#turn + 1, holder, heldUntilMs };
    if (!(await this.#feeds.put(this.#name, state, call))) {
      const there = await this.#feeds.read(this.#name, call);
      // A lost answer of its own.
      const isOwn = there?.turn === state.turn && there.holder === holder;
      if (!isOwn) {
        // probe: feed-taken-over
        throw new TakenOverError(`the feed ${this.#name} was taken over`);
      }
    }
    this.#turn = state.turn;
    this.#kept = position;
    this.#keptMs = clock.monotonicMs();
  }
}
