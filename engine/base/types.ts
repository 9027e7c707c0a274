/** The engine's contract for BASE transactions, in items. */
import type { AttributeValue } from "../../core/types.ts";
import type { BaseHead } from "./record.ts";
import type { BaseHandler } from "./run.ts";

/** A handler, by which BASE transactions of its name and version are run. */
export type HandlerDefinition = {
  readonly name: string;
  readonly version: number;
  readonly handler: BaseHandler;
};

export type BaseStart = {
  readonly definition: HandlerDefinition;
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

export type RunnerOptions = {
  readonly definitions: readonly HandlerDefinition[];
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

export type BaseEngine = {
  /**
   * Begins a BASE transaction, and resolves once its first step is committed: from then on it goes
   * on to its end, here or in a runner. One of that name and id that has begun is found again.
   * @throws what the handler throws before that, and whatever a transaction may.
   */
  start(start: BaseStart): Promise<{ readonly isNew: boolean }>;
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
  run(options: RunnerOptions): Promise<void>;
  /** Stops what runs here, at the end of its step; a runner goes on with it. */
  close(): Promise<void>;
};
