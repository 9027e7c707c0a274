/**
 * The figures of `npm run bench:salt`: each over the values of one setting, and for each value the
 * three contestants side by side.
 */
import { ticketing } from "../workloads/ticketing/ticketing.ts";
import { tpccSalt } from "../workloads/tpcc/tpcc.ts";
import { type SaltContestant, saltContestants } from "./contestants.ts";
import * as micro from "./microbenchmarks.ts";
import { runSaltLoad, type SaltFigures, type SaltLoad, type SaltWorkload } from "./salt-load.ts";

export const figureNames = [
  ...(["contention", "place", "readShare", "waiting", "tpcc", "ticketing"] as const),
] as const;
export type FigureName = (typeof figureNames)[number];

export type SaltCase = Omit<SaltLoad, "seed"> & {
  /** Of the figure's own setting. */
  readonly values: readonly number[];
};

export type SaltPlan = Readonly<Record<FigureName, SaltCase>>;

export type SaltRow = SaltFigures & {
  readonly contestant: SaltContestant;
  /** Of the figure's own setting. */
  readonly value: number;
};

export type SaltRows = Partial<Readonly<Record<FigureName, readonly SaltRow[]>>>;

const workloads: Readonly<Record<FigureName, (value: number) => SaltWorkload>> = {
  contention: micro.contention,
  place: micro.placeOfContended,
  readShare: micro.readShare,
  waiting: micro.waiting,
  tpcc: (warehouses) => tpccSalt({ warehouses, customersPerDistrict: 30, items: 1_000 }),
  ticketing: (seats) => ticketing({ events: 1, categories: 2, seats }, "ticketing-salt"),
};

export async function runFigure(
  name: FigureName,
  options: {
    readonly seed: number;
    readonly plan: SaltPlan;
    readonly onRow: (row: SaltRow) => void;
  },
): Promise<readonly SaltRow[]> {
  const { values, ...load } = options.plan[name];
  const rows: SaltRow[] = [];
  for (const value of values) {
    for (const contestant of saltContestants) {
      // Each has one of its own: workers of some remember what they have done.
      const workload = workloads[name](value);
      const figures = await runSaltLoad(contestant, workload, { ...load, seed: options.seed });
      const row = { contestant, value, ...figures };
      options.onRow(row);
      rows.push(row);
    }
  }
  return rows;
}
