/** The command that judges recorded histories: what it prints, and how it exits. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { serializeLines, serializeTransaction } from "../../testing/history/serialize.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import { during, tx } from "../testing/history-builder.ts";

const folder = mkdtempSync(join(tmpdir(), "tidemark-history-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, transactions: readonly HistoryTransaction[]): void {
  mkdirSync(join(folder, name), { recursive: true });
  const text = serializeLines(transactions, serializeTransaction);
  writeFileSync(join(folder, name, "transactions.jsonl"), text);
}

function run(...parameters: readonly string[]) {
  const command = ["--import", "tsx", "scripts/check-history.ts", ...parameters];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
  return { status, stdout, stderr };
}

const write1 = tx("a", "r x -, w x 1", during(1, 5));

test("exits with 0 for a legal history, with 1 for a stale read if --strict", () => {
  write("one", [write1, tx("b", "r x -", during(6, 7))]);
  const file = join(folder, "one", "transactions.jsonl");
  expect(run(file)).toMatchObject({ status: 0 });
  const { status, stdout } = run(join(folder, "one"), "--strict");
  expect(status).toBe(1);
  expect(stdout).toContain("stale read: a read missed what had been acknowledged before");
  expect(stdout).toContain("b read x = nothing, before a overwrote it as x1 (rw)");
});

test("judges every history below a folder, by the files that each has", () => {
  write("many/first", [write1]);
  write("many/second", [write1]);
  const order = join(folder, "many", "second", "version-order.jsonl");
  writeFileSync(order, '{"key":"x","versions":[]}\n');
  const { status, stdout } = run(join(folder, "many"));
  expect(status).toBe(1);
  expect(stdout).toContain("lost write");
  expect(stdout).toContain("2 histories, 1 findings");
});

test("exits with 2 and names file, line and field of what cannot be read", () => {
  write("bad", [write1]);
  writeFileSync(join(folder, "bad", "final-state.jsonl"), '{"key":"x"}\n');
  const { status, stderr } = run(join(folder, "bad"));
  expect(status).toBe(2);
  expect(stderr).toContain("final-state.jsonl: line 1, version: is missing");
});
