/** What the client's calls take, `transact`, `snapshot` and `outcome`, and the checks of it. */
import * as limits from "../core/limits.ts";
import type { Timestamp } from "../core/types.ts";
import type { CallBounds, TransactOptions as EngineTransactOptions } from "../engine/types.ts";
import { aSignal, type Check, type Checks, integerIn, isText, oneOf } from "./check-options.ts";

/** What a moment in the past is given by: a date, or microseconds such as a `commitTimestamp`. */
export type Moment = Date | Timestamp | number;

export type TransactOptions = EngineTransactOptions & {
  /**
   * What the call with the idempotency key is for, such as the request's body; the same key with
   * another one is refused. Anything that an item can hold; a digest of it is kept.
   */
  readonly idempotencyRequest?: unknown;
};

/** Either how stale the snapshot may be, or which moment of a table's history it shows. */
export type SnapshotOptions = CallBounds &
  (
    | {
        /** By how much it may be behind what was acknowledged before the call. Default 0. */
        readonly maxStalenessMs?: number;
        readonly asOf?: never;
      }
    | {
        /**
         * The moment that is shown, for tables with history; excludes `maxStalenessMs`. A date
         * means the beginning of its millisecond.
         */
        readonly asOf: Moment;
        readonly maxStalenessMs?: never;
      }
  );

export type OutcomeOptions = Pick<CallBounds, "deadlineMs" | "signal">;

const deadlineMs = integerIn({ min: 1, max: limits.transactionAgeMsMax });
const attemptsMax = integerIn({ min: 1, max: limits.attemptsMax });

const anIdempotencyKey: Check<string> = (value) => {
  const max = limits.idempotencyKeyBytesMax;
  const fits = isText(value) && Buffer.byteLength(value) <= max;
  return fits ? undefined : `a text of 1 to ${max} bytes`;
};

export const transactChecks = {
  isolation: oneOf("serializable", "snapshot"),
  attemptsMax,
  deadlineMs,
  signal: aSignal,
  idempotencyKey: anIdempotencyKey,
  idempotencyRequest: () => undefined,
  ack: oneOf("installed", "certified"),
} satisfies Checks<TransactOptions>;

export const snapshotChecks = {
  maxStalenessMs: integerIn({ min: 0, max: limits.transactionAgeMsMax }),
  asOf: (value) =>
    momentMicros(value) === undefined
      ? "a date, or microseconds since 1970 such as a commit timestamp"
      : undefined,
  attemptsMax,
  deadlineMs,
  signal: aSignal,
} satisfies Checks<SnapshotOptions>;

export const outcomeChecks = { deadlineMs, signal: aSignal } satisfies Checks<OutcomeOptions>;

/** Undefined for what is no moment. */
export function momentMicros(moment: unknown): Timestamp | undefined {
  const micros = moment instanceof Date ? moment.getTime() * 1_000 : moment;
  if (typeof micros !== "number" || !Number.isSafeInteger(micros)) return undefined;
  return micros >= limits.momentMicrosMin ? (micros as Timestamp) : undefined;
}
