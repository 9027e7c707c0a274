/** TPC-C on a model: its transactions do what the specification says, and its conditions hold. */
import { beforeAll, describe, expect, test } from "vitest";
import { RolledBack, type BenchItem, type BenchKey } from "../../../bench/harness/workload.ts";
import { namedRandom } from "../../../bench/workloads/draws.ts";
import { delivery } from "../../../bench/workloads/tpcc/delivery.ts";
import { findCustomer } from "../../../bench/workloads/tpcc/find-customer.ts";
import * as inputs from "../../../bench/workloads/tpcc/inputs.ts";
import { newOrder } from "../../../bench/workloads/tpcc/new-order.ts";
import { orderStatus } from "../../../bench/workloads/tpcc/order-status.ts";
import { payment } from "../../../bench/workloads/tpcc/payment.ts";
import {
  lastName,
  someCustomer,
  tpccFullScale,
  tpccSmallScale,
} from "../../../bench/workloads/tpcc/scale.ts";
import * as schema from "../../../bench/workloads/tpcc/schema.ts";
import { stockLevel } from "../../../bench/workloads/tpcc/stock-level.ts";
import {
  tpcc,
  tpccCentiman,
  tpccPh1,
  tpccSalt,
  tpccStandardMix,
} from "../../../bench/workloads/tpcc/tpcc.ts";
import { type TypedTable } from "../../../bench/workloads/typed-rows.ts";
import { MemoryDatabase, runOperations, type Tally } from "./memory-database.ts";

const scale = { warehouses: 2, customersPerDistrict: 20, items: 100 };
const workload = tpcc(scale);
const loaded = new MemoryDatabase(workload);

function violationsOf(database: MemoryDatabase): Promise<readonly string[]> {
  return workload.violations!(database.transaction());
}

function rowOf<Row extends BenchItem>(
  database: MemoryDatabase,
  table: TypedTable<Row>,
  key: BenchKey,
): Row {
  const row = database.get(table, key);
  if (row === undefined) throw new Error(`no row ${JSON.stringify(key)}`);
  return row as Row;
}

/** Runs one transaction and says what it answers. */
async function answerOf<Output>(
  database: MemoryDatabase,
  body: (transaction: Parameters<typeof stockLevel>[0]) => Promise<Output>,
): Promise<Output> {
  let answer: { readonly output: Output } | undefined;
  await database.run({
    name: "test",
    readOnly: false,
    body: async (transaction) => {
      answer = { output: await body(transaction) };
    },
  });
  if (answer === undefined) throw new Error("rolled back");
  return answer.output;
}

describe("population", () => {
  test("meets all conditions, with no key twice", async () => {
    expect(await violationsOf(loaded)).toEqual([]);
  });

  test("is the same every time", () => {
    const rows = [...workload.rows()];
    expect([...tpcc(scale).rows()]).toEqual(rows);
    expect(rows.length).toBeGreaterThan(2 * 10 * 20 * 10);
  });

  test("has the specification's proportions", () => {
    const database = loaded.copy();
    expect(rowOf(database, schema.districts, { district: "2-10" })).toMatchObject({
      nextOrder: 21,
      ytd: 20_000,
    });
    expect(database.query(schema.newOrders, { partition: "1-1", from: 1 })).toHaveLength(6);
    const names = [0, 1, 371, 999].map(lastName);
    expect(names).toEqual(["BARBARBAR", "BARBAROUGHT", "PRICALLYOUGHT", "EINGEINGEING"]);
  });

  test.each([
    [
      "more customers than the specification has",
      { ...tpccFullScale, customersPerDistrict: 3_001 },
    ],
    ["half a warehouse", { ...tpccSmallScale, warehouses: 0.5 }],
    ["too few items to choose from", { ...tpccSmallScale, items: 19 }],
  ])("is refused with %s", (_, wrong) => {
    expect(() => tpcc(wrong)).toThrow(RangeError);
  });
});

