/** Every workload by its name, made anew by each process that runs it. */
import type { Workload } from "../harness/workload.ts";
import { contention, disjoint, hotRow, updates } from "./counters.ts";
import { mediator, mediatorNamed } from "./mediator.ts";
import { tatp } from "./tatp.ts";
import { ticketing, ticketSaltScale } from "./ticketing/ticketing.ts";
import { tpcc, tpccCentiman, tpccPh1, tpccSalt } from "./tpcc/tpcc.ts";
import { ycsb, ycsbMixes } from "./ycsb.ts";

type Make = () => Workload | Promise<Workload>;

export const contentionKeySpaces = [10, 100, 1_000, 10_000, 100_000] as const;
export const updateCounts = [1, 2, 4, 20] as const;

function* catalogue(): Generator<readonly [name: string, make: Make]> {
  for (const mix of ycsbMixes) {
    yield [`ycsb-${mix}`, () => ycsb(mix, mix === "d" ? "latest" : "zipfian")];
    if (mix !== "d") yield [`ycsb-${mix}-uniform`, () => ycsb(mix, "uniform")];
  }
  for (const count of updateCounts) yield [`u${count.toString()}`, () => updates(count)];
  for (const keys of contentionKeySpaces) {
    yield [`contention-${keys.toString()}`, () => contention(keys)];
  }
  for (const make of [tpcc, tpccPh1, tpccCentiman, tpccSalt]) yield [make().name, () => make()];
  yield ["tatp", () => tatp()];
  yield ["ticketing", () => ticketing()];
  yield ["ticketing-salt", () => ticketing(ticketSaltScale, "ticketing-salt")];
  yield ["hot-row", hotRow];
  yield ["disjoint", disjoint];
}

const workloads: ReadonlyMap<string, Make> = new Map(catalogue());

export const workloadNames: readonly string[] = [...workloads.keys()];

export function isWorkload(name: string): boolean {
  return workloads.has(name) || mediatorNamed(name) !== undefined;
}

/** @throws RangeError for a name that there is not. */
export async function makeWorkload(name: string): Promise<Workload> {
  const mix = mediatorNamed(name);
  if (mix !== undefined) return mediator(mix);
  const make = workloads.get(name);
  if (make === undefined) throw new RangeError(`there is no workload "${name}"`);
  return make();
}
