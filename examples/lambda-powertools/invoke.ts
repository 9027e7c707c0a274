/** What Lambda does: calls the handler with an event, and a context that counts its time down. */
import type { APIGatewayProxyEventV2, Context } from "aws-lambda";

export type HttpHandler<Result> = (
  event: APIGatewayProxyEventV2,
  context: Context,
) => Promise<Result>;

export async function invoke<Result>(
  handler: HttpHandler<Result>,
  event: APIGatewayProxyEventV2,
  { timeLimitMs = 15_000 }: { readonly timeLimitMs?: number } = {},
): Promise<Result> {
  const startedMs = Date.now();
  const functionName = "transfers";
  return handler(event, {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:${functionName}`,
    memoryLimitInMB: "256",
    awsRequestId: event.requestContext.requestId,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: "local",
    getRemainingTimeInMillis: () => timeLimitMs - (Date.now() - startedMs),
    // Its three functions for callbacks are of another age: a handler returns, or throws.
  } as Context);
}
