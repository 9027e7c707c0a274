/**
 * Calls a Lambda handler as Lambda does: one context per invocation, with the time that is left.
 * The handler is the very file that is deployed.
 */
import { randomUUID } from "node:crypto";
import type { Context } from "aws-lambda";

/** What a function may ask of its invocation; without the callbacks that only old runtimes have. */
export type InvocationContext = Omit<Context, "done" | "fail" | "succeed">;

export type Handler = (event: unknown, context: InvocationContext) => Promise<unknown>;

export type FunctionIdentity = {
  readonly name: string;
  readonly region: string;
  readonly invocationMsMax: number;
};

/** The account that LocalStack and every other stand-in uses. */
export const localAccountId = "000000000000";

/** @throws Error when the module has no `handler`. */
export function handlerOf(module: unknown, file: string): Handler {
  const handler: unknown =
    typeof module === "object" && module !== null && "handler" in module
      ? module.handler
      : undefined;
  if (typeof handler !== "function") throw new Error(`${file} exports no function "handler"`);
  return async (event, context) =>
    (await Reflect.apply(handler, undefined, [event, context])) as unknown;
}

export function invocationContext(identity: FunctionIdentity): InvocationContext {
  const startMs = performance.now();
  const { name, region, invocationMsMax } = identity;
  return {
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:${region}:${localAccountId}:function:${name}`,
    memoryLimitInMB: "1024",
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: "local",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, invocationMsMax - (performance.now() - startMs)),
  };
}

/** What EventBridge sends to a function on a schedule. */
export function scheduledEvent(rule: string, region: string): unknown {
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: localAccountId,
    time: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    region,
    resources: [`arn:aws:events:${region}:${localAccountId}:rule/${rule}`],
    detail: {},
  };
}