describe("transactions", () => {
  test("a new order takes its number, its stock and its price", async () => {
    const database = loaded.copy();
    const before = rowOf(database, schema.stocks, { stock: "2-7" });
    const item = rowOf(database, schema.items, { i: 7 });
    const output = await answerOf(database, (transaction) =>
      newOrder(transaction, {
        ...{ w: 1, d: 3, c: 5, entryDate: 1 },
        // The same item twice: the second line finds what the first has left.
        lines: [
          { item: 7, supplyW: 2, quantity: 4 },
          { item: 7, supplyW: 2, quantity: 6 },
        ],
      }),
    );
    const { tax: warehouseTax } = rowOf(database, schema.warehouses, { w: 1 });
    const { tax, nextOrder } = rowOf(database, schema.districts, { district: "1-3" });
    const { discount } = rowOf(database, schema.customers, { district: "1-3", c: 5 });
    expect(nextOrder).toBe(22);
    expect(output.order).toBe(21);
    expect(output.brands).toMatch(/^[BG]{2}$/);
    const total = 10 * item.price * (1 - discount / 1e4) * (1 + (warehouseTax + tax) / 1e4);
    expect(output.total).toBe(Math.round(total));
    const after = rowOf(database, schema.stocks, { stock: "2-7" });
    expect(after).toMatchObject({ ytd: 10, orderCount: 2, remoteCount: 2 });
    expect((before.quantity - after.quantity + 182) % 91).toBe(10);
    expect(after.quantity).toBeGreaterThanOrEqual(10);
    expect(database.query(schema.orders, { partition: "1-3-21" })).toMatchObject([
      { line: 0, c: 5, lineCount: 2, allLocal: false },
      { line: 1, amount: 4 * item.price, districtInfo: before.districtInfos[2] },
      { line: 2, amount: 6 * item.price, supplyW: 2 },
    ]);
    expect(await violationsOf(database)).toEqual([]);
  });

  test("an order of an item that does not exist leaves nothing behind", async () => {
    const database = loaded.copy();
    const contents = database.contents();
    const input = {
      ...{ w: 1, d: 3, c: 5, entryDate: 1 },
      lines: [
        { item: 7, supplyW: 1, quantity: 4 },
        { item: scale.items + 1, supplyW: 1, quantity: 4 },
      ],
    };
    await expect(newOrder(database.transaction(), input)).rejects.toThrow(RolledBack);
    const body = async (transaction: Parameters<typeof newOrder>[0]): Promise<void> => {
      await newOrder(transaction, input);
    };
    expect(await database.run({ name: "new-order", readOnly: false, body })).toBe(false);
    expect(database.contents()).toEqual(contents);
  });

  test("a payment is booked where it is paid, and told to a customer with bad credit", async () => {
    const database = loaded.copy();
    database.damage(schema.customers, { district: "2-4", c: 9 }, (row) => ({
      ...row,
      credit: "BC",
      data: "x".repeat(500),
    }));
    const before = rowOf(database, schema.warehouses, { w: 1 });
    const customer = await answerOf(database, (transaction) =>
      payment(transaction, {
        ...{ w: 1, d: 3, customerW: 2, customerD: 4, amount: 1_234, date: 1 },
        customer: { by: "number", c: 9 },
      }),
    );
    expect(customer).toMatchObject({ balance: -2_234, ytdPayment: 2_234, paymentCount: 2 });
    expect(customer.data).toMatch(/^9 4 2 3 1 1234\|x+$/);
    expect(customer.data).toHaveLength(500);
    expect(rowOf(database, schema.warehouses, { w: 1 }).ytd).toBe(before.ytd + 1_234);
    expect(
      database.query(schema.history, { partition: "2-4", from: "0009-00000002" })[0],
    ).toMatchObject({
      ...{ c: 9, paidW: 1, paidD: 3, amount: 1_234 },
    });
    expect(await violationsOf(database)).toEqual([]);
  });

  test("means the middle one by first name, of several customers of one last name", async () => {
    const database = loaded.copy();
    const partition = "1-1-ODD";
    for (const [first, c] of [
      ["a", 8],
      ["b", 3],
      ["c", 5],
      ["d", 2],
    ] as const) {
      database.put(schema.customerNames, { name: partition, first, c });
    }
    const choice = { by: "name", last: "ODD" } as const;
    expect((await findCustomer(database.transaction(), "1-1", choice)).c).toBe(3);
    database.put(schema.customerNames, { name: partition, first: "e", c: 1 });
    expect((await findCustomer(database.transaction(), "1-1", choice)).c).toBe(5);
  });

  test("an order's status is that of the customer's newest order", async () => {
    const database = loaded.copy();
    await answerOf(database, (transaction) =>
      newOrder(transaction, {
        ...{ w: 1, d: 3, c: 5, entryDate: 1 },
        lines: [{ item: 7, supplyW: 1, quantity: 4 }],
      }),
    );
    const input = { w: 1, d: 3, customer: { by: "number", c: 5 } } as const;
    const status = await orderStatus(database.transaction(), input);
    expect(status.order).toMatchObject({ order: "1-3-21", lineCount: 1 });
    expect(status.lines).toMatchObject([{ item: 7, quantity: 4 }]);
  });

  test("a delivery takes the oldest order of each district, until there is none", async () => {
    const database = loaded.copy();
    const deliver = (): ReturnType<typeof delivery> =>
      answerOf(database, (transaction) => delivery(transaction, { w: 2, carrier: 7, date: 5 }));
    for (let o = 15; o <= 20; o += 1) {
      const delivered = await deliver();
      expect(delivered.map((each) => each.o)).toEqual(Array.from({ length: 10 }, () => o));
      const { order, lines } = delivered[0]!;
      const amount = lines.reduce((sum, line) => sum + line.amount, 0);
      expect(rowOf(database, schema.customers, { district: "2-1", c: order.c })).toMatchObject({
        balance: amount - 1_000,
        deliveryCount: 1,
      });
      const rows = database.query(schema.orders, { partition: order.order });
      expect(rows[0]).toMatchObject({ carrier: 7 });
      expect(rows.slice(1).every((row) => row["deliveryDate"] === 5)).toBe(true);
      expect(await violationsOf(database)).toEqual([]);
    }
    expect(await deliver()).toEqual([]);
  });

  test("the stock level counts low items of the last twenty orders, each once", async () => {
    const database = loaded.copy();
    await answerOf(database, (transaction) =>
      newOrder(transaction, {
        ...{ w: 1, d: 2, c: 5, entryDate: 1 },
        lines: [{ item: 7, supplyW: 1, quantity: 4 }],
      }),
    );
    // Order 1 is now the twenty-first, and what only it has does not count.
    database.put(schema.orders, {
      ...{ order: "1-2-1", line: 1, item: 1_000, supplyW: 1, quantity: 5 },
      ...{ amount: 0, deliveryDate: 1, districtInfo: "x" },
    });
    const sold = new Set<unknown>();
    for (let o = 2; o <= 21; o += 1) {
      for (const row of database.query(schema.orders, { partition: `1-2-${o}`, from: 1 })) {
        sold.add(row["item"]);
      }
    }
    database.put(schema.stocks, {
      ...rowOf(database, schema.stocks, { stock: "1-1" }),
      ...{ stock: "1-1000", quantity: 0 },
    });
    const lowBelow = (threshold: number): number =>
      [...sold].filter(
        (i) => rowOf(database, schema.stocks, { stock: `1-${String(i)}` }).quantity < threshold,
      ).length;
    expect(lowBelow(50)).toBeGreaterThan(0);
    expect(lowBelow(101)).toBeGreaterThan(lowBelow(50));
    for (const threshold of [10, 50, 101, 1_000]) {
      const level = await stockLevel(database.transaction(), { w: 1, d: 2, threshold });
      expect(level).toBe(lowBelow(threshold));
    }
  });
});

