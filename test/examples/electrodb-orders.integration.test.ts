/** The shop beside a stack: unique addresses, a stock that lasts, orders that add up. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { openShop } from "../../examples/electrodb-orders/open-shop.ts";
import {
  accountOf,
  auditShop,
  cancelOrder,
  openOrdersMax,
  placeOrder,
  register,
} from "../../examples/electrodb-orders/orders.ts";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";

let stack: EmbeddedStack;
let opened: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  stack = await startEmbeddedStack({ sampleTables: false });
  await (await openShop(stack.endpoint))[Symbol.asyncDispose]();
  // Once more, as whoever starts the example again does.
  opened = await openShop(stack.endpoint);
}, 60_000);
afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  await stack.stop();
});

async function deliver(article: string, count: number): Promise<ReadonlyMap<string, number>> {
  await opened.shop.entities.stock.create({ article, count, cents: 500 }).go();
  return new Map([[article, count]]);
}

const order = (customerId: string, orderId: string, ...articles: readonly string[]) =>
  placeOrder(opened, {
    ...{ orderId, customerId },
    lines: articles.map((article) => ({ article, count: 1 })),
  });

async function registered(...customerIds: readonly string[]): Promise<void> {
  for (const customerId of customerIds) {
    await register(opened, { customerId, email: `${customerId}@x.example` });
  }
}

test("an address is one customer's, also if several want it at once", async () => {
  const results = await Promise.all(
    ["r1", "r2", "r3"].map((customerId) =>
      register(opened, { customerId, email: "Same@x.example" }),
    ),
  );
  expect(results.sort()).toEqual(["email-taken", "email-taken", "registered"]);
  const late = await register(opened, { customerId: "r4", email: "same@X.example" });
  expect(late).toBe("email-taken");
  expect((await accountOf(opened, "r4")).customer).toBeUndefined();
});

test("the last lamp is sold to one of those who want it at once, and given back", async () => {
  const delivered = await deliver("lamp", 1);
  const customers = ["a1", "a2", "a3"];
  await registered(...customers);
  const results = await Promise.all(customers.map((id) => order(id, `lamp-${id}`, "lamp")));
  const kinds = results.map(({ kind }) => kind);
  expect([...kinds].sort()).toEqual(["ordered", "refused", "refused"]);
  expect(await auditShop(opened, delivered)).toEqual([]);
  const lucky = customers[kinds.indexOf("ordered")]!;
  const key = { customerId: lucky, orderId: `lamp-${lucky}` };
  expect([await cancelOrder(opened, key), await cancelOrder(opened, key)]).toEqual([true, false]);
  expect(await accountOf(opened, lucky)).toMatchObject({
    customer: { openOrders: 0 },
    orders: [{ state: "cancelled", cents: 500 }],
  });
  expect(await auditShop(opened, delivered)).toEqual([]);
});

test("of an order with one article that is not there nothing is taken", async () => {
  const delivered = await deliver("vase", 2);
  await registered("b1");
  const refused = { kind: "refused", reason: "out-of-stock", article: "none" };
  expect(await order("b1", "o1", "vase", "none")).toEqual(refused);
  expect(await auditShop(opened, delivered)).toEqual([]);
  expect((await accountOf(opened, "b1")).orders).toEqual([]);
  const unknown = { kind: "refused", reason: "unknown-customer" };
  expect(await order("nobody", "o2", "vase")).toEqual(unknown);
});

test("a call is one order, however often; a customer has only so many open ones", async () => {
  const delivered = await deliver("cup", 9);
  await registered("c1");
  const calls = ["c", "d", "e", "e"].map((orderId) => order("c1", orderId, "cup"));
  expect(await Promise.all(calls)).toEqual(calls.map(() => ({ kind: "ordered", cents: 500 })));
  const refused = { kind: "refused", reason: "too-many-open-orders" };
  expect(await order("c1", "f", "cup")).toEqual(refused);
  const { customer, orders } = await accountOf(opened, "c1");
  expect([customer?.openOrders, orders.length]).toEqual([openOrdersMax, openOrdersMax]);
  expect(await auditShop(opened, delivered)).toEqual([]);
});

test("the audit sees a native write that knows of no transaction", async () => {
  const delivered = await deliver("chair", 5);
  await opened.shop.entities.stock.patch({ article: "chair" }).add({ count: 1 }).go();
  expect(await auditShop(opened, delivered)).toEqual(["chair: 5 delivered, 6 left, 0 ordered"]);
});

test("the audit sees that more was sold than there was", async () => {
  const delivered = await deliver("table", 1);
  await registered("d1");
  expect((await order("d1", "t1", "table")).kind).toBe("ordered");
  await opened.shop.entities.stock.patch({ article: "table" }).subtract({ count: 1 }).go();
  expect(await auditShop(opened, delivered)).toEqual([
    "table: more was sold than there was",
    "table: 1 delivered, -1 left, 1 ordered",
  ]);
});
