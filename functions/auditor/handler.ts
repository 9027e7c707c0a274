/**
 * The auditor as a Lambda function behind the streams of mixed tables. It calls nobody, and holds
 * nothing: a batch that comes again is counted again.
 */
import type { DynamoDBStreamEvent } from "aws-lambda";
import { readFunctionEnvironment } from "../shared/environment.ts";
import { createObservability } from "../shared/powertools-observability.ts";
import { auditWrites } from "./service.ts";
import { parseTableStreamEvent } from "./table-stream-event.ts";

const { deployment, logLevel } = readFunctionEnvironment(process.env);
const observability = createObservability({ role: "auditor", deployment, logLevel });

export function handler(event: DynamoDBStreamEvent): Promise<void> {
  try {
    auditWrites(parseTableStreamEvent(event), observability);
    return Promise.resolve();
  } catch (error) {
    observability.log.error("writes could not be audited", { error });
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  } finally {
    observability.flush();
  }
}
