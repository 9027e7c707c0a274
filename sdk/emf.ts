/**
 * `tidemark/emf`, an entry of its own: events as CloudWatch metrics: one line of embedded metric
 * format (EMF) per event that counts. On Lambda a line on standard output is all that CloudWatch
 * needs. Metric names are API; what identifies one transaction (ids, keys) is a property of the
 * line, for Logs Insights, and never a dimension.
 * @module tidemark/emf
 */
import { systemClock } from "../aws/system.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Item } from "../core/types.ts";
import type { EngineEvent, Receipt } from "../engine/types.ts";
import {
  aFunction,
  aText,
  type Checks,
  checkOptions,
  isPlainObject,
  isText,
} from "./check-options.ts";
import { emfLine } from "./emf-line.ts";

const units = {
  /** Transactions that committed writes. */
  Commits: "Count",
  /** Transactions and snapshots that ended well without anything to commit. */
  ReadOnly: "Count",
  /** Calls answered by an earlier one with the same idempotency key. */
  Replays: "Count",
  /** Runs of the body that a commit or read-only end took. */
  Attempts: "Count",
  /** Runs of a body that ended without a commit, whatever the reason. */
  Aborts: "Count",
  /** Those of them that met a conflict, with table and key as properties. */
  Conflicts: "Count",
  /** Those of the conflicts that cost no round trip to the oracle. */
  EarlyConflicts: "Count",
  /** Commit requests sent again, unseen by the application. */
  Resends: "Count",
  UnknownOutcomes: "Count",
  /** Writes of other clients' transactions installed by a reader here. */
  HelpedWrites: "Count",
  /** Commits whose installs were left to replay. */
  InstallsLeft: "Count",
  /** The store refused this process's blocks: it commits by the stream. */
  ExpressDenied: "Count",
  /** Turns of this process at keeping house that ended well, and those that did not. */
  HouseTurns: "Count",
  HouseTurnsFailed: "Count",
  Latency: "Milliseconds",
  RetryTime: "Milliseconds",
  BodyTime: "Milliseconds",
  CertifyTime: "Milliseconds",
  InstallTime: "Milliseconds",
  ReadUnits: "Count",
  WriteUnits: "Count",
  Calls: "Count",
} as const;

/** Names of the metrics that `emfMetrics` writes. Stable. */
export type MetricName = keyof typeof units;
export const metricNames = Object.keys(units) as readonly MetricName[];

export type EmfOptions = {
  /** CloudWatch namespace. */
  readonly namespace: string;
  /** Takes one line of JSON, without a line end: `console.log` on Lambda. */
  readonly sink: (line: string) => void;
  /** Dimensions of every metric, such as `{ service: "orders" }`. Default: none. */
  readonly dimensions?: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. Default: the machine's clock. */
  readonly nowMs?: () => number;
};

export const emfChecks = {
  namespace: aText,
  sink: aFunction,
  dimensions: (value) =>
    isPlainObject(value) && Object.keys(value).length <= limits.metricDimensionsMax
      ? undefined
      : `an object of at most ${limits.metricDimensionsMax} texts`,
  nowMs: aFunction,
} satisfies Checks<EmfOptions>;

type Line = {
  readonly metrics: Partial<Record<MetricName, number>>;
  readonly properties?: Readonly<Record<string, string>>;
};

/**
 * A listener for `createClient({ onEvent })`.
 * @example
 * import { emfMetrics } from "tidemark/emf";
 * const onEvent = emfMetrics({ namespace: "Shop", sink: console.log });
 * const db = createClient({ deployment: "prod", onEvent });
 * @throws InvalidRequestError naming the option.
 */
export function emfMetrics(options: EmfOptions): (event: EngineEvent) => void {
  checkOptions("", options, emfChecks);
  for (const field of ["namespace", "sink"] as const) {
    if ((options[field] as unknown) !== undefined) continue;
    throw new InvalidRequestError(field, `metrics need \`${field}\``);
  }
  for (const [name, value] of Object.entries(options.dimensions ?? {}) as [string, unknown][]) {
    const field = `dimensions.${name}`;
    if (!isText(value)) throw new InvalidRequestError(field, `\`${field}\` must be a text`);
  }
  const { namespace, sink, dimensions = {}, nowMs = () => systemClock.nowMs() } = options;
  return (event) => {
    const line = lineOf(event);
    if (line === undefined) return;
    const counted = Object.entries(line.metrics) as [MetricName, number][];
    const metrics = counted.map(([name, value]) => ({ name, unit: units[name], value }));
    sink(emfLine({ namespace, dimensions, nowMs: nowMs() }, metrics, line.properties));
  };
}

function lineOf(event: EngineEvent): Line | undefined {
  switch (event.kind) {
    case "call-started":
    case "attempt-started":
    case "body-ended":
    case "certified":
    case "joined":
    case "installed":
    case "call-failed":
      return undefined;
    case "express-denied":
      return failed("ExpressDenied", event);
    case "house-kept":
      return { metrics: { HouseTurns: 1 } };
    case "housekeeping-failed":
      return failed("HouseTurnsFailed", event);
    case "attempt-aborted":
      return abortLine(event);
    case "sent":
      return event.resend ? counted("Resends", 1, event) : undefined;
    case "committed":
      return endLine(event.receipt);
    case "unknown":
      return counted("UnknownOutcomes", 1, event);
    case "helped":
      return counted("HelpedWrites", event.writes, event);
    case "install-left":
      return counted("InstallsLeft", 1, event);
  }
}

function counted(
  name: MetricName,
  value: number,
  { transactionId }: { readonly transactionId: string },
): Line {
  return { metrics: { [name]: value }, properties: { transactionId } };
}

/** With what was the matter, which no metric says. */
function failed(name: MetricName, { cause }: { readonly cause: unknown }): Line {
  const text = cause instanceof Error ? cause.message : String(cause);
  return { metrics: { [name]: 1 }, properties: { cause: text } };
}

function abortLine(event: Extract<EngineEvent, { kind: "attempt-aborted" }>): Line {
  const { reason, detail, transactionId } = event;
  const properties = {
    reason,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(detail?.table === undefined ? {} : { table: detail.table }),
    ...(detail?.key === undefined ? {} : { key: keyOf(detail.key) }),
  };
  if (reason !== "conflict") return { metrics: { Aborts: 1 }, properties };
  const early = event.early ? { EarlyConflicts: 1 } : {};
  return { metrics: { Aborts: 1, Conflicts: 1, ...early }, properties };
}

function endLine({ transactionId, attempts, phases, consumed, ...receipt }: Receipt): Line {
  const { retryMs, bodyMs, certifyMs, installMs } = phases;
  const end: MetricName = receipt.replayed
    ? "Replays"
    : receipt.commitTimestamp === undefined
      ? "ReadOnly"
      : "Commits";
  return {
    metrics: {
      [end]: 1,
      Attempts: attempts,
      Latency: retryMs + bodyMs + certifyMs + installMs,
      RetryTime: retryMs,
      BodyTime: bodyMs,
      CertifyTime: certifyMs,
      InstallTime: installMs,
      ReadUnits: consumed.readUnits,
      WriteUnits: consumed.writeUnits,
      Calls: consumed.calls,
    },
    ...(transactionId === undefined ? {} : { properties: { transactionId } }),
  };
}

function keyOf(key: Item): string {
  return Object.entries(key)
    .map(([name, value]) => {
      if ("S" in value) return `${name}=${value.S}`;
      if ("N" in value) return `${name}=${value.N}`;
      return `${name}=${"B" in value ? Buffer.from(value.B).toString("base64") : ""}`;
    })
    .join(",");
}
