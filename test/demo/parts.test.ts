/** The demo's journals and its plan of kills: what the audit and the chaos stand on. */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { processErrorLinesMax } from "../../localstack/limits.ts";
import { countKills, missedKills, planKills } from "../../demo/chaos.ts";
import { Journal, type JournalEntry, lastEntry, readJournals } from "../../demo/journal.ts";
import type { Operation } from "../../demo/operations.ts";
import { ProcessLogs } from "../../demo/process-logs.ts";
import { orphanFaults } from "../../demo/settle.ts";

function journalFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tidemark-journal-"));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

const operation = (id: string): Operation => ({ kind: "cancellation", id, orderId: "o" });
const intent = (id: string): JournalEntry => ({ kind: "intent", operation: operation(id) });
const sent = (id: string, transactionId: string): JournalEntry => ({
  kind: "sent",
  id,
  transactionId,
});

function write(
  folder: string,
  life: { client: number; life: number },
  ...entries: readonly JournalEntry[]
): void {
  const journal = new Journal(folder, life);
  for (const entry of entries) journal.append(entry);
  journal.close();
}

test("a commit that its client knew of is lost unless it stands, under that very id", () => {
  const orphan = { operation: operation("o-1"), certifiedId: "c" };
  expect(orphanFaults(orphan, ["a", "c"])).toEqual([]);
  expect(orphanFaults({ ...orphan, certifiedId: undefined }, [])).toEqual([]);
  for (const committed of [[], ["repeated"]]) {
    expect(orphanFaults(orphan, committed)).toEqual([
      "lost: o-1 was certified as c, and is not committed",
    ]);
  }
});

describe("a journal", () => {
  test("tells acknowledged, aborted and open operations apart", () => {
    const folder = journalFolder();
    const acknowledged = { transactionId: "t1", commitTimestamp: 5, done: true };
    write(
      folder,
      { client: 0, life: 1 },
      intent("a"),
      sent("a", "t0"),
      sent("a", "t1"),
      { kind: "acknowledged", id: "a", ...acknowledged },
      intent("b"),
      { kind: "aborted", id: "b", code: "conflict" },
      intent("c"),
      sent("c", "t2"),
      intent("d"),
      { kind: "unknown", id: "d" },
    );
    const open = { transactionIds: [], certifiedId: undefined, acknowledged: undefined };
    expect(readJournals(folder)).toEqual([
      {
        ...{ ...open, operation: operation("a"), transactionIds: ["t0", "t1"] },
        ...{ acknowledged, aborted: false },
      },
      { ...open, operation: operation("b"), aborted: true },
      { ...open, operation: operation("c"), transactionIds: ["t2"], aborted: false },
      { ...open, operation: operation("d"), aborted: false },
    ]);
  });

  test("keeps an operation open when only its second life knows that it was aborted", () => {
    const folder = journalFolder();
    write(folder, { client: 3, life: 1 }, intent("a"), sent("a", "t1"));
    write(folder, { client: 3, life: 2 }, intent("a"), sent("a", "t2"), {
      kind: "aborted",
      id: "a",
      code: "unavailable",
    });
    expect(readJournals(folder)).toEqual([
      {
        operation: operation("a"),
        transactionIds: ["t1", "t2"],
        certifiedId: undefined,
        acknowledged: undefined,
        aborted: false,
      },
    ]);
  });

  test("ends with the decision that its client did not live to install", () => {
    const folder = journalFolder();
    const life = { client: 2, life: 1 };
    write(folder, life, intent("a"), sent("a", "t1"), intent("b"), sent("b", "t2"), {
      kind: "certified",
      id: "a",
      transactionId: "t1",
    });
    expect(lastEntry(folder, life)?.kind).toBe("certified");
    const [a, b] = readJournals(folder);
    expect(a).toMatchObject({ certifiedId: "t1", acknowledged: undefined, aborted: false });
    expect(b).toMatchObject({ certifiedId: undefined, aborted: false });
  });

  test("is read up to a line that a kill has cut short", () => {
    const folder = journalFolder();
    write(folder, { client: 0, life: 1 }, intent("a"));
    appendFileSync(join(folder, "client-000-life-0001.jsonl"), '{"kind":"acknow');
    expect(readJournals(folder).map(({ operation: { id } }) => id)).toEqual(["a"]);
  });

  test("that is damaged in the middle is refused", () => {
    const folder = journalFolder();
    write(folder, { client: 0, life: 1 }, intent("a"));
    appendFileSync(join(folder, "client-000-life-0001.jsonl"), '{"kind":"ack\n');
    expect(() => readJournals(folder)).toThrow();
  });

  test("of one client is read without the others'", () => {
    const folder = journalFolder();
    write(folder, { client: 1, life: 1 }, intent("a"));
    write(folder, { client: 10, life: 1 }, intent("b"));
    expect(readJournals(folder, 1).map(({ operation: { id } }) => id)).toEqual(["a"]);
  });
});

