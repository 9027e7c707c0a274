/** The engine's contract for BASE transactions, in items. */
import type { AttributeValue } from "../../core/types.ts";
import type { BaseHead } from "./record.ts";

/** @typeParam Transaction what a step's body works with. */
export type StepBody<Transaction> = (transaction: Transaction) => Promise<AttributeValue>;

/** What a handler is given, in items. */
export type BaseSteps<Transaction> = {
  step(name: string, body: StepBody<Transaction>): Promise<AttributeValue>;
  /** When the last step was committed, or the transaction began; the same in every run. */
  readonly nowMs: number;
  readonly id: string;
  /** With its name: no other one has the same. */
  readonly base: string;
};

export type BaseHandler<Transaction> = (
  steps: BaseSteps<Transaction>,
  input: AttributeValue,
) => Promise<AttributeValue>;

/** A handler, by which BASE transactions of its name and version are run. */
export type HandlerDefinition<Transaction> = {
  readonly name: string;
  readonly version: number;
  readonly handler: BaseHandler<Transaction>;
};

export type BaseStart<Transaction> = {
  readonly definition: HandlerDefinition<Transaction>;
  readonly id: string;
  readonly input: AttributeValue;
  /** Gives it up before it is accepted. */
  readonly signal?: AbortSignal | undefined;
};

/** What has become of one so far. */
export type BaseStatus = Pick<
  BaseHead,
  "name" | "version" | "steps" | "phase" | "startedMs" | "lastMs" | "failures" | "failure"
> & {
  readonly id: string;
  /** Its writes are seen by all. */
  readonly isReleased: boolean;
};

export type RunnerOptions<Transaction> = {
  readonly definitions: readonly HandlerDefinition<Transaction>[];
  /** What nobody has been at for so long is taken over. */
  readonly takeOverMs: number;
  readonly pollMs: number;
  /** `"caught-up"`: ends when nothing is left that it could go on with. */
  readonly until: "stopped" | "caught-up";
  readonly signal: AbortSignal | undefined;
  /** Told of each that no handler here fits, once, and of each that is parked. */
  readonly onTrouble?: ((trouble: BaseTrouble) => void) | undefined;
};

export type BaseTrouble = {
  readonly kind: "no-handler" | "handler-failed" | "parked";
  readonly name: string;
  readonly id: string;
  readonly version: number;
  readonly cause?: unknown;
};

export type BaseEngine<Transaction> = {
  /**
   * Begins a BASE transaction, and resolves once its first step is committed: from then on it goes
   * on to its end, here or in a runner. One of that name and id that has begun is found again.
   * @throws what the handler throws before that, and whatever a transaction may.
   */
  start(start: BaseStart<Transaction>): Promise<{ readonly isNew: boolean }>;
  /** What it returned. @throws UnavailableError when the time is up; InvalidRequestError. */
  result(
    of: { readonly name: string; readonly id: string },
    options: { readonly deadlineMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<AttributeValue>;
  /** Undefined: there is none, or its record has expired. */
  status(of: { readonly name: string; readonly id: string }): Promise<BaseStatus | undefined>;
  /** All that are not released. */
  list(): Promise<readonly BaseStatus[]>;
  /** Lets a parked one go on. Whether there was one. */
  resume(of: { readonly name: string; readonly id: string }): Promise<boolean>;
  /** Goes on with what nobody is at, until it is stopped. */
  run(options: RunnerOptions<Transaction>): Promise<void>;
  /** Stops what runs here, at the end of its step; a runner goes on with it. */
  close(): Promise<void>;
};
