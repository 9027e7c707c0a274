/**
 * The provision function: Terraform invokes it once the stream and the tables exist, and again when
 * the tables, the stream or the retention change. It fills the control table
 * (docs/adr/0007-a-function-fills-the-control-table.md), and closes or opens the stream.
 * Wiring only.
 */
import type { Context } from "aws-lambda";
import { fillControlTable, type FilledControlTable } from "../../aws/fill-control-table.ts";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { parseProvisionEvent } from "./provision-event.ts";

const environment = readFunctionEnvironment(process.env);
const { deployment, logLevel, region, endpoint } = environment;
const observability = createObservability({ role: "provision", deployment, logLevel });

/** What is left for the answer when a stream takes longer to drain. */
const answerMs = 10_000;

export async function handler(
  event: unknown,
  context: Pick<Context, "getRemainingTimeInMillis">,
): Promise<FilledControlTable> {
  try {
    const report = await fillControlTable({
      deployment,
      region,
      endpoint,
      ...parseProvisionEvent(event),
      drainMs: context.getRemainingTimeInMillis() - answerMs,
    });
    observability.log.info("deployment provisioned", report);
    return report;
  } catch (error) {
    observability.log.error("the deployment could not be provisioned", { error });
    throw error;
  }
}
