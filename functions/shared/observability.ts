/**
 * What services tell operators: structured logs and metrics. Services take the interface; only
 * handlers make the real one (powertools-observability.ts), so whoever runs a service otherwise
 * needs no package for it.
 */
import type { ShardId } from "../../core/types.ts";
import type { MetricOf } from "./metric-names.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export type Log = {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
};

/**
 * Names as in metric-names.ts, each with the unit that it has. With a shard those of
 * shard-metrics.ts are written for that one as well as for all; others are not.
 */
export type Metrics = {
  count(name: MetricOf<"Count">, value: number, shard?: ShardId): void;
  milliseconds(name: MetricOf<"Milliseconds">, value: number, shard?: ShardId): void;
  bytes(name: MetricOf<"Bytes">, value: number, shard?: ShardId): void;
};

export type Observability = { readonly log: Log; readonly metrics: Metrics };

export const logLevels = ["DEBUG", "INFO", "WARN", "ERROR", "SILENT"] as const;
export type LogLevel = (typeof logLevels)[number];
