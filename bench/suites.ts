/** What a name on the command line runs: one workload, or several. */
import {
  contentionKeySpaces,
  isWorkload,
  updateCounts,
  workloadNames,
} from "./workloads/catalogue.ts";
import { mediatorNames } from "./workloads/mediator.ts";
import { ycsbMixes } from "./workloads/ycsb.ts";

const groups: ReadonlyMap<string, readonly string[]> = new Map([
  ["ycsb", ycsbMixes.map((mix) => `ycsb-${mix}`)],
  ["ycsb-uniform", ycsbMixes.filter((mix) => mix !== "d").map((mix) => `ycsb-${mix}-uniform`)],
  ["updates", updateCounts.map((count) => `u${count.toString()}`)],
  ["contention", contentionKeySpaces.map((keys) => `contention-${keys.toString()}`)],
]);

/** For whoever mistypes one. */
export const benchNames: readonly string[] = [...groups.keys(), ...workloadNames, mediatorNames];

/** Undefined for a name that there is not. */
export function workloadsOf(name: string): readonly string[] | undefined {
  return groups.get(name) ?? (isWorkload(name) ? [name] : undefined);
}
