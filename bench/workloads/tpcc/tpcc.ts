/**
 * TPC-C after its standard specification, revision 5.11, as a workload for key-value stores.
 *
 * Kept: the schema's columns, the five transactions with what they read, write and return, the skew
 * of all choices, remote warehouses, customers by last name, orders rolled back, and consistency
 * conditions 1 to 12.
 *
 * Left out, so that no figure from here is a tpmC: keying and think times, terminals' screens and
 * their number for each warehouse, the queue and result file of deferred deliveries, response-time
 * limits, priced systems, and the size of the database unless `tpccFullScale` is asked for. Dates
 * are drawn, not read from a clock. Kinds are drawn by weight, which clause 5.2.4.1 allows beside a
 * deck of cards. With one warehouse nothing is remote.
 */
import type { BenchRandom, BenchTransaction, Operation, Workload } from "../../harness/workload.ts";
import { weighted } from "../draws.ts";
import { tpccViolations } from "./consistency.ts";
import { delivery } from "./delivery.ts";
import * as inputs from "./inputs.ts";
import { newOrder, newOrderSteps } from "./new-order.ts";
import { orderStatus } from "./order-status.ts";
import { payment, paymentSteps } from "./payment.ts";
import { tpccRows } from "./population.ts";
import { checkScale, tpccSmallScale, type TpccScale } from "./scale.ts";
import { districtsPerWarehouse, tpccTables } from "./schema.ts";
import { stockLevel } from "./stock-level.ts";

type Kind = "new-order" | "payment" | "order-status" | "delivery" | "stock-level";

export type TpccMix = Readonly<Record<Kind, number>>;

/** Clause 5.2.3: at least 43 % payments and 4 % of each other kind; the rest are new orders. */
export const tpccStandardMix: TpccMix = {
  "new-order": 45,
  payment: 43,
  "order-status": 4,
  delivery: 4,
  "stock-level": 4,
};

type TpccOptions = {
  readonly name?: string;
  readonly description?: string;
  readonly mix?: TpccMix;
};

/** @throws RangeError for a scale beyond the specification's. */
export function tpcc(scale: TpccScale = tpccSmallScale, options: TpccOptions = {}): Workload {
  checkScale(scale);
  const mix = options.mix ?? tpccStandardMix;
  const about = options.description ?? "standard mix 45/43/4/4/4";
  return {
    name: options.name ?? "tpcc",
    description:
      `TPC-C, revision 5.11: all five transactions, ${about}; ${scale.warehouses} warehouses, ` +
      `${scale.customersPerDistrict} customers per district, ${scale.items} items. ` +
      "Without keying and think times, terminals, and deferred deliveries: no figure is a tpmC.",
    tables: tpccTables,
    rows: () => tpccRows(scale),
    next: (random, worker) => nextTransaction(random, { scale, mix, worker }),
    violations: (read) => tpccViolations(read, scale),
  };
}

/**
 * TPC-C as pH1 (SRDS 2014) runs it, with 10 warehouses and 100 clients there: transactions cost 22
 * % of HyperDex's throughput, and 76 % of HBase's with Omid.
 */
export function tpccPh1(scale: TpccScale = tpccSmallScale): Workload {
  const mix = { "new-order": 45, payment: 45, "order-status": 5, delivery: 0, "stock-level": 5 };
  return tpcc(scale, { name: "tpcc-ph1", mix, description: "pH1's mix 45/45/5/0/5" });
}

/**
 * TPC-C as Centiman (SoCC 2015) runs it: 230,000 transactions a second on 8 validators. The paper
 * also splits the yearly amounts of warehouse and district by terminal, and tables by column, so
 * that its payments do not collide; here the tables are TPC-C's, which is harder.
 */
export function tpccCentiman(scale: TpccScale = tpccSmallScale): Workload {
  const mix = { "new-order": 1, payment: 1, "order-status": 0, delivery: 0, "stock-level": 0 };
  const description = "Centiman's mix 1:1 of new orders and payments, tables not split";
  return tpcc(scale, { name: "tpcc-centiman", mix, description });
}

/** TPC-C as Salt (OSDI 2014) runs it: 43.5 % of the two large kinds each, 4.35 % of each other. */
export function tpccSalt(scale: TpccScale = tpccSmallScale): Workload {
  const mix = { "new-order": 10, payment: 10, "order-status": 1, delivery: 1, "stock-level": 1 };
  return tpcc(scale, { name: "tpcc-salt", mix, description: "Salt's mix 10:10:1:1:1" });
}

/** A worker is a terminal: it has its home warehouse, and a district whose stock it looks after. */
function nextTransaction(
  random: BenchRandom,
  {
    scale,
    mix,
    worker,
  }: { readonly scale: TpccScale; readonly mix: TpccMix; readonly worker: number },
): Operation {
  const w = (worker % scale.warehouses) + 1;
  const kind = weighted(random, mix);
  switch (kind) {
    case "new-order": {
      const input = inputs.newOrderInput(random, scale, w);
      const steps = newOrderSteps(input);
      return { ...readWrite(kind, (transaction) => newOrder(transaction, input)), steps };
    }
    case "payment": {
      const input = inputs.paymentInput(random, scale, w);
      const steps = paymentSteps(input);
      return { ...readWrite(kind, (transaction) => payment(transaction, input)), steps };
    }
    case "delivery": {
      const input = inputs.deliveryInput(random, w);
      return readWrite(kind, (transaction) => delivery(transaction, input));
    }
    case "order-status": {
      const input = inputs.orderStatusInput(random, scale, w);
      return readOnly(kind, (transaction) => orderStatus(transaction, input));
    }
    case "stock-level": {
      const d = (Math.floor(worker / scale.warehouses) % districtsPerWarehouse) + 1;
      const input = inputs.stockLevelInput(random, { w, d });
      return readOnly(kind, (transaction) => stockLevel(transaction, input));
    }
  }
}

/** What a terminal would show is computed and left aside. */
type Body = (transaction: BenchTransaction) => Promise<unknown>;

function readWrite(name: Kind, body: Body): Operation {
  return {
    name,
    readOnly: false,
    body: async (transaction) => {
      await body(transaction);
    },
  };
}

function readOnly(name: Kind, body: Body): Operation {
  return { ...readWrite(name, body), readOnly: true };
}
