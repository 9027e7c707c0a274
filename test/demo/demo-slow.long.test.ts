/** `npm run demo -- --chaos` on stores that are slow: none of its kinds of kills is left out. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { expectGreen, runDemo } from "./run-demo.ts";
import { startFaultyProxy } from "../harness/faulty-proxy.ts";

test("strikes with every kind of kill however slow everything is", async () => {
  const demo = await runDemo(
    ...["--clients", "2", "--concurrency", "1", "--accounts", "2", "--json", "--chaos"],
    ...["--seconds", "1", "--seed", "6", "--endpoint", await slowStack(150)],
  );
  const report = expectGreen(demo);
  expect(Object.keys(report.killed).sort()).toEqual(["client", "client-at-decision"]);
  expect(Math.min(...Object.values(report.killed))).toBeGreaterThan(0);
  expect(report.missed).toEqual([]);
  // It went on for as long as that took.
  expect(report.seconds).toBeGreaterThan(2);
});

/** The address of a stack whose stores take so long for each request. */
async function slowStack(delayMs: number): Promise<string> {
  const stack = await startEmbeddedStack();
  onTestFinished(() => stack.stop());
  const { dynamodb, kinesis } = stack.endpoints;
  const proxies = await Promise.all(
    [dynamodb, kinesis].map((endpoint) => startFaultyProxy(endpoint, delayMs)),
  );
  const [slowDynamodb, slowKinesis] = proxies.map(({ url }) => url);
  const { deployment, region } = stack;
  const description = {
    ...{ deployment, region },
    endpoints: { dynamodb: slowDynamodb, kinesis: slowKinesis },
  };
  const front = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(description));
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await new Promise((resolve) => front.close(resolve));
  });
  return `http://127.0.0.1:${(front.address() as AddressInfo).port.toString()}`;
}
