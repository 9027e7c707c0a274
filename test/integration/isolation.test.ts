/**
 * What each isolation level forbids and allows, as anomalies that are steered by hand: the second
 * transaction commits inside the body of the first (docs/protocol.md §3 to §6; I4, I5, I8).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConflictError } from "../../core/errors.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine, EngineTransaction, TransactOptions } from "../../engine/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
  createTables,
  increment,
  key,
  number,
  numberOf,
  putAll,
  queryRows,
  readOne,
  scanRows,
  text,
} from "./support.ts";

let deployment: LocalDeployment;
let engine: Engine;
let other: Engine;
let table: TableDescription;
let sorted: TableDescription;
let kept: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  [table, sorted, kept] = await createTables(deployment.stores);
  engine = deployment.openEngine();
  other = deployment.openEngine({ commit: "auto" });
});
afterAll(() => deployment.stop());

/** Runs the body; `between` runs once, in the first attempt, wherever the body calls it. */
async function interleaved<T>(
  options: TransactOptions,
  between: () => Promise<unknown>,
  body: (tx: EngineTransaction, meanwhile: () => Promise<void>) => Promise<T>,
): Promise<{ readonly result: T; readonly attempts: number }> {
  let attempts = 0;
  const { result } = await engine.transact(options, (tx) => {
    attempts += 1;
    const first = attempts === 1;
    return body(tx, async () => {
      if (first) await between();
    });
  });
  return { result, attempts };
}

describe.each(["serializable", "snapshot"] as const)("%s isolation", (isolation) => {
  const name = (suffix: string): Item => key(`${isolation}-${suffix}`);

  test("forbids lost updates: the second writer of a read item runs again", async () => {
    await putAll(engine, table, [{ ...name("lost"), n: number(1) }]);
    const { attempts } = await interleaved(
      { isolation },
      () => other.transact({}, (tx) => increment(tx, table, name("lost"))),
      async (tx, meanwhile) => {
        const sum = await increment(tx, table, name("lost"), 10);
        await meanwhile();
        return sum;
      },
    );
    expect(attempts).toBe(2);
    expect(numberOf(await readOne(other, table, name("lost")))).toBe(12);
  });

  test("never shows a torn sum: a transfer between two reads is seen whole or not", async () => {
    await putAll(engine, table, [
      { ...name("a"), n: number(50) },
      { ...name("b"), n: number(50) },
    ]);
    const sums: number[] = [];
    await interleaved(
      { isolation },
      () =>
        other.transact({}, async (tx) => {
          await increment(tx, table, name("a"), -20);
          await increment(tx, table, name("b"), 20);
        }),
      async (tx, meanwhile) => {
        const a = numberOf(await tx.get(table.name, name("a")));
        await meanwhile();
        const b = numberOf(await tx.get(table.name, name("b")));
        sums.push(a + b);
      },
    );
    expect(sums).toEqual([100]);
  });

  test("gives up an attempt, early and with the key, when a read is inconsistent", async () => {
    await putAll(engine, table, [
      { ...name("c"), n: number(50) },
      { ...name("d"), n: number(50) },
    ]);
    const seen: unknown[] = [];
    await interleaved(
      { isolation },
      () =>
        other.transact({}, async (tx) => {
          await increment(tx, table, name("c"), 1);
          await increment(tx, table, name("d"), 1);
        }),
      async (tx, meanwhile) => {
        await tx.get(table.name, name("c"));
        await meanwhile();
        await tx.get(table.name, name("d")).catch((error: unknown) => {
          seen.push(error);
        });
      },
    );
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      code: "conflict",
      detail: { table: table.name, key: name("c"), on: "key", foundBy: "tail" },
    });
  });

  test("lets reads move on when nothing read so far has changed", async () => {
    await putAll(engine, table, [
      { ...name("e"), n: number(1) },
      { ...name("f"), n: number(1) },
    ]);
    const { result, attempts } = await interleaved(
      { isolation },
      () => other.transact({}, (tx) => increment(tx, table, name("f"))),
      async (tx, meanwhile) => {
        const e = numberOf(await tx.get(table.name, name("e")));
        const before = tx.readTimestamp;
        await meanwhile();
        const f = numberOf(await tx.get(table.name, name("f")));
        return { e, f, moved: tx.readTimestamp > before };
      },
    );
    expect({ ...result, attempts }).toEqual({ e: 1, f: 2, moved: true, attempts: 1 });
  });

  test("a body that swallows its conflict still cannot commit", async () => {
    await putAll(engine, table, [{ ...name("g"), n: number(1) }]);
    const failure = await engine
      .transact({ isolation, attemptsMax: 1 }, async (tx) => {
        await increment(tx, table, name("g"));
        await other.transact({}, (inner) => increment(inner, table, name("g")));
        tx.put(table.name, name("swallowed"));
      })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConflictError);
    expect(await readOne(other, table, name("swallowed"))).toBeUndefined();
  });
});

