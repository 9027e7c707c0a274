/**
 * Ticket sales on a model: orders go their way, seats do not run out, and a seat sold twice is
 * noticed.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { RolledBack } from "../../../bench/harness/workload.ts";
import * as schema from "../../../bench/workloads/ticketing/schema.ts";
import { ticketing, ticketSmallScale } from "../../../bench/workloads/ticketing/ticketing.ts";
import * as transactions from "../../../bench/workloads/ticketing/transactions.ts";
import { MemoryDatabase, runOperations, type Tally } from "./memory-database.ts";

const scale = { events: 5, categories: 2, seats: 60 };
const workload = ticketing(scale);
const loaded = new MemoryDatabase(workload);

function violationsOf(database: MemoryDatabase): Promise<readonly string[]> {
  return workload.violations!(database.transaction());
}

describe("an order", () => {
  const visit = { event: 1, category: 2, order: "a", choice: [3, 4, 5, 6], count: 2 };
  const counters = (database: MemoryDatabase): unknown =>
    database.get(schema.categories, { event: 1, category: 2 });
  const run = (
    database: MemoryDatabase,
    step: (transaction: Parameters<typeof transactions.pay>[0], of: typeof visit) => Promise<void>,
    of = visit,
  ): Promise<boolean> =>
    database.run({ name: "step", readOnly: false, body: (transaction) => step(transaction, of) });

  test("goes from reserved over ordered to sold, and back to free seats", async () => {
    const database = loaded.copy();
    const price = Number(database.get(schema.categories, { event: 1, category: 2 })?.["price"]);
    expect(await run(database, transactions.reserve)).toBe(true);
    expect(counters(database)).toMatchObject({ free: 58, reserved: 2 });
    expect(await run(database, transactions.pay)).toBe(false);
    expect(await run(database, transactions.createOrder)).toBe(true);
    expect(counters(database)).toMatchObject({ reserved: 0, ordered: 2, revenue: 0 });
    expect(await run(database, transactions.pay)).toBe(true);
    expect(counters(database)).toMatchObject({ ordered: 0, sold: 2, revenue: 2 * price });
    expect(database.get(schema.seats, { place: "1-2", seat: 4 })).toMatchObject({
      ...{ state: "sold", order: "a" },
    });
    const [first] = await transactions.statistics(database.transaction(), [1]);
    expect(first).toEqual({ event: 1, sold: 2, revenue: 2 * price });
    expect(await violationsOf(database)).toEqual([]);
    expect(await run(database, transactions.cancel)).toBe(true);
    expect(await run(database, transactions.cancel)).toBe(false);
    expect(counters(database)).toMatchObject({ free: 60, sold: 0, revenue: 0 });
    expect(await violationsOf(database)).toEqual([]);
  });

  test("takes the next free seats of its choice, or none at all", async () => {
    const database = loaded.copy();
    await run(database, transactions.reserve);
    await run(database, transactions.reserve, { ...visit, order: "b" });
    expect(database.get(schema.orders, { event: 1, order: "b" })).toMatchObject({ seats: [5, 6] });
    const late = { ...visit, order: "c", choice: [6, 7], count: 2 };
    await expect(transactions.reserve(database.transaction(), late)).rejects.toThrow(RolledBack);
    // A repeated run draws the same names: its visitors find their own orders.
    expect(await run(database, transactions.reserve, { ...visit, choice: [9, 10] })).toBe(false);
    expect(await violationsOf(database)).toEqual([]);
  });
});

describe("a run", () => {
  const workers = 8;
  let database: MemoryDatabase;
  let tallies: Map<string, Tally>;
  beforeAll(async () => {
    database = loaded.copy();
    const again = ticketing(scale);
    tallies = await runOperations(
      { workload: again, database },
      { count: 8_000, seed: "run", workers },
    );
  });

  test("sells no seat twice and counts right", async () => {
    expect(await violationsOf(database)).toEqual([]);
  });

  test("has every kind, and finds seats to its end", () => {
    expect([...tallies.keys()].sort()).toEqual([
      "browse",
      "cancel",
      "create-order",
      "pay",
      "reserve",
      "statistics",
    ]);
    const { committed, rolledBack } = tallies.get("reserve")!;
    expect(committed).toBeGreaterThan(10 * rolledBack);
    expect(tallies.get("browse")!.rolledBack).toBe(0);
  });

  test("crowds around few events", () => {
    const ordersOf = (event: number): number =>
      database.query(schema.orders, { partition: event }).length;
    expect(ordersOf(1)).toBeGreaterThan(2 * ordersOf(4));
    expect(ordersOf(5)).toBeGreaterThan(0);
  });

  test("is the same again from the same seed, and another from another", async () => {
    const runFrom = async (seed: string): Promise<unknown> => {
      const again = loaded.copy();
      await runOperations({ workload: ticketing(scale), database: again }, { count: 300, seed });
      return again.contents();
    };
    const first = await runFrom("same");
    expect(await runFrom("same")).toEqual(first);
    expect(await runFrom("other")).not.toEqual(first);
  });

  test("is refused without seats", () => {
    expect(() => ticketing({ ...ticketSmallScale, seats: 0 })).toThrow(RangeError);
  });

  test.each<[string, (damaged: MemoryDatabase, sold: schema.OrderRow) => void]>([
    ["is of both", (damaged, sold) => damaged.put(schema.orders, { ...sold, order: "thief" })],
    [
      "but no order names it",
      (damaged, { event, order }) => damaged.delete(schema.orders, { event, order }),
    ],
    [
      "is free for nobody, but",
      (damaged, { event, category, seats }) => {
        const place = schema.placeOf(event, category);
        damaged.put(schema.seats, { place, seat: seats[0]!, state: "free" });
      },
    ],
    [
      "sold seats, but",
      (damaged, { event, category }) =>
        damaged.damage(schema.categories, { event, category }, (row) => ({
          ...row,
          sold: Number(row["sold"]) + 1,
        })),
    ],
    [
      "has a revenue of",
      (damaged, { event, category }) =>
        damaged.damage(schema.categories, { event, category }, (row) => ({ ...row, revenue: 1 })),
    ],
    [
      "was built with",
      (damaged, { event, category, seats }) => {
        const place = schema.placeOf(event, category);
        damaged.delete(schema.seats, { place, seat: seats[0]! });
      },
    ],
    [
      "is missing",
      (damaged, { event, category }) => damaged.delete(schema.categories, { event, category }),
    ],
  ])("notices: a seat or category %s", async (complaint, damage) => {
    const damaged = database.copy();
    const sold = (damaged.query(schema.orders, { partition: 1 }) as schema.OrderRow[]).find(
      ({ state }) => state === "sold",
    );
    damage(damaged, sold!);
    const violations = await violationsOf(damaged);
    expect(violations.some((sentence) => sentence.includes(complaint))).toBe(true);
  });
});
