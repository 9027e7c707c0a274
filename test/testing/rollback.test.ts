/** `tx.rollback` on the real engine: results without writes, alone, chained and under a key. */
import { expect, test } from "vitest";
import { defineTable, type Client, type Transaction } from "../../sdk/index.ts";
import { checkHistory, createTestCloud, type TestCloud } from "../../testing/index.ts";

const seats = defineTable<{ free: number }, { id: string }>("seats", { key: "id" });
const hall = { id: "hall" };

async function cloudWithSeats(free: number): Promise<TestCloud> {
  const cloud = await createTestCloud({ tables: [seats], recordHistory: true });
  cloud.seed(seats, [{ ...hall, free }]);
  return cloud;
}

/** Takes seats first, and thinks better of it if there were too few. */
async function take(tx: Transaction, count: number) {
  const free = ((await tx.get(seats, hall))?.free ?? 0) - count;
  tx.put(seats, hall, { free });
  expect((await tx.get(seats, hall))?.free).toBe(free);
  return free < 0 ? tx.rollback("sold out") : free;
}

function freeSeats(cloud: TestCloud): number | undefined {
  return cloud.rows(seats).at(0)?.free;
}

test("a rolled back transaction sends nothing, and its receipt is that of a read", async () => {
  const cloud = await cloudWithSeats(1);
  const { result, receipt } = await cloud.run(() =>
    cloud.createClient().transact((tx) => take(tx, 2)),
  );
  expect(result).toBe("sold out");
  expect(receipt).toMatchObject({ transactionId: undefined, attempts: 1, replayed: false });
  expect(freeSeats(cloud)).toBe(1);
});

test("a forgotten return shows: only what was rolled back with may be returned", async () => {
  const cloud = await cloudWithSeats(1);
  const transact = (body: (tx: Transaction) => unknown) =>
    cloud.run(() => cloud.createClient().transact(async (tx) => body(tx)));
  const forgotten = [
    (tx: Transaction) => [tx.rollback("no"), "yes"],
    (tx: Transaction) => [tx.rollback("no")].at(1),
    (tx: Transaction) => {
      tx.rollback();
      return "yes";
    },
    (tx: Transaction) => ({ ...tx.rollback({ free: 1 }) }),
  ];
  for (const body of forgotten) {
    await expect(transact(body)).rejects.toMatchObject({
      name: "InvalidRequestError",
      field: "result",
      retryable: false,
    });
  }
  const returned = [
    (tx: Transaction) => {
      tx.rollback();
    },
    (tx: Transaction) => [tx.rollback("first"), tx.rollback("last")].at(-1),
    (tx: Transaction) => tx.rollback(Number.NaN),
    (tx: Transaction) => tx.rollback(Promise.resolve("no")),
  ];
  for (const body of returned) await expect(transact(body)).resolves.toBeDefined();
  expect(freeSeats(cloud)).toBe(1);
});

test("a conflict before the rollback runs the body again: its result is consistent", async () => {
  const cloud = await cloudWithSeats(1);
  const runs: number[] = [];
  const { result } = await cloud.run(() =>
    cloud.createClient().transact(async (tx) => {
      runs.push(tx.attempt);
      const first = await tx.get(seats, hall);
      if (tx.attempt === 1) {
        await cloud.createClient("other").transact(async (other) => {
          other.put(seats, hall, { free: 9 });
          other.put(seats, { id: "annex" }, { free: 1 });
        });
      }
      const annex = await tx.get(seats, { id: "annex" });
      return tx.rollback([first?.free, annex?.free]);
    }),
  );
  expect(result).toEqual([9, 1]);
  expect(runs).toEqual([1, 2]);
});

test("among chained transactions some roll back, and the history is serializable", async () => {
  const cloud = await cloudWithSeats(5);
  const client = cloud.createClient();
  const results = await cloud.run(() =>
    Promise.all(
      Array.from({ length: 8 }, async () => (await client.transact((tx) => take(tx, 1))).result),
    ),
  );
  expect(results.filter((result) => result === "sold out")).toHaveLength(3);
  expect(results.filter((result) => typeof result === "number").sort()).toEqual([0, 1, 2, 3, 4]);
  expect(freeSeats(cloud)).toBe(0);
  expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
});

test("nothing is kept under an idempotency key: a repeat runs the body again", async () => {
  const cloud = await cloudWithSeats(1);
  const client = cloud.createClient();
  const buy = (by: Client) => by.transact({ idempotencyKey: "order-1" }, (tx) => take(tx, 2));
  const refused = await cloud.run(() => buy(client));
  expect(refused).toMatchObject({ result: "sold out", receipt: { replayed: false } });
  await cloud.run(() =>
    client.transact(async (tx) => {
      tx.put(seats, hall, { free: 2 });
    }),
  );
  expect(await cloud.run(() => buy(client))).toMatchObject({ result: 0 });
  const repeat = await cloud.run(() => buy(cloud.createClient("other")));
  expect(repeat).toMatchObject({ result: 0, receipt: { replayed: true } });
  expect(freeSeats(cloud)).toBe(0);
});
