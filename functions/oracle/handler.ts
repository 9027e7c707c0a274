/**
 * The oracle as a Lambda function behind a Kinesis mapping: one batch at a time per shard, retried
 * without end. A failed invocation acknowledges nothing, so the whole batch comes again.
 */
import type { Context, KinesisStreamEvent } from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { parseKinesisEvent } from "../shared/kinesis-event.ts";
import { createObservability } from "../shared/observability.ts";
import { createOracleService } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "oracle", deployment, logLevel });
const { log, control, clock } = createAwsPorts({ deployment, region, endpoint });
const service = createOracleService({ log, control, clock, observability });

export async function handler(event: KinesisStreamEvent, context: Context): Promise<void> {
  try {
    const batch = parseKinesisEvent(event);
    if (batch === undefined) return;
    const report = await service.handle(batch, {
      remainingMs: () => context.getRemainingTimeInMillis(),
    });
    observability.log.debug("batch certified", { shard: batch.shard, ...report });
  } catch (error) {
    observability.log.error("batch has to be delivered again", { error });
    throw error;
  } finally {
    observability.flush();
  }
}
