/**
 * Requests whose fate the client does not learn, and how it is settled (docs/protocol.md §6; I3,
 * I9).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError, StoreError } from "../../core/errors.ts";
import type { Item, TableDescription, Timestamp, TransactionId } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { fragileEngine, idOf, never, storedN, verdictsOn } from "./fragile.ts";
import { failureOf, key, number, numberOf, putAll, readOne } from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let engine: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  table = await deployment.stores.createTable("plain");
});
beforeEach(() => {
  engine = deployment.openEngine();
});
afterEach(() => deployment.oracle.start());
afterAll(() => deployment.stop());

describe("a put whose fate is unknown", () => {
  test("commits once when the record is stored and the answer lost, repeatedly", async () => {
    let puts = 0;
    const { engine: lossy, ids } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        async put(shard, records) {
          puts += 1;
          await real.put(shard, records);
          if (puts <= 3) return records.map(() => ({ kind: "unknown", cause: new Error("lost") }));
          throw new Error("lost altogether");
        },
      }),
    });
    for (let i = 0; i < 4; i += 1) {
      await lossy.transact({}, async (tx) => {
        const item = await tx.get(table.name, key("lossy"));
        tx.put(table.name, { ...key("lossy"), n: number(numberOf(item) + 1) });
      });
    }
    expect(await storedN(deployment.stores, table, key("lossy"))).toBe(4);
    const kinds = await Promise.all(
      [...new Set(ids)].map((id) => verdictsOn(deployment.stores, id)),
    );
    for (const verdicts of kinds) {
      expect(verdicts.filter((kind) => kind === "committed")).toHaveLength(1);
    }
  });

  test("is sent again when the stream throttles it, under the same id", async () => {
    let puts = 0;
    const { engine: throttled, ids } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        put(shard, records) {
          puts += 1;
          if (puts > 3) return real.put(shard, records);
          return Promise.resolve(records.map(() => ({ kind: "throttled" })));
        },
      }),
    });
    const { receipt } = await throttled.transact({}, (tx) => {
      tx.put(table.name, { ...key("throttled"), n: number(1) });
      return Promise.resolve();
    });
    expect(receipt).toMatchObject({ attempts: 1, installed: true });
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
  });

  test("that was only ever throttled is aborted at the deadline, not unknown", async () => {
    const { engine: throttled } = fragileEngine(deployment.stores, {
      stream: () => ({
        put: (_, records) => Promise.resolve(records.map(() => ({ kind: "throttled" }))),
      }),
    });
    const failure = await failureOf(
      throttled.transact({ deadlineMs: 600 }, (tx) => {
        tx.put(table.name, { ...key("only-throttled"), n: number(1) });
        return Promise.resolve();
      }),
    );
    expect(failure).toMatchObject({ code: "unavailable", outcome: "aborted" });
  });

  test("that the stream refuses for good is aborted at once, and not unknown", async () => {
    const { engine: refused, ids } = fragileEngine(deployment.stores, {
      stream: () => ({
        put: () => Promise.reject(new StoreError("rejected", "PutRecords: access denied")),
      }),
    });
    const failure = await failureOf(
      refused.transact({}, (tx) => {
        tx.put(table.name, { ...key("refused"), n: number(1) });
        return Promise.resolve();
      }),
    );
    expect(failure).toMatchObject({ code: "invalid-request", outcome: "aborted" });
    expect(ids).toHaveLength(1);
  });
});

describe("an unknown outcome", () => {
  async function unknownId(by: Engine, write: Item): Promise<TransactionId> {
    const failure = await failureOf(
      by.transact({ deadlineMs: 800 }, (tx) => {
        tx.put(table.name, write);
        return Promise.resolve();
      }),
    );
    if (!(failure instanceof CommitUnknownError)) throw failure;
    expect(failure).toMatchObject({ retryable: false, outcome: "unknown" });
    return failure.transactionId;
  }

  test("is not asked of an id that nobody can have made: nothing is sent", async () => {
    const receipt = await putAll(engine, table, [{ ...key("made"), n: number(1) }]);
    const later = (receipt.commitTimestamp ?? 0) + 3600_000_000;
    const id = makeTransactionId(later as Timestamp, new Uint8Array(9));
    expect(await failureOf(engine.outcome(id))).toMatchObject({
      code: "invalid-request",
      field: "transactionId",
    });
    expect(await verdictsOn(deployment.stores, id)).toEqual([]);
  });

  test("is told if no oracle decides before the deadline, and settled once one runs", async () => {
    await readOne(engine, table, key("unknown"));
    await deployment.oracle.stop();
    const id = await unknownId(engine, { ...key("unknown"), n: number(1) });
    const asked = engine.outcome(id);
    await deployment.oracle.start();
    // The request was stored before the question was: it is certified first.
    expect(await asked).toMatchObject({ kind: "committed" });
    expect(numberOf(await readOne(engine, table, key("unknown")))).toBe(1);
    const stranger = deployment.openEngine();
    expect(await stranger.outcome(id)).toEqual(await asked);
  });

  test("stays unknown when the question itself gets no answer in time", async () => {
    const { engine: mute, ids } = fragileEngine(deployment.stores, {
      stream: () => ({ put: () => never() }),
    });
    const id = await unknownId(mute, { ...key("mute"), n: number(1) });
    expect(idOf(ids)).toBe(id);
    await engine.outcome(id);
    await deployment.oracle.stop();
    const other = fragileEngine(deployment.stores, { stream: () => ({ put: () => never() }) });
    const second = await unknownId(other.engine, { ...key("mute"), n: number(1) });
    const failure = await failureOf(engine.outcome(second, { deadlineMs: 500 }));
    expect(failure).toMatchObject({ code: "commit-unknown", transactionId: second });
  });

  test("is told at the deadline, also when the log never answers", async () => {
    const { engine: deaf, ids } = fragileEngine(deployment.stores, {
      log: (real) => ({
        readAfter: (...request) => (ids.length > 0 ? never() : real.readAfter(...request)),
      }),
    });
    const id = await unknownId(deaf, { ...key("deaf"), n: number(1) });
    expect(await engine.outcome(id)).toMatchObject({ kind: "committed" });
  });

  test("is told at the deadline, also if the put's answer is lost and the log hangs", async () => {
    const { engine: lost, ids } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        async put(shard, records) {
          await real.put(shard, records);
          return records.map(() => ({ kind: "unknown", cause: new Error("lost") }));
        },
      }),
      log: (real) => ({
        readAfter: (...request) => (ids.length > 0 ? never() : real.readAfter(...request)),
      }),
    });
    const id = await unknownId(lost, { ...key("lost-and-deaf"), n: number(1) });
    expect(await engine.outcome(id)).toMatchObject({ kind: "committed" });
  });

  test("once settled as aborted stays so, when the very bytes arrive afterwards", async () => {
    const captured: Uint8Array[] = [];
    const { engine: mute } = fragileEngine(deployment.stores, {
      stream: () => ({
        put: (_, records) => {
          captured.push(...records);
          return never();
        },
      }),
    });
    const id = await unknownId(mute, { ...key("late"), n: number(1) });
    expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
    const { stores } = deployment;
    expect(captured.length).toBeGreaterThan(0);
    await stores.ports.stream.put(stores.shard, captured);
    // A commit sent afterwards is decided afterwards.
    await putAll(engine, table, [key("marker")]);
    expect(await verdictsOn(deployment.stores, id)).toEqual(["aborted"]);
    expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
    expect(await readOne(engine, table, key("late"))).toBeUndefined();
  });

  test("of an id that nobody ever sent is aborted, from any client, for good", async () => {
    const ids: TransactionId[] = [];
    const { engine: maker } = fragileEngine(deployment.stores, {
      stream: () => ({ put: () => never() }),
    });
    const id = await unknownId(maker, { ...key("unsent"), n: number(1) });
    ids.push(id);
    const asked = await Promise.all(
      [deployment.openEngine(), deployment.openEngine(), deployment.openEngine()].map((each) =>
        each.outcome(id),
      ),
    );
    expect(asked).toEqual([{ kind: "aborted" }, { kind: "aborted" }, { kind: "aborted" }]);
    expect(await verdictsOn(deployment.stores, id)).toEqual(["aborted"]);
  });

  test("of a commit that was answered is the same commit", async () => {
    const receipt = await putAll(engine, table, [key("answered")]);
    const { transactionId, commitTimestamp } = receipt;
    if (transactionId === undefined) throw new Error("no id");
    expect(await deployment.openEngine().outcome(transactionId)).toEqual({
      kind: "committed",
      commitTimestamp,
    });
  });
});
