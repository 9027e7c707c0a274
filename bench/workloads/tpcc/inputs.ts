/**
 * What each transaction is asked to do, drawn as a terminal would enter it (clauses 2.4.1, 2.5.1,
 * 2.6.1, 2.7.1, 2.8.1).
 */
import type { BenchRandom } from "../../harness/workload.ts";
import { between, percent, someTime } from "../draws.ts";
import { someCustomer, someItem, someLastName, type TpccScale } from "./scale.ts";
import { districtsPerWarehouse } from "./schema.ts";

export type CustomerChoice =
  | { readonly by: "number"; readonly c: number }
  | { readonly by: "name"; readonly last: string };

export type NewOrderInput = {
  readonly w: number;
  readonly d: number;
  readonly c: number;
  readonly entryDate: number;
  readonly lines: readonly {
    readonly item: number;
    readonly supplyW: number;
    readonly quantity: number;
  }[];
};

export type PaymentInput = {
  readonly w: number;
  readonly d: number;
  readonly customerW: number;
  readonly customerD: number;
  readonly customer: CustomerChoice;
  readonly amount: number;
  readonly date: number;
};

export type OrderStatusInput = {
  readonly w: number;
  readonly d: number;
  readonly customer: CustomerChoice;
};

export type DeliveryInput = {
  readonly w: number;
  readonly carrier: number;
  readonly date: number;
};

export type StockLevelInput = {
  readonly w: number;
  readonly d: number;
  readonly threshold: number;
};

export function newOrderInput(random: BenchRandom, scale: TpccScale, w: number): NewOrderInput {
  const lineCount = between(random, 5, 15);
  // One order in a hundred ends with an item that does not exist, and is rolled back.
  const mistaken = percent(random, 1);
  return {
    w,
    d: someDistrict(random),
    c: someCustomer(random, scale),
    entryDate: someTime(random),
    lines: Array.from({ length: lineCount }, (_, index) => {
      const item = someItem(random, scale);
      const remote = percent(random, 1);
      return {
        item: mistaken && index === lineCount - 1 ? scale.items + 1 : item,
        supplyW: remote ? otherWarehouse(random, scale, w) : w,
        quantity: between(random, 1, 10),
      };
    }),
  };
}

export function paymentInput(random: BenchRandom, scale: TpccScale, w: number): PaymentInput {
  const d = someDistrict(random);
  const remote = scale.warehouses > 1 && percent(random, 15);
  return {
    w,
    d,
    customerW: remote ? otherWarehouse(random, scale, w) : w,
    customerD: remote ? someDistrict(random) : d,
    customer: customerChoice(random, scale),
    amount: between(random, 100, 500_000),
    date: someTime(random),
  };
}

export function orderStatusInput(
  random: BenchRandom,
  scale: TpccScale,
  w: number,
): OrderStatusInput {
  return { w, d: someDistrict(random), customer: customerChoice(random, scale) };
}

export function deliveryInput(random: BenchRandom, w: number): DeliveryInput {
  return { w, carrier: between(random, 1, 10), date: someTime(random) };
}

/** A terminal asks for its own district only. */
export function stockLevelInput(
  random: BenchRandom,
  { w, d }: { readonly w: number; readonly d: number },
): StockLevelInput {
  return { w, d, threshold: between(random, 10, 20) };
}

function someDistrict(random: BenchRandom): number {
  return between(random, 1, districtsPerWarehouse);
}

/** Three customers in five are told by their last name. */
function customerChoice(random: BenchRandom, scale: TpccScale): CustomerChoice {
  return percent(random, 60)
    ? { by: "name", last: someLastName(random, scale, "run") }
    : { by: "number", c: someCustomer(random, scale) };
}

/** Any but this one; with one warehouse this one. */
function otherWarehouse(random: BenchRandom, scale: TpccScale, w: number): number {
  if (scale.warehouses === 1) return w;
  const other = between(random, 1, scale.warehouses - 1);
  return other < w ? other : other + 1;
}
