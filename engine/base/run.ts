/**
 * Runs the handler of a BASE transaction. Steps that are recorded return, or throw, what they did
 * when they were run; the first one that is not is run, and recorded by its own commit. So a run
 * that goes on after a crash takes the same way, as long as its handler does.
 *
 *     step n:   recorded ──▶ as it was
 *               not      ──▶ committed, recorded ──▶ its value
 *                        ──▶ the body throws ──▶ recorded, and what it has read; its error
 *                        ──▶ somebody else has recorded it meanwhile ──▶ as it was
 *                        ──▶ anything else ──▶ the run is over, whatever its handler makes of it
 *
 * The last is what no later run would meet again: a client that is closed, a commit that is
 * refused, a way that is not the recorded one. To go on from there would be to compensate for what
 * nobody knows of.
 *
 * One that was requested is run by who has its handler, and nobody waits there for its first step:
 * so that is tried until it is committed, or is refused by its own body.
 */
import { setMaxListeners } from "node:events";
import {
  CommitUnknownError,
  InvalidRequestError,
  UnavailableError,
  type BaseRefusal,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { AttributeValue } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import { follow } from "../concurrency.ts";
import type { BodyTransaction } from "../types.ts";
import { partsOf } from "./base-name.ts";
import { HandlerChangedError } from "./handler-changed.ts";
import { HandlerSilentError } from "./handler-silent.ts";
import type { BaseBeginning, BaseHead, StepRecord } from "./record.ts";
import { StepFailedError } from "./step-failed.ts";
import type { BaseStore, Recorded } from "./store.ts";
import type { BaseHandler, BaseSteps, HandlerDefinition, StepBody } from "./types.ts";
import { failedBy } from "./step-end.ts";
import { isOfBody, isRefusedByStore, isWorthAnother } from "./step-errors.ts";

type Handler = BaseHandler<BodyTransaction>;

/** As it is recorded, and what it is to throw if it has failed. */
type MadeStep = { readonly step: StepRecord; readonly error: unknown };

const retryBackoff = { baseMs: 20, capMs: 2_000 };

export class BaseRun implements BaseSteps<BodyTransaction> {
  readonly #store: BaseStore;
  readonly #ports: Pick<ClientPorts, "clock" | "random">;
  readonly base: string;
  readonly #beginning: BaseBeginning;
  readonly #stop = new AbortController();
  readonly #signal = this.#stop.signal;
  readonly #onAccepted: (() => void) | undefined;
  /** Nobody waits for its first step: that is tried until it is committed, or refused. */
  readonly insists: boolean;
  #head: BaseHead | undefined;
  #recorded = new Map<number, StepRecord>();
  /** It goes no further, and why; of its first step: nothing has happened, and nothing will. */
  #over: { readonly error: unknown; readonly step?: string } | undefined;
  #isAnothers = false;
  #unknown: CommitUnknownError | undefined;
  #number = 0;
  #lastMs: number;
  #isAtIt = false;
  /** When it last went on, by the monotonic clock; and the step that it is at. */
  #heardMs: number;
  #at: string | undefined;
  readonly #unfollow: () => void;

  constructor(
    parts: { readonly store: BaseStore; readonly ports: Pick<ClientPorts, "clock" | "random"> },
    run: {
      readonly base: string;
      readonly beginning: BaseBeginning;
      /** Undefined: it is to begin. */
      readonly recorded: Recorded | undefined;
      readonly signal: AbortSignal;
      /** Its first step is committed. Undefined: nobody waits for that. */
      readonly onAccepted?: () => void;
    },
  ) {
    this.#store = parts.store;
    this.#ports = parts.ports;
    this.base = run.base;
    this.#beginning = run.beginning;
    setMaxListeners(0, this.#signal);
    this.#unfollow = follow(this.#stop, run.signal);
    this.#heardMs = parts.ports.clock.monotonicMs();
    this.#onAccepted = run.onAccepted;
    this.insists = run.onAccepted === undefined;
    this.#lastMs = run.recorded?.head.startedMs ?? run.beginning.begunMs;
    if (run.recorded !== undefined) this.#take(run.recorded);
  }

  get nowMs(): number {
    return this.#lastMs;
  }

  get id(): string {
    return partsOf(this.base).id;
  }

  get isAccepted(): boolean {
    return this.#head !== undefined;
  }

  get isChecked(): boolean {
    return this.#beginning.isUnchecked !== true;
  }

  /** Of the request that it has taken up. */
  get request(): string | undefined {
    return this.#beginning.request;
  }

  /** Why it will not be, by an error that ended it; undefined: it may be at another time. */
  refusalBy(error: unknown): BaseRefusal | undefined {
    const { step } = this.#over ?? {};
    const why = step === undefined ? error : this.#over?.error;
    // Who gives up himself has not refused it, nor has a role that lacks a right.
    if (!isOfBody(why) || this.#signal.aborted || isRefusedByStore(why)) return;
    // Where no step had begun the world outside may have been at fault, and not what is asked for.
    if (step === undefined && !(why instanceof InvalidRequestError)) return;
    return { step, ...failedBy(why as Error).failure };
  }

  /** A commit of its first step of which nobody has heard: whatever came later, it may stand. */
  get unknown(): CommitUnknownError | undefined {
    return this.isAccepted ? undefined : this.#unknown;
  }

  /** Somebody else has begun it meanwhile, maybe with another input: it is left to that one. */
  get isAnothers(): boolean {
    return this.#isAnothers;
  }

  /**
   * @param closing its client closes, and listens no more: else a handler that never settles would
   * keep the process for as long as it may be silent.
   * @throws what the handler throws; what is recorded stays. HandlerSilentError where it, or the
   * body of a step, does not settle: what comes of it later changes nothing any more.
   */
  async run(
    { handler, silentMsMax }: HandlerDefinition<BodyTransaction>,
    closing: AbortSignal,
  ): Promise<AttributeValue> {
    const over = new AbortController();
    const unfollow = follow(over, closing);
    try {
      return await Promise.race([this.#run(handler), this.#silence(silentMsMax, over.signal)]);
    } finally {
      unfollow();
      over.abort();
      this.#store.stepsHere.delete(this.base);
      this.#unfollow();
    }
  }

  /** Never resolves. Who looks on is woken when the handler may have been silent for too long. */
  async #silence(silentMsMax: number, signal: AbortSignal): Promise<never> {
    const { clock } = this.#ports;
    for (;;) {
      const leftMs = this.#heardMs + silentMsMax - clock.monotonicMs();
      if (leftMs <= 0) break;
      await clock.sleep(leftMs, signal);
    }
    const error = new HandlerSilentError(this.#beginning.name, silentMsMax, this.#at);
    this.#endsBy(error);
    this.#stop.abort(error);
    throw error;
  }

  #goesOn(): void {
    this.#heardMs = this.#ports.clock.monotonicMs();
  }

  async #run(handler: Handler): Promise<AttributeValue> {
    const value = await this.#handled(handler);
    if (this.#number < this.#recorded.size) {
      throw new HandlerChangedError(
        `the handler "${this.#beginning.name}" returned after ${this.#number} steps, and ` +
          `${this.#recorded.size} are recorded: it does not take the same way again`,
      );
    }
    await this.#insisting(() =>
      this.#store.end(this.base, {
        value,
        beginning: this.#beginning,
        steps: this.#recorded.size,
      }),
    );
    return value;
  }

  async #handled(handler: Handler): Promise<AttributeValue> {
    let value: AttributeValue;
    try {
      value = await handler(this, this.#beginning.input);
    } catch (error) {
      if (this.isAccepted && this.#over !== undefined) throw this.#over.error;
      throw error;
    }
    if (this.#over !== undefined) throw this.#over.error;
    return value;
  }

  async step(name: string, body: StepBody<BodyTransaction>): Promise<AttributeValue> {
    if (this.#over !== undefined) throw this.#over.error;
    if (this.#isAtIt) {
      throw this.#endsBy(
        new InvalidRequestError(
          "step",
          `step "${name}" was begun while another one was under way: wait for each before the next`,
        ),
      );
    }
    this.#number += 1;
    if (this.#number > limits.baseStepsMax) {
      throw new InvalidRequestError(
        "step",
        `a BASE transaction has at most ${limits.baseStepsMax} steps (baseStepsMax)`,
      );
    }
    this.#isAtIt = true;
    this.#at = name;
    this.#store.stepsHere.set(this.base, name);
    this.#goesOn();
    let made: MadeStep;
    try {
      this.#signal.throwIfAborted();
      const known = this.#recorded.get(this.#number);
      made = known === undefined ? await this.#runStep(name, body) : this.#again(name, known);
    } catch (error) {
      throw this.#endsBy(error, name);
    } finally {
      this.#isAtIt = false;
      this.#at = undefined;
      this.#store.stepsHere.delete(this.base);
      this.#goesOn();
    }
    const { step, error } = made;
    this.#lastMs = step.atMs;
    if (step.end.kind === "returned") return step.end.value;
    throw error;
  }

  #endsBy(error: unknown, step?: string): unknown {
    this.#over ??= { error, ...(step === undefined ? {} : { step }) };
    return error;
  }

  #again(name: string, step: StepRecord): MadeStep {
    const { name: was, end } = step;
    if (was !== name) {
      throw new HandlerChangedError(
        `step ${this.#number} of the handler "${this.#beginning.name}" was "${was}" when it was ` +
          `first run, and is "${name}" now: what decides which steps it takes must come from its ` +
          "input, its steps, and `now`, `random` and `uuid` of its first argument",
      );
    }
    const error = end.kind === "failed" ? new StepFailedError(name, end.failure) : undefined;
    return { step, error };
  }

  async #runStep(name: string, body: StepBody<BodyTransaction>): Promise<MadeStep> {
    const number = this.#number;
    const wasAccepted = this.isAccepted;
    const done = await this.#insisting(() =>
      this.#store.step(this.base, {
        ...{ number, name, body, beginning: this.#beginning },
        signal: this.#signal,
      }),
    );
    if (done.kind === "overtaken") return this.#overtaken(name, body, done.recorded);
    const { step, head, error } = done;
    this.#recorded.set(number, step);
    this.#head = head;
    if (!wasAccepted) this.#onAccepted?.();
    return { step, error };
  }

  /** By another process; or by a commit of its own, of which it never heard. */
  #overtaken(
    name: string,
    body: StepBody<BodyTransaction>,
    recorded: Recorded,
  ): MadeStep | Promise<MadeStep> {
    // probe: base-step-overtaken
    const wasAccepted = this.isAccepted;
    // mutant: goes-on-with-own-input
    if (!wasAccepted && recorded.head.token !== this.#beginning.token) {
      this.#isAnothers = true;
      throw new UnavailableError(`BASE transaction ${this.base} was begun by another process`);
    }
    this.#take(recorded);
    if (!wasAccepted) this.#onAccepted?.();
    const known = this.#recorded.get(this.#number);
    if (known !== undefined) return this.#again(name, known);
    if (recorded.head.phase !== "ended") return this.#runStep(name, body);
    throw new HandlerChangedError(
      `the handler "${this.#beginning.name}" is at step ${this.#number}, "${name}", and has ` +
        `ended after ${recorded.head.steps} steps elsewhere: it does not take the same way again`,
    );
  }

  #take({ head, steps }: Recorded): void {
    this.#head = head;
    this.#recorded = new Map(steps.map((step) => [step.number, step]));
  }

  /** What is accepted goes on until it is through; before that, its caller hears of it. */
  async #insisting<Done>(task: () => Promise<Done>): Promise<Done> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await task();
      } catch (error) {
        if (error instanceof CommitUnknownError) this.#unknown = error;
        if (!isSilentBody(error)) this.#goesOn();
        const mayHaveBegun = this.isAccepted || error instanceof CommitUnknownError;
        if (!(mayHaveBegun || this.insists) || !isWorthAnother(error)) throw error;
        const { clock, random } = this.#ports;
        const wait = { backoff: retryBackoff, attempt, signal: this.#signal };
        await waitBackoff({ clock, random }, wait).catch((stopped: unknown) => {
          // Given up, it may have begun all the same: that is what its caller has to know.
          throw this.isAccepted ? stopped : error;
        });
      }
    }
  }
}

/** Its body has not settled in time, and no store is to blame for that. */
function isSilentBody(error: unknown): boolean {
  if (!(error instanceof UnavailableError)) return false;
  return error.deadline?.phase === "body" && error.cause === undefined;
}
