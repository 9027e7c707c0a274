/** What a test's cloud and its clients take, and the checks of it. */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import type { CommitPreference, EngineEvent } from "../engine/types.ts";
import {
  aBoolean,
  aFunction,
  anObject,
  type Check,
  type Checks,
  checkOptions,
  integerIn,
  isText,
  oneOf,
} from "../sdk/check-options.ts";
import type { Connection } from "../sdk/client.ts";
import { clientChecks } from "../sdk/client-options.ts";
import type { MarshallOptions } from "../sdk/marshall.ts";
import type { Numbers } from "../sdk/numbers.ts";
import type { AnyTable } from "../sdk/table.ts";
import type { UnknownOutcome } from "./directed-faults.ts";
import { faultNames, type FaultName, type FaultPlan } from "./kernel/faults.ts";
import type { Latency, ServiceName } from "./kernel/service-link.ts";
import type { OracleOptions, TestTable } from "./deployment-options.ts";

export type TestCloudOptions = {
  /** Everything random follows from it. Default 1. */
  readonly seed?: number | string;
  /**
   * Definitions of `defineTable` that name their keys, which are then texts; `testTable` describes
   * any other.
   */
  readonly tables?: readonly (TestTable | AnyTable)[];
  /**
   * Probability of each fault at each of its opportunities; see `faultDescriptions`. Default: none
   * strikes.
   */
  readonly faults?: FaultPlan;
  /** Only so many faults strike, then none: to make a failing run smaller. */
  readonly strikesMax?: number;
  /** How long superseded versions stay readable, on tables with history. Default 1 hour. */
  readonly historyRetentionMs?: number;
  /** How long calls take. Default 2 to 10 ms, some up to 60. */
  readonly latency?: Latency;
  /** How clients commit that do not say it themselves. Default `auto`, as in `createClient`. */
  readonly commit?: CommitPreference;
  /**
   * Tidemark without its stream: every commit is a block that its client appends, and what clients
   * leave is installed within a minute or so. Default false.
   */
  readonly tablesOnly?: boolean;
  /**
   * With `tablesOnly`: whether a function keeps house. False leaves it to the clients that have
   * `housekeeping`. Default true.
   */
  readonly housekeeping?: boolean;
  /**
   * How many shards the deployment has, 1 to 64: each a log with an oracle of its own, all of them
   * carried by one Kinesis shard. Default 1.
   */
  readonly shards?: number;
  /** Whether `splitShard` is called: a history is recorded as of several shards then. */
  readonly maySplit?: boolean;
  /** How the oracle is fed. Default `fan-out`. */
  readonly oracleConsumer?: "fan-out" | "standard";
  /** When an invocation of oracle, replay or reaper is stopped. Default: as deployed. */
  readonly functionTimeLimitMs?: number;
  /**
   * The oracle's own time limit, and how much of the log it reads when it begins anew.
   * @internal
   */
  readonly oracle?: OracleOptions;
  /** Keep every event as a line in `trace`. Default false. */
  readonly keepTrace?: boolean;
  /**
   * Bits of every hash: few, and items collide.
   * @internal
   */
  readonly hashBits?: number;
  /** Record what the clients' transactions read and write, for `history`. Default false. */
  readonly recordHistory?: boolean;
};

export type TestClientOptions = {
  readonly onEvent?: (event: EngineEvent) => void;
  readonly marshall?: MarshallOptions;
  readonly numbers?: Numbers;
  /** As in `createClient`. */
  readonly chaining?: boolean;
  /** As in `createClient`. */
  readonly commit?: CommitPreference;
  /** As in `createClient`. */
  readonly housekeeping?: boolean;
  /** By how much the process's wall clock is wrong. Default: as the fault `clock-skew` says. */
  readonly clockOffsetMs?: number;
  /**
   * Stands between the client and its engine.
   * @internal
   */
  readonly wrapEngine?: (engine: Connection["engine"], clock: Clock) => Connection["engine"];
};

const whole = integerIn({ min: 0, max: Number.MAX_SAFE_INTEGER });

