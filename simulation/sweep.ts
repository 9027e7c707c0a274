/** Many seeds: totals over all of them, what was never reached, and the failures. */
import { faultNames } from "../testing/kernel/faults.ts";
import type { InstrumentedBuild } from "./instrumented-build.ts";
import type { LongRunState } from "./long-run.ts";
import { runSeeds, type SeedResult } from "./seed-pool.ts";
import type { SeedAnswer, SeedOrder } from "./seed-process.ts";
import { allowedAnomalies, soughtNames } from "./workloads/catalogue.ts";

export type SweepFailure = { readonly order: SeedOrder; readonly findings: readonly string[] };

export class SweepTotals {
  readonly failures: SweepFailure[] = [];
  readonly struck = new Map<string, number>();
  readonly probes = new Map<string, number>();
  readonly allowed = new Map<string, number>();
  readonly sought = new Map<string, number>();
  seeds = 0;
  commits = 0;
  aborts = 0;
  unknown = 0;
  crashes = 0;
  calls = 0;
  virtualMs = 0;
  realMs = 0;

  constructor(probes: readonly string[]) {
    for (const name of faultNames) this.struck.set(name, 0);
    for (const name of probes) this.probes.set(name, 0);
    for (const name of allowedAnomalies) this.allowed.set(name, 0);
    for (const name of soughtNames) this.sought.set(name, 0);
  }

  /** Goes on from the totals of an earlier run. */
  resume(state: LongRunState): void {
    const { seeds, commits, aborts, unknown, crashes, calls, virtualMs, realMs } = state;
    Object.assign(this, { seeds, commits, aborts, unknown, crashes, calls, virtualMs, realMs });
    addAll(this.struck, state.struck);
    addAll(this.probes, state.probes);
    addAll(this.allowed, state.allowed);
    addAll(this.sought, state.sought);
  }

  /** What a later run goes on from. */
  state(nextSeed: number): LongRunState {
    const { seeds, commits, aborts, unknown, crashes, calls, virtualMs, realMs } = this;
    return {
      nextSeed,
      ...{ seeds, commits, aborts, unknown, crashes, calls, virtualMs, realMs },
      struck: Object.fromEntries(this.struck),
      probes: Object.fromEntries(this.probes),
      allowed: Object.fromEntries(this.allowed),
      sought: Object.fromEntries(this.sought),
      failedSeeds: this.failures.map(({ order }) => order.seed),
    };
  }

  add(result: SeedResult): void {
    this.seeds += 1;
    if (result.kind === "lost") {
      this.failures.push({ order: result.order, findings: [result.reason] });
      return;
    }
    this.#addAnswer(result.order, result.answer);
  }

  /** Faults, probes, allowed anomalies and what workloads look for that no seed has met. */
  get unreached(): readonly string[] {
    const never = (counts: ReadonlyMap<string, number>, what: string): string[] =>
      [...counts].filter(([, count]) => count === 0).map(([name]) => `${what} ${name}`);
    return [
      ...never(this.struck, "fault"),
      ...never(this.probes, "probe"),
      ...never(this.allowed, "allowed"),
      ...never(this.sought, "sought"),
    ];
  }

  get faultsStruck(): number {
    return [...this.struck.values()].reduce((sum, count) => sum + count, 0);
  }

  #addAnswer(order: SeedOrder, { report, probes, realMs }: SeedAnswer): void {
    this.commits += report.commits;
    this.aborts += report.aborts;
    this.unknown += report.unknown;
    this.crashes += report.fleet.crashed;
    this.calls += report.calls;
    this.virtualMs += report.virtualMs;
    this.realMs += realMs;
    addAll(this.struck, report.struck);
    addAll(this.probes, probes);
    addAll(this.allowed, report.allowed);
    addAll(this.sought, report.sought);
    const { findings } = report;
    if (findings.length > 0) this.failures.push({ order, findings });
  }
}

function addAll(totals: Map<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) {
    totals.set(name, (totals.get(name) ?? 0) + count);
  }
}

export type SweepOptions = {
  readonly build: InstrumentedBuild;
  readonly orders: Iterable<SeedOrder>;
  readonly jobs: number;
  /** Stop at the first failure. */
  readonly stopAtFailure: boolean;
  /** Totals of an earlier run to go on from. */
  readonly resumed?: LongRunState | undefined;
  readonly onResult: (result: SeedResult, totals: SweepTotals) => void;
};

export async function sweep(options: SweepOptions): Promise<SweepTotals> {
  const totals = new SweepTotals(options.build.probes);
  if (options.resumed !== undefined) totals.resume(options.resumed);
  let stopped = false;
  function* orders(): Generator<SeedOrder> {
    for (const order of options.orders) {
      if (stopped) return;
      yield order;
    }
  }
  for await (const result of runSeeds(options.build.file, orders(), options.jobs)) {
    totals.add(result);
    options.onResult(result, totals);
    if (options.stopAtFailure && totals.failures.length > 0) stopped = true;
  }
  return totals;
}
