/**
 * A Lambda function behind an HTTP API: one transfer for each request, with structured logs and
 * metrics by Powertools.
 *
 * Idempotency is Tidemark's, not Powertools'. That keeps the answer in a record of its own, beside
 * the work: it is written after the work, and where the function dies in between the next call does
 * the work again. Here the answer is written by the commit that moves the money: either both are
 * there, or neither.
 */
import { Logger } from "@aws-lambda-powertools/logger";
import { Metrics, MetricUnit } from "@aws-lambda-powertools/metrics";
import type {
  APIGatewayProxyEventV2,
  APIGatewayProxyStructuredResultV2,
  Context,
} from "aws-lambda";
import { z } from "zod";
import { createClient } from "../../sdk/index.ts";
import { transferOnce } from "../bank/bank.ts";
import { clientOptionsFrom } from "../client-options.ts";
import { problemHeaders, problemOf, RequestProblem } from "../http/problems.ts";
import { idempotencyKeyOf, parsed, validated } from "../http/requests.ts";

const logger = new Logger({ serviceName: "transfers" });
const metrics = new Metrics({ namespace: "Bank", serviceName: "transfers" });

// Outside of the handler: connections, and what is known of the deployment, are there for the next
// invocation of this environment. Nothing is sent before the first transaction.
const db = createClient({
  ...clientOptionsFrom(process.env),
  onEvent: (event) => {
    if (event.kind !== "attempt-aborted") return;
    metrics.addMetric("AbortedAttempts", MetricUnit.Count, 1);
  },
});

const orderSchema = z
  .object({ source: z.string().min(1), target: z.string().min(1), amountCents: z.int().positive() })
  .refine(({ source, target }) => source !== target, {
    path: ["target"],
    message: "is the source, too",
  });

/**
 * Kept back of the function's time: to answer 503 where the outcome is unknown, in place of dying.
 * The caller's repeat, with the same key, settles it.
 */
const answerMs = 1_000;

export async function handler(
  event: APIGatewayProxyEventV2,
  context: Context,
): Promise<APIGatewayProxyStructuredResultV2> {
  logger.addContext(context);
  metrics.captureColdStartMetric();
  try {
    return await transferred(event, context.getRemainingTimeInMillis() - answerMs);
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status >= 500) logger.error("transfer failed", { error });
    else logger.info("transfer refused", { code: problem.code });
    metrics.addMetric("Problems", MetricUnit.Count, 1);
    const body = JSON.stringify(problem);
    return { statusCode: problem.status, headers: problemHeaders(problem), body };
  } finally {
    metrics.publishStoredMetrics();
  }
}

async function transferred(
  event: APIGatewayProxyEventV2,
  timeMs: number,
): Promise<APIGatewayProxyStructuredResultV2> {
  // An HTTP API gives names of headers in lower case.
  const transferId = idempotencyKeyOf("lambda", event.headers["idempotency-key"]);
  const order = await validated(orderSchema, parsed(bodyOf(event)));
  const deadlineMs = Math.max(1, Math.min(timeMs, 10_000));
  const { result, receipt } = await transferOnce(db, { transferId, ...order }, { deadlineMs });
  if (result.kind === "refused") {
    throw new RequestProblem({ status: 422, code: result.reason, title: "Refused" });
  }
  const { transactionId, attempts, replayed } = receipt;
  metrics.addMetric("Attempts", MetricUnit.Count, attempts);
  logger.info("transferred", { transactionId, attempts, replayed });
  const headers = { "content-type": "application/json" };
  return { statusCode: 201, headers, body: JSON.stringify({ ...result, transferId, replayed }) };
}

function bodyOf({ body = "", isBase64Encoded }: APIGatewayProxyEventV2): string {
  return isBase64Encoded ? Buffer.from(body, "base64").toString() : body;
}
