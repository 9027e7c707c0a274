/**
 * Runs the handler of a BASE transaction. Steps that are recorded return, or throw, what they did
 * when they were run; the first one that is not is run, and recorded by its own commit. So a run
 * that goes on after a crash takes the same way, as long as its handler does.
 *
 *     step n:   recorded ──▶ as it was
 *               not      ──▶ committed, recorded ──▶ its value
 *                        ──▶ the body throws ──▶ recorded, and what it has read; its error
 *                        ──▶ somebody else has recorded it meanwhile ──▶ as it was
 */
import { CommitUnknownError, InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { AttributeValue } from "../../core/types.ts";
import { waitBackoff } from "../backoff.ts";
import type { BodyTransaction } from "../types.ts";
import type { BaseBeginning, BaseHead, StepRecord } from "./record.ts";
import { StepFailedError } from "./step-failed.ts";
import type { BaseStore, Recorded } from "./store.ts";
import type { BaseHandler, BaseSteps, StepBody } from "./types.ts";
import { isOfBody, isWorthAnother } from "./step-errors.ts";

/** The handler did not take the way again that is recorded. */
export class HandlerChangedError extends Error {
  override readonly name = "HandlerChangedError";
}

type Handler = BaseHandler<BodyTransaction>;

const retryBackoff = { baseMs: 20, capMs: 2_000 };

export class BaseRun implements BaseSteps<BodyTransaction> {
  readonly #store: BaseStore;
  readonly #ports: Pick<ClientPorts, "clock" | "random">;
  readonly base: string;
  readonly #beginning: BaseBeginning;
  readonly #signal: AbortSignal;
  readonly #onAccepted: (() => void) | undefined;
  #head: BaseHead | undefined;
  #recorded = new Map<number, StepRecord>();
  /** What its first step threw: nothing has happened, and nothing will. */
  #refused: { readonly error: unknown } | undefined;
  #number = 0;
  #lastMs: number;
  #isAtIt = false;

  constructor(
    parts: { readonly store: BaseStore; readonly ports: Pick<ClientPorts, "clock" | "random"> },
    run: {
      readonly base: string;
      readonly beginning: BaseBeginning;
      /** Undefined: it is to begin. */
      readonly recorded: Recorded | undefined;
      readonly signal: AbortSignal;
      /** Its first step is committed. */
      readonly onAccepted?: () => void;
    },
  ) {
    this.#store = parts.store;
    this.#ports = parts.ports;
    this.base = run.base;
    this.#beginning = run.beginning;
    this.#signal = run.signal;
    this.#onAccepted = run.onAccepted;
    this.#lastMs = parts.ports.clock.nowMs();
    if (run.recorded !== undefined) this.#take(run.recorded);
  }

  get nowMs(): number {
    return this.#lastMs;
  }

  get id(): string {
    return this.base.slice(this.#beginning.name.length + 1);
  }

  get isAccepted(): boolean {
    return this.#head !== undefined;
  }

  /** @throws what the handler throws; what is recorded stays. */
  async run(handler: Handler): Promise<AttributeValue> {
    const value = await handler(this, this.#beginning.input);
    if (this.#refused !== undefined) throw this.#refused.error;
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

  async step(name: string, body: StepBody<BodyTransaction>): Promise<AttributeValue> {
    this.#signal.throwIfAborted();
    if (this.#refused !== undefined) throw this.#refused.error;
    if (this.#isAtIt) {
      throw new InvalidRequestError(
        "step",
        `step "${name}" was begun while another one was under way: wait for each before the next`,
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
    try {
      const known = this.#recorded.get(this.#number);
      return known === undefined ? await this.#runStep(name, body) : this.#again(name, known);
    } finally {
      this.#isAtIt = false;
    }
  }

  #again(name: string, { name: was, atMs, end }: StepRecord): AttributeValue {
    if (was !== name) {
      throw new HandlerChangedError(
        `step ${this.#number} of the handler "${this.#beginning.name}" was "${was}" when it was ` +
          `first run, and is "${name}" now: what decides which steps it takes must come from its ` +
          "input, its steps, and `now`, `random` and `uuid` of its first argument",
      );
    }
    this.#lastMs = atMs;
    if (end.kind === "failed") throw new StepFailedError(name, end.failure);
    return end.value;
  }

  async #runStep(name: string, body: StepBody<BodyTransaction>): Promise<AttributeValue> {
    const number = this.#number;
    const wasAccepted = this.isAccepted;
    const done = await this.#insisting(() =>
      this.#store.step(this.base, {
        ...{ number, name, body, beginning: this.#beginning },
        signal: this.#signal,
      }),
    ).catch((error: unknown) => {
      if (!wasAccepted && isOfBody(error)) this.#refused = { error };
      throw error;
    });
    if (done.kind === "overtaken") {
      this.#take(done.recorded);
      const known = this.#recorded.get(number);
      return known === undefined ? this.#runStep(name, body) : this.#again(name, known);
    }
    const { step, head, error } = done;
    this.#recorded.set(number, step);
    this.#head = head;
    this.#lastMs = step.atMs;
    if (!wasAccepted) this.#onAccepted?.();
    if (step.end.kind === "failed") throw error;
    return step.end.value;
  }

  #take({ head, steps }: Recorded): void {
    this.#head = head;
    this.#recorded = new Map(steps.map((step) => [step.number, step]));
    if (steps.length === 0) this.#lastMs = head.startedMs;
  }

  /** What is accepted goes on until it is through; before that, its caller hears of it. */
  async #insisting<Done>(task: () => Promise<Done>): Promise<Done> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await task();
      } catch (error) {
        const mayHaveBegun = this.isAccepted || error instanceof CommitUnknownError;
        if (!mayHaveBegun || !isWorthAnother(error)) throw error;
        const { clock, random } = this.#ports;
        const wait = { backoff: retryBackoff, attempt, signal: this.#signal };
        await waitBackoff({ clock, random }, wait);
      }
    }
  }
}
