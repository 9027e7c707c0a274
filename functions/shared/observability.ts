/**
 * What services tell operators: structured logs, and metrics that CloudWatch picks out of the log
 * (embedded metric format). Services take the interface; only handlers make the real one.
 */
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics as EmbeddedMetrics, MetricUnit } from "@aws-lambda-powertools/metrics";

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

const metricNamespace = "Tidemark";

export type FunctionObservability = Observability & {
  /** Writes out the invocation's metrics; call it at the end of each. */
  flush(): void;
};

/** @param options.role the function's, such as "oracle": it names the service in logs and metrics. */
export function createObservability(options: {
  readonly role: string;
  readonly deployment: string;
  readonly logLevel: LogLevel;
}): FunctionObservability {
  const serviceName = `tidemark-${options.role}`;
  const logger = new Logger({
    serviceName,
    logLevel: options.logLevel,
    persistentKeys: { deployment: options.deployment },
  });
  const embedded = new EmbeddedMetrics({
    namespace: metricNamespace,
    serviceName,
    defaultDimensions: { deployment: options.deployment },
  });
  return {
    log: {
      debug(message, fields = {}) {
        logger.debug(message, fields);
      },
      info(message, fields = {}) {
        logger.info(message, fields);
      },
      warn(message, fields = {}) {
        logger.warn(message, fields);
      },
      error(message, fields = {}) {
        logger.error(message, fields);
      },
    },
    metrics: {
      count(name, value) {
        embedded.addMetric(name, MetricUnit.Count, value);
      },
      milliseconds(name, value) {
        embedded.addMetric(name, MetricUnit.Milliseconds, value);
      },
      bytes(name, value) {
        embedded.addMetric(name, MetricUnit.Bytes, value);
      },
    },
    flush() {
      // Publishing nothing is a warning to Powertools; an idle invocation is no reason for one.
      if (embedded.hasStoredMetrics()) embedded.publishStoredMetrics();
    },
  };
}
