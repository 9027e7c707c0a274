/**
 * The oracle as a Lambda function behind a Kinesis mapping: one batch at a time per shard, retried
 * without end. A failed invocation acknowledges nothing, so the whole batch comes again.
 */
import type { Context, KinesisStreamEvent } from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import * as limits from "../../core/limits.ts";
import { beforeDeadline } from "../shared/before-deadline.ts";
import { carriedBatches, handleEach } from "../shared/carried-batches.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { parseKinesisEvent, type ShardBatch } from "../shared/kinesis-event.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { createOracleService } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "oracle", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });
const { log, control, clock, random, digest } = ports;
const service = createOracleService({ log, control, clock, random, digest, observability });

export async function handler(event: KinesisStreamEvent, context: Context): Promise<void> {
  try {
    const batch = parseKinesisEvent(event);
    if (batch === undefined) return;
    const remainingMs = (): number => context.getRemainingTimeInMillis();
    const bounds = { clock, remainingMs: remainingMs(), marginMs: limits.invocationMarginMs };
    await beforeDeadline(bounds, async (signal) => {
      const { records } = batch;
      const ownersOf = (again: boolean) =>
        ports.shardOwners.ownersOf(batch.shard, { again, signal });
      const batches = await carriedBatches(control, { ownersOf, records }, { signal });
      if (batches.length === 0) rejectAll(batch);
      await handleEach(batches, async (each) => {
        const report = await service.handle(each, { remainingMs, signal });
        observability.log.debug("batch certified", { shard: each.shard, ...report });
      });
    });
  } catch (error) {
    observability.log.error("batch has to be delivered again", { error });
    throw error;
  } finally {
    observability.flush();
  }
}

/** Records beside the deployment's hash key: no client of it sends them there. */
function rejectAll({ shard, records }: ShardBatch): void {
  observability.metrics.count("RejectedRecords", records.length);
  observability.log.error("records of a Kinesis shard that carries no shard were skipped", {
    kinesisShard: shard,
    records: records.length,
    from: records[0]?.sequenceNumber,
  });
}
