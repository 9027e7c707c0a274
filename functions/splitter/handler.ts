/**
 * The splitter as a Lambda function on a schedule: there where `auto_split` says so. What a run
 * does not come to, the next one does.
 */
import type { Context, ScheduledEvent } from "aws-lambda";
import { createAwsClients } from "../../aws/clients.ts";
import { awsPortsOn } from "../../aws/ports.ts";
import { splitPartsOn } from "../../aws/split-on-aws.ts";
import * as limits from "../../core/limits.ts";
import { beforeDeadline } from "../shared/before-deadline.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { readSplitPolicy } from "./policy.ts";
import { createSplitterService } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const policy = readSplitPolicy(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "splitter", deployment, logLevel });
const clients = createAwsClients({ region, endpoint });
const ports = awsPortsOn(clients, { deployment, region, endpoint });
const { log, control, clock } = ports;
const splitParts = () => splitPartsOn(clients, ports);
const service = createSplitterService({ log, control, clock, splitParts, policy, observability });

export async function handler(_event: ScheduledEvent, context: Context): Promise<void> {
  const remainingMs = (): number => context.getRemainingTimeInMillis();
  try {
    await beforeDeadline(
      { clock, remainingMs: remainingMs(), marginMs: limits.invocationMarginMs },
      async (signal) => {
        const report = await service.run({ remainingMs, signal });
        observability.log.debug("shards looked through", report);
      },
    );
  } catch (error) {
    observability.log.error("the shards' load could not be looked through", { error });
    throw error;
  } finally {
    observability.flush();
  }
}
