/** What stands in the tables at the start (clause 4.3.3.1), the same for the same scale. */
import type { BenchItem, BenchRandom, BenchTable } from "../../harness/workload.ts";
import {
  between,
  namedRandom,
  percent,
  shuffled,
  someDigits,
  someText,
  someTime,
} from "../draws.ts";
import type { TypedTable } from "../typed-rows.ts";
import {
  deliveredAtStart,
  lastName,
  lastNameCount,
  someLastName,
  type TpccScale,
} from "./scale.ts";
import * as schema from "./schema.ts";

type Loaded = { readonly table: BenchTable; readonly item: BenchItem };

/** What each customer has paid before the start, in cents. */
const firstPayment = 1_000;

export function* tpccRows(scale: TpccScale): Generator<Loaded> {
  const random = namedRandom("tpcc items");
  for (let i = 1; i <= scale.items; i += 1) {
    yield rowIn(schema.items, {
      i,
      image: between(random, 1, 10_000),
      name: someText(random, 14, 24),
      price: between(random, 100, 10_000),
      data: someData(random),
    });
  }
  for (let w = 1; w <= scale.warehouses; w += 1) yield* warehouseRows(scale, w);
}

function* warehouseRows(scale: TpccScale, w: number): Generator<Loaded> {
  const random = namedRandom(`tpcc warehouse ${w}`);
  yield rowIn(schema.warehouses, {
    w,
    name: someText(random, 6, 10),
    ...someAddress(random),
    tax: between(random, 0, 2_000),
    ytd: schema.districtsPerWarehouse * scale.customersPerDistrict * firstPayment,
  });
  for (let i = 1; i <= scale.items; i += 1) {
    yield rowIn(schema.stocks, {
      stock: schema.stockId(w, i),
      quantity: between(random, 10, 100),
      districtInfos: Array.from({ length: schema.districtsPerWarehouse }, () =>
        someText(random, 24),
      ),
      ytd: 0,
      orderCount: 0,
      remoteCount: 0,
      data: someData(random),
    });
  }
  for (let d = 1; d <= schema.districtsPerWarehouse; d += 1) {
    yield* districtRows(random, scale, { w, d });
  }
}

type Place = { readonly w: number; readonly d: number };

function* districtRows(random: BenchRandom, scale: TpccScale, { w, d }: Place): Generator<Loaded> {
  const district = schema.districtId(w, d);
  const count = scale.customersPerDistrict;
  yield rowIn(schema.districts, {
    district,
    name: someText(random, 6, 10),
    ...someAddress(random),
    tax: between(random, 0, 2_000),
    ytd: count * firstPayment,
    nextOrder: count + 1,
  });
  for (let c = 1; c <= count; c += 1) yield* customerRows(random, scale, { w, d, c });
  yield rowIn(schema.newOrders, { district, o: 0, delivered: deliveredAtStart(scale) });
  // Each customer has placed one order, in random order.
  const buyers = shuffled(
    random,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  for (const [index, c] of buyers.entries()) {
    yield* orderRows(random, scale, { w, d, c, o: index + 1 });
  }
}

function* customerRows(
  random: BenchRandom,
  scale: TpccScale,
  { w, d, c }: Place & { readonly c: number },
): Generator<Loaded> {
  const district = schema.districtId(w, d);
  const first = someText(random, 8, 16);
  // So each name is somebody's.
  const last = c <= lastNameCount(scale) ? lastName(c - 1) : someLastName(random, scale, "load");
  yield rowIn(schema.customers, {
    district,
    c,
    first,
    middle: "OE",
    last,
    ...someAddress(random),
    phone: someDigits(random, 16),
    since: someTime(random),
    credit: percent(random, 10) ? "BC" : "GC",
    creditLimit: 5_000_000,
    discount: between(random, 0, 5_000),
    balance: -firstPayment,
    ytdPayment: firstPayment,
    paymentCount: 1,
    deliveryCount: 0,
    data: someText(random, 300, 500),
  });
  const name = schema.nameId(district, last);
  // Two customers may share both names: the number keeps their rows apart.
  yield rowIn(schema.customerNames, { name, first: `${first} ${c}`, c });
  yield rowIn(schema.history, {
    district,
    payment: schema.paymentId(c, 1),
    c,
    paidW: w,
    paidD: d,
    date: someTime(random),
    amount: firstPayment,
    data: someText(random, 12, 24),
  });
}

function* orderRows(
  random: BenchRandom,
  scale: TpccScale,
  { w, d, c, o }: Place & { readonly c: number; readonly o: number },
): Generator<Loaded> {
  const district = schema.districtId(w, d);
  const order = schema.orderId(district, o);
  const delivered = o <= deliveredAtStart(scale);
  const entryDate = someTime(random);
  const lineCount = between(random, 5, 15);
  yield rowIn(schema.orders, {
    order,
    line: 0,
    c,
    entryDate,
    ...(delivered ? { carrier: between(random, 1, 10) } : {}),
    lineCount,
    allLocal: true,
  });
  yield rowIn(schema.customerOrders, { customer: schema.customerId(district, c), o });
  if (!delivered) yield rowIn(schema.newOrders, { district, o });
  for (let line = 1; line <= lineCount; line += 1) {
    yield rowIn(schema.orders, {
      order,
      line,
      item: between(random, 1, scale.items),
      supplyW: w,
      ...(delivered ? { deliveryDate: entryDate } : {}),
      quantity: 5,
      amount: delivered ? 0 : between(random, 1, 999_999),
      districtInfo: someText(random, 24),
    });
  }
}

function rowIn<Row extends BenchItem>(table: TypedTable<Row>, item: Row): Loaded {
  return { table, item };
}

function someAddress(random: BenchRandom): {
  readonly street1: string;
  readonly street2: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
} {
  return {
    street1: someText(random, 10, 20),
    street2: someText(random, 10, 20),
    city: someText(random, 10, 20),
    state: someText(random, 2),
    zip: `${someDigits(random, 4)}11111`,
  };
}

/** One in ten says somewhere that it is the original. */
function someData(random: BenchRandom): string {
  const data = someText(random, 26, 50);
  if (!percent(random, 10)) return data;
  const at = random.below(data.length - 8);
  return `${data.slice(0, at)}ORIGINAL${data.slice(at + 8)}`;
}
