/**
 * Transactions whose caller comes and goes with their state as data, from process to process
 * (engine/detached.ts; I4, I8).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine, TransactionState } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { failureOf, key, number, numberOf, putAll, queryRows, readOne, text } from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let sorted: TableDescription;
let engine: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  [table, sorted] = await Promise.all([
    deployment.stores.createTable("plain"),
    deployment.stores.createTable("sorted", { sortKey: { name: "sk", type: "S" } }),
  ]);
  engine = deployment.openEngine();
});
afterAll(() => deployment.stop());

/** Of its one shard. */
const standsAt = ({ parts }: TransactionState): number => parts[0]?.readTimestamp ?? 0;

/** Reads one item and one partition, and hands over the state as another process would get it. */
async function carried(name: string): Promise<TransactionState> {
  await putAll(engine, table, [{ ...key(name), n: number(1) }]);
  const tx = await engine.begin({ isolation: "serializable" });
  expect(numberOf(await tx.get(table.name, key(name)))).toBe(1);
  expect(await queryRows(tx, sorted, { partitionKey: text(name) })).toEqual([]);
  const state = tx.state();
  tx.close();
  return state;
}

/**
 * More commits than one, and the watermark past them: the next process's tail knows nothing of
 * them.
 */
async function unrelatedCommits(): Promise<void> {
  for (let i = 0; i < 5; i += 1) {
    const receipt = await putAll(engine, table, [{ ...key("unrelated"), n: number(i) }]);
    const { ports, shard } = deployment.stores;
    for (let look = 0; look < 500; look += 1) {
      const watermark = await ports.control.readWatermark(shard);
      if ((watermark?.timestamp ?? 0) >= (receipt.commitTimestamp ?? 0)) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

describe("a transaction that is resumed in another process", () => {
  test("I4: commits over blocks that it never held, if nothing it read changed", async () => {
    const state = await carried("free");
    await unrelatedCommits();
    const tx = await deployment.openEngine().resume(state, {});
    expect(tx.readTimestamp).toBeGreaterThan(standsAt(state));
    tx.put(table.name, { ...key("free"), n: number(2) });
    const receipt = await tx.commit({});
    expect(receipt).toMatchObject({ attempts: 1, installed: true });
    expect(numberOf(await readOne(engine, table, key("free")))).toBe(2);
  });

  test.each(["key", "partition"] as const)(
    "I4: conflicts when what it read was written meanwhile, below its new tail (%s)",
    async (what) => {
      const name = `taken-${what}`;
      const state = await carried(name);
      if (what === "key") await putAll(engine, table, [{ ...key(name), n: number(9) }]);
      else await putAll(engine, sorted, [key(name, "a")]);
      await unrelatedCommits();
      const failure = await failureOf(
        (async () => {
          const tx = await deployment.openEngine().resume(state, {});
          tx.put(table.name, { ...key(name), n: number(2) });
          await tx.commit({});
        })(),
      );
      expect(failure).toMatchObject({ code: "conflict" });
      expect(numberOf(await readOne(engine, table, key(name)))).toBe(what === "key" ? 9 : 1);
    },
  );

  test("I4: conflicts when what it read is written after it was resumed", async () => {
    const state = await carried("later");
    const tx = await deployment.openEngine().resume(state, {});
    await putAll(engine, table, [{ ...key("later"), n: number(9) }]);
    tx.put(table.name, { ...key("later"), n: number(2) });
    expect(await failureOf(tx.commit({}))).toMatchObject({ code: "conflict" });
  });

  test.each(["serializable", "snapshot"] as const)(
    "I3: commits once, also when it has read nothing and is committed in many places (%s)",
    async (isolation) => {
      const name = `once-${isolation}`;
      const begun = await engine.begin({ isolation });
      const state = begun.state();
      begun.close();
      const commit = async (n: number): Promise<string> => {
        const tx = await deployment.openEngine().resume(state, {});
        tx.put(table.name, { ...key(name), n: number(n) });
        const { transactionId } = await tx.commit({});
        return transactionId ?? "nothing";
      };
      // Under one id two of them would each take the one verdict for their own.
      const ends = await Promise.allSettled([1, 2, 3, 4].map(commit));
      const committed = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
      expect(committed).toHaveLength(1);
      const stored = await readOne(engine, table, key(name));
      const winner = ends.findIndex(({ status }) => status === "fulfilled");
      expect(numberOf(stored)).toBe(winner + 1);

      await unrelatedCommits();
      expect(await failureOf(commit(9))).toMatchObject({
        code: "transaction-closed",
        transactionId: committed[0],
      });
      expect(await engine.committedAs(state, {})).toBe(committed[0]);
      const other = await carried(`other-${isolation}`);
      expect(await engine.committedAs(other, {})).toBeUndefined();
      expect(await readOne(engine, table, key(name))).toEqual(stored);
    },
  );

  test("a conflict names what the token can tell: a scanned table, else no table", async () => {
    const scanned = await engine.begin({ isolation: "serializable" });
    await scanned.scanPage(sorted.name, {}, {});
    const scan = scanned.state();
    scanned.close();
    await putAll(engine, sorted, [key("scanned", "a")]);
    const state = await carried("nameless");
    await putAll(engine, table, [{ ...key("nameless"), n: number(9) }]);
    const conflictOf = async (of: TransactionState): Promise<unknown> => {
      const failure = await failureOf(
        (async () => {
          const tx = await deployment.openEngine().resume(of, {});
          tx.put(table.name, key("elsewhere"));
          await tx.commit({});
        })(),
      );
      expect((failure as Error).message).not.toContain('""');
      return (failure as { detail: unknown }).detail;
    };
    expect(await conflictOf(scan)).toMatchObject({ on: "table", table: sorted.name });
    expect(await conflictOf(state)).toMatchObject({ on: "key", table: undefined });
  });

  test("is refused beyond the age limit, and above the log", async () => {
    const state = await carried("old");
    const startedMs = state.startedMs - limits.transactionAgeMsMax - 1;
    expect(await failureOf(engine.resume({ ...state, startedMs }, {}))).toMatchObject({
      code: "snapshot-too-old",
    });
    const readTimestamp = (standsAt(state) * 2) as Timestamp;
    const parts = state.parts.map((part) => ({ ...part, readTimestamp }));
    expect(await failureOf(engine.resume({ ...state, parts }, {}))).toMatchObject({
      code: "invalid-request",
      field: "readTimestamp",
    });
  });

  test("cannot be carried on with buffered writes, nor used after its commit", async () => {
    const tx = await engine.begin({ isolation: "snapshot" });
    tx.put(table.name, key("buffered"));
    expect(() => tx.state()).toThrow(expect.objectContaining({ code: "transaction-closed" }));
    await tx.commit({});
    await expect(tx.get(table.name, key("buffered"))).rejects.toMatchObject({
      code: "transaction-closed",
    });
    expect(await failureOf(tx.commit({}))).toMatchObject({ code: "transaction-closed" });
  });
});
