/**
 * The SDK against a deployment whose functions the cloud itself invokes. The tables are those of
 * infra/terraform/examples/localstack; every run uses rows of its own, so it may run again and
 * again.
 */
import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test, vi } from "vitest";
import { ConflictError, defineTable, type Client } from "../../sdk/index.ts";
import { deployedTarget, openClient } from "./target.ts";

const accounts = defineTable<{ balanceCents: number; note?: string }, { id: string }>("accounts");
const ledger = defineTable<
  { amountCents: number },
  { accountId: string; entryId: string },
  "accountId"
>("ledger", { key: ["accountId", "entryId"] });

const target = deployedTarget();
const run = randomBytes(4).toString("hex");
const row = (name: string): string => `${run}-${name}`;
const opened: Client[] = [];
const open = (): Client => {
  const client = openClient(target);
  opened.push(client);
  return client;
};
const db = open();

afterAll(() => Promise.all(opened.map((client) => client.close())));

describe("transactions", () => {
  test("money moves, and another client sees it at once", async () => {
    const [ann, bob] = [row("ann"), row("bob")];
    await db.transact(async (tx) => {
      tx.put(accounts, ann, { balanceCents: 100 });
      tx.put(accounts, bob, { balanceCents: 0 });
    });
    const { receipt } = await db.transact(async (tx) => {
      await tx.update(accounts, ann, { balanceCents: 60 });
      await tx.update(accounts, bob, { balanceCents: 40 });
      tx.put(ledger, { accountId: ann, entryId: "1", amountCents: -40 });
    });
    expect(receipt).toMatchObject({ installed: true, replayed: false });
    expect(await db.outcome(receipt.transactionId ?? "")).toBe("committed");
    const seen = await open().snapshot((s) => s.batchGet(accounts, [ann, bob]));
    expect(seen.map((each) => each?.balanceCents)).toEqual([60, 40]);
  });

  test("concurrent increments of one row are all counted", async () => {
    const hot = row("hot");
    const clients = [db, open(), open()];
    await Promise.all(
      clients.map(async (client) => {
        for (let n = 0; n < 3; n += 1) {
          await client.transact({ attemptsMax: 100 }, (tx) =>
            tx.update(accounts, hot, (old) => ({ balanceCents: (old?.balanceCents ?? 0) + 1 })),
          );
        }
      }),
    );
    expect(await db.snapshot((s) => s.get(accounts, hot))).toMatchObject({ balanceCents: 9 });
  });

  test("a write between read and commit is a conflict", async () => {
    const contested = row("contested");
    await db.transact(async (tx) => tx.put(accounts, contested, { balanceCents: 1 }));
    const attempt = db.transact({ attemptsMax: 1 }, async (tx) => {
      const old = await tx.get(accounts, contested);
      await open().transact(async (other) => other.put(accounts, contested, { balanceCents: 2 }));
      tx.put(accounts, contested, { balanceCents: (old?.balanceCents ?? 0) + 10 });
    });
    await expect(attempt).rejects.toBeInstanceOf(ConflictError);
    expect(await db.snapshot((s) => s.get(accounts, contested))).toMatchObject({ balanceCents: 2 });
  });

  test("an idempotency key returns the first result instead of doing it twice", async () => {
    const once = { idempotencyKey: row("once") };
    const deposit = () =>
      db.transact(once, (tx) =>
        tx.update(accounts, row("saved"), (old) => ({
          balanceCents: (old?.balanceCents ?? 0) + 5,
        })),
      );
    const first = await deposit();
    const second = await deposit();
    expect(second.receipt.replayed).toBe(true);
    expect(second.result).toEqual(first.result);
  });

  test("a payload larger than a record commits", async () => {
    const note = "x".repeat(300 * 1024);
    const names = [row("large-1"), row("large-2")];
    await db.transact(async (tx) => {
      for (const name of names) tx.put(accounts, name, { balanceCents: 0, note });
    });
    const seen = await open().snapshot((s) => s.batchGet(accounts, names));
    expect(seen.map((each) => each?.note?.length)).toEqual([note.length, note.length]);
  });
});

describe("reads", () => {
  test("a query sees the rows of its partition in order, and deleted ones no more", async () => {
    const accountId = row("query");
    await db.transact(async (tx) => {
      for (const entryId of ["1", "2", "3"]) tx.put(ledger, { accountId, entryId, amountCents: 1 });
    });
    await db.transact(async (tx) => tx.delete(ledger, { accountId, entryId: "2" }));
    const rows = await open().snapshot((s) => s.query(ledger, { where: { accountId } }).all());
    expect(rows.map(({ entryId }) => entryId)).toEqual(["1", "3"]);
  });

  test("a snapshot of the past sees what stood then", async () => {
    const changed = row("changed");
    const { receipt } = await db.transact(async (tx) =>
      tx.put(accounts, changed, { balanceCents: 1 }),
    );
    const asOf = receipt.commitTimestamp;
    if (asOf === undefined) throw new Error("nothing was committed");
    await db.transact(async (tx) => tx.put(accounts, changed, { balanceCents: 2 }));
    const past = await open().snapshot({ asOf }, (s) => s.get(accounts, changed));
    expect(past).toMatchObject({ balanceCents: 1 });
  });
});

describe("the functions behind it", () => {
  test("replay installs what a client certified and left", async () => {
    const left = row("left");
    const leaving = openClient(target);
    await leaving.transact({ ack: "certified" }, async (tx) =>
      tx.put(accounts, left, { balanceCents: 7 }),
    );
    await leaving.close();
    await vi.waitFor(
      async () => {
        expect(await db.snapshot((s) => s.get(accounts, left))).toMatchObject({ balanceCents: 7 });
      },
      { timeout: 60_000, interval: 500 },
    );
  });
});
