/**
 * The SDK against an embedded stack, found by its one address: real protocols, real oracle and
 * replay.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { type Client, createClient, defineTable, type EngineEvent } from "../../sdk/index.ts";

const accounts = defineTable<{ balanceCents: number; note?: string }, { id: string }>(
  "bank-accounts",
);
const ledger = defineTable<
  { amountCents: number },
  { accountId: string; entryId: string },
  "accountId"
>("bank-ledger", { key: ["accountId", "entryId"] });

let stack: EmbeddedStack;
let db: Client;
const events: EngineEvent[] = [];

beforeAll(async () => {
  stack = await startEmbeddedStack();
  db = createClient({ endpoint: stack.endpoint, onEvent: (event) => events.push(event) });
});

afterAll(async () => {
  await db.close();
  await stack.stop();
});

describe("on an embedded stack", () => {
  test("money moves, and another client sees it at once", async () => {
    await db.transact(async (tx) => {
      tx.put(accounts, "ann", { balanceCents: 100 });
      tx.put(accounts, { id: "bob", balanceCents: 0 });
    });
    const { result, receipt } = await db.transact(async (tx) => {
      await tx.update(accounts, "ann", { balanceCents: 60 });
      return tx.update(accounts, "bob", (row) => ({ balanceCents: (row?.balanceCents ?? 0) + 40 }));
    });
    expect(result).toEqual({ id: "bob", balanceCents: 40 });
    expect(receipt).toMatchObject({ attempts: 1, installed: true, replayed: false });
    expect(await db.outcome(receipt.transactionId ?? "")).toBe("committed");

    const other = createClient({ endpoint: stack.endpoint });
    try {
      const rows = await other.snapshot((s) => s.batchGet(accounts, ["ann", "bob", "eve"]));
      expect(rows).toEqual([
        { id: "ann", balanceCents: 60 },
        { id: "bob", balanceCents: 40 },
        undefined,
      ]);
    } finally {
      await other.close();
    }
  });

  test("concurrent increments of one row are all counted", async () => {
    await Promise.all(
      Array.from({ length: 8 }, () =>
        db.transact({ attemptsMax: 100 }, (tx) =>
          tx.update(accounts, "hot", (row) => ({ balanceCents: (row?.balanceCents ?? 0) + 1 })),
        ),
      ),
    );
    const row = await db.snapshot((s) => s.get(accounts, "hot"));
    expect(row?.balanceCents).toBe(8);
    expect(events.some((event) => event.kind === "committed")).toBe(true);
  });

  test("queries see own writes, conditions, pages and history", async () => {
    const { receipt } = await db.transact(async (tx) => {
      for (const entryId of ["2023-1", "2024-1", "2024-2", "2025-1"]) {
        tx.put(ledger, { accountId: "ann", entryId }, { amountCents: 1 });
      }
      tx.put(accounts, "past", { balanceCents: 1 });
      const own = await tx.query(ledger, { where: { accountId: "ann" } }).all();
      expect(own).toHaveLength(4);
    });
    const of2024 = { where: { accountId: "ann", entryId: { beginsWith: "2024-" } } } as const;
    const first = await db.snapshot((s) => s.query(ledger, of2024).page({ limit: 1 }));
    expect(first.rows.map((row) => row.entryId)).toEqual(["2024-1"]);
    const { cursor } = first;
    if (cursor === undefined) throw new Error("another row follows");
    const second = await db.snapshot((s) => s.query(ledger, of2024).page({ limit: 1, cursor }));
    expect(second.rows.map((row) => row.entryId)).toEqual(["2024-2"]);

    await db.transact((tx) => tx.update(accounts, "past", { balanceCents: 2 }));
    const asOf = receipt.commitTimestamp ?? 0;
    const then = await db.snapshot({ asOf }, (s) => s.get(accounts, "past"));
    expect(then?.balanceCents).toBe(1);
  });

  test("an idempotent call is done once, and its first result comes back", async () => {
    const call = () =>
      db.transact({ idempotencyKey: "order-1" }, async (tx) => {
        const row = await tx.update(accounts, "once", (old) => ({
          balanceCents: (old?.balanceCents ?? 0) + 1,
        }));
        return { row, big: 2n ** 70n };
      });
    const first = await call();
    const second = await call();
    expect(second.receipt.replayed).toBe(true);
    expect(second.result).toEqual(first.result);
    expect(await db.snapshot((s) => s.get(accounts, "once"))).toMatchObject({ balanceCents: 1 });
  });

  test("numbers of 38 digits survive the whole way", async () => {
    const exact = 10n ** 37n + 1n;
    const wide = defineTable<{ exact: number | bigint }, { id: string }>("bank-accounts");
    await db.transact(async (tx) => {
      tx.put(wide, "wide", { exact });
    });
    expect(await db.snapshot((s) => s.get(wide, "wide"))).toEqual({ id: "wide", exact });
  });

  test("an unknown table is refused by name", async () => {
    const missing = db.snapshot((s) => s.get(defineTable("missing"), "x"));
    await expect(missing).rejects.toMatchObject({ code: "invalid-request", field: "table" });
  });
});
