/** The order-status transaction (clause 2.6.2): a customer's balance and last order. */
import type { BenchTransaction } from "../../harness/workload.ts";
import { queryRows } from "../typed-rows.ts";
import { findCustomer } from "./find-customer.ts";
import type { OrderStatusInput } from "./inputs.ts";
import * as schema from "./schema.ts";

export type OrderStatusOutput = {
  readonly customer: schema.CustomerRow;
  readonly order: schema.OrderRow | undefined;
  readonly lines: readonly schema.LineRow[];
};

export async function orderStatus(
  transaction: BenchTransaction,
  input: OrderStatusInput,
): Promise<OrderStatusOutput> {
  const district = schema.districtId(input.w, input.d);
  const customer = await findCustomer(transaction, district, input.customer);
  const [newest] = await queryRows(transaction, schema.customerOrders, {
    partition: schema.customerId(district, customer.c),
    descending: true,
    limit: 1,
  });
  if (newest === undefined) return { customer, order: undefined, lines: [] };
  const rows = await queryRows(transaction, schema.orders, {
    partition: schema.orderId(district, newest.o),
  });
  return { customer, ...schema.orderParts(rows) };
}
