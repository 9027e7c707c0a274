/** What a test aims at transactions over mixed tables: conflicts, and unknown outcomes. */
import { describe, expect, test } from "vitest";
import { CommitUnknownError, ConflictError } from "../../core/errors.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const carts = defineTable<{ readonly n: number }, { readonly id: string }>("carts", { key: "id" });
const stock = defineTable<{ readonly n: number }, { readonly id: string }>("stock", { key: "id" });

async function shop(tablesOnly = false): Promise<TestCloud> {
  const cloud = await createTestCloud({
    tablesOnly,
    tables: [testTable(carts, { partitionKey: "id", access: "mixed" }), stock],
  });
  cloud.seed(carts, [{ id: "a", n: 1 }]);
  cloud.seed(stock, [{ id: "a", n: 1 }]);
  return cloud;
}

type Db = ReturnType<TestCloud["createClient"]>;
type Options = { readonly attemptsMax?: number; readonly deadlineMs?: number };

/** By one write of its one item. */
const alone = (db: Db, id: string, options: Options = {}) =>
  db.transact(options, async (tx) => {
    const row = await tx.get(carts, id);
    tx.put(carts, { id, n: (row?.n ?? 0) + 1 });
  });
/** Prepared, fenced and voted. */
const together = (db: Db, id: string, options: Options = {}) =>
  db.transact(options, async (tx) => {
    const row = await tx.get(carts, id);
    tx.put(carts, { id, n: (row?.n ?? 0) + 1 });
    tx.put(stock, { id, n: 7 });
  });
/** Of what it does not write. */
const reading = (db: Db, id: string, options: Options = {}) =>
  db.transact(options, async (tx) => {
    const row = await tx.get(carts, id);
    tx.put(stock, { id, n: 10 + (row?.n ?? 0) });
  });
const ways = [
  ["alone", alone],
  ["together", together],
  ["reading", reading],
] as const;

describe.each(ways)("a conflict that is aimed, of a transaction %s", (_way, act) => {
  test.each(["a", "absent"])("makes another attempt, once: %s", async (id) => {
    const cloud = await shop();
    cloud.conflictOn(carts, id);
    const db = cloud.createClient();
    const { receipt } = await cloud.run(() => act(db, id));
    expect(receipt.attempts).toBe(2);
    const again = await cloud.run(() => act(db, id));
    expect(again.receipt.attempts).toBe(1);
  });

  test.each(["a", "absent"])(
    "ends it where there is one attempt, and leaves no row: %s",
    async (id) => {
      const cloud = await shop();
      const before = cloud.rows(carts);
      cloud.conflictOn(carts, id, { times: 2 });
      const db = cloud.createClient();
      for (const _ of [1, 2]) {
        const ended = cloud.run(() => act(db, id, { attemptsMax: 1 }));
        await expect(ended).rejects.toBeInstanceOf(ConflictError);
      }
      expect(cloud.rows(carts)).toEqual(before);
      const { receipt } = await cloud.run(() => act(db, id, { attemptsMax: 1 }));
      expect(receipt.attempts).toBe(1);
    },
  );
});

describe.each([false, true])("an outcome that stays unknown (tables alone: %s)", (tablesOnly) => {
  test.each(ways)("a commit %s that nobody heard of stands", async (way, act) => {
    const cloud = await shop(tablesOnly);
    const app = cloud.startProcess();
    app.nextCommitUnknown("committed");
    const ended = await cloud.run(() => act(app.client, "a", { deadlineMs: 4_000 }).catch(own));
    expect(ended).toBeInstanceOf(CommitUnknownError);
    expect(await cloud.settled()).toBe(true);
    expect([...cloud.rows(carts), ...cloud.rows(stock)]).toEqual(
      {
        alone: [
          { id: "a", n: 2 },
          { id: "a", n: 1 },
        ],
        together: [
          { id: "a", n: 2 },
          { id: "a", n: 7 },
        ],
        reading: [
          { id: "a", n: 1 },
          { id: "a", n: 11 },
        ],
      }[way],
    );
    const { receipt } = await cloud.run(() => act(app.client, "a"));
    expect(receipt.attempts).toBeGreaterThan(0);
  });

  test.each(ways)("a commit %s that was lost never comes", async (way, act) => {
    const cloud = await shop(tablesOnly);
    const app = cloud.startProcess();
    const before = [...cloud.rows(carts), ...cloud.rows(stock)];
    app.nextCommitUnknown("aborted");
    const ended = await cloud.run(() => act(app.client, "a", { deadlineMs: 4_000 }).catch(own));
    expect(ended).toBeInstanceOf(CommitUnknownError);
    await cloud.advance(60_000);
    expect([...cloud.rows(carts), ...cloud.rows(stock)]).toEqual(before);
    if (way === "alone") return;
    const { transactionId } = ended as CommitUnknownError;
    const outcome = await cloud.run(() => app.client.outcome(transactionId));
    expect(outcome).toBe("aborted");
  });
});

function own(error: unknown): unknown {
  return error;
}
