/** What feeds take, and the checks of it: at hand before a feed is loaded (feed-function.ts). */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Timestamp } from "../core/types.ts";
import { parsePosition } from "../engine/changes/position.ts";
import type {
  ChangesOptions as EngineOptions,
  ConsumeOptions as EngineConsumeOptions,
} from "../engine/changes/types.ts";
import { momentMicros, type Moment } from "./call-options.ts";
import {
  aBoolean,
  aSignal,
  type Check,
  checkOptions,
  type Checks,
  integerIn,
  type LooseCheck,
  oneOf,
} from "./check-options.ts";
import type { AnyTable } from "./table.ts";

export type ChangesOptions = {
  /**
   * Where to begin: behind a position that the feed has given, at a moment, with what is committed
   * from now on, or with the oldest that log and stream still have. More than a minute in the
   * future it is refused. Default `"now"`.
   */
  readonly from?: Moment | string;
  /**
   * Only changes of these tables, of which none may be mixed, or on its way to or from mixed,
   * unless `mixed` takes it. Native writes, and transactions of one item of it alone, are in no
   * log. Default: of all.
   */
  readonly tables?: readonly AnyTable[];
  /**
   * `"only-logged"` takes mixed tables in `tables`, and gives of them only those changes that came
   * through the log. Default `"refuse"`.
   */
  readonly mixed?: "refuse" | "only-logged";
  /**
   * Whether rows say what stood there before, which takes a read of history for each. Of a table
   * without history nobody knows: named in `tables`, it is refused. Default false.
   */
  readonly before?: boolean;
  /** Milliseconds between two looks at a log that showed nothing new. Default 250. */
  readonly pollMs?: number;
  /** Ends the feed: the iterator throws the signal's reason. */
  readonly signal?: AbortSignal;
};

/** A named consumer, whose position the deployment keeps. */
export type ConsumeOptions = Omit<ChangesOptions, "from"> & {
  /** Of the consumer: 1 to 64 letters, digits, dots, dashes and underscores. */
  readonly name: string;
  /** Where it begins for the first time, as in `changes`. Default `"now"`. */
  readonly first?: Moment | string;
  /**
   * `"caught-up"` ends it once all is handled that there is, and at once if another process is at
   * it; `"stopped"` with its signal alone. Default `"stopped"`.
   */
  readonly until?: "stopped" | "caught-up";
};

const aPlace: Check<NonNullable<ChangesOptions["from"]>> = (value) =>
  placeOf(value) === undefined
    ? '"now", "oldest", a date, a commit timestamp, or a position that the feed has given'
    : undefined;

const someTables: Check<readonly AnyTable[]> = (value) =>
  Array.isArray(value) && value.length > 0 && value.every(isTable)
    ? undefined
    : "an array of tables, made by defineTable, and not empty";

const aFeedName: Check<string> = (value) =>
  typeof value === "string" && /^[\w.-]+$/.test(value) && value.length <= limits.feedNameLengthMax
    ? undefined
    : `1 to ${limits.feedNameLengthMax} letters, digits, dots, dashes and underscores`;

const wishChecks = {
  tables: someTables,
  mixed: oneOf("refuse", "only-logged"),
  before: aBoolean,
  pollMs: integerIn({ min: 1, max: limits.changesPollMsMax }),
  signal: aSignal,
};

export const changesChecks = { from: aPlace, ...wishChecks } satisfies Checks<ChangesOptions>;

export const consumeChecks = {
  name: aFeedName,
  first: aPlace,
  until: oneOf("stopped", "caught-up"),
  ...wishChecks,
} satisfies Checks<ConsumeOptions>;

/** @throws InvalidRequestError naming the option that is missing, unknown or wrong. */
export function checkConsumeOptions(
  options: Partial<ConsumeOptions>,
  checks: Readonly<Record<keyof ConsumeOptions, LooseCheck>>,
): asserts options is ConsumeOptions {
  checkOptions("", options, checks);
  if (options.name !== undefined) return;
  throw new InvalidRequestError("name", "a consumer needs a `name`");
}

/** @throws InvalidRequestError where it is no function. */
export function checkHandler(handle: unknown): void {
  if (typeof handle === "function") return;
  throw new InvalidRequestError("handle", "the last argument must be an async function");
}

/** @throws InvalidRequestError as `checkConsumeOptions` does. */
export function engineConsumeOptions(options: ConsumeOptions): EngineConsumeOptions {
  checkConsumeOptions(options, consumeChecks);
  const { name, first = "now", until = "stopped" } = options;
  return { ...wishOf(options), name, until, first: placeOf(first) ?? "now" };
}

export function wishOf(options: Omit<ChangesOptions, "from">): Omit<EngineOptions, "from"> {
  return {
    tables: options.tables?.map(({ name }) => name),
    mixed: options.mixed ?? "refuse",
    before: options.before ?? false,
    pollMs: options.pollMs ?? limits.changesPollMsDefault,
    signal: options.signal,
  };
}

function isTable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "name" in value && "keyNames" in value;
}

/** Undefined for what is none. */
export function placeOf(from: unknown): EngineOptions["from"] | undefined {
  if (from === "now" || from === "oldest") return from;
  if (typeof from !== "string") {
    const micros = momentMicros(from);
    // What is committed at that very timestamp is still to come.
    return micros && { timestamp: (micros - 1) as Timestamp };
  }
  return parsePosition(from);
}
