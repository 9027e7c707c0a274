/**
 * Observability as deployed functions have it: structured logs, and metrics that CloudWatch picks
 * out of the log (embedded metric format).
 */
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics as EmbeddedMetrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { LogLevel, Observability } from "./observability.ts";

const metricNamespace = "Tidemark";

export type FunctionObservability = Observability & {
  /** Writes out the invocation's metrics; call it at the end of each. */
  flush(): void;
};

/**
 * @param options.role the function's, such as "oracle": it names the service in logs and metrics.
 */
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
