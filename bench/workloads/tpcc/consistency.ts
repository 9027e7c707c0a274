/**
 * Consistency conditions 1 to 12 of TPC-C (clause 3.3.2), and three of our own: stock counts what
 * the lines say, no order is missing, and the rows that stand for indexes and the queue's head are
 * right.
 *
 * Condition 11 is stated there for the database as loaded (2,100 orders of a district are not new);
 * here deliveries since then count as well.
 */
import type { BenchTransaction } from "../../harness/workload.ts";
import { readContents, type Contents, type DistrictContents, type FoundOrder } from "./contents.ts";
import { deliveredAtStart, type TpccScale } from "./scale.ts";
import * as schema from "./schema.ts";

export async function tpccViolations(
  read: BenchTransaction,
  scale: TpccScale,
): Promise<readonly string[]> {
  const contents = await readContents(read, scale);
  return [
    ...warehouseViolations(contents),
    ...contents.districts.flatMap((district) => [
      ...numberViolations(district),
      ...orderViolations(district),
      ...customerViolations(district),
      ...countViolations(district, scale),
    ]),
    ...districtPaymentViolations(contents),
    ...stockViolations(contents, scale),
  ];
}

/** A sentence if two figures that should be equal are not. */
function unequal(
  condition: string,
  where: string,
  figures: Readonly<Record<string, number | undefined>>,
): string[] {
  const values = Object.values(figures);
  if (values.every((value) => value === values[0])) return [];
  const told = Object.entries(figures).map(([name, value]) => `${name} is ${value ?? "missing"}`);
  return [`${condition}, ${where}: ${told.join(", but ")}.`];
}

function sumOf<Element>(
  elements: readonly Element[],
  amount: (element: Element) => number,
): number {
  return elements.reduce((sum, element) => sum + amount(element), 0);
}

function warehouseViolations({ warehouses, districts }: Contents): string[] {
  const paid = sumsBy(
    districts.flatMap(({ history }) => history),
    ({ paidW, amount }) => [paidW, amount],
  );
  return [...warehouses].flatMap(([w, warehouse]) => {
    const where = `warehouse ${w}`;
    const inDistricts = sumOf(
      districts.filter((each) => each.w === w),
      ({ district }) => district?.ytd ?? 0,
    );
    const ytd = warehouse?.ytd;
    return [
      ...unequal("Condition 1", where, { W_YTD: ytd, "the sum of D_YTD": inDistricts }),
      ...unequal("Condition 8", where, { W_YTD: ytd, "the sum of H_AMOUNT": paid.get(w) ?? 0 }),
    ];
  });
}

function districtPaymentViolations({ districts }: Contents): string[] {
  const paid = sumsBy(
    districts.flatMap(({ history }) => history),
    ({ paidW, paidD, amount }) => [schema.districtId(paidW, paidD), amount],
  );
  return districts.flatMap(({ w, d, district }) => {
    const id = schema.districtId(w, d);
    const sum = paid.get(id) ?? 0;
    return unequal("Condition 9", `district ${id}`, {
      D_YTD: district?.ytd,
      "the sum of H_AMOUNT": sum,
    });
  });
}

/** Conditions 2 and 3, and the queue's head. */
function numberViolations({
  w,
  d,
  district,
  queue,
  delivered,
  orders,
}: DistrictContents): string[] {
  const where = `district ${schema.districtId(w, d)}`;
  const counted = (district?.nextOrder ?? 0) - 1;
  const newest = orders.findLast(({ order }) => order !== undefined)?.o ?? 0;
  const found = [
    ...unequal("Condition 2", where, { "D_NEXT_O_ID - 1": counted, "the newest O_ID": newest }),
  ];
  const [first, last] = [queue[0], queue.at(-1)];
  if (first === undefined || last === undefined) {
    found.push(...unequal("Head of the queue", where, { delivered, "the newest O_ID": newest }));
    return found;
  }
  found.push(
    ...unequal("Condition 2", where, { "D_NEXT_O_ID - 1": counted, "the newest NO_O_ID": last }),
    ...unequal("Condition 3", where, {
      "the range of NO_O_ID": last - first + 1,
      "the number of new orders": queue.length,
    }),
    ...unequal("Head of the queue", where, {
      "the order after the last delivered": delivered + 1,
      "the oldest NO_O_ID": first,
    }),
  );
  return found;
}

/** Conditions 4 to 7, order by order, and the index by customer. */
function orderViolations(contents: DistrictContents): string[] {
  const { w, d, district, queue, orders, indexed } = contents;
  const id = schema.districtId(w, d);
  const queued = new Set(queue);
  const counted = (district?.nextOrder ?? 1) - 1;
  return [
    ...unequal("Condition 4", `district ${id}`, {
      "the sum of O_OL_CNT": sumOf(orders, ({ order }) => order?.lineCount ?? 0),
      "the number of lines": sumOf(orders, ({ lines }) => lines.length),
    }),
    ...orders.flatMap((found) => [
      ...oneOrderViolations(found, `order ${schema.orderId(id, found.o)}`, queued.has(found.o)),
      ...(found.order === undefined && found.o <= counted
        ? [`Orders, district ${id}: order ${found.o} is missing.`]
        : []),
      ...(found.order !== undefined && !indexed.has(found.o)
        ? [`Index by customer, district ${id}: order ${found.o} is missing.`]
        : []),
    ]),
  ];
}

