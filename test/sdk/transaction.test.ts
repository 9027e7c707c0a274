/** What a body can do, observed in what is stored afterwards. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  ConflictError,
  CorruptDataError,
  defineTable,
  InvalidRequestError,
  TransactionClosedError,
  UnavailableError,
  type Transaction,
  type Validator,
} from "../../sdk/index.ts";
import { StoreError } from "../../core/errors.ts";
import { unhandledDuring } from "../harness/unhandled-rejections.ts";
import { accounts, anything, bareAccounts, blobs, lines, openShop } from "./fixtures/shop.ts";

const stored = (id: string, cents: number) => ({
  id: { S: id },
  balanceCents: { N: String(cents) },
});

describe("reads and writes", () => {
  test("writes are stored with their key, and read back as rows", async () => {
    const { db, engine } = openShop();
    await db.transact(async (tx) => {
      tx.put(accounts, "a", { balanceCents: 5 });
      tx.put(accounts, { id: "b" }, { balanceCents: 6 });
      tx.put(accounts, { id: "c", balanceCents: 7 });
      tx.put(bareAccounts, "d", { balanceCents: 8 });
      tx.put(blobs, Uint8Array.of(1), { size: 3 });
      tx.put(lines, { order: "o", line: 1 }, { sku: "x" });
    });
    expect(["a", "b", "c", "d"].map((id) => engine.stored("accounts", { id: { S: id } }))).toEqual([
      stored("a", 5),
      stored("b", 6),
      stored("c", 7),
      stored("d", 8),
    ]);
    const rows = await db.snapshot((s) =>
      s.batchGet([
        [accounts, "a"],
        [blobs, { hash: Uint8Array.of(1) }],
        [lines, { order: "o", line: 1 }],
        [lines, { order: "o", line: 2 }],
      ]),
    );
    expect(rows).toEqual([
      { id: "a", balanceCents: 5 },
      { hash: Uint8Array.of(1), size: 3 },
      { order: "o", line: 1, sku: "x" },
      undefined,
    ]);
  });

  test("a body sees its own writes, several on one row, and only the last is stored", async () => {
    const { db, engine } = openShop();
    await db.transact(async (tx) => {
      tx.put(accounts, "a", { balanceCents: 1 });
      expect(await tx.get(accounts, "a")).toEqual({ id: "a", balanceCents: 1 });
      await tx.update(accounts, "a", { balanceCents: 2 });
      tx.delete(accounts, "a");
      expect(await tx.get(accounts, "a")).toBeUndefined();
      tx.put(accounts, "a", { balanceCents: 3 });
      expect(await tx.batchGet(accounts, ["a", "b"])).toEqual([
        { id: "a", balanceCents: 3 },
        undefined,
      ]);
    });
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 3));
  });

  test("a row serves as its own key", async () => {
    const { db, engine } = openShop();
    await db.transact(async (tx) => {
      tx.put(lines, { order: "o", line: 1, sku: "x" });
    });
    await db.transact(async (tx) => {
      const row = await tx.get(lines, { order: "o", line: 1 });
      if (row !== undefined) tx.delete(lines, row);
    });
    expect(engine.stored("lines", { order: { S: "o" }, line: { N: "1" } })).toBeUndefined();
  });

  test.each<[string, (tx: Transaction) => unknown, string]>([
    ["a missing sort key", (tx) => tx.get(lines, { order: "o" } as never), "key.line"],
    ["a bare key of a table with two", (tx) => tx.get(lines, "o" as never), "key"],
    ["a key that is no key value", (tx) => tx.get(accounts, true as never), "key.id"],
    ["an item whose key differs", (tx) => tx.put(anything, "a", { id: "b" }), "item.id"],
    ["an item that is none", (tx) => tx.put(accounts, "a", 5 as never), "item"],
    ["an attribute without a type", (tx) => tx.put(anything, "a", { at: new Date(0) }), "item.at"],
    ["an unknown table", (tx) => tx.get(defineTable("nowhere"), "a"), "table"],
    ["keys that are no array", (tx) => tx.batchGet(accounts, "a" as never), "keys"],
    ["an unregistered key name", (tx) => tx.get(defineTable("lines", { key: "id" }), "a"), "key"],
  ])("refuses %s, naming the field, and stores nothing", async (_what, act, field) => {
    const { db, engine } = openShop();
    const failed = db.transact(async (tx) => {
      tx.put(accounts, "other", { balanceCents: 1 });
      await act(tx);
    });
    await expect(failed).rejects.toMatchObject({ code: "invalid-request", field });
    expect(engine.rows.size).toBe(0);
  });

  test("a finished transaction refuses every use", async () => {
    const { db } = openShop();
    let leaked: Transaction | undefined;
    await db.transact(async (tx) => {
      leaked = tx;
    });
    expect(() => leaked?.put(accounts, "a", { balanceCents: 1 })).toThrow(TransactionClosedError);
    await expect(leaked?.get(accounts, "a")).rejects.toThrow(TransactionClosedError);
    await expect(leaked?.scan(accounts).all()).rejects.toThrow(TransactionClosedError);
  });
});

describe("rollback", () => {
  test("gives the caller a result, and writes nothing", async () => {
    const { db, engine } = openShop();
    const { result, receipt } = await db.transact(async (tx) => {
      tx.put(accounts, "a", { balanceCents: 5 });
      await tx.update(accounts, "b", () => ({ balanceCents: 6 }));
      return tx.rollback("too little");
    });
    expect(result).toBe("too little");
    expect(receipt).toMatchObject({ transactionId: undefined, commitTimestamp: undefined });
    expect(engine.rows.size).toBe(0);
  });

  test("discards updates that were not waited for, also those still reading", async () => {
    const { db, engine } = openShop();
    const unhandled = await unhandledDuring(async () => {
      const { result } = await db.transact(async (tx) => {
        void tx.update(accounts, "a", () => ({ balanceCents: 6 }));
        return tx.rollback(7);
      });
      expect(result).toBe(7);
    });
    expect(unhandled).toEqual([]);
    expect(engine.rows.size).toBe(0);
  });

  test("leaves the transaction readable, and refuses a write after it", async () => {
    const { db, engine } = openShop();
    const failed = db.transact(async (tx) => {
      tx.put(accounts, "a", { balanceCents: 5 });
      tx.rollback();
      expect(await tx.get(accounts, "a")).toBeUndefined();
      tx.put(accounts, "a", { balanceCents: 6 });
    });
    await expect(failed).rejects.toBeInstanceOf(TransactionClosedError);
    expect(engine.rows.size).toBe(0);
  });

  test("fails the transaction all the same where an update could not read its row", async () => {
    const readFault = () => new StoreError("unavailable", "down");
    const { db } = openShop({ readFault });
    const failed = db.transact(async (tx) => {
      await tx.update(accounts, "a", () => undefined).catch(() => undefined);
      return tx.rollback("nothing was wrong");
    });
    await expect(failed).rejects.toBeInstanceOf(UnavailableError);
  });

  test("of a transaction that is over is refused", async () => {
    const { db } = openShop();
    let leaked: Transaction | undefined;
    await db.transact(async (tx) => {
      leaked = tx;
    });
    expect(() => leaked?.rollback()).toThrow(TransactionClosedError);
  });
});

describe("update", () => {
  test("a function gets the row, or undefined; its result is stored by the key", async () => {
    const { db, engine } = openShop();
    const { result } = await db.transact(async (tx) => [
      await tx.update(accounts, "a", (row) => ({ balanceCents: (row?.balanceCents ?? 100) + 1 })),
      await tx.update(accounts, "a", (row) => ({ balanceCents: (row?.balanceCents ?? 0) + 1 })),
    ]);
    expect(result).toEqual([
      { id: "a", balanceCents: 101 },
      { id: "a", balanceCents: 102 },
    ]);
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 102));
  });

  test("a function that returns undefined leaves the row alone", async () => {
    const { db } = openShop();
    const { result, receipt } = await db.transact((tx) =>
      tx.update(accounts, "a", () => undefined),
    );
    expect(result).toBeUndefined();
    expect(receipt.commitTimestamp).toBeUndefined();
  });

  test("a patch replaces and removes attributes, keeps the rest to the last digit", async () => {
    const { db, engine } = openShop();
    const precise = { N: "0.12345678901234567890123456789012345678" };
    await db.transact(async (tx) => {
      tx.put(anything, "a", {
        balanceCents: 1,
        note: "x",
        precise: { toAttributeValue: () => precise },
      });
    });
    await db.transact((tx) => tx.update(accounts, "a", { balanceCents: 2, note: undefined }));
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual({ ...stored("a", 2), precise });
  });

  test("a patch of an absent row does nothing", async () => {
    const { db, engine } = openShop();
    const { result } = await db.transact((tx) => tx.update(accounts, "a", { balanceCents: 2 }));
    expect(result).toBeUndefined();
    expect(engine.rows.size).toBe(0);
  });

  test("updates of one row started together are done one after another", async () => {
    const { db, engine } = openShop();
    await db.transact((tx) =>
      Promise.all(
        Array.from({ length: 10 }, () =>
          tx.update(accounts, "a", (row) => ({ balanceCents: (row?.balanceCents ?? 0) + 1 })),
        ),
      ),
    );
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 10));
  });

  test("an update that the body did not wait for is still part of the transaction", async () => {
    const { db, engine } = openShop();
    await db.transact(async (tx) => {
      void tx.update(accounts, "a", () => ({ balanceCents: 1 }));
    });
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 1));
  });

  test("the failure of such an update fails the transaction", async () => {
    const { db, engine } = openShop();
    const failed = db.transact(async (tx) => {
      tx.put(accounts, "b", { balanceCents: 1 });
      void tx.update(accounts, "a", () => {
        throw new RangeError("no");
      });
    });
    await expect(failed).rejects.toThrow(RangeError);
    expect(engine.rows.size).toBe(0);
  });

  test("an update that cannot read its row fails the transaction, not the process", async () => {
    const fault = new StoreError("unavailable", "ETIMEDOUT");
    let faulty = false;
    const { db, engine } = openShop({ readFault: () => (faulty ? fault : undefined) });
    const unhandled = await unhandledDuring(async () => {
      const failed = db.transact({ attemptsMax: 1 }, async (tx) => {
        tx.put(accounts, "b", { balanceCents: 1 });
        faulty = true;
        const early = tx.update(accounts, "a", { balanceCents: 1 });
        const handled = tx.update(accounts, "c", { balanceCents: 1 }).catch(() => undefined);
        // The update has failed long before the body comes to wait for it, or would have.
        await new Promise((resolve) => setTimeout(resolve, 20));
        faulty = false;
        await handled;
        if (tx.readTimestamp === 0) await early;
      });
      await expect(failed).rejects.toMatchObject({ cause: fault });
    });
    expect(unhandled).toEqual([]);
    expect(engine.rows.size).toBe(0);
  });

  test("an update's own error that nobody hears in time is an unhandled rejection", async () => {
    const { db } = openShop();
    const own = new RangeError("no");
    const unhandled = await unhandledDuring(() =>
      db.transact(async (tx) => {
        void tx.update(accounts, "a", () => {
          throw own;
        });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }),
    );
    expect(unhandled).toEqual([own]);
  });

  test("an update that failed and was handled fails nothing, nor the next one", async () => {
    const { db, engine } = openShop();
    await db.transact(async (tx) => {
      const first = tx.update(accounts, "a", () => {
        throw new RangeError("no");
      });
      const second = tx.update(accounts, "a", () => ({ balanceCents: 2 }));
      await expect(first).rejects.toThrow(RangeError);
      await second;
    });
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 2));
  });

  test("a key that does not fit is refused by the update, not by the call of it", async () => {
    const { db } = openShop();
    const seen: unknown[] = [];
    const failed = db.transact(async (tx) => {
      const update = tx.update(accounts, { name: "a" } as never, { balanceCents: 1 });
      seen.push(update instanceof Promise);
      await update;
    });
    await expect(failed).rejects.toMatchObject({ code: "invalid-request", field: "key.id" });
    expect(seen).toEqual([true]);
  });

  test("an asynchronous function is refused", async () => {
    const { db } = openShop();
    const later = (() => Promise.reject(new Error("late"))) as never;
    await expect(db.transact((tx) => tx.update(accounts, "a", later))).rejects.toMatchObject({
      field: "change",
    });
  });
});

describe("conflicts and errors", () => {
  test("a body whose reads were overwritten runs again and sees the newer state", async () => {
    const { db, engine } = openShop();
    const attempts: number[] = [];
    const { receipt } = await db.transact(async (tx) => {
      attempts.push(tx.attempt);
      const row = await tx.get(accounts, "a");
      if (tx.attempt === 1) {
        await db.transact(async (other) => {
          other.put(accounts, "a", { balanceCents: 10 });
        });
      }
      tx.put(accounts, "a", { balanceCents: (row?.balanceCents ?? 0) + 1 });
    });
    expect(attempts).toEqual([1, 2]);
    expect(receipt.attempts).toBe(2);
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual(stored("a", 11));
  });

  test("a row that appears in a queried partition is a conflict", async () => {
    const { db } = openShop();
    const failed = db.transact({ attemptsMax: 1 }, async (tx) => {
      const rows = await tx.query(lines, { where: { order: "o" } }).all();
      await db.transact(async (other) => {
        other.put(lines, { order: "o", line: 1 }, { sku: "x" });
      });
      tx.put(accounts, "count", { balanceCents: rows.length });
    });
    await expect(failed).rejects.toThrow(ConflictError);
    await expect(failed).rejects.toMatchObject({ retryable: true, detail: { table: "lines" } });
  });

  test("the body's own error passes through untouched, and nothing is stored", async () => {
    const { db, engine } = openShop();
    const own = Object.assign(new Error("insufficient"), { code: "OVERDRAFT" });
    const failed = db.transact(async (tx) => {
      tx.put(accounts, "a", { balanceCents: 1 });
      throw own;
    });
    await expect(failed).rejects.toBe(own);
    expect(engine.rows.size).toBe(0);
  });

  test("a store that does not answer is an UnavailableError, in the body and outside", async () => {
    const fault = new StoreError("unavailable", "ETIMEDOUT");
    const { db } = openShop({ readFault: () => fault });
    let inside: unknown;
    const failed = db.transact(async (tx) => {
      await tx.get(accounts, "a").catch((error: unknown) => {
        inside = error;
        throw error;
      });
    });
    await expect(failed).rejects.toThrow(UnavailableError);
    await expect(failed).rejects.toMatchObject({ retryable: true, cause: fault });
    expect(inside).toBeInstanceOf(UnavailableError);
  });

  test("a store that refuses is an InvalidRequestError, which no retry helps", async () => {
    const { db } = openShop({ readFault: () => new StoreError("rejected", "AccessDenied") });
    const failed = db.snapshot((s) => s.scan(accounts).take(1));
    await expect(failed).rejects.toMatchObject({ field: "request", retryable: false });
  });
});

describe("schemas", () => {
  const schema = z.object({
    id: z.string(),
    balanceCents: z.number().int(),
    note: z.string().default("none"),
  });
  const checked = defineTable("accounts", { schema, key: "id", validateReads: true });

  test("a write is validated, and defaults are filled in", async () => {
    const { db, engine } = openShop();
    const { result } = await db.transact(async (tx) => {
      tx.put(checked, "a", { balanceCents: 1 });
      return tx.get(checked, "a");
    });
    expect(result).toEqual({ id: "a", balanceCents: 1, note: "none" });
    expect(engine.stored("accounts", { id: { S: "a" } })).toEqual({
      ...stored("a", 1),
      note: { S: "none" },
    });
  });

  test("a row that does not fit is refused by the path of its attribute", async () => {
    const { db, engine } = openShop();
    const put = db.transact(async (tx) => {
      tx.put(checked, "a", { balanceCents: 1.5 });
    });
    await expect(put).rejects.toMatchObject({ field: "item.balanceCents" });
    await db.transact(async (tx) => {
      tx.put(checked, "a", { balanceCents: 1 });
    });
    const patch = db.transact((tx) => tx.update(checked, "a", { balanceCents: 0.5 }));
    await expect(patch).rejects.toMatchObject({ field: "item.balanceCents" });
    expect(engine.stored("accounts", { id: { S: "a" } })?.["balanceCents"]).toEqual({ N: "1" });
  });

  test("a stored row that does not fit is corrupt data, where reads are validated", async () => {
    const { db } = openShop();
    await db.transact(async (tx) => {
      tx.put(anything, "a", { balanceCents: "many" });
    });
    await expect(db.snapshot((s) => s.get(checked, "a"))).rejects.toThrow(CorruptDataError);
    const unchecked = defineTable("accounts", { schema, key: "id" });
    expect(await db.snapshot((s) => s.get(unchecked, "a"))).toMatchObject({ balanceCents: "many" });
  });

  test("an asynchronous validator is refused, and its late failure harms nobody", async () => {
    const late: Validator<unknown, { id: string; balanceCents: number }> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => Promise.reject(new Error("late")),
      },
    };
    const slow = defineTable("accounts", { schema: late, key: "id" });
    const { db } = openShop();
    const failed = db.transact(async (tx) => {
      tx.put(slow, "a", { balanceCents: 1 });
    });
    await expect(failed).rejects.toMatchObject({ field: "schema" });
  });

  test("a validator that changes the key is refused", async () => {
    const folding = defineTable("accounts", {
      schema: z.object({ id: z.string().toLowerCase() }),
      key: "id",
    });
    const { db } = openShop();
    const failed = db.transact(async (tx) => {
      tx.put(folding, "A", {});
    });
    await expect(failed).rejects.toMatchObject({ field: "item.id" });
  });

  test.each([
    ["name", () => defineTable("")],
    ["schema", () => defineTable("t", { schema: {} as never, key: "id" as never })],
    ["key", () => defineTable("t", { schema } as never)],
    ["key", () => defineTable("t", { key: ["a", "b", "c"] as never })],
    ["kye", () => defineTable("t", { kye: "id" } as never)],
  ])("a definition with a wrong `%s` is refused", (field, define) => {
    expect(define).toThrow(InvalidRequestError);
    expect(define).toThrow(expect.objectContaining({ field }));
  });
});
