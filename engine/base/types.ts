/** The engine's contract for BASE transactions, in items. */
import type { BaseRefusal } from "../../core/errors.ts";
import type { AttributeValue } from "../../core/types.ts";
import type { NamedBase, Signalled } from "./base-name.ts";
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
  /** False: it was asked for by somebody who has no definition to check the input by. */
  readonly isChecked: boolean;
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
  /** A run of it that makes no step for so long is over. */
  readonly silentMsMax: number;
  /** One whose handler has failed for so long, and often enough, is parked. */
  readonly parkAfterMs: number;
};

export type BaseStart<Transaction> = {
  readonly definition: HandlerDefinition<Transaction>;
  readonly id: string;
  readonly input: AttributeValue;
  /** Gives it up before it is accepted. */
  readonly signal?: AbortSignal | undefined;
};

export type BaseStarted = Pick<BaseRequested, "isNew" | "isSame">;

/** Asks for one, where its handler is not. */
export type BaseRequest = {
  readonly name: string;
  readonly version: number;
  readonly id: string;
  readonly input: AttributeValue;
  /** False: whoever runs it checks the input by its own definition. */
  readonly isChecked: boolean;
  readonly signal?: AbortSignal | undefined;
};

export type BaseRequested = {
  /** False: one of that id was begun, or asked for, before. */
  readonly isNew: boolean;
  /** Whether that one has the same version and input. */
  readonly isSame: boolean;
  readonly status: BaseStatus;
};

/** What has become of one so far. */
export type BaseStatus = Pick<
  BaseHead,
  "name" | "version" | "steps" | "startedMs" | "lastMs" | "failures" | "failingSinceMs" | "failure"
> & {
  readonly id: string;
  /**
   * `damaged`: an item of its record is none that this release knows; `failure` says which. All
   * else that is not known of it is 0.
   */
  readonly phase: BaseHead["phase"] | "damaged";
  /** Before that no runner tries it again: its handler has failed. Undefined: it does not rest. */
  readonly retryAtMs?: number | undefined;
  /** Why it was refused, where it was. */
  readonly refusal: BaseRefusal | undefined;
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
  /**
   * Told, once of each, of what no handler here fits, what fails, what is parked, and that the
   * store is out, or is no longer.
   */
  readonly onTrouble?: ((trouble: BaseTrouble) => void) | undefined;
};

/** Of one BASE transaction. */
export type TroubleOfOne = {
  readonly kind: "no-handler" | "handler-failed" | "parked";
  readonly name: string;
  readonly id: string;
  readonly version: number;
  readonly cause?: unknown;
  readonly sinceMs?: undefined;
};

/** Of the runner: none of its looks at the store has been answered since then, or one is again. */
export type RunnerOutage = {
  readonly kind: "outage" | "outage-over";
  /** By the wall clock. */
  readonly sinceMs: number;
  readonly cause?: unknown;
  readonly name?: undefined;
  readonly id?: undefined;
  readonly version?: undefined;
};

export type BaseTrouble = TroubleOfOne | RunnerOutage;

export type BaseLook = {
  readonly status: BaseStatus;
  /** What it returned, once all see what it has written. */
  readonly result: AttributeValue | undefined;
};

export type ListOptions = Signalled & {
  /** Of their handler; undefined: of any. */
  readonly name?: string | undefined;
  /**
   * So many are looked at: those that are parked, those that have begun, and then those asked for
   * longest ago.
   */
  readonly lookedAtMax?: number;
  /** For so long, about, it looks: what strangers have asked for with may be slow to read. */
  readonly lookMs?: number;
};

export type BaseList = {
  /** So many there are, looked at or not. */
  readonly all: number;
  /** The oldest first. */
  readonly bases: readonly BaseStatus[];
};

/** What needs no handler. */
export type LooksAtBases = {
  /**
   * Asks for one, which a runner begins; nothing has happened when it resolves. One of that name
   * and id is found again.
   * @throws CommitUnknownError: it may be recorded; to ask again finds it.
   */
  request(request: BaseRequest): Promise<BaseRequested>;
  /** Takes back one that has not begun. What it is then; undefined: there is none. */
  cancel(of: NamedBase, options?: Signalled): Promise<BaseStatus | undefined>;
  /** Undefined: there is none, or its record has expired. */
  look(of: NamedBase, options?: Signalled): Promise<BaseLook | undefined>;
  /** All that are asked for, and all that are not released. */
  list(options?: ListOptions): Promise<BaseList>;
  /** Lets a parked one go on. Whether there was one. */
  resume(of: NamedBase): Promise<boolean>;
};

export type BaseEngine<Transaction> = LooksAtBases & {
  /**
   * Begins a BASE transaction, and resolves once its first step is committed: from then on it goes
   * on to its end, here or in a runner. One of that name and id that has begun is found again.
   * @throws what the handler throws before that, and whatever a transaction may.
   */
  start(start: BaseStart<Transaction>): Promise<BaseStarted>;
  /**
   * What it returned.
   * @throws BaseRefusedError where it never began, and never will; UnavailableError when the time
   * is up; InvalidRequestError.
   */
  result(
    of: NamedBase,
    options: Signalled & { readonly deadlineMs: number },
  ): Promise<AttributeValue>;
  /** Undefined: there is none, or its record has expired. */
  status(of: NamedBase): Promise<BaseStatus | undefined>;
  /** Begins what is asked for, and goes on with what nobody is at, until it is stopped. */
  run(options: RunnerOptions<Transaction>): Promise<void>;
  /** Stops what runs here, at the end of its step; a runner goes on with it. */
  close(): Promise<void>;
};
