/**
 * Replay as a Lambda function: behind a Kinesis mapping that reports partial batches, and on a schedule that sweeps
 * every shard, so that the watermark moves on even when the stream is silent after a crash.
 */
import type {
  Context,
  EventBridgeEvent,
  KinesisStreamBatchResponse,
  KinesisStreamEvent,
} from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { parseKinesisEvent } from "../shared/kinesis-event.ts";
import { createObservability } from "../shared/observability.ts";
import { createReplayService, type ReplayBatch } from "./service.ts";

type ReplayEvent = KinesisStreamEvent | EventBridgeEvent<string, unknown>;

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint, historyRetentionMs } = environment;
const observability = createObservability({ role: "replay", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint, historyRetentionMs });
const service = createReplayService(ports, observability);

export async function handler(
  event: ReplayEvent,
  context: Context,
): Promise<KinesisStreamBatchResponse> {
  const budget = { remainingMs: () => context.getRemainingTimeInMillis() };
  try {
    const unfinished: string[] = [];
    for (const batch of await batchesOf(event)) {
      const { unfinishedFrom, watermark } = await service.handle(batch, budget);
      observability.log.debug("log replayed", { shard: batch.shard, watermark, unfinishedFrom });
      if (unfinishedFrom !== undefined) unfinished.push(unfinishedFrom);
    }
    return { batchItemFailures: unfinished.map((itemIdentifier) => ({ itemIdentifier })) };
  } catch (error) {
    observability.log.error("batch has to be delivered again", { error });
    throw error;
  } finally {
    observability.flush();
  }
}

async function batchesOf(event: ReplayEvent): Promise<readonly ReplayBatch[]> {
  if ("Records" in event) {
    const batch = parseKinesisEvent(event);
    return batch === undefined ? [] : [batch];
  }
  return (await ports.control.shards()).map((shard) => ({ shard, records: [] }));
}
