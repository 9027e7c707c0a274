/**
 * The new-order transaction (clause 2.4.2): an order of five to fifteen lines, and its toll on the
 * stock.
 */
import { RolledBack, type BenchTransaction } from "../../harness/workload.ts";
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
  const { w, d, c, entryDate } = input;
  const district = schema.districtId(w, d);
  const [warehouse, place, customer, items, stocks] = await Promise.all([
    standingRow(transaction, schema.warehouses, { w }),
    standingRow(transaction, schema.districts, { district }),
    standingRow(transaction, schema.customers, { district, c }),
    readItems(transaction, input),
    readStocks(transaction, input),
  ]);
  const o = place.nextOrder;
  const order = schema.orderId(district, o);
  putRow(transaction, schema.districts, { ...place, nextOrder: o + 1 });
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
    const sold = items.get(item);
    // Clause 2.4.1.4: what was done up to here is undone.
    if (sold === undefined) throw new RolledBack(`item ${item} is not for sale`);
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
