/**
 * Every operation of a transaction, through the engine, on real stores (docs/protocol.md §5, §6).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { compareNumbers } from "../../core/decimal.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
  increment,
  key,
  number,
  numberOf,
  openDynamoDb,
  putAll,
  queryRows,
  readOne,
  scanRows,
  text,
  textOf,
} from "./support.ts";

let deployment: LocalDeployment;
let engine: Engine;
let other: Engine;
let plain: TableDescription;
let second: TableDescription;
let sorted: TableDescription;
let numbered: TableDescription;
let indexed: TableDescription;
let binary: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  const sortKey = { name: "sk", type: "S" } as const;
  [plain, second, sorted, numbered, indexed, binary] = await Promise.all([
    stores.createTable("plain"),
    stores.createTable("second"),
    stores.createTable("sorted", { sortKey }),
    stores.createTable("numbered", { sortKey: { name: "sk", type: "N" } }),
    stores.createTable("indexed", {
      indexes: [
        {
          name: "by-group",
          partitionKey: { name: "group", type: "S" },
          sortKey: { name: "rank", type: "N" },
        },
      ],
    }),
    stores.createTable("binary", { partitionKey: { name: "pk", type: "B" } }),
  ]);
  engine = deployment.openEngine();
  other = deployment.openEngine({ commit: "auto" });
});
afterAll(() => deployment.stop());

describe("get and batchGet", () => {
  test("a get finds what was committed, nothing where nothing was, and own writes", async () => {
    await putAll(engine, plain, [{ ...key("get-1"), n: number(1) }]);
    const { result } = await other.transact({}, async (tx) => {
      const found = await tx.get(plain.name, key("get-1"));
      const absent = await tx.get(plain.name, key("get-2"));
      tx.put(plain.name, { ...key("get-2"), n: number(2) });
      const own = await tx.get(plain.name, key("get-2"));
      tx.delete(plain.name, key("get-1"));
      const gone = await tx.get(plain.name, key("get-1"));
      return { found, absent, own, gone };
    });
    expect(result).toEqual({
      found: { ...key("get-1"), n: number(1) },
      absent: undefined,
      own: { ...key("get-2"), n: number(2) },
      gone: undefined,
    });
  });

  test("a batchGet takes more than 100 keys of several tables, in their order", async () => {
    const keys = Array.from({ length: 130 }, (_, i) => key(`batch-${i.toString()}`));
    await putAll(
      engine,
      plain,
      keys.map((each, i) => ({ ...each, n: number(i) })),
    );
    await putAll(engine, second, [{ ...key("batch-0"), n: number(1000) }]);
    const { result } = await other.transact({}, async (tx) => {
      tx.put(plain.name, { ...key("batch-5"), n: number(-5) });
      tx.delete(plain.name, key("batch-6"));
      return tx.batchGet([
        { table: second.name, key: key("batch-0") },
        ...keys.map((each) => ({ table: plain.name, key: each })),
        { table: plain.name, key: key("batch-7") },
        { table: second.name, key: key("batch-absent") },
      ]);
    });
    expect(result.map((item) => (item === undefined ? undefined : numberOf(item)))).toEqual([
      1000,
      ...keys.map((_, i) => (i === 5 ? -5 : i === 6 ? undefined : i)),
      7,
      undefined,
    ]);
  });

  test("a key attribute beside the key's own is refused; a key read twice costs one", async () => {
    await putAll(engine, plain, [{ ...key("twice"), n: number(1) }]);
    const { receipt } = await engine.snapshot({}, async (snapshot) => {
      await snapshot.get(plain.name, key("twice"));
      await snapshot.get(plain.name, key("twice"));
      await snapshot.batchGet([{ table: plain.name, key: key("twice") }]);
    });
    expect(receipt.consumed.calls).toBe(1);
    await expect(
      engine.snapshot({}, (snapshot) =>
        snapshot.get(plain.name, { ...key("twice"), more: text("x") }),
      ),
    ).rejects.toMatchObject({ code: "invalid-request", field: "more" });
  });
});

describe("writes", () => {
  test("the last of several operations on one item counts", async () => {
    const { result, receipt } = await engine.transact({}, async (tx) => {
      tx.put(plain.name, { ...key("several"), n: number(1) });
      await increment(tx, plain, key("several"));
      tx.delete(plain.name, key("several"));
      const gone = await tx.get(plain.name, key("several"));
      await increment(tx, plain, key("several"), 10);
      return gone;
    });
    expect(result).toBeUndefined();
    expect(receipt.installed).toBe(true);
    expect(numberOf(await readOne(other, plain, key("several")))).toBe(10);
  });

  test("one transaction commits 250 items over three tables at one timestamp", async () => {
    const { receipt } = await engine.transact({}, (tx) => {
      for (let i = 0; i < 100; i += 1) {
        tx.put(plain.name, { ...key(`many-${i.toString()}`), n: number(i) });
        tx.put(second.name, { ...key(`many-${i.toString()}`), n: number(i) });
      }
      for (let i = 0; i < 50; i += 1) tx.put(sorted.name, { ...key("many", `s${i.toString()}`) });
      return Promise.resolve();
    });
    const { items } = deployment.stores.ports;
    const versions = await items.versions(
      [
        ...Array.from({ length: 100 }, (_, i) => ({
          table: plain.name,
          key: key(`many-${i.toString()}`),
        })),
        ...Array.from({ length: 100 }, (_, i) => ({
          table: second.name,
          key: key(`many-${i.toString()}`),
        })),
        ...Array.from({ length: 50 }, (_, i) => ({
          table: sorted.name,
          key: key("many", `s${i.toString()}`),
        })),
      ],
      { consistency: "strong" },
    );
    expect(new Set(versions)).toEqual(new Set([receipt.commitTimestamp]));
    expect(versions).toHaveLength(250);
  });

  test("read-modify-write of 12 concurrent transactions on one item loses none", async () => {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? engine : other).transact({ attemptsMax: 100 }, (tx) =>
          increment(tx, plain, key("counter")),
        ),
      ),
    );
    expect(numberOf(await readOne(engine, plain, key("counter")))).toBe(12);
  });

  test.each([
    new Error("changed my mind"),
    Object.assign(new Error("of another service"), { retryable: true }),
  ])(
    "a body that throws runs once, writes nothing, and its error arrives untouched",
    async (error) => {
      let runs = 0;
      await expect(
        engine.transact({}, (tx) => {
          runs += 1;
          tx.put(plain.name, key("thrown"));
          return Promise.reject(error);
        }),
      ).rejects.toBe(error);
      expect(runs).toBe(1);
      expect(await readOne(other, plain, key("thrown"))).toBeUndefined();
    },
  );

  test("every DynamoDB type survives a commit", async () => {
    const item: Item = {
      ...key("types"),
      S: text("ä€𝄞 \u0000 end"),
      emptyText: text(""),
      N: { N: "-12345678901234567890123456789012345678" },
      tiny: { N: "1E-130" },
      huge: { N: "9.9999999999999999999999999999999999999E+125" },
      zero: { N: "0" },
      B: { B: Uint8Array.of(0, 1, 254, 255) },
      emptyB: { B: new Uint8Array(0) },
      yes: { BOOL: true },
      no: { BOOL: false },
      nothing: { NULL: true },
      SS: { SS: ["b", "a", "ä"] },
      NS: { NS: ["1", "-2.5", "1E+20"] },
      BS: { BS: [Uint8Array.of(1), Uint8Array.of(0, 2)] },
      L: { L: [text("x"), { L: [] }, { M: {} }, { NULL: true }] },
      M: { M: { " ": text("a blank"), constructor: { L: [{ M: { deep: { N: "1" } } }] } } },
    };
    await putAll(engine, plain, [item]);
    const read = await readOne(other, plain, key("types"));
    expect(Object.keys(read ?? {}).sort()).toEqual(Object.keys(item).sort());
    for (const name of ["S", "emptyText", "B", "emptyB", "yes", "no", "nothing", "L", "M"]) {
      expect([name, plainBytes(read?.[name])]).toEqual([name, plainBytes(item[name])]);
    }
    for (const name of ["N", "tiny", "huge", "zero"]) {
      const [a, b] = [read?.[name], item[name]];
      if (a === undefined || b === undefined || !("N" in a) || !("N" in b)) throw new Error(name);
      expect([name, compareNumbers(a.N, b.N)]).toEqual([name, 0]);
    }
    const sets = [read?.["SS"], read?.["NS"], read?.["BS"]];
    const [ss, ns, bs] = sets;
    expect(ss !== undefined && "SS" in ss ? new Set(ss.SS) : ss).toEqual(new Set(["b", "a", "ä"]));
    expect(
      ns !== undefined && "NS" in ns ? new Set(ns.NS.map((each) => Number(each))) : ns,
    ).toEqual(new Set([1, -2.5, 1e20]));
    expect(
      bs !== undefined && "BS" in bs
        ? new Set(bs.BS.map((each) => Buffer.from(each).toString("hex")))
        : bs,
    ).toEqual(new Set(["01", "0002"]));
  });

  test("binary and numeric keys are the same key however they are spelled", async () => {
    const bytes = Uint8Array.of(0, 255, 7);
    await putAll(engine, binary, [{ pk: { B: bytes }, n: number(1) }]);
    expect(numberOf(await readOne(other, binary, { pk: { B: Buffer.from(bytes) } }))).toBe(1);
    const { result } = await engine.transact({}, async (tx) => {
      tx.put(numbered.name, { pk: text("spelled"), sk: { N: "1.50" }, n: number(1) });
      tx.put(numbered.name, { pk: text("spelled"), sk: { N: "15E-1" }, n: number(2) });
      return tx.get(numbered.name, { pk: text("spelled"), sk: { N: "1.5" } });
    });
    expect(numberOf(result)).toBe(2);
    const { result: rows } = await other.snapshot({}, (snapshot) =>
      queryRows(snapshot, numbered, { partitionKey: text("spelled") }),
    );
    expect(rows.map((row) => numberOf(row))).toEqual([2]);
  });

  test("items without _v are adopted: read, overwritten, deleted, queried", async () => {
    const dynamodb = openDynamoDb(deployment.stores);
    for (const sk of ["a", "b", "c"]) {
      await dynamodb.send(
        new PutItemCommand({
          TableName: sorted.name,
          Item: { pk: { S: "adopted" }, sk: { S: sk }, n: { N: "1" } },
        }),
      );
    }
    const { result } = await engine.transact({}, async (tx) => {
      const rows = await queryRows(tx, sorted, { partitionKey: text("adopted") });
      await increment(tx, sorted, key("adopted", "a"));
      tx.delete(sorted.name, key("adopted", "b"));
      return rows.length;
    });
    expect(result).toBe(3);
    const { result: after } = await other.snapshot({}, (snapshot) =>
      queryRows(snapshot, sorted, { partitionKey: text("adopted") }),
    );
    expect(after).toEqual([
      { ...key("adopted", "a"), n: number(2) },
      { ...key("adopted", "c"), n: number(1) },
    ]);
    const untouched = await dynamodb.send(
      new GetItemCommand({ TableName: sorted.name, Key: { pk: { S: "adopted" }, sk: { S: "c" } } }),
    );
    expect(untouched.Item).not.toHaveProperty("_v");
    dynamodb.destroy();
  });
});

describe("queries", () => {
  const names = Array.from({ length: 10 }, (_, i) => `k${i.toString()}`);

  async function seeded(partition: string): Promise<void> {
    await putAll(
      engine,
      sorted,
      names.map((name, i) => ({ ...key(partition, name), n: number(i) })),
    );
  }

  function sortKeysOf(rows: readonly Item[]): (string | undefined)[] {
    return rows.map((row) => textOf(row, "sk"));
  }

  test.each([
    [{ operator: "=", value: text("k3") }, ["k3"]],
    [{ operator: "<", value: text("k2") }, ["k0", "k1"]],
    [{ operator: "<=", value: text("k2") }, ["k0", "k1", "k2"]],
    [{ operator: ">", value: text("k7") }, ["k8", "k9"]],
    [{ operator: ">=", value: text("k7") }, ["k7", "k8", "k9"]],
    [{ operator: "between", low: text("k2"), high: text("k4") }, ["k2", "k3", "k4"]],
    [{ operator: "begins_with", value: text("k") }, names],
  ] as const)("the condition %j finds its rows, own writes among them", async (sortKey, wanted) => {
    const partition = `condition-${sortKey.operator}`;
    await seeded(partition);
    const { result } = await other.transact({}, async (tx) => {
      tx.put(sorted.name, { ...key(partition, "k5x") });
      tx.put(sorted.name, { ...key(partition, "k2x") });
      tx.delete(sorted.name, key(partition, "k9"));
      return queryRows(tx, sorted, { partitionKey: text(partition), sortKey });
    });
    const own = ["k2x", "k5x"].filter((name) => {
      if (sortKey.operator === "begins_with") return true;
      if (sortKey.operator === "between") return name > "k2" && name < "k4";
      if (sortKey.operator === "=") return false;
      return sortKey.operator.startsWith("<") ? name < "k2" : name > "k7";
    });
    expect(sortKeysOf(result)).toEqual([...wanted, ...own].filter((name) => name !== "k9").sort());
  });

  test.each([false, true])(
    "pages of every size give all rows in order, with own writes on their borders (descending: %s)",
    async (descending) => {
      const partition = `paged-${descending.toString()}`;
      await seeded(partition);
      const query = { partitionKey: text(partition), descending };
      const wanted = [...names.filter((name) => name !== "k4" && name !== "k9"), "a", "k3a", "z"];
      wanted.sort();
      if (descending) wanted.reverse();
      for (const limit of [1, 2, 3, 5, 9, 10, 11]) {
        const { result } = await other
          .transact({}, async (tx) => {
            for (const name of ["a", "k3a", "z", "k0", "k5"]) {
              tx.put(sorted.name, { ...key(partition, name), own: { BOOL: true } });
            }
            tx.delete(sorted.name, key(partition, "k4"));
            tx.delete(sorted.name, key(partition, "k9"));
            const rows = await queryRows(tx, sorted, query, limit);
            // Nothing of this is to be committed.
            throw new Found(rows);
          })
          .catch((error: unknown) => {
            if (error instanceof Found) return { result: error.rows };
            throw error;
          });
        expect([limit, sortKeysOf(result)]).toEqual([limit, wanted]);
        const own = result.filter((row) => "own" in row).map((row) => textOf(row, "sk"));
        expect(own.sort()).toEqual(["a", "k0", "k3a", "k5", "z"]);
      }
    },
  );

  test("numeric sort keys come in the order of numbers, own ones too", async () => {
    const values = [-10, -1.5, 0, 2, 10, 100];
    await putAll(
      engine,
      numbered,
      values.map((value) => key("order", value)),
    );
    const { result } = await other.transact({}, async (tx) => {
      tx.put(numbered.name, key("order", 9));
      tx.put(numbered.name, key("order", -2));
      return queryRows(tx, numbered, { partitionKey: text("order") }, 2);
    });
    expect(result.map((row) => numberOf(row, "sk"))).toEqual([-10, -2, -1.5, 0, 2, 9, 10, 100]);
  });

  test("deleted rows are hidden, also when they fill a page", async () => {
    await seeded("deleted");
    await engine.transact({}, (tx) => {
      for (const name of names.slice(2, 8)) tx.delete(sorted.name, key("deleted", name));
      return Promise.resolve();
    });
    const { result } = await other.snapshot({}, (snapshot) =>
      queryRows(snapshot, sorted, { partitionKey: text("deleted") }, 2),
    );
    expect(sortKeysOf(result)).toEqual(["k0", "k1", "k8", "k9"]);
  });

  test("a partition of a table without a sort key is its one item", async () => {
    await putAll(engine, plain, [{ ...key("alone"), n: number(1) }]);
    const { result } = await other.transact({}, async (tx) => {
      const before = await queryRows(tx, plain, { partitionKey: text("alone") });
      tx.delete(plain.name, key("alone"));
      const after = await queryRows(tx, plain, { partitionKey: text("alone") });
      tx.put(plain.name, { ...key("other") });
      const own = await queryRows(tx, plain, { partitionKey: text("other") });
      return [before.length, after.length, own.length];
    });
    expect(result).toEqual([1, 0, 1]);
  });

  test("an index finds what is committed and what the transaction wrote, in order", async () => {
    const ranked = (name: string, rank: number, group = "g"): Item => ({
      ...key(name),
      group: text(group),
      rank: number(rank),
    });
    await putAll(engine, indexed, [ranked("i1", 1), ranked("i2", 2), ranked("i3", 3), key("i4")]);
    const index = { name: "by-group", partitionKey: "group", sortKey: "rank" };
    const { result } = await other.transact({}, async (tx) => {
      tx.put(indexed.name, ranked("i5", 2.5));
      tx.put(indexed.name, ranked("i1", 9));
      tx.put(indexed.name, ranked("i2", 2, "elsewhere"));
      const all = await queryRows(tx, indexed, { index, partitionKey: text("g") });
      const some = await queryRows(tx, indexed, {
        index,
        partitionKey: text("g"),
        sortKey: { operator: ">", value: number(2.5) },
        descending: true,
      });
      return { all, some };
    });
    expect(result.all.map((row) => textOf(row, "pk"))).toEqual(["i5", "i3", "i1"]);
    expect(result.some.map((row) => textOf(row, "pk"))).toEqual(["i1", "i3"]);
  });
});

describe("scans", () => {
  test("pages of every size give every row once, own writes included, deletes hidden", async () => {
    const table = await deployment.stores.createTable("scanned");
    const fresh = deployment.openEngine();
    const names = Array.from({ length: 23 }, (_, i) => `row-${i.toString()}`);
    await putAll(
      fresh,
      table,
      names.map((name) => key(name)),
    );
    await fresh.transact({}, (tx) => {
      tx.delete(table.name, key("row-3"));
      return Promise.resolve();
    });
    for (const limit of [undefined, 1, 4, 23, 100]) {
      const { result } = await fresh
        .transact({}, async (tx) => {
          tx.put(table.name, { ...key("row-1"), own: { BOOL: true } });
          tx.put(table.name, { ...key("new"), own: { BOOL: true } });
          tx.delete(table.name, key("row-2"));
          throw new Found(await scanRows(tx, table, limit));
        })
        .catch((error: unknown) => {
          if (error instanceof Found) return { result: error.rows };
          throw error;
        });
      const wanted = [...names.filter((name) => name !== "row-2" && name !== "row-3"), "new"];
      expect(result.map((row) => textOf(row, "pk")).sort()).toEqual(wanted.sort());
      expect(result.filter((row) => "own" in row)).toHaveLength(2);
    }
  });
});

/** Carries rows out of a transaction that is to leave nothing behind. */
class Found extends Error {
  readonly rows: Item[];
  constructor(rows: Item[]) {
    super("found");
    this.rows = rows;
  }
}

/** Buffers and typed arrays alike. */
function plainBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map((each) => plainBytes(each));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainBytes(each)]));
}
