/** `npm run demo` as a user runs it, small and short: what it prints, what survives kills, when it fails. */
import { spawn } from "node:child_process";
import { DynamoDBClient, paginateScan, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { eventually } from "../embedded/fixtures/test-stack.ts";

const script = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));
const small = ["--clients", "2", "--concurrency", "4", "--accounts", "30", "--json"];

type Demo = { readonly code: number | null; readonly output: string; readonly errors: string };

function runDemo(...parameters: readonly string[]): Promise<Demo> {
  const child = spawn(process.execPath, ["--import", "tsx", script, ...parameters], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  return new Promise((resolve) =>
    child.once("close", (code) => {
      resolve({ code, output, errors });
    }),
  );
}

const percentiles = z.strictObject({
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
});
const counts = z.strictObject({ done: z.int(), refused: z.int() });

/** The documented fields, all of them and no others. */
const reportSchema = z.strictObject({
  ok: z.boolean(),
  options: z.looseObject({ seed: z.int(), chaos: z.boolean() }),
  seconds: z.number(),
  commits: z.int(),
  commitsPerSecond: z.number(),
  operations: z.strictObject({
    transfer: counts,
    purchase: counts,
    cancellation: counts,
    report: counts,
  }),
  conflicts: z.int(),
  retries: z.int(),
  counters: z.strictObject({
    earlyConflicts: z.int(),
    oracleConflicts: z.int(),
    otherAborts: z.int(),
    resends: z.int(),
    unknowns: z.int(),
    abortedOperations: z.int(),
    helped: z.int(),
    installsLeft: z.int(),
  }),
  latencyMs: z.strictObject({
    total: percentiles,
    body: percentiles,
    certify: percentiles,
    install: percentiles,
  }),
  reportLatencyMs: percentiles,
  kills: z.array(
    z.strictObject({
      atMs: z.int(),
      target: z.string(),
      pid: z.int(),
      afterSendingMs: z.int().optional(),
    }),
  ),
  audit: z.strictObject({
    faults: z.array(z.string()),
    operations: z.int(),
    acknowledged: z.int(),
    settled: z.strictObject({ committed: z.int(), aborted: z.int() }),
    outcomesSampled: z.int(),
    liveSnapshots: z.strictObject({ balanced: z.int(), givenUp: z.int() }),
    journals: z.string().optional(),
  }),
});

function reportOf({ output, errors }: Demo): z.infer<typeof reportSchema> {
  if (output === "") throw new Error(`the demo has not reported:\n${errors}`);
  return reportSchema.parse(JSON.parse(output));
}

describe("the demo", () => {
  test("audits green without kills, and reports every documented field", async () => {
    const demo = await runDemo(...small, "--seconds", "3", "--seed", "5");
    const report = reportOf(demo);
    expect(report.audit.faults).toEqual([]);
    expect(demo.code).toBe(0);
    expect(report.ok).toBe(true);
    expect(report.commits).toBeGreaterThan(0);
    expect(report.audit.acknowledged).toBeGreaterThan(0);
    expect(report.audit.outcomesSampled).toBeGreaterThan(0);
    expect(report.options.seed).toBe(5);
    expect(report.kills).toEqual([]);
  });

  test("audits green when clients and every function are killed while it runs", async () => {
    const demo = await runDemo(...small, "--seconds", "6", "--seed", "6", "--chaos");
    const report = reportOf(demo);
    expect(report.audit.faults).toEqual([]);
    expect(demo.code).toBe(0);
    const killed = new Set(report.kills.map(({ target }) => target.replace(/ \d+$/, "")));
    expect([...killed].sort()).toEqual(["api", "client", "oracle", "reaper", "replay"]);
    for (const { target, pid } of report.kills) {
      expect(demo.errors).toContain(`kill -9 ${target} (process ${pid.toString()})`);
    }
  });

  test("fails with the fault named when somebody makes money behind its back", async () => {
    const stack = await startEmbeddedStack();
    onTestFinished(() => stack.stop());
    const running = runDemo(...small, "--seconds", "3", "--endpoint", stack.endpoint);
    await makeMoney(stack);
    const demo = await running;
    expect(demo.code).toBe(1);
    const { ok, audit } = reportOf(demo);
    expect(ok).toBe(false);
    expect(audit.faults).toContainEqual(expect.stringMatching(/^money: \d+ cents were paid in/));
    expect(audit.faults).toContainEqual(expect.stringMatching(/^snapshot: ledger: account demo-/));
    expect(audit.journals).toEqual(expect.any(String));
  });

  test.each([
    [["--clients", "0"], /--clients.*whole number from 1 to 64/],
    [["--seconds", "x"], /--seconds.*number from 1 to 3600/],
    [["--accounts", "1"], /--accounts.*whole number from 2 to 5000/],
    [["--endpoint", "here"], /--endpoint.*A URL/],
    [["--endpoint", "http://127.0.0.1:1", "--data", "x"], /--data belongs to a stack/],
    [["--endpoint", "http://127.0.0.1:1"], /no stack answers at http:\/\/127\.0\.0\.1:1\//],
  ])("refuses %s in one line", async (parameters, expected) => {
    const { code, output, errors } = await runDemo(...parameters);
    expect(code).toBe(1);
    expect(output).toBe("");
    expect(errors).toMatch(expected);
    expect(errors).not.toMatch(/^\s+at /m);
  });

  test("--help says what chaos kills and what it cannot", async () => {
    const { code, output } = await runDemo("--help");
    expect(code).toBe(0);
    for (const option of ["--clients", "--concurrency", "--seconds", "--seed", "--chaos", "--json"])
      expect(output).toContain(option);
    expect(output).toMatch(/stores is killed only with --data/);
  });
});

/** A cent for an account of the demo's, by a plain write that no transaction knows of. */
async function makeMoney({ region, endpoints }: EmbeddedStack): Promise<void> {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const client = new DynamoDBClient({ region, endpoint: endpoints.dynamodb, credentials });
  try {
    await eventually(async () => {
      for await (const { Items = [] } of paginateScan({ client }, { TableName: "bank-accounts" })) {
        const id = Items[0]?.["id"];
        if (id === undefined) continue;
        await client.send(
          new UpdateItemCommand({
            TableName: "bank-accounts",
            Key: { id },
            UpdateExpression: "ADD balanceCents :cent",
            ExpressionAttributeValues: { ":cent": { N: "1" } },
          }),
        );
        return true;
      }
      return false;
    });
  } finally {
    client.destroy();
  }
}
