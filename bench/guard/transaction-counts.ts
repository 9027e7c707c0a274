/** Calls and capacity units per transaction, of all parts together and of each. */
import type { Count } from "./budgets.ts";
import { type PartUsage, parts } from "./metered-cloud.ts";
import { runScenario, type Scenario, scenarios, type ScenarioUsage } from "./scenarios.ts";

/**
 * Chance is seeded, but a change of the code draws other numbers: the median of several runs moves
 * little by that.
 */
const seeds = [1, 2, 3, 4, 5] as const;

export async function transactionCounts(): Promise<readonly Count[]> {
  const counts: Count[] = [];
  for (const scenario of scenarios) {
    const runs: ScenarioUsage[] = [];
    for (const seed of seeds) runs.push(await runScenario(scenario, seed));
    counts.push(...countsOf(scenario, runs));
  }
  return counts;
}

/** Per transaction, the median of the scenario's runs; so parts need not add up to all. */
export function countsOf(scenario: Scenario, runs: readonly ScenarioUsage[]): readonly Count[] {
  const sum = (figure: keyof PartUsage, of: readonly (typeof parts)[number][] = parts): number =>
    medianOf(
      runs.map(
        ({ usage, transactions }) =>
          of.reduce((total, part) => total + usage[part][figure], 0) / transactions,
      ),
    );
  const { name } = scenario;
  const targets = targetsOf(scenario);
  return [
    { group: "calls", name, figure: sum("calls"), targetMax: targets.calls },
    ...parts.map((part) => ({ group: `calls of ${part}`, name, figure: sum("calls", [part]) })),
    { group: "read units", name, figure: sum("readUnits"), targetMax: targets.readUnits },
    { group: "write units", name, figure: sum("writeUnits"), targetMax: targets.writeUnits },
    { group: "stream records", name, figure: sum("records"), targetMax: targets.records },
  ];
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}

type Targets = { readonly [Figure in "calls" | "readUnits" | "writeUnits" | "records"]?: number };

/**
 * The project's own: write units ≤ 1.1 · n + 0.3, read units ≤ 1.3 times and calls ≤ 1.5 more than
 * without Tidemark at 64 at a time; nothing asked of the oracle by what only reads.
 */
function targetsOf({ load, reads, writes, nativeCalls }: Scenario): Targets {
  if (writes === 0) return { readUnits: 1.3 * reads, records: 0 };
  return {
    writeUnits: 1.1 * writes + 0.3,
    ...(reads === 0 ? {} : { readUnits: 1.3 * reads }),
    ...(load === "alone" ? {} : { calls: nativeCalls + 1.5 }),
  };
}
