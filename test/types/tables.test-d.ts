/** What the compiler knows of tables, keys and rows: inference, and what must not compile. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Client,
  defineTable,
  type ItemOf,
  type KeyInput,
  type KeyOf,
  type RowOf,
  type Transaction,
  type Validator,
} from "../../sdk/index.ts";

declare const tx: Transaction;
declare const db: Client;

type Account = { balanceCents: number; note?: string };
const accounts = defineTable<Account, { id: string }>("accounts");
const bare = defineTable<Account>("accounts");
const lines = defineTable<{ quantity: number }, { order: string; line: number }, "order">("lines", {
  key: ["order", "line"],
});
const orders = defineTable("orders", {
  schema: z.object({
    customer: z.string(),
    order: z.string(),
    state: z.enum(["open", "paid"]).default("open"),
    totalCents: z.number().int(),
  }),
  key: ["customer", "order"],
});
const events = defineTable("events", {
  schema: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("seen"), id: z.string(), at: z.number() }),
    z.object({ kind: z.literal("sold"), id: z.string(), price: z.number() }),
  ]),
  key: "id",
});

describe("tables", () => {
  test("a table by types has rows of item and key", () => {
    expectTypeOf<RowOf<typeof accounts>>().toEqualTypeOf<{
      balanceCents: number;
      note?: string;
      id: string;
    }>();
    expectTypeOf(tx.get(accounts, "a")).resolves.toEqualTypeOf<
      { balanceCents: number; note?: string; id: string } | undefined
    >();
  });

  test("a table without a key type takes bare strings", () => {
    expectTypeOf<KeyInput<KeyOf<typeof bare>>>().toEqualTypeOf<string>();
    expectTypeOf(tx.get(bare, "a")).resolves.toEqualTypeOf<Account | undefined>();
    // @ts-expect-error: numbers are another type of key
    void tx.get(bare, 1);
  });

  test("a table by a zod schema infers item, key and input", () => {
    expectTypeOf<KeyOf<typeof orders>>().toEqualTypeOf<{ customer: string; order: string }>();
    expectTypeOf<ItemOf<typeof orders>>().toEqualTypeOf<{
      state: "open" | "paid";
      totalCents: number;
    }>();
    // The validator fills in the default, so that a write may leave it out.
    tx.put(orders, { customer: "c", order: "o" }, { totalCents: 1 });
    tx.put(orders, { customer: "c", order: "o", totalCents: 1 });
  });

  test("a union of shapes stays a union without its key", () => {
    expectTypeOf<KeyOf<typeof events>>().toEqualTypeOf<{ id: string }>();
    expectTypeOf<ItemOf<typeof events>>().toEqualTypeOf<
      { kind: "seen"; at: number } | { kind: "sold"; price: number }
    >();
    tx.put(events, "e", { kind: "sold", price: 1 });
    // @ts-expect-error: a price belongs to "sold"
    tx.put(events, "e", { kind: "seen", price: 1 });
  });

  test("every Standard Schema validator fits", () => {
    expectTypeOf<StandardSchemaV1<{ a: number }, { a: string }>>().toExtend<
      Validator<unknown, object>
    >();
  });

  test("key names that are no attributes do not compile", () => {
    const schema = z.object({ id: z.string(), tags: z.array(z.string()) });
    // @ts-expect-error: there is no attribute of that name
    defineTable("t", { schema, key: "name" });
    // @ts-expect-error: an array cannot be a key
    defineTable("t", { schema, key: "tags" });
    // @ts-expect-error: a table with a schema must name its key
    defineTable("t", { schema });
    // @ts-expect-error: there is no attribute of that name
    defineTable<Account, { id: string }>("t", { key: "name" });
    // @ts-expect-error: both attributes of the key must be named
    defineTable<Account, { pk: string; sk: string }>("t", { key: ["pk"] });
  });
});

describe("keys and items", () => {
  test("wrong keys do not compile", () => {
    void tx.get(accounts, { id: "a" });
    void tx.get(lines, { order: "o", line: 1 });
    // @ts-expect-error: the key attribute is a string
    void tx.get(accounts, 7);
    // @ts-expect-error: there is no such key attribute
    void tx.get(accounts, { name: "a" });
    // @ts-expect-error: the sort key is missing
    void tx.get(lines, { order: "o" });
    // @ts-expect-error: two attributes need an object
    void tx.get(lines, "o");
    // @ts-expect-error: a line is a number
    tx.delete(lines, { order: "o", line: "1" });
  });

  test("wrong attributes do not compile", () => {
    tx.put(accounts, "a", { balanceCents: 1 });
    tx.put(accounts, { id: "a", balanceCents: 1 });
    // @ts-expect-error: cents are a number
    tx.put(accounts, "a", { balanceCents: "1" });
    // @ts-expect-error: an attribute is missing
    tx.put(accounts, "a", {});
    // @ts-expect-error: there is no such attribute
    tx.put(accounts, "a", { balanceCents: 1, colour: "red" });
    // @ts-expect-error: a row needs its key
    tx.put(accounts, { balanceCents: 1 });
    // @ts-expect-error: a bare key is no part of the row, so it must be given
    tx.put(bare, { balanceCents: 1 });
  });

  test("an update takes a function or a patch of the item", () => {
    void tx.update(accounts, "a", { balanceCents: 2 });
    void tx.update(accounts, "a", { note: undefined });
    void tx.update(accounts, "a", (row) => {
      expectTypeOf(row).toEqualTypeOf<RowOf<typeof accounts> | undefined>();
      return row === undefined ? undefined : { ...row, balanceCents: row.balanceCents + 1 };
    });
    // @ts-expect-error: a required attribute cannot be removed
    void tx.update(accounts, "a", { balanceCents: undefined });
    // @ts-expect-error: a key attribute cannot be patched
    void tx.update(accounts, "a", { id: "b" });
    // @ts-expect-error: an update's function is synchronous
    void tx.update(accounts, "a", async () => ({ balanceCents: 1 }));
  });
});

describe("batchGet", () => {
  test("pairs of several tables give a tuple of rows", () => {
    expectTypeOf(
      tx.batchGet([
        [accounts, "a"],
        [lines, { order: "o", line: 1 }],
      ]),
    ).resolves.toEqualTypeOf<
      [RowOf<typeof accounts> | undefined, RowOf<typeof lines> | undefined]
    >();
  });

  test("keys of one table give an array of its rows", () => {
    expectTypeOf(tx.batchGet(accounts, ["a", { id: "b" }])).resolves.toEqualTypeOf<
      (RowOf<typeof accounts> | undefined)[]
    >();
  });

  test("pairs made at run time give an array", () => {
    const pairs = ["a", "b"].map((id) => [accounts, { id }] as const);
    expectTypeOf(tx.batchGet(pairs)).resolves.toEqualTypeOf<
      (RowOf<typeof accounts> | undefined)[]
    >();
  });

  test("a wrong key of any pair does not compile", () => {
    void tx.batchGet([
      [accounts, "a"],
      // @ts-expect-error: a line is a number
      [lines, { order: "o", line: "x" }],
    ]);
  });
});

describe("queries", () => {
  test("conditions follow the key's types", () => {
    const rows = tx.query(lines, { where: { order: "o", line: { between: [1, 9] } } });
    expectTypeOf(rows.all()).resolves.toEqualTypeOf<RowOf<typeof lines>[]>();
    tx.query(orders, { where: { customer: "c", order: { beginsWith: "2024-" } } });
    // @ts-expect-error: numbers have no beginning
    tx.query(lines, { where: { order: "o", line: { beginsWith: 1 } } });
    // @ts-expect-error: a line is a number
    tx.query(lines, { where: { order: "o", line: { gt: "1" } } });
    // @ts-expect-error: one comparison only
    tx.query(lines, { where: { order: "o", line: { gt: 1, lt: 3 } } });
    // @ts-expect-error: quantity is no key attribute
    tx.query(lines, { where: { quantity: 1 } });
  });

  test("a where without the partition key, or with a condition on it, does not compile", () => {
    tx.query(lines, { where: { order: "o" } });
    // @ts-expect-error: the line is the sort key
    tx.query(lines, { where: { line: 1 } });
    // @ts-expect-error: the order must be given
    tx.query(lines, { where: { line: { gt: 1 } } });
    // @ts-expect-error: a partition key has one value, no condition
    tx.query(lines, { where: { order: { beginsWith: "o" } } });
    // @ts-expect-error: a sort key has a condition, no value
    tx.query(lines, { where: { order: "o", line: 1 } });
    // @ts-expect-error: the schema's `key` names the customer first
    tx.query(orders, { where: { order: "o" } });
    tx.query(accounts, { where: { id: "a" } });
    // @ts-expect-error: there is no such key attribute
    tx.query(accounts, { where: { name: "a" } });
  });

  test("a key of two attributes is queried only where its partition key is named", () => {
    const unnamed = defineTable<{ n: number }, { order: string; line: number }>("lines");
    void tx.get(unnamed, { order: "o", line: 1 });
    tx.put(unnamed, { order: "o", line: 1, n: 1 });
    // @ts-expect-error: either attribute may be the partition key
    tx.query(unnamed, { where: { order: "o" } });
    tx.query(unnamed, { index: "by-line", where: { line: 1 } });
    // @ts-expect-error: no attribute of the key
    defineTable<{ n: number }, { order: string; line: number }, "n">("lines");
    defineTable<{ n: number }, { order: string; line: number }, "order">("lines", {
      // @ts-expect-error: the partition key comes first
      key: ["line", "order"],
    });
    // Without types any attribute may be the key.
    tx.query(defineTable("anything"), { where: { whatever: "a" } });
  });

  test("an index is queried by any attribute that can be a key", () => {
    tx.query(orders, { index: "by-state", where: { state: "open", totalCents: { gte: 100 } } });
    // @ts-expect-error: no such state
    tx.query(orders, { index: "by-state", where: { state: "lost" } });
    const byTotal = { index: "by-total" } as const;
    // @ts-expect-error: numbers have no beginning
    tx.query(orders, { ...byTotal, where: { state: "open", totalCents: { beginsWith: 1 } } });
  });

  test("a filter sees typed rows, and rows iterate", async () => {
    tx.scan(accounts, { filter: (row) => row.balanceCents > 0 });
    for await (const row of tx.scan(accounts)) {
      expectTypeOf(row).toEqualTypeOf<RowOf<typeof accounts>>();
    }
  });

  test("a snapshot reads and cannot write", async () => {
    await db.snapshot(async (snapshot) => {
      expectTypeOf(snapshot).toHaveProperty("get");
      expectTypeOf(snapshot).not.toHaveProperty("put");
      expectTypeOf(snapshot).not.toHaveProperty("update");
      expectTypeOf(snapshot).not.toHaveProperty("delete");
    });
  });
});
