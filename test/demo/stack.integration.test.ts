/**
 * `npm run demo` as a user runs it, small and short: what it prints, what survives kills, when it
 * fails.
 */
import {
  type AttributeValue,
  DynamoDBClient,
  paginateScan,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { takeSnapshot } from "../../demo/snapshot.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { expectGreen, reportOf, runDemo, small } from "./run-demo.ts";
import { eventually } from "../embedded/fixtures/test-stack.ts";

describe("the demo", () => {
  test("audits green without kills, and reports every documented field", async () => {
    const demo = await runDemo(...small, "--seconds", "1", "--seed", "5");
    const report = expectGreen(demo);
    expect(report.commits).toBeGreaterThan(0);
    expect(report.audit.acknowledged).toBeGreaterThan(0);
    expect(report.audit.outcomesSampled).toBeGreaterThan(0);
    expect(report.options.seed).toBe(5);
    expect(report.kills).toEqual([]);
  });

  test("fails with the fault named when somebody makes money behind its back", async () => {
    const stack = await startEmbeddedStack();
    onTestFinished(() => stack.stop());
    // By the stream: who has a block reads the balance there, and overwrites what is made then.
    const way = ["--commit", "stream"];
    const running = runDemo(...small, ...way, "--seconds", "2", "--endpoint", stack.endpoint);
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
    const running = runDemo(...few, "--seconds", "3", "--endpoint", stack.endpoint);
    await changeAccount(stack, { expression: "SET #v = :value", value: { S: "none" } });
    const { code, errors } = await running;
    expect(code).toBe(1);
    expect(errors).toMatch(/^FAULT: client \d ended by itself: exit code 1$/m);
    expect(errors).toMatch(/^ {2}Last lines of client \d:\n {4}/m);
    expect(errors).toMatch(/^ {4}.*CorruptDataError/m);
  });

  test.each([
    [["--clients", "0"], /--clients.*whole number from 1 to 64/],
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
