/**
 * The payment transaction (clause 2.5.2): money for a warehouse and a district, from a customer of
 * any.
 */
import type { BenchTransaction, Step } from "../../harness/workload.ts";
import { putRow, standing, standingRow } from "../typed-rows.ts";
import { findCustomer } from "./find-customer.ts";
import type { PaymentInput } from "./inputs.ts";
import * as schema from "./schema.ts";

const customerDataMax = 500;

/** The customer as left behind. */
export async function payment(
  transaction: BenchTransaction,
  input: PaymentInput,
): Promise<schema.CustomerRow> {
  const [warehouse, district, customer] = await Promise.all([
    readWarehouse(transaction, input),
    readDistrict(transaction, input),
    readCustomer(transaction, input),
  ]);
  const paying = payCustomer(transaction, input, customer);
  payDistrict(transaction, input, district);
  payWarehouse(transaction, input, warehouse);
  noteHistory(transaction, input, { paying, names: [warehouse.name, district.name] });
  return paying;
}

/**
 * As a BASE transaction: a step for each row that others want, the hottest last, so that it is
 * held the shortest.
 */
export function paymentSteps(input: PaymentInput): readonly Step[] {
  let paying: schema.CustomerRow | undefined;
  let district: schema.DistrictRow | undefined;
  return [
    {
      name: "customer",
      body: async (transaction) => {
        paying = payCustomer(transaction, input, await readCustomer(transaction, input));
      },
    },
    {
      name: "district",
      body: async (transaction) => {
        district = await readDistrict(transaction, input);
        payDistrict(transaction, input, district);
      },
    },
    {
      name: "warehouse",
      body: async (transaction) => {
        const warehouse = await readWarehouse(transaction, input);
        payWarehouse(transaction, input, warehouse);
        const { name } = standing(district, "the step before");
        const names = [warehouse.name, name];
        noteHistory(transaction, input, { paying: standing(paying, "the first step"), names });
      },
    },
  ];
}

function readWarehouse(
  transaction: BenchTransaction,
  { w }: PaymentInput,
): Promise<schema.WarehouseRow> {
  return standingRow(transaction, schema.warehouses, { w });
}

function readDistrict(
  transaction: BenchTransaction,
  { w, d }: PaymentInput,
): Promise<schema.DistrictRow> {
  return standingRow(transaction, schema.districts, { district: schema.districtId(w, d) });
}

function readCustomer(
  transaction: BenchTransaction,
  { customerW, customerD, customer }: PaymentInput,
): Promise<schema.CustomerRow> {
  return findCustomer(transaction, schema.districtId(customerW, customerD), customer);
}

function payWarehouse(
  transaction: BenchTransaction,
  { amount }: PaymentInput,
  warehouse: schema.WarehouseRow,
): void {
  putRow(transaction, schema.warehouses, { ...warehouse, ytd: warehouse.ytd + amount });
}

function payDistrict(
  transaction: BenchTransaction,
  { amount }: PaymentInput,
  district: schema.DistrictRow,
): void {
  putRow(transaction, schema.districts, { ...district, ytd: district.ytd + amount });
}

function payCustomer(
  transaction: BenchTransaction,
  input: PaymentInput,
  customer: schema.CustomerRow,
): schema.CustomerRow {
  const { amount } = input;
  const paying: schema.CustomerRow = {
    ...customer,
    balance: customer.balance - amount,
    ytdPayment: customer.ytdPayment + amount,
    paymentCount: customer.paymentCount + 1,
    data: customer.credit === "BC" ? dataWith(customer, input) : customer.data,
  };
  putRow(transaction, schema.customers, paying);
  return paying;
}

function noteHistory(
  transaction: BenchTransaction,
  { w, d, amount, date }: PaymentInput,
  { paying, names }: { readonly paying: schema.CustomerRow; readonly names: readonly string[] },
): void {
  putRow(transaction, schema.history, {
    district: paying.district,
    payment: schema.paymentId(paying.c, paying.paymentCount),
    c: paying.c,
    paidW: w,
    paidD: d,
    date,
    amount,
    data: names.join("    "),
  });
}

/** A customer with bad credit carries the record of all payments, the newest first. */
function dataWith(customer: schema.CustomerRow, input: PaymentInput): string {
  const { w, d, customerW, customerD, amount } = input;
  const record = [customer.c, customerD, customerW, d, w, amount].join(" ");
  return `${record}|${customer.data}`.slice(0, customerDataMax);
}
