/**
 * The payment transaction (clause 2.5.2): money for a warehouse and a district, from a customer of
 * any.
 */
import type { BenchTransaction } from "../../harness/workload.ts";
import { putRow, standingRow } from "../typed-rows.ts";
import { findCustomer } from "./find-customer.ts";
import type { PaymentInput } from "./inputs.ts";
import * as schema from "./schema.ts";

const customerDataMax = 500;

/** The customer as left behind. */
export async function payment(
  transaction: BenchTransaction,
  input: PaymentInput,
): Promise<schema.CustomerRow> {
  const { w, d, customerW, customerD, amount, date } = input;
  const [warehouse, district, customer] = await Promise.all([
    standingRow(transaction, schema.warehouses, { w }),
    standingRow(transaction, schema.districts, { district: schema.districtId(w, d) }),
    findCustomer(transaction, schema.districtId(customerW, customerD), input.customer),
  ]);
  const paying: schema.CustomerRow = {
    ...customer,
    balance: customer.balance - amount,
    ytdPayment: customer.ytdPayment + amount,
    paymentCount: customer.paymentCount + 1,
    data: customer.credit === "BC" ? dataWith(customer, input) : customer.data,
  };
  putRow(transaction, schema.warehouses, { ...warehouse, ytd: warehouse.ytd + amount });
  putRow(transaction, schema.districts, { ...district, ytd: district.ytd + amount });
  putRow(transaction, schema.customers, paying);
  putRow(transaction, schema.history, {
    district: customer.district,
    payment: schema.paymentId(customer.c, paying.paymentCount),
    c: customer.c,
    paidW: w,
    paidD: d,
    date,
    amount,
    data: `${warehouse.name}    ${district.name}`,
  });
  return paying;
}

/** A customer with bad credit carries the record of all payments, the newest first. */
function dataWith(customer: schema.CustomerRow, input: PaymentInput): string {
  const { w, d, customerW, customerD, amount } = input;
  const record = [customer.c, customerD, customerW, d, w, amount].join(" ");
  return `${record}|${customer.data}`.slice(0, customerDataMax);
}
