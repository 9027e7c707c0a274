/**
 * How large the database is, and the skew of the choices among its rows (clauses 1.2.1, 2.1.6,
 * 4.3.2.3).
 */
import type { BenchRandom } from "../../harness/workload.ts";
import { nonUniform } from "../draws.ts";

export type TpccScale = {
  readonly warehouses: number;
  /** At most 3,000: the specification's. Each starts with one order. */
  readonly customersPerDistrict: number;
  /** At most 100,000: the specification's. */
  readonly items: number;
};

/** The specification's database: some 500,000 rows for each warehouse. */
export const tpccFullScale: TpccScale = {
  warehouses: 1,
  customersPerDistrict: 3_000,
  items: 100_000,
};

/** 33,596 rows, loaded within seconds; two warehouses, so that there is a remote one. */
export const tpccSmallScale: TpccScale = {
  warehouses: 2,
  customersPerDistrict: 100,
  items: 1_000,
};

/** @throws RangeError for a scale beyond the specification's, or too small to choose from. */
export function checkScale(scale: TpccScale): void {
  const ranges = {
    warehouses: { low: 1, high: 10_000 },
    customersPerDistrict: { low: 10, high: tpccFullScale.customersPerDistrict },
    items: { low: 20, high: tpccFullScale.items },
  };
  for (const name of ["warehouses", "customersPerDistrict", "items"] as const) {
    const { low, high } = ranges[name];
    const value = scale[name];
    if (!Number.isInteger(value) || value < low || value > high) {
      throw new RangeError(`${name} must be a whole number from ${low} to ${high}, is ${value}`);
    }
  }
}

/** Orders of a district that are delivered at the start: 2,100 of 3,000. */
export function deliveredAtStart(scale: TpccScale): number {
  return Math.floor(scale.customersPerDistrict * 0.7);
}

/**
 * Last names in use: 1,000 for 3,000 customers, and as many customers to a name on a smaller scale.
 */
export function lastNameCount(scale: TpccScale): number {
  return Math.ceil(scale.customersPerDistrict / 3);
}

const syllables = "BAR OUGHT ABLE PRI PRES ESE ANTI CALLY ATION EING".split(" ");

/** Clause 4.3.2.3: a syllable for each of three digits. */
export function lastName(number: number): string {
  const digits = [Math.floor(number / 100), Math.floor(number / 10) % 10, number % 10];
  return digits.map((digit) => syllables[digit] ?? "").join("");
}

/**
 * Distance of both name constants is 66: it must lie in 65 … 119 and be neither 96 nor 112 (clause
 * 2.1.6.1).
 */
const shifts = { customer: 259, item: 7_911, nameAtLoad: 157, nameInRun: 223 };

/** The specification's mask for its own range; for a smaller one the power of two in proportion. */
function maskFor(count: number, full: { readonly count: number; readonly mask: number }): number {
  const exponent = Math.floor(Math.log2(((full.mask + 1) * count) / full.count));
  return 2 ** Math.max(exponent, 1) - 1;
}

export function someCustomer(random: BenchRandom, scale: TpccScale): number {
  const high = scale.customersPerDistrict;
  const mask = maskFor(high, { count: 3_000, mask: 1_023 });
  return nonUniform(random, { low: 1, high, mask }, shifts.customer);
}

export function someItem(random: BenchRandom, scale: TpccScale): number {
  const mask = maskFor(scale.items, { count: 100_000, mask: 8_191 });
  return nonUniform(random, { low: 1, high: scale.items, mask }, shifts.item);
}

export function someLastName(random: BenchRandom, scale: TpccScale, when: "load" | "run"): string {
  const count = lastNameCount(scale);
  const from = { low: 0, high: count - 1, mask: maskFor(count, { count: 1_000, mask: 255 }) };
  const shift = when === "load" ? shifts.nameAtLoad : shifts.nameInRun;
  return lastName(nonUniform(random, from, shift));
}
