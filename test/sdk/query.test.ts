/** Queries and scans: conditions, pages, bounds, and what their rows show. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeCursor, encodeCursor } from "../../sdk/cursor.ts";
import { InvalidRequestError, type Snapshot, TransactionTooLargeError } from "../../sdk/index.ts";
import { accounts, lines, openShop } from "./fixtures/shop.ts";

/** Order "o" has lines 1 to 7 of quantity 10 to 70; another order must never show. */
async function stockedShop() {
  const shop = openShop({ pageRows: 3 });
  await shop.db.transact(async (tx) => {
    for (let line = 1; line <= 7; line += 1) {
      tx.put(
        lines,
        { order: "o", line },
        { sku: line % 2 === 0 ? "even" : "odd", quantity: line * 10 },
      );
    }
    tx.put(lines, { order: "p", line: 1 }, { sku: "other" });
    tx.put(accounts, "acc-1", { balanceCents: 1 });
    tx.put(accounts, "acc-2", { balanceCents: 2 });
  });
  return shop;
}

const numbers = (rows: readonly { readonly line: number }[]): number[] =>
  rows.map((row) => row.line);

describe("query", () => {
  test("iterates a whole partition over its pages, in key order", async () => {
    const { db } = await stockedShop();
    const found = await db.snapshot(async (s) => {
      const seen: number[] = [];
      for await (const row of s.query(lines, { where: { order: "o" } })) seen.push(row.line);
      return seen;
    });
    expect(found).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("each sort-key comparison selects its range", async () => {
    const { db } = await stockedShop();
    const ranges = await db.snapshot((s) =>
      Promise.all([
        s.query(lines, { where: { order: "o", line: { eq: 4 } } }).all(),
        s.query(lines, { where: { order: "o", line: { lt: 3 } } }).all(),
        s.query(lines, { where: { order: "o", line: { lte: 3 } } }).all(),
        s.query(lines, { where: { order: "o", line: { gt: 5 } } }).all(),
        s.query(lines, { where: { order: "o", line: { gte: 5 } } }).all(),
        s.query(lines, { where: { order: "o", line: { between: [2, 4] } } }).all(),
      ]),
    );
    expect(ranges.map(numbers)).toEqual([[4], [1, 2], [1, 2, 3], [6, 7], [5, 6, 7], [2, 3, 4]]);
  });

  test("descends, and takes the first few", async () => {
    const { db } = await stockedShop();
    const newest = await db.snapshot((s) =>
      s.query(lines, { where: { order: "o" }, descending: true }).take(4),
    );
    expect(numbers(newest)).toEqual([7, 6, 5, 4]);
  });

  test("a filter keeps what it accepts, over as many pages as it takes", async () => {
    const { db } = await stockedShop();
    const even = await db.snapshot((s) =>
      s.query(lines, { where: { order: "o" }, filter: (row) => row.sku === "even" }).take(3),
    );
    expect(numbers(even)).toEqual([2, 4, 6]);
  });

  test("own writes overlay what is stored", async () => {
    const { db } = await stockedShop();
    const { result } = await db.transact(async (tx) => {
      tx.delete(lines, { order: "o", line: 1 });
      tx.put(lines, { order: "o", line: 8 }, { sku: "new" });
      return tx.query(lines, { where: { order: "o" } }).all();
    });
    expect(numbers(result)).toEqual([2, 3, 4, 5, 6, 7, 8]);
  });

  test("an index is queried by the attributes that `where` names", async () => {
    const { db } = await stockedShop();
    const rows = await db.snapshot((s) =>
      s.query(lines, { index: "by-sku", where: { sku: "odd", quantity: { gte: 50 } } }).all(),
    );
    expect(numbers(rows)).toEqual([5, 7]);
  });

  test.each<[string, string, (s: Snapshot) => unknown]>([
    ["no partition key", "where", (s) => s.query(lines, { where: {} as never })],
    [
      "two plain values",
      "where",
      (s) => s.query(lines, { where: { order: "o", line: 1 } as never }),
    ],
    [
      "a partition that is none",
      "where.line",
      (s) => s.query(lines, { where: { line: 1 } as never }),
    ],
    [
      "a sort key that is none",
      "where.sku",
      (s) => s.query(lines, { where: { order: "o", sku: { eq: "x" } } as never }),
    ],
    [
      "two comparisons",
      "where.line",
      (s) => s.query(lines, { where: { order: "o", line: { gt: 1, lt: 3 } } as never }),
    ],
    [
      "an unknown comparison",
      "where.line.like",
      (s) => s.query(lines, { where: { order: "o", line: { like: 1 } } as never }),
    ],
    [
      "half a range",
      "where.line.between",
      (s) => s.query(lines, { where: { order: "o", line: { between: [1] } } as never }),
    ],
    [
      "a misspelt option",
      "desc",
      (s) => s.query(lines, { where: { order: "o" }, desc: true } as never),
    ],
    ["a filter that is none", "filter", (s) => s.scan(lines, { filter: "odd" } as never)],
  ])("refuses %s", async (_what, field, act) => {
    const { db } = openShop();
    await expect(db.snapshot(async (s) => act(s))).rejects.toMatchObject({
      code: "invalid-request",
      field,
    });
  });
});

describe("pages", () => {
  test("cursors lead through all rows, also from another transaction", async () => {
    const { db } = await stockedShop();
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const from = cursor;
      const page = await db.snapshot((s) =>
        s
          .query(lines, { where: { order: "o" } })
          .page({ limit: 2, ...(from === undefined ? {} : { cursor: from }) }),
      );
      expect(page.rows.length).toBeLessThanOrEqual(2);
      seen.push(...numbers(page.rows));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test("a limit bounds the rows examined, so a filtered page may be empty and go on", async () => {
    const { db } = await stockedShop();
    const page = await db.snapshot((s) =>
      s.query(lines, { where: { order: "o" }, filter: (row) => row.line > 5 }).page({ limit: 2 }),
    );
    expect(page.rows).toEqual([]);
    expect(page.cursor).toBeTypeOf("string");
  });

  test("a cursor of another table or index, or none at all, is refused", async () => {
    const { db } = await stockedShop();
    const { cursor } = await db.snapshot((s) => s.scan(lines).page({ limit: 1 }));
    if (cursor === undefined) throw new Error("seven more rows follow");
    for (const wrong of ["x", Buffer.from("[]").toString("base64url"), cursor]) {
      const refused = db.snapshot((s) => s.scan(accounts).page({ cursor: wrong }));
      await expect(refused).rejects.toMatchObject({ code: "invalid-request", field: "cursor" });
    }
    const otherIndex = db.snapshot((s) =>
      s.query(lines, { index: "by-sku", where: { sku: "odd" } }).page({ cursor }),
    );
    await expect(otherIndex).rejects.toMatchObject({ field: "cursor" });
  });

  test("round trip: every key survives as a cursor", () => {
    const value = fc.oneof(
      fc.string().map((S) => ({ S })),
      fc.bigInt().map((n) => ({ N: n.toString() })),
      fc.uint8Array().map((B) => ({ B: new Uint8Array(B) })),
    );
    const scope = { table: "t", index: undefined };
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), value), (key) => {
        const decoded = decodeCursor(scope, encodeCursor(scope, key));
        expect(Object.entries(decoded)).toEqual(Object.entries(key));
      }),
    );
  });
});