describe("write skew", () => {
  async function onCall(isolation: "serializable" | "snapshot", run: string): Promise<number> {
    const [ann, bob] = [key(`${run}-ann`), key(`${run}-bob`)];
    await putAll(engine, table, [
      { ...ann, n: number(1) },
      { ...bob, n: number(1) },
    ]);
    const leave = async (tx: EngineTransaction, who: Item): Promise<void> => {
      const both = await tx.batchGet([
        { table: table.name, key: ann },
        { table: table.name, key: bob },
      ]);
      if (both.reduce((sum, item) => sum + numberOf(item), 0) < 2) return;
      tx.put(table.name, { ...who, n: number(0) });
    };
    await interleaved(
      { isolation },
      () => other.transact({ isolation }, (tx) => leave(tx, bob)),
      async (tx, meanwhile) => {
        await leave(tx, ann);
        await meanwhile();
      },
    );
    return numberOf(await readOne(other, table, ann)) + numberOf(await readOne(other, table, bob));
  }

  test("is forbidden by serializable: one of the two stays on call", async () => {
    expect(await onCall("serializable", "skew-1")).toBe(1);
  });

  test("is allowed by snapshot: both leave", async () => {
    expect(await onCall("snapshot", "skew-2")).toBe(0);
  });
});

describe("phantoms", () => {
  type Count = (tx: EngineTransaction, partition: string) => Promise<number>;
  const counts: [string, () => TableDescription, Count][] = [
    [
      "a query",
      () => sorted,
      async (tx, partition) =>
        (await queryRows(tx, sorted, { partitionKey: text(partition) })).length,
    ],
    [
      "a paged query",
      () => sorted,
      async (tx, partition) =>
        (await queryRows(tx, sorted, { partitionKey: text(partition) }, 1)).length,
    ],
    [
      "a scan",
      () => sorted,
      async (tx, partition) =>
        (await scanRows(tx, sorted)).filter((row) => {
          const { pk } = row;
          return pk !== undefined && "S" in pk && pk.S === partition;
        }).length,
    ],
  ];

  async function twoInserters(
    isolation: "serializable" | "snapshot",
    partition: string,
    count: Count,
  ): Promise<{ attempts: number; rows: number }> {
    const insert = async (tx: EngineTransaction, sk: string): Promise<void> => {
      if ((await count(tx, partition)) < 3) tx.put(sorted.name, key(partition, sk));
    };
    await putAll(engine, sorted, [key(partition, "1"), key(partition, "2")]);
    const { attempts } = await interleaved(
      { isolation },
      () => other.transact({ isolation }, (tx) => insert(tx, "4")),
      async (tx, meanwhile) => {
        await insert(tx, "3");
        await meanwhile();
      },
    );
    const { result } = await other.snapshot({}, (snapshot) =>
      queryRows(snapshot, sorted, { partitionKey: text(partition) }),
    );
    return { attempts, rows: result.length };
  }

  test.each(counts)(
    "serializable forbids two inserts that each counted by %s",
    async (of, _, count) => {
      expect(await twoInserters("serializable", `phantom ${of}`, count)).toEqual({
        attempts: 2,
        rows: 3,
      });
    },
  );

  test("snapshot allows them: only written keys are checked", async () => {
    const [, , count] = counts[0] ?? [];
    if (count === undefined) throw new Error("no count");
    expect(await twoInserters("snapshot", "phantom snapshot", count)).toEqual({
      attempts: 1,
      rows: 4,
    });
  });

  test("a conflict under a predicate names the partition", async () => {
    const failure = await engine
      .transact({ attemptsMax: 1 }, async (tx) => {
        await queryRows(tx, sorted, { partitionKey: text("named") });
        await putAll(other, sorted, [key("named", "x")]);
        tx.put(sorted.name, key("named", "y"));
      })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "conflict",
      detail: { table: sorted.name, key: { pk: text("named") }, on: "partition" },
    });
  });
});

