/**
 * The reaper as a Lambda function on a schedule. Whatever it leaves undone the next run finds, so
 * only a run that cannot begin fails.
 */
import type { Context, ScheduledEvent } from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import * as limits from "../../core/limits.ts";
import { beforeDeadline } from "../shared/before-deadline.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { reap } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "reaper", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });

export async function handler(_event: ScheduledEvent, context: Context): Promise<void> {
  const remainingMs = (): number => context.getRemainingTimeInMillis();
  try {
    await beforeDeadline(
      { clock: ports.clock, remainingMs: remainingMs(), marginMs: limits.invocationMarginMs },
      (signal) => reap({ ports, observability, budget: { remainingMs, signal } }),
    );
  } catch (error) {
    observability.log.error("tombstones could not be looked through", { error });
    throw error;
  } finally {
    observability.flush();
  }
}
