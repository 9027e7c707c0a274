/** The Lambda function beside a stack: what its caller is told, and what it logs and measures. */
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi, type Mock } from "vitest";
import { type HttpHandler, invoke } from "../../examples/lambda-powertools/invoke.ts";
import sampleEvent from "../../examples/lambda-powertools/sample-event.json" with { type: "json" };
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";

let stack: EmbeddedStack;
let handler: HttpHandler<APIGatewayProxyStructuredResultV2>;
beforeAll(async () => {
  stack = await startEmbeddedStack();
  vi.stubEnv("TIDEMARK_ENDPOINT", stack.endpoint);
  // Logs and metrics by the console that is spied on.
  vi.stubEnv("POWERTOOLS_DEV", "true");
  vi.stubEnv("POWERTOOLS_METRICS_DISABLED", "false");
  vi.stubEnv("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
  ({ handler } = await import("../../examples/lambda-powertools/handler.ts"));
}, 60_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await stack.stop();
});

let logged: Mock;
let said: Mock;
beforeEach(() => {
  logged = vi.spyOn(console, "log").mockImplementation(() => undefined);
  said = vi.spyOn(console, "info").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const linesOf = (mock: Mock): readonly object[] =>
  mock.mock.calls.map(([line]) => JSON.parse(String(line)) as object);

async function call(change: Partial<APIGatewayProxyEventV2> = {}) {
  const { statusCode, body = "", headers } = await invoke(handler, { ...sampleEvent, ...change });
  return { statusCode, headers, json: JSON.parse(body) as unknown };
}

test("the sample event moves money once, however often it comes", async () => {
  const first = await call();
  const { "idempotency-key": key } = sampleEvent.headers;
  const done = { kind: "done", sourceBalanceCents: 93_500, transferId: `lambda#${key}` };
  expect(first).toMatchObject({ statusCode: 201, json: { ...done, replayed: false } });
  const again = await call();
  expect(again).toMatchObject({ statusCode: 201, json: { ...done, replayed: true } });
  expect(linesOf(said)).toMatchObject([
    { message: "transferred", replayed: false, function_name: "transfers", cold_start: true },
    { message: "transferred", replayed: true, cold_start: false },
  ]);
  const metrics = linesOf(logged);
  expect(metrics).toContainEqual(expect.objectContaining({ ColdStart: 1 }));
  expect(metrics).toContainEqual(expect.objectContaining({ Attempts: 1, service: "transfers" }));
});

const order = { source: "emil", target: "dora", amountCents: 1 };

test("a body may come in base64, as gateways send what they take for bytes", async () => {
  const body = Buffer.from(JSON.stringify(order)).toString("base64");
  const headers = { "idempotency-key": "in-base64" };
  expect((await call({ body, headers, isBase64Encoded: true })).statusCode).toBe(201);
});

test("a function whose time is up says that it is not done, and a repeat does it", async () => {
  const headers = { "idempotency-key": "late" };
  const event = { ...sampleEvent, headers, body: JSON.stringify(order) };
  const late = await invoke(handler, event, { timeLimitMs: 0 });
  expect([late.statusCode, late.headers]).toMatchObject([503, { "retry-after": "1" }]);
  expect((await call(event)).statusCode).toBe(201);
});

test.each([
  [{ source: "dora", target: "emil", amountCents: 99_999_999 }, "a", 422, "overdraft"],
  [{ source: "dora", target: "emil" }, "b", 400, "invalid-request"],
  [{ source: "dora", target: "dora", amountCents: 1 }, "c", 400, "invalid-request"],
  [{ source: "dora", target: "emil", amountCents: 1 }, "", 400, "idempotency-key-missing"],
])("%j under the key %j is %i, %s", async (wrong, key, statusCode, code) => {
  const headers = { "idempotency-key": key };
  const answer = await call({ body: JSON.stringify(wrong), headers });
  expect(answer).toMatchObject({ statusCode, json: { code } });
  expect(answer.headers).toMatchObject({ "content-type": "application/problem+json" });
  expect(linesOf(said)).toMatchObject([{ message: "transfer refused", code }]);
  expect(linesOf(logged)).toContainEqual(expect.objectContaining({ Problems: 1 }));
});