describe.each(["serializable", "snapshot"] as const)(
  "reads of one %s transaction under predicates",
  (isolation) => {
    const tables: [string, () => TableDescription][] = [
      ["a plain table", () => sorted],
      ["a table with history", () => kept],
    ];

    test.each(tables)("the same query twice gives the same rows (%s)", async (label, of) => {
      const into = of();
      const partition = `${isolation} twice ${label}`;
      await putAll(engine, into, [{ ...key(partition, "a"), n: number(1) }]);
      const { result } = await interleaved(
        { isolation },
        () =>
          putAll(other, into, [
            { ...key(partition, "a"), n: number(2) },
            { ...key(partition, "b"), n: number(2) },
          ]),
        async (tx, meanwhile) => {
          const query = { partitionKey: text(partition) };
          const first = await queryRows(tx, into, query);
          await meanwhile();
          const second = await queryRows(tx, into, query);
          return {
            first: first.map((row) => numberOf(row)),
            second: second.map((r) => numberOf(r)),
          };
        },
      );
      expect(result.second).toEqual(result.first);
    });

    test.each(tables)("a scan after a query agrees with it (%s)", async (label, of) => {
      const into = of();
      const partition = `${isolation} scan ${label}`;
      await putAll(engine, into, [{ ...key(partition, "a"), n: number(1) }]);
      const { result } = await interleaved(
        { isolation },
        () => putAll(other, into, [{ ...key(partition, "a"), n: number(2) }]),
        async (tx, meanwhile) => {
          const first = await queryRows(tx, into, { partitionKey: text(partition) });
          await meanwhile();
          const second = await scanRows(tx, into);
          const same = second
            .filter((row) => "pk" in row && "S" in (row["pk"] ?? {}))
            .filter((row) => {
              const { pk } = row;
              return pk !== undefined && "S" in pk && pk.S === partition;
            });
          return { first: first.map((row) => numberOf(row)), second: same.map((r) => numberOf(r)) };
        },
      );
      expect(result.second).toEqual(result.first);
    });

    test.each(tables)("a get after a query agrees with it (%s)", async (label, of) => {
      const into = of();
      const partition = `${isolation} get ${label}`;
      await putAll(engine, into, [{ ...key(partition, "a"), n: number(1) }]);
      const { result } = await interleaved(
        { isolation },
        () => putAll(other, into, [{ ...key(partition, "a"), n: number(2) }]),
        async (tx, meanwhile) => {
          const [row] = await queryRows(tx, into, { partitionKey: text(partition) });
          await meanwhile();
          return [numberOf(row), numberOf(await tx.get(into.name, key(partition, "a")))];
        },
      );
      expect(result[1]).toBe(result[0]);
    });

    test.each(tables)(
      "a later page never shows what an earlier one should have (%s)",
      async (label, of) => {
        const into = of();
        const partition = `${isolation} pages ${label}`;
        await putAll(
          engine,
          into,
          ["b", "d", "f"].map((sk) => ({ ...key(partition, sk), n: number(1) })),
        );
        const { result } = await interleaved(
          { isolation },
          // One transaction writes on both sides of the border between the pages.
          () =>
            putAll(other, into, [
              { ...key(partition, "b"), n: number(2) },
              { ...key(partition, "f"), n: number(2) },
            ]),
          async (tx, meanwhile) => {
            const query = { partitionKey: text(partition) };
            const first = await tx.queryPage(into.name, query, { limit: 1 });
            await meanwhile();
            const cursor = first.cursor;
            const second = await tx.queryPage(
              into.name,
              query,
              cursor === undefined ? {} : { cursor },
            );
            return [...first.rows, ...second.rows].map((row) => numberOf(row));
          },
        );
        expect(result).toHaveLength(3);
        expect(result[2]).toBe(result[0]);
      },
    );

    test("a write that only a later page shows is no conflict", async () => {
      const partition = `${isolation} later`;
      await putAll(
        engine,
        sorted,
        ["b", "d", "f"].map((sk) => ({ ...key(partition, sk), n: number(1) })),
      );
      const { result, attempts } = await interleaved(
        { isolation },
        () => putAll(other, sorted, [{ ...key(partition, "f"), n: number(2) }]),
        async (tx, meanwhile) => {
          const query = { partitionKey: text(partition) };
          const first = await tx.queryPage(sorted.name, query, { limit: 1 });
          await meanwhile();
          const { cursor } = first;
          const second = await tx.queryPage(
            sorted.name,
            query,
            cursor === undefined ? {} : { cursor },
          );
          return [...first.rows, ...second.rows].map((row) => numberOf(row));
        },
      );
      expect({ result, attempts }).toEqual({ result: [1, 1, 2], attempts: 1 });
    });
  },
);

