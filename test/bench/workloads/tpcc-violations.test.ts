/** TPC-C's consistency conditions, each seen failing on data that one thing is wrong with. */
import { beforeAll, describe, expect, test } from "vitest";
import { type BenchItem, type BenchKey } from "../../../bench/harness/workload.ts";
import * as schema from "../../../bench/workloads/tpcc/schema.ts";
import { tpcc } from "../../../bench/workloads/tpcc/tpcc.ts";
import { type TypedTable } from "../../../bench/workloads/typed-rows.ts";
import { MemoryDatabase, runOperations } from "./memory-database.ts";

const workload = tpcc({ warehouses: 1, customersPerDistrict: 20, items: 100 });

function violationsOf(database: MemoryDatabase): Promise<readonly string[]> {
  return workload.violations!(database.transaction());
}

describe("violations notice", () => {
  let intact: MemoryDatabase;
  beforeAll(async () => {
    intact = new MemoryDatabase(workload);
    await runOperations({ workload, database: intact }, { count: 150, seed: "damage" });
    expect(await violationsOf(intact)).toEqual([]);
  });

  const change =
    (
      ...[table, key, attributes]: [TypedTable<BenchItem>, BenchKey, (row: BenchItem) => BenchItem]
    ) =>
    (database: MemoryDatabase): void =>
      database.damage(table, key, (row) => ({ ...row, ...attributes(row) }));
  const more = (name: string) => (row: BenchItem) => ({ [name]: Number(row[name] ?? 0) + 1 });
  const less = (name: string) => (row: BenchItem) => ({ [name]: Number(row[name]) - 1 });
  const without = (table: TypedTable<BenchItem>, key: BenchKey) => (database: MemoryDatabase) => {
    if (database.get(table, key) === undefined) throw new Error("nothing to remove");
    database.delete(table, key);
  };
  const queued = (database: MemoryDatabase): number[] =>
    database.query(schema.newOrders, { partition: "1-1", from: 1 }).map((row) => Number(row["o"]));
  const as = <Row extends BenchItem>(table: TypedTable<Row>) => table as TypedTable<BenchItem>;

  test.each<[string, string, (database: MemoryDatabase) => void]>([
    ["1", "money in a warehouse alone", change(as(schema.warehouses), { w: 1 }, more("ytd"))],
    [
      "2",
      "a lost order number",
      change(as(schema.districts), { district: "1-1" }, less("nextOrder")),
    ],
    [
      "2",
      "a number for no order",
      change(as(schema.districts), { district: "1-1" }, more("nextOrder")),
    ],
    [
      "3",
      "a gap in the queue",
      (database) => {
        database.delete(schema.newOrders, { district: "1-1", o: queued(database).at(1)! });
      },
    ],
    ["4", "a lost line", without(as(schema.orders), { order: "1-1-3", line: 2 })],
    [
      "5",
      "a delivered order in the queue",
      (database) => {
        database.put(schema.newOrders, { district: "1-1", o: queued(database)[0]! - 1 });
      },
    ],
    [
      "5",
      "an undelivered order with a carrier",
      (database) => {
        const order = schema.orderId("1-1", queued(database)[0]!);
        database.damage(schema.orders, { order, line: 0 }, (row) => ({ ...row, carrier: 1 }));
      },
    ],
    [
      "6",
      "an order that miscounts its lines",
      change(as(schema.orders), { order: "1-1-3", line: 0 }, more("lineCount")),
    ],
    [
      "7",
      "a line delivered on its own",
      (database) => {
        const order = schema.orderId("1-1", queued(database)[0]!);
        database.damage(schema.orders, { order, line: 1 }, (row) => ({ ...row, deliveryDate: 1 }));
      },
    ],
    [
      "8",
      "a lost payment",
      without(as(schema.history), { district: "1-1", payment: "0001-00000001" }),
    ],
    [
      "9",
      "money in a district alone",
      change(as(schema.districts), { district: "1-1" }, more("ytd")),
    ],
    [
      "10",
      "a wrong balance",
      change(as(schema.customers), { district: "1-1", c: 1 }, more("balance")),
    ],
    [
      "11",
      "a delivery that nobody counted",
      change(as(schema.customers), { district: "1-1", c: 1 }, more("deliveryCount")),
    ],
    [
      "12",
      "a wrong sum of payments",
      change(as(schema.customers), { district: "1-1", c: 1 }, more("ytdPayment")),
    ],
  ])("condition %s: %s", async (condition, _, damage) => {
    await expectViolation(damage, `Condition ${condition},`);
  });

  test.each<[string, (database: MemoryDatabase) => void]>([
    ["Stock", change(as(schema.stocks), { stock: "1-1" }, more("ytd"))],
    ["Stock", change(as(schema.stocks), { stock: "1-1" }, more("orderCount"))],
    ["Stock", change(as(schema.stocks), { stock: "1-1" }, more("remoteCount"))],
    ["Orders", without(as(schema.orders), { order: "1-1-3", line: 0 })],
    ["Customers", without(as(schema.customers), { district: "1-1", c: 3 })],
    [
      "Head of the queue",
      change(as(schema.newOrders), { district: "1-1", o: 0 }, less("delivered")),
    ],
    [
      "Index by customer",
      (database) => {
        const c = Number(database.get(schema.orders, { order: "1-1-3", line: 0 })?.["c"]);
        database.delete(schema.customerOrders, { customer: schema.customerId("1-1", c), o: 3 });
      },
    ],
    [
      "Condition 2",
      (database) => {
        // An order beyond the district's count.
        const next = Number(database.get(schema.districts, { district: "1-1" })?.["nextOrder"]);
        const order = schema.orderId("1-1", next);
        database.put(schema.orders, {
          order,
          line: 0,
          c: 1,
          entryDate: 1,
          lineCount: 0,
          allLocal: true,
        });
      },
    ],
  ])("%s", async (kind, damage) => {
    await expectViolation(damage, kind);
  });

  async function expectViolation(
    damage: (database: MemoryDatabase) => void,
    start: string,
  ): Promise<void> {
    const damaged = intact.copy();
    damage(damaged);
    const violations = await violationsOf(damaged);
    expect(violations.filter((sentence) => sentence.startsWith(start))).not.toEqual([]);
    expect(violations.every((sentence) => sentence.endsWith("."))).toBe(true);
  }
});
