/**
 * Observability as deployed functions have it: structured logs, and metrics that CloudWatch picks
 * out of the log (embedded metric format).
 */
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics as EmbeddedMetrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type { ShardId } from "../../core/types.ts";
import type { MetricName } from "./metric-names.ts";
import type { LogLevel, Observability } from "./observability.ts";
import { shardMetrics } from "./shard-metrics.ts";

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
  const newMetrics = (): EmbeddedMetrics =>
    new EmbeddedMetrics({
      namespace: metricNamespace,
      serviceName,
      defaultDimensions: { deployment: options.deployment },
    });
  const embedded = newMetrics();
  const byShard = new Map<ShardId, EmbeddedMetrics>();
  const metricsOf = (name: MetricName, shard: ShardId | undefined): EmbeddedMetrics => {
    if (shard === undefined || !shardMetrics.has(name)) return embedded;
    const own = byShard.get(shard) ?? newMetrics();
    byShard.set(shard, own);
    return own;
  };
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
      count(name, value, shard) {
        metricsOf(name, shard).addMetric(name, MetricUnit.Count, value);
      },
      milliseconds(name, value, shard) {
        metricsOf(name, shard).addMetric(name, MetricUnit.Milliseconds, value);
      },
      bytes(name, value, shard) {
        metricsOf(name, shard).addMetric(name, MetricUnit.Bytes, value);
      },
    },
    flush() {
      // Publishing nothing is a warning to Powertools; an idle invocation is no reason for one.
      if (embedded.hasStoredMetrics()) embedded.publishStoredMetrics();
      for (const [shard, own] of byShard) {
        if (!own.hasStoredMetrics()) continue;
        // One line, and two sets of dimensions: CloudWatch counts it for all and for the shard.
        own.addDimensions({}).addDimensions({ shard });
        own.publishStoredMetrics();
      }
    },
  };
}
