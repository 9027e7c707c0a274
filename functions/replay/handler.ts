/**
 * Replay as a Lambda function: behind a Kinesis mapping that reports partial batches, and on a
 * schedule that sweeps every shard, so that the watermark moves on even when the stream is silent
 * after a crash.
 */
import type {
  Context,
  EventBridgeEvent,
  KinesisStreamBatchResponse,
  KinesisStreamEvent,
} from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import * as limits from "../../core/limits.ts";
import { beforeDeadline } from "../shared/before-deadline.ts";
import { carriedBatches, handleEach } from "../shared/carried-batches.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import { parseKinesisEvent } from "../shared/kinesis-event.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { createReplayService, type ReplayBatch } from "./service.ts";

type ReplayEvent = KinesisStreamEvent | EventBridgeEvent<string, unknown>;
const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "replay", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });
const service = createReplayService(ports, observability);

export async function handler(
  event: ReplayEvent,
  context: Context,
): Promise<KinesisStreamBatchResponse> {
  const remainingMs = (): number => context.getRemainingTimeInMillis();
  const bounds = {
    clock: ports.clock,
    remainingMs: remainingMs(),
    marginMs: limits.invocationMarginMs,
  };
  try {
    const unfinished = await beforeDeadline(bounds, (signal) =>
      replay(event, { remainingMs, signal }),
    );
    return { batchItemFailures: unfinished.map((itemIdentifier) => ({ itemIdentifier })) };
  } catch (error) {
    observability.log.error("batch has to be delivered again", { error });
    throw error;
  } finally {
    observability.flush();
  }
}

/** Returns where each batch has to be delivered again from. */
async function replay(event: ReplayEvent, budget: InvocationBudget): Promise<readonly string[]> {
  const ends = await handleEach(await batchesOf(event, budget), async (batch) => {
    const { unfinishedFrom, watermark } = await service.handle(batch, budget);
    observability.log.debug("log replayed", { shard: batch.shard, watermark, unfinishedFrom });
    return unfinishedFrom;
  });
  return ends.filter((from) => from !== undefined);
}

async function batchesOf(
  event: ReplayEvent,
  budget: InvocationBudget,
): Promise<readonly ReplayBatch[]> {
  if ("Records" in event) {
    const batch = parseKinesisEvent(event);
    if (batch === undefined) return [];
    const call = callOptions(budget);
    const ownersOf = (again: boolean) =>
      ports.shardOwners.ownersOf(batch.shard, { again, ...call });
    // The oracle counts records that belong to no shard.
    return carriedBatches(ports.control, { ownersOf, records: batch.records }, call);
  }
  return (await ports.control.shards(callOptions(budget))).map((shard) => ({ shard, records: [] }));
}
