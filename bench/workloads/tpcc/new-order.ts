/**
 * The new-order transaction (clause 2.4.2): an order of five to fifteen lines, and its toll on the
 * stock.
 */
import { RolledBack, type BenchTransaction, type Step } from "../../harness/workload.ts";
import { getRows, putRow, standing, standingRow } from "../typed-rows.ts";
import type { NewOrderInput } from "./inputs.ts";
import * as schema from "./schema.ts";

export type NewOrderOutput = {
  readonly order: number;
  /** After discount and both taxes, in cents. */
  readonly total: number;
  /** For each line, whether item and stock are both original (`B`) or not (`G`). */
  readonly brands: string;
};

export async function newOrder(
  transaction: BenchTransaction,
  input: NewOrderInput,
): Promise<NewOrderOutput> {
  const [begun, stocks] = await Promise.all([
    beginOrder(transaction, input),
    readStocks(transaction, input),
  ]);
  return writeLines(transaction, input, { begun, stocks });
}

/**
 * As Salt (OSDI 2014) §5 has it as a BASE transaction: one step for the district's next number,
 * one for what is written under it.
 */
export function newOrderSteps(input: NewOrderInput): readonly Step[] {
  let begun: Begun | undefined;
  return [
    {
      name: "number",
      body: async (transaction) => {
        begun = await beginOrder(transaction, input);
        // What is wrong must show before anything is accepted.
        for (const { item } of input.lines) soldItem(begun.items, item);
      },
    },
    {
      name: "lines",
      body: async (transaction) => {
        const stocks = await readStocks(transaction, input);
        writeLines(transaction, input, { begun: standing(begun, "the first step"), stocks });
      },
    },
  ];
}

type Begun = {
  readonly order: number;
  readonly warehouse: schema.WarehouseRow;
  readonly place: schema.DistrictRow;
  readonly customer: schema.CustomerRow;
  readonly items: ReadonlyMap<number, schema.ItemRow>;
};

async function beginOrder(transaction: BenchTransaction, input: NewOrderInput): Promise<Begun> {
  const { w, d, c } = input;
  const district = schema.districtId(w, d);
  const [warehouse, place, customer, items] = await Promise.all([
    standingRow(transaction, schema.warehouses, { w }),
    standingRow(transaction, schema.districts, { district }),
    standingRow(transaction, schema.customers, { district, c }),
    readItems(transaction, input),
  ]);
  putRow(transaction, schema.districts, { ...place, nextOrder: place.nextOrder + 1 });
  return { order: place.nextOrder, warehouse, place, customer, items };
}

/** Clause 2.4.1.4: what was done up to here is undone. */
function soldItem(items: Begun["items"], item: number): schema.ItemRow {
  const sold = items.get(item);
  if (sold === undefined) throw new RolledBack(`item ${item} is not for sale`);
  return sold;
}

function writeLines(
  transaction: BenchTransaction,
  input: NewOrderInput,
  { begun, stocks }: { readonly begun: Begun; readonly stocks: Map<string, schema.StockRow> },
): NewOrderOutput {
  const { w, d, c, entryDate } = input;
  const { order: o, warehouse, place, customer, items } = begun;
  const district = schema.districtId(w, d);
  const order = schema.orderId(district, o);
  putRow(transaction, schema.orders, {
    order,
    line: 0,
    c,
    entryDate,
    lineCount: input.lines.length,
    allLocal: input.lines.every((line) => line.supplyW === w),
  });
  putRow(transaction, schema.customerOrders, { customer: schema.customerId(district, c), o });
  putRow(transaction, schema.newOrders, { district, o });
  let sum = 0;
  let brands = "";
  for (const [index, { item, supplyW, quantity }] of input.lines.entries()) {
    const sold = soldItem(items, item);
    const id = schema.stockId(supplyW, item);
    const stock = standing(stocks.get(id), `stock ${id}`);
    // An item may stand in several lines: the next one finds what this one leaves.
    stocks.set(id, takenFrom(stock, { quantity, remote: supplyW !== w }));
    const amount = quantity * sold.price;
    sum += amount;
    brands += [sold.data, stock.data].every((data) => data.includes("ORIGINAL")) ? "B" : "G";
    putRow(transaction, schema.orders, {
      order,
      line: index + 1,
      item,
      supplyW,
      quantity,
      amount,
      districtInfo: standing(stock.districtInfos[d - 1], `information of district ${d} in ${id}`),
    });
  }
  for (const stock of stocks.values()) putRow(transaction, schema.stocks, stock);
  const tax = warehouse.tax + place.tax;
  const total = sum * (1 - customer.discount / 10_000) * (1 + tax / 10_000);
  return { order: o, total: Math.round(total), brands };
}

async function readItems(
  transaction: BenchTransaction,
  { lines }: NewOrderInput,
): Promise<ReadonlyMap<number, schema.ItemRow>> {
  const numbers = [...new Set(lines.map(({ item }) => item))];
  const rows = await getRows(
    transaction,
    schema.items,
    numbers.map((i) => ({ i })),
  );
  return new Map(rows.filter((row) => row !== undefined).map((row) => [row.i, row]));
}

async function readStocks(
  transaction: BenchTransaction,
  { lines }: NewOrderInput,
): Promise<Map<string, schema.StockRow>> {
  const ids = [...new Set(lines.map(({ supplyW, item }) => schema.stockId(supplyW, item)))];
  const rows = await getRows(
    transaction,
    schema.stocks,
    ids.map((stock) => ({ stock })),
  );
  return new Map(rows.filter((row) => row !== undefined).map((row) => [row.stock, row]));
}

/** Stock is refilled before it would fall below ten. */
function takenFrom(
  stock: schema.StockRow,
  { quantity, remote }: { readonly quantity: number; readonly remote: boolean },
): schema.StockRow {
  const refill = stock.quantity >= quantity + 10 ? 0 : 91;
  return {
    ...stock,
    quantity: stock.quantity - quantity + refill,
    ytd: stock.ytd + quantity,
    orderCount: stock.orderCount + 1,
    remoteCount: stock.remoteCount + (remote ? 1 : 0),
  };
}
