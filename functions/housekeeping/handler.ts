/**
 * Replay and reaper as one Lambda function on a schedule, where there is no stream to wake replay.
 * Whatever a run leaves undone the next one finds.
 */
import type { Context, ScheduledEvent } from "aws-lambda";
import { createAwsPorts } from "../../aws/ports.ts";
import * as limits from "../../core/limits.ts";
import { createReplayService } from "../replay/service.ts";
import { beforeDeadline } from "../shared/before-deadline.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { keepHouse } from "./service.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "housekeeping", deployment, logLevel });
const ports = createAwsPorts({ deployment, region, endpoint });
const replay = createReplayService(ports, observability);

export async function handler(_event: ScheduledEvent, context: Context): Promise<void> {
  const remainingMs = (): number => context.getRemainingTimeInMillis();
  try {
    await beforeDeadline(
      { clock: ports.clock, remainingMs: remainingMs(), marginMs: limits.invocationMarginMs },
      async (signal) => {
        const report = await keepHouse({ ports, replay, observability }, { remainingMs, signal });
        observability.log.debug("house kept", report);
      },
    );
  } catch (error) {
    observability.log.error("a part of the house could not be kept", { error });
    throw error;
  } finally {
    observability.flush();
  }
}
