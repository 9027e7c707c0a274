/**
 * `npm run demo` as a user runs it, small and short: what it prints, what survives kills, when it
 * fails.
 */
import { spawn } from "node:child_process";
import {
  type AttributeValue,
  DynamoDBClient,
  paginateScan,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { takeSnapshot } from "../../demo/snapshot.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { checkBaseHistory } from "../../testing/checker/check-base.ts";
import {
  parseFinalState,
  parseLines,
  parseTransaction,
  parseVersionOrder,
} from "../../testing/history/parse.ts";
import { type History, historyFiles } from "../../testing/history/types.ts";
import { eventually } from "../embedded/fixtures/test-stack.ts";
import { startFaultyProxy } from "../harness/faulty-proxy.ts";

const script = fileURLToPath(new URL("../../demo/main.ts", import.meta.url));
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
  shardChanges: z.strictObject({ splits: z.int(), joins: z.int() }).optional(),
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
      kind: z.string(),
      target: z.string(),
      pid: z.int(),
      afterSendingMs: z.int().optional(),
    }),
  ),
  killed: z.record(z.string(), z.int()),
  missed: z.array(z.string()),
  native: z
    .strictObject({
      sold: z.int(),
      unheard: z.int(),
      refused: z.int(),
      restocks: z.int(),
      kills: z.int(),
    })
    .optional(),
  base: z
    .strictObject({
      given: z.int(),
      givenBack: z.int(),
      takenOver: z.int(),
      atOnce: z.int(),
      refused: z.int(),
      audits: z.strictObject({ acid: z.int(), snapshot: z.int(), givenUp: z.int() }),
      kills: z.record(z.string(), z.int()),
    })
    .optional(),
  lastLines: z.record(z.string(), z.array(z.string())).optional(),
  audit: z.strictObject({
    faults: z.array(z.string()),
    operations: z.int(),
    acknowledged: z.int(),
    settled: z.strictObject({ committed: z.int(), aborted: z.int() }),
    orphaned: z.int(),
    outcomesSampled: z.int(),
    liveSnapshots: z.strictObject({ balanced: z.int(), givenUp: z.int() }),
    journals: z.string().optional(),
  }),
});

function reportOf({ output, errors }: Demo): z.infer<typeof reportSchema> {
  if (output === "") throw new Error(`the demo has not reported:\n${errors}`);
  return reportSchema.parse(JSON.parse(output));
}

const errorLinesShown = 60;

/**
 * A failure says what the audit found and what each process said last: it may not happen again
 * soon.
 */
function expectGreen(demo: Demo): z.infer<typeof reportSchema> {
  const { code, errors } = demo;
  const report = reportOf(demo);
  const { faults } = report.audit;
  const evidence = JSON.stringify({ code, faults, lastLines: report.lastLines }, undefined, 2);
  const lastErrors = errors.split("\n").slice(-errorLinesShown).join("\n");
  expect(report.ok && code === 0, `${evidence}\n${lastErrors}`).toBe(true);
  expect(faults).toEqual([]);
  return report;
}

