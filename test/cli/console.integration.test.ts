/** `tidemark console`, and the console of `tidemark start`, as programs. */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { About } from "../../console/wire.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { eventually, started, tidemark } from "./fixtures/command-line.ts";

const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;

let stack: EmbeddedStack;

beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: false });
}, 60_000);

afterAll(async () => {
  await stack.stop();
});

async function about(url: string): Promise<About> {
  return (await (await fetch(new URL("/api/about", url))).json()) as About;
}

async function takenPort(): Promise<number> {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

test("it serves until it is stopped, tells where, and only reads", async () => {
  const at = ["--endpoint", stack.endpoint, "--port", "0"];
  const running = started(["console", ...at, "--json"]);
  const out = await eventually(async () => (running.out() === "" ? undefined : running.out()));
  const { url } = JSON.parse(out) as { url: string };
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{32}$/);
  expect(await about(url)).toMatchObject({ deployment: "local", canBreak: false, tables: [] });
  running.stop();
  expect(await running.ended).toBe(0);
  await expect(fetch(url)).rejects.toThrow();
});

test("a port that is taken is told where it was asked for", async () => {
  const port = (await takenPort()).toString();
  const { code, err } = await tidemark(["console", "--endpoint", stack.endpoint, "--port", port]);
  expect([code, err]).toEqual([1, expect.stringContaining(`port ${port} is in use`)]);
  expect((await tidemark(["console", "--port", "65536"])).code).toBe(2);
});

test("what is no stack is told by the page, which stays", async () => {
  const nowhere = `http://127.0.0.1:${await takenPort()}`;
  const running = started(["console", "--endpoint", nowhere, "--port", "0", "--json"]);
  const out = await eventually(async () => (running.out() === "" ? undefined : running.out()));
  const { url } = JSON.parse(out) as { url: string };
  expect((await fetch(url)).status).toBe(200);
  running.stop();
  expect(await running.ended).toBe(0);
});

test("start has one beside the stack, which makes faults, and ends with it", async () => {
  const ports = ["--api-port", "0", "--dynamodb-port", "0", "--kinesis-port", "0"];
  const start = ["start", ...ports, "--console-port", "0", "--json", "--no-sample-tables"];
  const child = spawn(process.execPath, ["--import", loader, script, ...start], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const line = await eventually(async () => (out.includes("\n") ? out : undefined));
  const { console: url } = JSON.parse(line) as { console: string };
  expect(await about(url)).toMatchObject({ canBreak: true });
  const token = url.split("#token=")[1] ?? "";
  const order = await fetch(new URL("/api/faults", url), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ act: "traffic", clients: 1, keys: 4 }),
  });
  // Its clients work on the sample tables.
  expect([order.status, await order.text()]).toEqual([
    400,
    expect.stringContaining("--no-sample-tables"),
  ]);
  const frozen = await fetch(new URL("/api/faults", url), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ act: "freeze", process: "replay" }),
  });
  expect(frozen.status).toBe(200);
  // One that stands still is let go on, and stops in order with the others.
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});