describe("all", () => {
  test("its bound is a bound and no cut: one row more is an error", async () => {
    const { db } = await stockedShop();
    const query = { where: { order: "o" } };
    expect(await db.snapshot((s) => s.query(lines, query).all({ rowsMax: 7 }))).toHaveLength(7);
    const tooMany = db.snapshot((s) => s.query(lines, query).all({ rowsMax: 6 }));
    await expect(tooMany).rejects.toThrow(TransactionTooLargeError);
    await expect(tooMany).rejects.toMatchObject({ limit: { name: "rowsMax", max: 6, actual: 7 } });
  });

  test("a scan shows every row of its table and no other", async () => {
    const { db } = await stockedShop();
    const [all, rich] = await db.snapshot((s) =>
      Promise.all([
        s.scan(lines).all(),
        s.scan(accounts, { filter: (row) => row.balanceCents > 1 }).all(),
      ]),
    );
    expect(all).toHaveLength(8);
    expect(rich).toEqual([{ id: "acc-2", balanceCents: 2 }]);
  });

  test("bounds that are no whole numbers are refused", async () => {
    const { db } = openShop();
    await expect(db.snapshot((s) => s.scan(lines).take(0))).rejects.toThrow(InvalidRequestError);
    await expect(db.snapshot((s) => s.scan(lines).all({ rowsMax: 1.5 }))).rejects.toMatchObject({
      field: "rowsMax",
    });
    await expect(db.snapshot((s) => s.scan(lines).page({ limit: -1 }))).rejects.toMatchObject({
      field: "limit",
    });
  });
});