describe("a plan of kills", () => {
  const kinds = ["client", "client-at-decision", "oracle", "replay", "reaper", "api"];

  test("follows from the seed, and from nothing else", () => {
    const plan = (seed: number) => planKills({ seed, seconds: 30, clients: 4, kinds });
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  test.each([1, 2, 3, 4, 5])("has every kind, in order and within the run (seed %i)", (seed) => {
    const plan = planKills({ seed, seconds: 4, clients: 2, kinds });
    expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(kinds));
    const moments = plan.map(({ atMs }) => atMs);
    expect(moments).toEqual([...moments].sort((one, other) => one - other));
    expect(moments.every((atMs) => atMs >= 400 && atMs <= 3_600)).toBe(true);
    expect(plan[0]?.afterOperations).toBe(1);
    expect(plan.every(({ afterOperations }) => afterOperations <= 8)).toBe(true);
    expect(plan.every(({ client }) => client === 0 || client === 1)).toBe(true);
  });

  test("says which kinds never struck", () => {
    const done = { atMs: 1, pid: 1, target: "client 0", afterSendingMs: undefined };
    const struck = countKills(kinds.slice(0, 3), [
      { ...done, kind: "client" },
      { ...done, kind: "client" },
      { ...done, kind: "oracle", target: "oracle" },
    ]);
    expect(struck).toEqual({ client: 2, "client-at-decision": 0, oracle: 1 });
    expect(missedKills(struck)).toEqual([
      'no kill of the kind "client-at-decision" could strike: this run says nothing about it',
    ]);
    expect(missedKills({ client: 1 })).toEqual([]);
  });
});

describe("the logs of a run's processes", () => {
  const record = () => {
    const said: string[] = [];
    return { said, logs: new ProcessLogs((line) => said.push(line)) };
  };

  test("keep each process's last lines, and pass errors on at once", () => {
    const { said, logs } = record();
    const log = logs.stackLog().child({ process: "oracle" });
    for (let line = 0; line <= processErrorLinesMax; line += 1) log.warn(`slow ${line.toString()}`);
    expect(said).toEqual([]);
    log.error({ err: new Error("broken") }, "batch failed");
    const lines = logs.last()["oracle"] ?? [];
    expect(lines).toHaveLength(processErrorLinesMax);
    expect(said[0]).toMatch(/error oracle .*batch failed/);
    expect(said.join("\n")).toContain("Error: broken");
    expect(lines.slice(-said.length)).toEqual(said);
  });

  test("show what a client has said before it ended", async () => {
    const { said, logs } = record();
    const output = new PassThrough();
    logs.follow("client 3", output);
    output.end("one\ntwo\n");
    await finished(output);
    await vi.waitFor(() => {
      expect(said).toEqual(["client 3: one", "client 3: two"]);
    });
    expect(logs.text()).toBe("  Last lines of client 3:\n    one\n    two\n");
  });
});
