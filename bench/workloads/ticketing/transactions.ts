/**
 * What visitors and the box office do: each a transaction of its own, as a click in the shop is.
 */
import { RolledBack, type BenchTransaction, type Step } from "../../harness/workload.ts";
import { getRow, getRows, putRow, queryRows, standing, standingRow } from "../typed-rows.ts";
import * as schema from "./schema.ts";

/**
 * One visitor's wish. The order's name is drawn with it: nothing has to be remembered of what
 * committed.
 */
export type Visit = {
  readonly event: number;
  readonly category: number;
  readonly order: string;
  /** Seats that the visitor is content with, all of them different. */
  readonly choice: readonly number[];
  readonly count: number;
};

const seatsShown = 50;

/** The event's page: what it costs, what is left, and a part of the plan of seats. */
export async function browse(
  transaction: BenchTransaction,
  { event, category, choice }: Visit,
): Promise<void> {
  await Promise.all([
    standingRow(transaction, schema.events, { event }),
    queryRows(transaction, schema.categories, { partition: event }),
    queryRows(transaction, schema.seats, {
      partition: schema.placeOf(event, category),
      from: choice[0] ?? 1,
      limit: seatsShown,
    }),
  ]);
}

/** What was sold at each of these events, for the box office. */
export async function statistics(
  transaction: BenchTransaction,
  events: readonly number[],
): Promise<readonly { readonly event: number; readonly sold: number; readonly revenue: number }[]> {
  return Promise.all(
    events.map(async (event) => {
      const rows = await queryRows(transaction, schema.categories, { partition: event });
      return {
        event,
        sold: rows.reduce((sum, { sold }) => sum + sold, 0),
        revenue: rows.reduce((sum, { revenue }) => sum + revenue, 0),
      };
    }),
  );
}

/** Takes the first free ones of the seats chosen, or none. */
export async function reserve(transaction: BenchTransaction, visit: Visit): Promise<void> {
  const { event, category, order, choice, count } = visit;
  const [counters, wanted, earlier] = await Promise.all([
    standingRow(transaction, schema.categories, { event, category }),
    readSeats(transaction, visit, choice),
    getRow(transaction, schema.orders, { event, order }),
  ]);
  // The same numbers over tables that an earlier run has left.
  if (earlier !== undefined) throw new RolledBack("the visitor was here before");
  const taken = wanted.filter(({ state }) => state === "free").slice(0, count);
  if (taken.length < count) throw new RolledBack("too few of these seats are free");
  for (const seat of taken) {
    putRow(transaction, schema.seats, { ...seat, state: "reserved", order });
  }
  putRow(transaction, schema.orders, {
    ...{ event, order, category, state: "reserved" },
    seats: taken.map(({ seat }) => seat),
    amount: count * counters.price,
  });
  putRow(transaction, schema.categories, moved(counters, { from: "free", to: "reserved", count }));
}

/** The transaction that Salt made BASE. */
export async function createOrder(transaction: BenchTransaction, visit: Visit): Promise<void> {
  await advance(transaction, visit, { from: "reserved", to: "ordered" });
}

/** As a BASE transaction: the category, which all orders want, last and the shortest. */
export function createOrderSteps(visit: Visit): readonly Step[] {
  const { event, category } = visit;
  let order: schema.OrderRow | undefined;
  return [
    {
      name: "order",
      body: async (transaction) => {
        order = await getRow(transaction, schema.orders, { event, order: visit.order });
        if (order === undefined) throw new RolledBack("nothing was reserved");
        if (order.state !== "reserved") throw new RolledBack(`the order is ${order.state}`);
        putRow(transaction, schema.orders, { ...order, state: "ordered" });
      },
    },
    {
      name: "seats",
      body: async (transaction) => {
        const { seats } = standing(order, "the first step");
        for (const seat of await readSeats(transaction, visit, seats)) {
          putRow(transaction, schema.seats, { ...seat, state: "ordered" });
        }
      },
    },
    {
      name: "counters",
      body: async (transaction) => {
        const counters = await standingRow(transaction, schema.categories, { event, category });
        const count = standing(order, "the first step").seats.length;
        const change = { from: "reserved", to: "ordered", count } as const;
        putRow(transaction, schema.categories, moved(counters, change));
      },
    },
  ];
}

export async function pay(transaction: BenchTransaction, visit: Visit): Promise<void> {
  await advance(transaction, visit, { from: "ordered", to: "sold" });
}

/** Gives up an order in whatever state it is; what was paid is paid back. */
export async function cancel(transaction: BenchTransaction, visit: Visit): Promise<void> {
  const { order, counters, taken } = await readOrder(transaction, visit);
  if (order.state === "cancelled") throw new RolledBack("the order is cancelled already");
  for (const { place, seat } of taken) {
    putRow(transaction, schema.seats, { place, seat, state: "free" });
  }
  putRow(transaction, schema.orders, { ...order, state: "cancelled" });
  const change = { from: order.state, to: "free", count: taken.length } as const;
  const refund = order.state === "sold" ? order.amount : 0;
  putRow(transaction, schema.categories, {
    ...moved(counters, change),
    revenue: counters.revenue - refund,
  });
}

async function advance(
  transaction: BenchTransaction,
  visit: Visit,
  { from, to }: { readonly from: "reserved" | "ordered"; readonly to: "ordered" | "sold" },
): Promise<void> {
  const { order, counters, taken } = await readOrder(transaction, visit);
  if (order.state !== from) throw new RolledBack(`the order is ${order.state}, not ${from}`);
  for (const seat of taken) putRow(transaction, schema.seats, { ...seat, state: to });
  putRow(transaction, schema.orders, { ...order, state: to });
  putRow(transaction, schema.categories, {
    ...moved(counters, { from, to, count: taken.length }),
    revenue: counters.revenue + (to === "sold" ? order.amount : 0),
  });
}

type OpenOrder = {
  readonly order: schema.OrderRow;
  readonly counters: schema.CategoryRow;
  readonly taken: readonly schema.SeatRow[];
};

async function readOrder(transaction: BenchTransaction, visit: Visit): Promise<OpenOrder> {
  const { event, category } = visit;
  const [order, counters] = await Promise.all([
    getRow(transaction, schema.orders, { event, order: visit.order }),
    standingRow(transaction, schema.categories, { event, category }),
  ]);
  if (order === undefined) throw new RolledBack("nothing was reserved");
  return { order, counters, taken: await readSeats(transaction, visit, order.seats) };
}

async function readSeats(
  transaction: BenchTransaction,
  { event, category }: Visit,
  numbers: readonly number[],
): Promise<readonly schema.SeatRow[]> {
  const place = schema.placeOf(event, category);
  const rows = await getRows(
    transaction,
    schema.seats,
    numbers.map((seat) => ({ place, seat })),
  );
  return rows.map((row, index) => standing(row, `seat ${numbers[index] ?? 0} at ${place}`));
}

function moved(
  counters: schema.CategoryRow,
  change: {
    readonly from: schema.SeatState;
    readonly to: schema.SeatState;
    readonly count: number;
  },
): schema.CategoryRow {
  const { from, to, count } = change;
  return { ...counters, [from]: counters[from] - count, [to]: counters[to] + count };
}