describe("the demo", () => {
  test("audits green without kills, and reports every documented field", async () => {
    const demo = await runDemo(...small, "--seconds", "3", "--seed", "5");
    const report = expectGreen(demo);
    expect(report.commits).toBeGreaterThan(0);
    expect(report.audit.acknowledged).toBeGreaterThan(0);
    expect(report.audit.outcomesSampled).toBeGreaterThan(0);
    expect(report.options.seed).toBe(5);
    expect(report.kills).toEqual([]);
  });

  test("audits green when clients, functions and native programs are killed", async () => {
    const mixed = ["--clients", "3", "--commit", "mixed"];
    const seeded = ["--seed", "6", "--native"];
    const demo = await runDemo(...small, ...mixed, "--seconds", "6", ...seeded, "--chaos");
    const report = expectGreen(demo);
    // Units that are gone were sold, and no fence is left.
    expect(report.native?.restocks).toBeGreaterThan(0);
    expect(report.native?.sold).toBeGreaterThan(0);
    const kinds = ["api", "client", "client-at-decision", "oracle", "reaper", "replay"];
    expect(Object.keys(report.killed).sort()).toEqual(kinds);
    const struck = Object.values(report.killed);
    expect(Math.min(...struck)).toBeGreaterThan(0);
    expect(struck.reduce((sum, count) => sum + count, 0)).toBe(report.kills.length);
    for (const { kind, target, pid } of report.kills) {
      const aimed = kind === "client-at-decision" ? ", between decision and install" : "";
      expect(demo.errors).toContain(`kill -9 ${target} (process ${pid.toString()})${aimed}`);
    }
    // Who died knowing of a commit has left it to others; its next life may be one of them.
    expect(report.audit.orphaned).toBe(report.killed["client-at-decision"]);
  }, 240_000);

  test("audits green when BASE transactions are killed between steps", async () => {
    const history = mkdtempSync(join(tmpdir(), "tidemark-base-history-"));
    onTestFinished(() => {
      rmSync(history, { recursive: true, force: true });
    });
    // A stack that is not the demo's: its functions live on, which makes the run a short one.
    const stack = await startEmbeddedStack();
    onTestFinished(() => stack.stop());
    const few = ["--clients", "1", "--concurrency", "1", "--accounts", "4", "--json"];
    const run = ["--seconds", "1", "--seed", "6", "--base", "--chaos", "--history", history];
    const demo = await runDemo(...few, ...run, "--endpoint", stack.endpoint);
    const report = expectGreen(demo);
    const { given, takenOver, audits, kills } = report.base!;
    expect(given).toBeGreaterThan(0);
    expect(takenOver).toBeGreaterThan(0);
    expect(audits.acid + audits.snapshot).toBeGreaterThan(0);
    for (const role of ["teller", "runner"]) expect(kills[`${role} taken`]).toBeGreaterThan(0);
    const written = readHistory(history);
    expect(written.transactions.filter(({ parent }) => parent !== undefined)).not.toEqual([]);
    const { findings } = checkBaseHistory(written, { strict: true });
    expect(findings).toEqual([]);
  }, 240_000);

  test("audits green when a shard is split and joined in the middle of the kills", async () => {
    const run = ["--shards", "2", "--chaos", "--seconds", "4", "--seed", "5"];
    const demo = await runDemo(...small, ...run);
    const report = expectGreen(demo);
    expect(report.shardChanges).toEqual({ splits: 1, joins: 1 });
    expect(demo.errors).toContain("shard 0 is split: shard 2 has the upper half of its range");
    expect(demo.errors).toContain("shard 2 is joined to shard 0");
  }, 240_000);

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
  }, 240_000);

  test("fails with the fault named when somebody makes money behind its back", async () => {
    const stack = await startEmbeddedStack();
    onTestFinished(() => stack.stop());
    // By the stream: who has a block reads the balance there, and overwrites what is made then.
    const way = ["--commit", "stream"];
    const running = runDemo(...small, ...way, "--seconds", "3", "--endpoint", stack.endpoint);
    await makeMoney(stack);
    const demo = await running;
    expect(demo.code).toBe(1);
    const { ok, audit } = reportOf(demo);
    expect(ok).toBe(false);
    expect(audit.faults).toContainEqual(expect.stringMatching(/^money: \d+ cents were paid in/));
    expect(audit.faults).toContainEqual(expect.stringMatching(/^snapshot: ledger: account demo-/));
    expect(audit.journals).toEqual(expect.any(String));
  });

  test("shows the last words of clients that ended by themselves", async () => {
    const stack = await startEmbeddedStack();
    onTestFinished(() => stack.stop());
    // By the stream, as above: else nobody reads the account from its table.
    const few = ["--clients", "2", "--concurrency", "4", "--accounts", "2", "--commit", "stream"];
    const running = runDemo(...few, "--seconds", "4", "--endpoint", stack.endpoint);
    await changeAccount(stack, { expression: "SET #v = :value", value: { S: "none" } });
    const { code, errors } = await running;
    expect(code).toBe(1);
    expect(errors).toMatch(/^FAULT: client \d ended by itself: exit code 1$/m);
    expect(errors).toMatch(/^ {2}Last lines of client \d:\n {4}/m);
    expect(errors).toMatch(/^ {4}.*CorruptDataError/m);
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

  test("takes the programs of all its processes from one build of the sources", async () => {
    const { command, client, stack } = await takeSnapshot();
    const programs = [command, client, stack.stores, stack.host, ...stack.handlers.values()];
    expect([...stack.handlers.keys()].sort()).toEqual([
      ...["api", "housekeeping", "oracle", "reaper", "replay", "splitter"],
    ]);
    expect(new Set(programs).size).toBe(10);
    expect(new Set(programs.map((program) => dirname(program))).size).toBe(1);
    for (const program of programs) expect(existsSync(program)).toBe(true);
  });

  test("--help says what chaos kills and what it cannot", async () => {
    const { code, output } = await runDemo("--help");
    expect(code).toBe(0);
    for (const option of ["--clients", "--concurrency", "--seconds", "--seed", "--chaos", "--json"])
      expect(output).toContain(option);
    expect(output).toMatch(/stores is killed only with --data/);
  });
});

function readHistory(folder: string): History {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    transactions: [...parseLines(text(historyFiles.transactions), parseTransaction)],
    versionOrder: [...parseLines(text(historyFiles.versionOrder), parseVersionOrder)],
    finalState: [...parseLines(text(historyFiles.finalState), parseFinalState)],
  };
}

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

/** A cent for an account of the demo's. */
function makeMoney(stack: EmbeddedStack): Promise<void> {
  return changeAccount(stack, { expression: "ADD balanceCents :value", value: { N: "1" } });
}

/**
 * Changes an account of the demo's, by a plain write that no transaction knows of. `#v` stands for
 * its version.
 */
async function changeAccount(
  { region, endpoints }: EmbeddedStack,
  change: { readonly expression: string; readonly value: AttributeValue },
): Promise<void> {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const client = new DynamoDBClient({ region, endpoint: endpoints.dynamodb, credentials });
  const { expression, value } = change;
  try {
    await eventually(async () => {
      for await (const { Items = [] } of paginateScan({ client }, { TableName: "bank-accounts" })) {
        const id = Items.map((item) => item["id"]).find((key) => key?.S?.startsWith("demo-"));
        if (id === undefined) continue;
        await client.send(
          new UpdateItemCommand({
            TableName: "bank-accounts",
            Key: { id },
            UpdateExpression: expression,
            ...(expression.includes("#v") ? { ExpressionAttributeNames: { "#v": "_v" } } : {}),
            ExpressionAttributeValues: { ":value": value },
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