const testCloudChecks = {
  seed: (value) =>
    isText(value) || whole(value) === undefined ? undefined : "a whole number or a text",
  tables: (value) => (Array.isArray(value) ? undefined : "an array of tables"),
  faults: anObject,
  strikesMax: whole,
  shards: integerIn({ min: 1, max: limits.shardsMax }),
  historyRetentionMs: integerIn({
    min: limits.historyRetentionMsMin,
    max: limits.historyRetentionMsMax,
  }),
  latency: aFunction,
  commit: clientChecks.commit,
  tablesOnly: aBoolean,
  maySplit: aBoolean,
  housekeeping: aBoolean,
  oracleConsumer: oneOf("fan-out", "standard"),
  functionTimeLimitMs: (value) =>
    typeof value === "number" && value >= 1 && value <= 15 * 60_000
      ? undefined
      : "a number from 1 to 900000",
  oracle: anObject,
  keepTrace: aBoolean,
  hashBits: integerIn({ min: 1, max: 64 }),
  recordHistory: aBoolean,
} satisfies Checks<TestCloudOptions>;

export const testClientChecks = {
  onEvent: clientChecks.onEvent,
  marshall: clientChecks.marshall,
  numbers: clientChecks.numbers,
  chaining: clientChecks.chaining,
  commit: clientChecks.commit,
  housekeeping: clientChecks.housekeeping,
  clockOffsetMs: (value) => (Number.isFinite(value) ? undefined : "a number"),
  wrapEngine: aFunction,
} satisfies Checks<TestClientOptions>;

/** @throws InvalidRequestError naming the field. */
export function checkTestCloudOptions(options: TestCloudOptions): void {
  checkOptions("", options, testCloudChecks);
  for (const [at, table] of (options.tables ?? []).entries()) {
    // Types are no help to a caller without types.
    if (typeof table === "object" && isText((table as Partial<TestTable> | null)?.name)) continue;
    throw new InvalidRequestError(
      `tables[${at}]`,
      `\`tables[${at}]\` must be what defineTable(name, { key }) or testTable(…) returns`,
    );
  }
  assertDistinct((options.tables ?? []).map(({ name }) => name));
  for (const [name, probability] of Object.entries<unknown>(options.faults ?? {})) {
    if (!faultNames.includes(name as FaultName)) {
      throw new InvalidRequestError(
        `faults.${name}`,
        `is no fault; there are ${faultNames.join(", ")}`,
      );
    }
    if (typeof probability === "number" && probability >= 0 && probability <= 1) continue;
    throw new InvalidRequestError(`faults.${name}`, "is a probability, a number from 0 to 1");
  }
}

function assertDistinct(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new InvalidRequestError("tables", `table "${twice}" is named twice; keep one`);
}

const positive: Check<number> = (value) =>
  typeof value === "number" && value > 0 && Number.isFinite(value) ? undefined : "a number above 0";
const aDuration: Check<number> = (value) =>
  typeof value === "number" && value >= 0 && Number.isFinite(value)
    ? undefined
    : "a number of milliseconds, 0 or more";

/** What is ordered of a cloud or a process, under the names of the arguments. */
const orderChecks = {
  service: oneOf<ServiceName>("dynamodb", "kinesis"),
  durationMs: aDuration,
  limitMs: aDuration,
  factor: positive,
  times: integerIn({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  outcome: oneOf<UnknownOutcome>("committed", "aborted"),
  clocks: oneOf<"run" | "stand">("run", "stand"),
  act: aFunction,
  react: aFunction,
} as const;

/**
 * @param optional those that may be left out.
 * @throws InvalidRequestError naming the argument.
 */
export function checkOrder(
  given: { readonly [Name in keyof typeof orderChecks]?: unknown },
  optional: readonly (keyof typeof orderChecks)[] = [],
): void {
  checkOptions("", given, orderChecks);
  for (const name of Object.keys(given) as (keyof typeof orderChecks)[]) {
    if (given[name] !== undefined || optional.includes(name)) continue;
    throw new InvalidRequestError(name, `\`${name}\` must be ${orderChecks[name](undefined)}`);
  }
}

/** @throws InvalidRequestError: for the promise of a call, time would not pass from its start. */
export function checkRun(body: unknown, options: unknown): void {
  checkOptions("", options, { limitMs: aDuration });
  if (typeof body === "function") return;
  throw new InvalidRequestError("body", "`run` takes a function: cloud.run(() => db.transact(…))");
}
