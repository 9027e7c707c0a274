/**
 * Seats, orders and payments over four tables. Customers buy free seats and give orders back;
 * nobody gets a seat that another has, and the money taken is the price of the seats sold, in any
 * state that anybody sees.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered, pickHot, sumOf, upTo } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Snapshot,
  type StepContext,
  type Transaction,
  type Workload,
  type WorkloadFactory,
} from "./workload.ts";

type SeatKey = { readonly event: string; readonly seat: number };
type OrderKey = { readonly customer: string; readonly slot: number };
type Seat = { readonly order?: string };
type Order = { readonly event: string; readonly seats: readonly number[] };

const events = defineTable<{ readonly sold: number }, { readonly event: string }>("events", {
  key: "event",
});
const seats = defineTable<Seat, SeatKey, "event">("seats", { key: ["event", "seat"] });
const orders = defineTable<Order, OrderKey, "customer">("orders", { key: ["customer", "slot"] });
const payments = defineTable<{ readonly cents: number }, { readonly order: string }>("payments", {
  key: "order",
});

const priceCents = 2_500;
const slotsOfCustomer = upTo(2);
const seatsMax = 3;

export const ticketSale: WorkloadFactory = ({ keys, history }) => {
  const eventIds = numbered("event", Math.max(2, Math.floor(keys / 2)));
  const seatIds = upTo(keys);
  const customers = numbered("customer", keys);
  const sale = { eventIds, seatIds, customers };

  return {
    tables: [
      testTable("events", { partitionKey: "event", history }),
      testTable("seats", {
        partitionKey: "event",
        sortKey: { name: "seat", type: "N" },
        history,
      }),
      {
        ...testTable("orders", {
          partitionKey: "customer",
          sortKey: { name: "slot", type: "N" },
          history,
        }),
        indexes: [{ name: "by-event", partitionKey: { name: "event", type: "S" } }],
      },
      testTable("payments", { partitionKey: "order", history }),
    ],
    universe: universeOf(sale),
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const event of eventIds) {
          tx.put(events, { event, sold: 0 });
          for (const seat of seatIds) tx.put(seats, { event, seat });
        }
        return Promise.resolve();
      });
    },
    async step(context) {
      const { client, random } = context;
      const kind = random.next();
      if (kind < 0.15) {
        const complaints = await client.snapshot((snapshot) => complaintsOf(snapshot, sale));
        if (complaints[0] !== undefined) throw new WorkloadFinding(complaints[0]);
      } else if (kind < 0.25) await listOrders(context, random.pick(eventIds));
      else await buyOrReturn(context, sale);
    },
    judge: (client) => client.snapshot((snapshot) => complaintsOf(snapshot, sale)),
  };
};

type Sale = {
  readonly eventIds: readonly string[];
  readonly seatIds: readonly number[];
  readonly customers: readonly string[];
};

/** A customer takes seats into a free order; one without free orders gives one back. */
async function buyOrReturn(
  { client, random, isolation, pause }: StepContext,
  { eventIds, seatIds, customers }: Sale,
): Promise<void> {
  const customer = pickHot(random, customers);
  const event = pickHot(random, eventIds);
  const wanted = new Set(upTo(random.integer(1, seatsMax)).map(() => random.pick(seatIds)));
  const asksForAll = random.chance(0.3);
  const lingersMs = random.chance(0.2) ? random.between(1, 300) : 0;
  await client.transact({ isolation }, async (tx) => {
    const own = await tx.query(orders, { where: { customer } }).all();
    const slot = slotsOfCustomer.find((each) => own.every((order) => order.slot !== each));
    const [oldest] = own;
    if (slot === undefined) {
      if (oldest !== undefined) await giveBack(tx, oldest);
      return;
    }
    const found = asksForAll
      ? await tx.query(seats, { where: { event }, filter: (row) => wanted.has(row.seat) }).all()
      : await tx.batchGet(
          seats,
          [...wanted].map((seat) => ({ event, seat })),
        );
    const free = found.flatMap((row) =>
      row === undefined || row.order !== undefined ? [] : [row.seat],
    );
    if (lingersMs > 0) await pause(lingersMs);
    if (free.length === 0) return;
    const order = orderName({ customer, slot });
    for (const seat of free) tx.put(seats, { event, seat, order });
    tx.put(orders, { customer, slot, event, seats: free });
    tx.put(payments, { order, cents: free.length * priceCents });
    await tx.update(events, event, (row) => ({ sold: (row?.sold ?? 0) + free.length }));
  });
}