describe("a run", () => {
  let database: MemoryDatabase;
  let tallies: Map<string, Tally>;
  beforeAll(async () => {
    database = loaded.copy();
    tallies = await runOperations({ workload, database }, { count: 4_000, seed: "run" });
  });

  test("keeps all conditions", async () => {
    expect(await violationsOf(database)).toEqual([]);
  });

  test("has the standard mix, and rolls one new order in a hundred back", () => {
    const share = (name: string): number => {
      const { committed, rolledBack } = tallies.get(name)!;
      return Math.round(((committed + rolledBack) / 4_000) * 100);
    };
    for (const [kind, weight] of Object.entries(tpccStandardMix)) {
      expect(Math.abs(share(kind) - weight)).toBeLessThanOrEqual(2);
    }
    const { committed, rolledBack } = tallies.get("new-order")!;
    expect(rolledBack / (committed + rolledBack)).toBeGreaterThan(0.003);
    expect(rolledBack / (committed + rolledBack)).toBeLessThan(0.02);
    const others = [...tallies].filter(([name]) => name !== "new-order");
    expect(others.map(([, tally]) => tally.rolledBack)).toEqual([0, 0, 0, 0]);
  });

  test("is the same again from the same seed, and another from another", async () => {
    const runFrom = async (seed: string): Promise<unknown> => {
      const again = loaded.copy();
      await runOperations({ workload, database: again }, { count: 300, seed });
      return again.contents();
    };
    const first = await runFrom("same");
    expect(await runFrom("same")).toEqual(first);
    expect(await runFrom("other")).not.toEqual(first);
  });

  test("goes to other warehouses as often as the specification says", () => {
    const random = namedRandom("remote");
    const drawn = Array.from({ length: 2_000 }, () => ({
      order: inputs.newOrderInput(random, scale, 2),
      paid: inputs.paymentInput(random, scale, 2),
    }));
    const lines = drawn.flatMap(({ order }) => order.lines);
    const remoteLines = lines.filter(({ supplyW }) => supplyW === 1).length / lines.length;
    expect(remoteLines).toBeGreaterThan(0.007);
    expect(remoteLines).toBeLessThan(0.013);
    const remotePayments = drawn.filter(({ paid }) => paid.customerW === 1).length / 2_000;
    expect(remotePayments).toBeGreaterThan(0.12);
    expect(remotePayments).toBeLessThan(0.18);
    const byName = drawn.filter(({ paid }) => paid.customer.by === "name").length / 2_000;
    expect(byName).toBeGreaterThan(0.56);
    expect(byName).toBeLessThan(0.64);
    const alone = { ...scale, warehouses: 1 };
    expect(inputs.newOrderInput(random, alone, 1).lines.every(({ supplyW }) => supplyW === 1)).toBe(
      true,
    );
  });

  test("prefers some customers, within the range", () => {
    const random = namedRandom("skew");
    const counts = new Map<number, number>();
    for (let i = 0; i < 30_000; i += 1) {
      const c = someCustomer(random, tpccFullScale);
      counts.set(c, (counts.get(c) ?? 0) + 1);
    }
    expect(Math.min(...counts.keys())).toBeGreaterThanOrEqual(1);
    expect(Math.max(...counts.keys())).toBeLessThanOrEqual(3_000);
    // Uniformly the most frequent of 3,000 would be drawn some 25 times.
    expect(Math.max(...counts.values())).toBeGreaterThan(60);
  });

  test.each([
    [tpccPh1, "tpcc-ph1", { "new-order": 45, payment: 45, "order-status": 5, "stock-level": 5 }],
    [tpccCentiman, "tpcc-centiman", { "new-order": 50, payment: 50 }],
    [
      tpccSalt,
      "tpcc-salt",
      {
        ...{ "new-order": 43.5, payment: 43.5 },
        ...{ "order-status": 4.35, delivery: 4.35, "stock-level": 4.35 },
      },
    ],
  ])("%o is named after its paper and draws its mix", (make, name, mix) => {
    const workload = make();
    expect(workload.name).toBe(name);
    const random = namedRandom(name);
    const drawn = new Map<string, number>();
    const draws = 20_000;
    for (let n = 0; n < draws; n += 1) {
      const { name: kind } = workload.next(random, n);
      drawn.set(kind, (drawn.get(kind) ?? 0) + 1);
    }
    expect([...drawn.keys()].sort()).toEqual(Object.keys(mix).sort());
    for (const [kind, percent] of Object.entries(mix)) {
      expect(((drawn.get(kind) ?? 0) / draws) * 100).toBeGreaterThan(percent * 0.9 - 0.5);
      expect(((drawn.get(kind) ?? 0) / draws) * 100).toBeLessThan(percent * 1.1 + 0.5);
    }
  });
});
