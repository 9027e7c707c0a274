/** The demo's journals and its plan of kills: what the audit and the chaos stand on. */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { planKills } from "../../examples/demo/chaos.ts";
import { Journal, type JournalEntry, readJournals } from "../../examples/demo/journal.ts";
import type { Operation } from "../../examples/demo/operations.ts";

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
    expect(readJournals(folder)).toEqual([
      { operation: operation("a"), transactionIds: ["t0", "t1"], acknowledged, aborted: false },
      { operation: operation("b"), transactionIds: [], acknowledged: undefined, aborted: true },
      {
        operation: operation("c"),
        transactionIds: ["t2"],
        acknowledged: undefined,
        aborted: false,
      },
      { operation: operation("d"), transactionIds: [], acknowledged: undefined, aborted: false },
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
        acknowledged: undefined,
        aborted: false,
      },
    ]);
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
  const targets = ["client", "oracle", "replay", "reaper", "api"];

  test("follows from the seed, and from nothing else", () => {
    const plan = (seed: number) => planKills({ seed, seconds: 30, clients: 4, targets });
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
  });

  test.each([1, 2, 3, 4, 5])(
    "names every target, in order and within the run (seed %i)",
    (seed) => {
      const plan = planKills({ seed, seconds: 4, clients: 2, targets });
      expect(new Set(plan.map(({ target }) => target))).toEqual(new Set(targets));
      const moments = plan.map(({ atMs }) => atMs);
      expect(moments).toEqual([...moments].sort((one, other) => one - other));
      expect(moments.every((atMs) => atMs >= 400 && atMs <= 3_600)).toBe(true);
      expect(plan.every(({ client }) => client === 0 || client === 1)).toBe(true);
    },
  );
});