describe("read-only transactions", () => {
  test("send nothing to the stream and see every acknowledged commit", async () => {
    const reader = deployment.openEngine();
    await readOne(reader, table, key("strict"));
    const { stores } = deployment;
    for (let i = 1; i <= 5; i += 1) {
      await putAll(engine, table, [{ ...key("strict"), n: number(i) }]);
      const before = await cursorOf(deployment);
      expect(numberOf(await readOne(reader, table, key("strict")))).toBe(i);
      const { receipt } = await reader.transact({}, (tx) => tx.get(table.name, key("strict")));
      expect(receipt).toMatchObject({ transactionId: undefined, commitTimestamp: undefined });
      expect(await cursorOf(deployment)).toBe(before);
    }
    expect(stores.shards).toHaveLength(1);
  });

  test("that may be stale are answered without a look at the log", async () => {
    const reader = deployment.openEngine();
    await putAll(engine, table, [{ ...key("stale"), n: number(1) }]);
    await readOne(reader, table, key("stale"));
    await putAll(engine, table, [{ ...key("unrelated"), n: number(1) }]);
    const { receipt } = await reader.snapshot({ maxStalenessMs: 60_000 }, (snapshot) =>
      snapshot.get(table.name, key("stale")),
    );
    const { receipt: fresh } = await reader.snapshot({}, (snapshot) =>
      snapshot.get(table.name, key("stale")),
    );
    expect(receipt.readTimestamp).toBeLessThan(fresh.readTimestamp);
  });

  test("see either none or all of each transfer, under a storm of them", async () => {
    const accounts = Array.from({ length: 5 }, (_, i) => key(`storm-${i.toString()}`));
    await putAll(
      engine,
      table,
      accounts.map((each) => ({ ...each, n: number(100) })),
    );
    let running = true;
    const transfers = [engine, other].map(async (by, seed) => {
      for (let i = seed; running && i < 40; i += 1) {
        const from = accounts[i % 5];
        const to = accounts[(i * 3 + 1) % 5];
        if (from === undefined || to === undefined || from === to) continue;
        await by.transact({ attemptsMax: 50 }, async (tx) => {
          await increment(tx, table, from, -7);
          await increment(tx, table, to, 7);
        });
      }
    });
    const reader = deployment.openEngine();
    const sums = new Set<number>();
    for (let i = 0; i < 15; i += 1) {
      const { result } = await reader.snapshot({ attemptsMax: 100 }, async (snapshot) => {
        const items: (Item | undefined)[] = [];
        for (const each of accounts) items.push(await snapshot.get(table.name, each));
        return items.reduce((sum, item) => sum + numberOf(item), 0);
      });
      sums.add(result);
    }
    running = false;
    await Promise.all(transfers);
    expect([...sums]).toEqual([500]);
  });
});

/** The newest block's timestamp: a request of any kind would have made another one. */
async function cursorOf({ stores }: LocalDeployment): Promise<Timestamp | undefined> {
  const [newest] = await stores.ports.log.readBackward(stores.shard, { blocksMax: 1 });
  return newest === undefined ? undefined : decodeBlock(newest, stores.hashes).throughTimestamp;
}
