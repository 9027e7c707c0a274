/** What a recorded engine writes down, and that its clients notice nothing. */
import { describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../core/errors.ts";
import type { Item, TransactionId } from "../../core/types.ts";
import type { ClientEngine } from "../../engine/types.ts";
import { checkHistory } from "../../testing/checker/check-history.ts";
import { HistoryRecorder } from "../../testing/history/recorder.ts";
import { recordingEngine } from "../../testing/history/recording-engine.ts";
import type { RecordingOptions } from "../../testing/history/recording-options.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";
import type { Transaction } from "../../sdk/transaction.ts";
import type { MemoryEngineOptions } from "../sdk/fixtures/memory-engine.ts";
import { accounts, bareAccounts, lines, openShop } from "../sdk/fixtures/shop.ts";

function open(
  options: Partial<RecordingOptions> = {},
  engineOptions: Partial<MemoryEngineOptions> = {},
) {
  let now = 0;
  const written: HistoryTransaction[] = [];
  const intents: HistoryTransaction[] = [];
  const recorder = new HistoryRecorder({
    nowNs: () => (now += 1),
    emit: (transaction) => written.push(transaction),
    emitIntent: (transaction) => intents.push(transaction),
  });
  const wrap = (engine: ClientEngine): ClientEngine =>
    recordingEngine(engine, recorder, { process: "p", ...options });
  const { engine } = openShop(engineOptions);
  const recorded = wrap(engine);
  const { db } = openShop(engineOptions, {
    connect: () => Promise.resolve({ engine: recorded, close: () => Promise.resolve() }),
  });
  return { db, engine, recorded, recorder, written, intents };
}

async function putOne(tx: Transaction): Promise<void> {
  tx.put(bareAccounts, "a", { balanceCents: 1 });
  return Promise.resolve();
}

const a = 'accounts["a"]';
const b = 'accounts["b"]';

describe("a recorded engine", () => {
  test("gives bodies the items they put, and stores a version with each", async () => {
    const { db, engine, recorder } = open();
    await db.transact(async (tx) => {
      tx.put(bareAccounts, "a", { balanceCents: 5 });
      expect(await tx.get(bareAccounts, "a")).toEqual({ id: "a", balanceCents: 5 });
    });
    const row = await db.snapshot((snapshot) => snapshot.get(bareAccounts, "a"));
    expect(row).toEqual({ id: "a", balanceCents: 5 });
    expect(engine.stored("accounts", { id: { S: "a" } })?.["_h"]).toEqual({ S: "p:1.1" });
    expect(recorder.transactions.map(({ ops, status }) => [status, ...ops])).toEqual([
      ["commit", ["w", a, "p:1.1"], ["r", a, "p:1.1"]],
      ["commit", ["r", a, "p:1.1"]],
    ]);
  });

  test("records timestamps, isolation and times of what committed", async () => {
    const { db, engine, recorder } = open();
    await db.transact({ isolation: "snapshot" }, async (tx) => {
      await tx.get(bareAccounts, "b");
      tx.put(bareAccounts, "a", { balanceCents: 5 });
    });
    const [only] = recorder.transactions;
    expect(only).toMatchObject({
      ...{ id: "p:1", process: "p", kind: "txn", isolation: "snapshot", commitTs: engine.newest },
      ops: [
        ["r", b, null],
        ["w", a, "p:1.1"],
      ],
    });
    expect(only?.start).toBeLessThan(only?.end ?? 0);
  });

  test("records a run that met a conflict as an abort, with what it had read", async () => {
    const { db, engine, recorder } = open();
    let runs = 0;
    await db.transact(async (tx) => {
      runs += 1;
      await tx.get(bareAccounts, "a");
      if (runs === 1) {
        await engine.transact({}, (other) => {
          other.put("accounts", { id: { S: "a" }, balanceCents: { N: "1" }, _h: { S: "other" } });
          return Promise.resolve();
        });
      }
      tx.put(bareAccounts, "b", { balanceCents: 1 });
    });
    const [first, second] = recorder.transactions;
    expect([first?.status, second?.status]).toEqual(["abort", "commit"]);
    expect(first?.ops).toEqual([
      ["r", a, null],
      ["w", b, "p:1.1"],
    ]);
    expect(second?.ops[0]).toEqual(["r", a, "other"]);
    expect(second?.start).toBeGreaterThan(first?.start ?? 0);
  });

  test("records a body that throws as an abort, and passes its error on", async () => {
    const { db, recorder } = open();
    const own = new CommitUnknownError("of another transaction", "0".repeat(32) as TransactionId);
    const body = (): Promise<never> => Promise.reject(own);
    await expect(db.transact(body)).rejects.toBe(own);
    expect(recorder.transactions.map(({ status }) => status)).toEqual(["abort"]);
  });

  test.each(["lose-answer", "lose-request"] as const)(
    "holds an unknown outcome back until it is settled: %s",
    async (fault) => {
      const { db, recorder, written, intents } = open({}, { commitFault: () => fault });
      const error: unknown = await db.transact(putOne).catch((reason: unknown) => reason);
      expect(written).toEqual([]);
      expect(intents.map(({ id, status }) => [id, status])).toEqual([["p:1", "unknown"]]);
      const { transactionId } = error as CommitUnknownError;
      const outcome = await db.outcome(transactionId);
      const status = outcome === "committed" ? "commit" : "abort";
      expect(written.map((each) => each.status)).toEqual([status]);
      expect(status).toBe(fault === "lose-answer" ? "commit" : "abort");
      // An outcome says nothing of installs: native readers may not see it yet.
      expect(written[0]?.installed).toBe(false);
      expect(recorder.finish()).toHaveLength(1);
    },
  );

  test("leaves unknown what is never settled, and aborts what was never sent", async () => {
    const { db, recorder } = open({}, { commitFault: () => "lose-answer" });
    await db.transact(putOne).catch(() => undefined);
    const open2 = recorder.begin({
      ...{ process: "q", kind: "txn", isolation: "serializable", startNs: 1 },
    });
    open2.push(["w", a, open2.nextVersion()]);
    const sent = recorder.begin({
      ...{ process: "q", kind: "txn", isolation: "serializable", startNs: 1 },
    });
    sent.push(["w", b, sent.nextVersion()]);
    sent.bodyEnded();
    recorder.abandon("q");
    expect(recorder.finish().map(({ id, status }) => [id, status])).toEqual([
      ["q:1", "abort"],
      ["q:2", "unknown"],
      ["p:1", "unknown"],
    ]);
  });

  test("does not take the replay of an idempotent call for a transaction", async () => {
    const { db, recorder } = open();
    const once = () =>
      db.transact({ idempotencyKey: "k" }, (tx) => {
        tx.put(bareAccounts, "a", { balanceCents: 1 });
        return Promise.resolve("done");
      });
    await once();
    await once();
    expect(recorder.finish().map(({ status }) => status)).toEqual(["commit"]);
  });

  test("records rows of queries and scans, and the absence of what they did not find", async () => {
    const universe = ["1", "2", "3", "9"].map((line) => ({
      table: "lines",
      key: { order: { S: "o" }, line: { N: line } } satisfies Item,
    }));
    const { db, recorder } = open({ universe }, { pageRows: 2 });
    const at = (line: number): string => `lines["o",${line}]`;
    await db.transact((tx) => {
      tx.put(lines, { order: "o", line: 1 }, { sku: "s" });
      tx.put(lines, { order: "o", line: 3 }, { sku: "s" });
      return Promise.resolve();
    });
    await db.transact(async (tx) => {
      tx.put(lines, { order: "o", line: 2 }, { sku: "own" });
      await tx.query(lines, { where: { order: "o", line: { between: [1, 5] } } }).all();
    });
    expect(recorder.transactions[1]?.ops).toEqual([
      ["w", at(2), "p:2.1"],
      ["r", at(1), "p:1.1"],
      ["r", at(2), "p:2.1"],
      ["r", at(3), "p:1.2"],
    ]);
    await db.snapshot((snapshot) => snapshot.scan(lines).all());
    expect(recorder.transactions[2]?.ops).toEqual([
      ["r", at(1), "p:1.1"],
      ["r", at(2), "p:2.1"],
      ["r", at(3), "p:1.2"],
      ["r", at(9), null],
    ]);
  });

  test("reads that a body starts beside a write count where it started them", async () => {
    const { db, recorder } = open();
    await db.transact(async (tx) => {
      const before = tx.get(bareAccounts, "a");
      tx.put(bareAccounts, "a", { balanceCents: 1 });
      const after = tx.get(bareAccounts, "a");
      await Promise.all([before, after]);
    });
    expect(recorder.transactions[0]?.ops).toEqual([
      ["r", a, null],
      ["w", a, "p:1.1"],
      ["r", a, "p:1.1"],
    ]);
    expect(check(recorder)).toEqual([]);
  });

  test("names what was there before, once, at the end", async () => {
    const { db, engine, recorder } = open();
    await engine.transact({}, (tx) => {
      tx.put("accounts", { id: { S: "a" }, balanceCents: { N: "1" } });
      return Promise.resolve();
    });
    await db.snapshot((snapshot) => snapshot.get(accounts, { id: "a" }));
    await db.snapshot((snapshot) => snapshot.get(accounts, { id: "a" }));
    const last = recorder.finish().at(-1);
    expect(last).toMatchObject({ kind: "init", ops: [["w", a, `initial ${a}`]], start: 0, end: 0 });
    expect(check(recorder)).toEqual([]);
  });

  test("records deletions and appends as such, and refuses its own attribute", async () => {
    const { db, recorded, recorder } = open({ appendTables: ["lines"] });
    await db.transact((tx) => {
      tx.put(lines, { order: "o", line: 1 }, { sku: "s" });
      tx.delete(accounts, { id: "a" });
      return Promise.resolve();
    });
    expect(recorder.transactions[0]?.ops).toEqual([
      ["a", 'lines["o",1]', "p:1.1"],
      ["d", a, "p:1.2"],
    ]);
    const body = recorded.transact({}, (tx) => {
      tx.put("accounts", { id: { S: "a" }, _h: { S: "mine" } });
      return Promise.resolve();
    });
    await expect(body).rejects.toMatchObject({ code: "invalid-request", field: "_h" });
  });

  test("marks reads of an older state as such", async () => {
    const { db, recorder } = open();
    await db.snapshot(() => Promise.resolve());
    await db.snapshot({ maxStalenessMs: 5 }, () => Promise.resolve());
    expect(recorder.transactions.map(({ strict }) => strict)).toEqual([undefined, false]);
  });
});

function check(recorder: HistoryRecorder): readonly string[] {
  const history = { transactions: recorder.finish() };
  return checkHistory(history, { strict: true }).findings.map(({ description }) => description);
}
