/**
 * What services tell operators: structured logs and metrics. Services take the interface; only
 * handlers make the real one (powertools-observability.ts), so whoever runs a service otherwise
 * needs no package for it.
 */
import type { MetricOf } from "./metric-names.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export type Log = {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
};

/** Names as in metric-names.ts, each with the unit that it has. */
export type Metrics = {
  count(name: MetricOf<"Count">, value: number): void;
  milliseconds(name: MetricOf<"Milliseconds">, value: number): void;
  bytes(name: MetricOf<"Bytes">, value: number): void;
};

export type Observability = { readonly log: Log; readonly metrics: Metrics };

export const logLevels = ["DEBUG", "INFO", "WARN", "ERROR", "SILENT"] as const;
export type LogLevel = (typeof logLevels)[number];