async function giveBack(tx: Transaction, order: Order & OrderKey): Promise<void> {
  const { event } = order;
  tx.delete(orders, { customer: order.customer, slot: order.slot });
  tx.delete(payments, orderName(order));
  for (const seat of order.seats) await tx.update(seats, { event, seat }, { order: undefined });
  await tx.update(events, event, (row) => ({ sold: (row?.sold ?? 0) - order.seats.length }));
}

/** By the index, which finds candidates: each is read from its table, where its payment is too. */
async function listOrders({ client, isolation }: StepContext, event: string): Promise<void> {
  await client.transact({ isolation }, async (tx) => {
    const found = await tx.query(orders, { index: "by-event", where: { event } }).all();
    for (const order of found) {
      const payment = await tx.get(payments, orderName(order));
      if (order.event === event && payment?.cents === order.seats.length * priceCents) continue;
      throw new WorkloadFinding(`${orderName(order)} stands without its payment for ${event}`);
    }
  });
}

async function complaintsOf(
  reader: Pick<Snapshot, "scan" | "query" | "batchGet">,
  { eventIds }: Sale,
): Promise<readonly string[]> {
  const sold = await reader.batchGet(events, eventIds);
  const pages = await Promise.all(
    eventIds.map((event) => reader.query(seats, { where: { event } }).all()),
  );
  const allOrders = await reader.scan(orders).all();
  const paid = new Map((await reader.scan(payments).all()).map((row) => [row.order, row.cents]));
  const taken = new Map<string, string>();
  const complaints: string[] = [];
  for (const order of allOrders) {
    const name = orderName(order);
    for (const seat of order.seats) {
      const place = `${order.event}/${seat.toString()}`;
      if (taken.has(place)) complaints.push(`${place} is sold twice`);
      taken.set(place, name);
    }
    if (paid.get(name) !== order.seats.length * priceCents) complaints.push(`${name} is not paid`);
  }
  for (const row of pages.flat()) {
    const place = `${row.event}/${row.seat.toString()}`;
    if (taken.get(place) !== row.order) complaints.push(`${place} is not of the order that has it`);
  }
  const revenue = sumOf(paid.values());
  const counted = sumOf(sold.map((row) => row?.sold ?? 0));
  if (revenue !== taken.size * priceCents || counted !== taken.size) {
    complaints.push(
      `${taken.size.toString()} seats are sold, ${counted.toString()} counted, for ` +
        `${revenue.toString()} cents`,
    );
  }
  return complaints;
}

function universeOf({ eventIds, seatIds, customers }: Sale): NonNullable<Workload["universe"]> {
  const names = customers.flatMap((customer) =>
    slotsOfCustomer.map((slot) => ({ customer, slot })),
  );
  return [
    ...eventIds.flatMap((event) =>
      seatIds.map((seat) => ({
        table: "seats",
        key: { event: { S: event }, seat: { N: seat.toString() } },
      })),
    ),
    ...names.map(({ customer, slot }) => ({
      table: "orders",
      key: { customer: { S: customer }, slot: { N: slot.toString() } },
    })),
    ...names.map((key) => ({ table: "payments", key: { order: { S: orderName(key) } } })),
  ];
}

function orderName({ customer, slot }: OrderKey): string {
  return `${customer}/${slot.toString()}`;
}
