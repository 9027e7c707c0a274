/** `npm run demo -- --chaos` beside native programs, BASE transactions, and shards that change. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { checkBaseHistory } from "../../testing/checker/check-base.ts";
import {
  parseFinalState,
  parseLines,
  parseTransaction,
  parseVersionOrder,
} from "../../testing/history/parse.ts";
import { type History, historyFiles } from "../../testing/history/types.ts";
import { expectGreen, runDemo, small } from "./run-demo.ts";

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
});

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
});

test("audits green when a shard is split and joined in the middle of the kills", async () => {
  const run = ["--shards", "2", "--chaos", "--seconds", "4", "--seed", "5"];
  const demo = await runDemo(...small, ...run);
  const report = expectGreen(demo);
  expect(report.shardChanges).toEqual({ splits: 1, joins: 1 });
  expect(demo.errors).toContain("shard 0 is split: shard 2 has the upper half of its range");
  expect(demo.errors).toContain("shard 2 is joined to shard 0");
});

function readHistory(folder: string): History {
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    transactions: [...parseLines(text(historyFiles.transactions), parseTransaction)],
    versionOrder: [...parseLines(text(historyFiles.versionOrder), parseVersionOrder)],
    finalState: [...parseLines(text(historyFiles.finalState), parseFinalState)],
  };
}