function oneOrderViolations(
  { order, lines }: FoundOrder,
  where: string,
  queued: boolean,
): string[] {
  const found: string[] = [];
  const undelivered = order !== undefined && order.carrier === undefined;
  if (queued !== undelivered) {
    const state =
      order === undefined ? "does not exist" : undelivered ? "has no carrier" : "has a carrier";
    found.push(`Condition 5, ${where}: it ${state}, but is ${queued ? "" : "not "}a new order.`);
  }
  found.push(
    ...unequal("Condition 6", where, {
      O_OL_CNT: order?.lineCount ?? 0,
      "the number of lines": lines.length,
    }),
  );
  const odd = lines.filter((line) => (line.deliveryDate === undefined) !== undelivered);
  if (odd.length > 0) {
    const state = undelivered ? "has no carrier" : "has a carrier";
    const date = undelivered ? "a" : "no";
    found.push(
      `Condition 7, ${where}: it ${state}, but ${odd.length} lines have ${date} delivery date.`,
    );
  }
  return found;
}

/** Conditions 10 and 12. */
function customerViolations({ w, d, customers, history, orders }: DistrictContents): string[] {
  const district = schema.districtId(w, d);
  const paid = sumsBy(history, ({ c, amount }) => [c, amount]);
  const delivered = sumsBy(
    orders.flatMap(({ order, lines }) => (order === undefined ? [] : [{ c: order.c, lines }])),
    ({ c, lines }) => [
      c,
      sumOf(lines, (line) => (line.deliveryDate === undefined ? 0 : line.amount)),
    ],
  );
  return customers.flatMap(({ c, balance, ytdPayment }) => {
    const where = `customer ${schema.customerId(district, c)}`;
    const goods = delivered.get(c) ?? 0;
    return [
      ...unequal("Condition 10", where, {
        C_BALANCE: balance,
        "delivered OL_AMOUNT less H_AMOUNT": goods - (paid.get(c) ?? 0),
      }),
      ...unequal("Condition 12", where, {
        "C_BALANCE + C_YTD_PAYMENT": balance + ytdPayment,
        "delivered OL_AMOUNT": goods,
      }),
    ];
  });
}

/** Condition 11, and the number of customers, over whom it and others sum. */
function countViolations(contents: DistrictContents, scale: TpccScale): string[] {
  const { w, d, customers, queue, orders } = contents;
  const where = `district ${schema.districtId(w, d)}`;
  const deliveries = sumOf(customers, ({ deliveryCount }) => deliveryCount);
  const present = orders.filter(({ order }) => order !== undefined).length;
  return [
    ...unequal("Condition 11", where, {
      "orders that are not new": present - queue.length,
      "those delivered at the start and since": deliveredAtStart(scale) + deliveries,
    }),
    ...unequal("Customers", where, {
      "their number": customers.length,
      "the number loaded": scale.customersPerDistrict,
    }),
  ];
}

type Sold = { readonly ytd: number; readonly orderCount: number; readonly remoteCount: number };

/** Orders since the start, and only they, are counted by the stock that supplied them. */
function stockViolations({ districts, stocks }: Contents, scale: TpccScale): string[] {
  const sold = new Map<string, Sold>();
  for (const { w, orders } of districts) {
    for (const { lines } of orders.slice(scale.customersPerDistrict)) {
      for (const { supplyW, item, quantity } of lines) {
        const id = schema.stockId(supplyW, item);
        const { ytd, orderCount, remoteCount } = sold.get(id) ?? nothingSold;
        sold.set(id, {
          ytd: ytd + quantity,
          orderCount: orderCount + 1,
          remoteCount: remoteCount + (supplyW === w ? 0 : 1),
        });
      }
    }
  }
  return [...stocks].flatMap(([id, stock]) => {
    const lines = sold.get(id) ?? nothingSold;
    const where = `item ${id}`;
    return [
      ...unequal("Stock", where, { S_YTD: stock?.ytd, "the sum of OL_QUANTITY": lines.ytd }),
      ...unequal("Stock", where, {
        S_ORDER_CNT: stock?.orderCount,
        "the number of lines": lines.orderCount,
      }),
      ...unequal("Stock", where, {
        S_REMOTE_CNT: stock?.remoteCount,
        "the number of remote lines": lines.remoteCount,
      }),
    ];
  });
}

const nothingSold: Sold = { ytd: 0, orderCount: 0, remoteCount: 0 };

function sumsBy<Element, Key>(
  elements: readonly Element[],
  part: (element: Element) => readonly [Key, number],
): ReadonlyMap<Key, number> {
  const sums = new Map<Key, number>();
  for (const element of elements) {
    const [key, amount] = part(element);
    sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  return sums;
}
