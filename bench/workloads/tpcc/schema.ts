/**
 * The nine tables of TPC-C (clause 1.3) as tables of DynamoDB, and two that stand for indexes.
 *
 * - Warehouse and district are one row each, as in the specification: every payment writes both,
 *   and every new order reads the one and writes the other. They are the benchmark's hot rows.
 * - An order and its lines share a partition, so that one query has them all; line 0 is the order
 *   itself.
 * - The queue of new orders has its head in a row of its own: which order was delivered last. By
 *   condition 3 the oldest undelivered order is the one after it. A query for the lowest row would
 *   depend on the whole partition, into which every new order of the district is inserted at the
 *   other end, and would walk over what was deleted.
 * - `customer-names` and `customer-orders` are the indexes by last name and by customer.
 *
 * Money is in cents and rates are in hundredths of a percent, so that sums are exact.
 */
import type { BenchTable } from "../../harness/workload.ts";
import type { TypedTable } from "../typed-rows.ts";

export const districtsPerWarehouse = 10;

type Address = {
  readonly street1: string;
  readonly street2: string;
  readonly city: string;
  readonly state: string;
  readonly zip: string;
};

export type WarehouseRow = Address & {
  readonly w: number;
  readonly name: string;
  readonly tax: number;
  readonly ytd: number;
};
export const warehouses: TypedTable<WarehouseRow> = {
  name: "tpcc-warehouses",
  partitionKey: { name: "w", type: "N" },
};

export type DistrictRow = Address & {
  readonly district: string;
  readonly name: string;
  readonly tax: number;
  readonly ytd: number;
  readonly nextOrder: number;
};
export const districts: TypedTable<DistrictRow> = {
  name: "tpcc-districts",
  partitionKey: { name: "district", type: "S" },
};

export type CustomerRow = Address & {
  readonly district: string;
  readonly c: number;
  readonly first: string;
  readonly middle: string;
  readonly last: string;
  readonly phone: string;
  readonly since: number;
  readonly credit: "GC" | "BC";
  readonly creditLimit: number;
  readonly discount: number;
  readonly balance: number;
  readonly ytdPayment: number;
  readonly paymentCount: number;
  readonly deliveryCount: number;
  readonly data: string;
};
export const customers: TypedTable<CustomerRow> = {
  name: "tpcc-customers",
  partitionKey: { name: "district", type: "S" },
  sortKey: { name: "c", type: "N" },
};

/** Customers of one district and last name, sorted by first name. */
export type CustomerNameRow = { readonly name: string; readonly first: string; readonly c: number };
export const customerNames: TypedTable<CustomerNameRow> = {
  name: "tpcc-customer-names",
  partitionKey: { name: "name", type: "S" },
  sortKey: { name: "first", type: "S" },
};

/** Under the customer's district, although the money may have been paid in another one. */
export type HistoryRow = {
  readonly district: string;
  /**
   * Customer and number of the payment: unique, since the payment also counts it in the customer's
   * row.
   */
  readonly payment: string;
  readonly c: number;
  readonly paidW: number;
  readonly paidD: number;
  readonly date: number;
  readonly amount: number;
  readonly data: string;
};
export const history: TypedTable<HistoryRow> = {
  name: "tpcc-history",
  partitionKey: { name: "district", type: "S" },
  sortKey: { name: "payment", type: "S" },
};

export type OrderRow = {
  readonly order: string;
  readonly line: 0;
  readonly c: number;
  readonly entryDate: number;
  /** Absent until it is delivered. */
  readonly carrier?: number;
  readonly lineCount: number;
  readonly allLocal: boolean;
};
export type LineRow = {
  readonly order: string;
  readonly line: number;
  readonly item: number;
  readonly supplyW: number;
  /** Absent until the order is delivered. */
  readonly deliveryDate?: number;
  readonly quantity: number;
  readonly amount: number;
  readonly districtInfo: string;
};
export const orders: TypedTable<OrderRow | LineRow> = {
  name: "tpcc-orders",
  partitionKey: { name: "order", type: "S" },
  sortKey: { name: "line", type: "N" },
};

export type CustomerOrderRow = { readonly customer: string; readonly o: number };
export const customerOrders: TypedTable<CustomerOrderRow> = {
  name: "tpcc-customer-orders",
  partitionKey: { name: "customer", type: "S" },
  sortKey: { name: "o", type: "N" },
};

/** Order 0 is the head: it says which order was delivered last. */
export type NewOrderRow = {
  readonly district: string;
  readonly o: number;
  readonly delivered?: number;
};
export const newOrders: TypedTable<NewOrderRow> = {
  name: "tpcc-new-orders",
  partitionKey: { name: "district", type: "S" },
  sortKey: { name: "o", type: "N" },
};

export type ItemRow = {
  readonly i: number;
  readonly image: number;
  readonly name: string;
  readonly price: number;
  readonly data: string;
};
export const items: TypedTable<ItemRow> = {
  name: "tpcc-items",
  partitionKey: { name: "i", type: "N" },
};

export type StockRow = {
  readonly stock: string;
  readonly quantity: number;
  /** S_DIST_01 … S_DIST_10. */
  readonly districtInfos: readonly string[];
  readonly ytd: number;
  readonly orderCount: number;
  readonly remoteCount: number;
  readonly data: string;
};
export const stocks: TypedTable<StockRow> = {
  name: "tpcc-stock",
  partitionKey: { name: "stock", type: "S" },
};

export const tpccTables: readonly BenchTable[] = [
  ...[warehouses, districts, customers, customerNames, history],
  ...[orders, customerOrders, newOrders, items, stocks],
];

export function districtId(w: number, d: number): string {
  return `${w}-${d}`;
}

/** Of an order's partition. */
export function orderId(district: string, o: number): string {
  return `${district}-${o}`;
}

/** Of the partition with a customer's orders. */
export function customerId(district: string, c: number): string {
  return `${district}-${c}`;
}

export function nameId(district: string, last: string): string {
  return `${district}-${last}`;
}

export function paymentId(c: number, payment: number): string {
  return `${c.toString().padStart(4, "0")}-${payment.toString().padStart(8, "0")}`;
}

export function stockId(w: number, i: number): string {
  return `${w}-${i}`;
}

export function isOrder(row: OrderRow | LineRow): row is OrderRow {
  return row.line === 0;
}

/** What stands in an order's partition, as far as it stands there. */
export function orderParts(rows: readonly (OrderRow | LineRow)[]): {
  readonly order: OrderRow | undefined;
  readonly lines: readonly LineRow[];
} {
  return {
    order: rows.find(isOrder),
    lines: rows.filter((row): row is LineRow => !isOrder(row)),
  };
}
