/**
 * The targets that this benchmark can judge, each with what was found. Throughput and latency
 * depend on the machine, ratios much less; those of certification and projection have commands of
 * their own (bench/README.md).
 */
import type { ContestantName } from "../harness/contestant.ts";
import { clientProcessor, medianLatency, ratiosTo } from "../harness/print.ts";
import type { BenchResults, MeasuredCell } from "../harness/results.ts";

/** Targets are set for the SDK as most will use it. */
const judgedContestant: ContestantName = "tidemark-auto";

export type Target = {
  readonly name: string;
  readonly target: string;
  readonly found: string;
  /** Undefined where this run has no figure for it. */
  readonly met: boolean | undefined;
};

export function targetsOf(results: BenchResults): readonly Target[] {
  return [
    ...throughputTargets(results),
    ...unitTargets(results),
    ...readOnlyTargets(results),
    ...latencyTargets(results),
    ...clientTargets(results),
  ];
}

function cellOf(
  { cells }: BenchResults,
  workload: string,
  contestant: ContestantName,
  pick: "lowest" | "highest" = "highest",
): MeasuredCell | undefined {
  const found = cells
    .filter((cell): cell is MeasuredCell => cell.kind === "measured")
    .filter((cell) => cell.workload === workload && cell.contestant === contestant)
    .sort((left, right) => left.concurrency - right.concurrency);
  return pick === "lowest" ? found[0] : found.at(-1);
}

function judged(
  name: string,
  target: string,
  value: number | undefined,
  judge: { readonly met: (value: number) => boolean; readonly text: (value: number) => string },
): Target {
  if (value === undefined) return { name, target, found: "–", met: undefined };
  return { name, target, found: judge.text(value), met: judge.met(value) };
}

function throughputTargets(results: BenchResults): readonly Target[] {
  const ratio = (workload: string, against: ContestantName): number | undefined => {
    const cell = cellOf(results, workload, judgedContestant);
    return cell && ratiosTo(results, cell, against)?.median;
  };
  const at = (workload: string): string => {
    const cell = cellOf(results, workload, judgedContestant);
    return cell === undefined ? workload : `${workload}, ${cell.concurrency} at a time`;
  };
  const penalty = (
    workload: string,
    share: number,
    against: "native" | "native-in-turn" = "native",
  ): Target =>
    judged(
      `penalty against ${against}, ${at(workload)}`,
      `≤ ${percent(share)}`,
      ratio(workload, against),
      {
        met: (value) => 1 - value <= share,
        text: (value) => percent(1 - value),
      },
    );
  const times = (workload: string, against: ContestantName, factor: number): Target =>
    judged(`throughput ÷ ${against}, ${at(workload)}`, `≥ ${factor}`, ratio(workload, against), {
      met: (value) => value >= factor,
      text: (value) => value.toFixed(2),
    });
  return [
    penalty("ycsb-ph1-uniform", 0.08, "native-in-turn"),
    penalty("ycsb-ph1", 0.08),
    penalty("tpcc", 0.18),
    times("ycsb-ph1", "scalardb", 2),
    times("tpcc", "scalardb", 2),
    times("u20", "transact-write-items", 1),
  ];
}

/** U1, U4 and U20 read and write as many items as their name says. */
const itemCounts = [1, 4, 20] as const;

function unitTargets(results: BenchResults): readonly Target[] {
  return itemCounts.flatMap((items) => {
    const workload = `u${items.toString()}`;
    const own = cellOf(results, workload, judgedContestant);
    const native = cellOf(results, workload, "native")?.costs?.total;
    const total = own?.costs?.total;
    const at = `${workload}, ${own?.concurrency ?? 0} at a time`;
    const writeMax = 1.1 * items + 0.3;
    const against = (figure: "readUnits" | "calls"): number | undefined =>
      total === undefined || native === undefined ? undefined : total[figure];
    return [
      judged(`write units per transaction, ${at}`, `≤ ${writeMax.toFixed(1)}`, total?.writeUnits, {
        met: (value) => value <= writeMax,
        text: (value) => value.toFixed(2),
      }),
      judged(`read units ÷ native, ${at}`, "≤ 1.3", against("readUnits"), {
        met: (value) => value <= 1.3 * (native?.readUnits ?? 0),
        text: (value) => (value / (native?.readUnits ?? 1)).toFixed(2),
      }),
      judged(`calls beyond native, ${at}`, "≤ 1.5", against("calls"), {
        met: (value) => value - (native?.calls ?? 0) <= 1.5,
        text: (value) => (value - (native?.calls ?? 0)).toFixed(2),
      }),
    ];
  });
}

function readOnlyTargets(results: BenchResults): readonly Target[] {
  const alone = cellOf(results, "ycsb-c", judgedContestant);
  const client = alone?.costs?.parts["client"];
  const mixed = ["ycsb-a", "ycsb-b", "ycsb-c", "ycsb-ph1"];
  const shares = mixed.flatMap((workload) => {
    const operations = Object.values(cellOf(results, workload, judgedContestant)?.operations ?? {});
    const reads = operations.filter(({ readOnly }) => readOnly);
    const committed = reads.reduce((sum, one) => sum + one.committed, 0);
    if (committed === 0) return [];
    return reads.reduce((sum, one) => sum + one.firstAttempts, 0) / committed;
  });
  const first = shares.length === 0 ? undefined : Math.min(...shares);
  const own = cellOf(results, "ycsb-c", judgedContestant, "lowest");
  const native = cellOf(results, "ycsb-c", "native", "lowest");
  const latency = own && native && own.latencyMs.p50 / native.latencyMs.p50;
  return [
    judged(
      "records sent to the oracle per read-only transaction, ycsb-c",
      "0",
      client?.streamUnits,
      {
        met: (value) => value === 0,
        text: (value) => value.toString(),
      },
    ),
    judged(
      "read-only transactions that commit at first attempt, worst of YCSB A, B, C, pH1",
      "≥ 99 %",
      first,
      {
        met: (value) => value >= 0.99,
        text: (value) => percent(value),
      },
    ),
    judged(
      `latency ÷ native of reads, p50, ycsb-c, ${own?.concurrency ?? 0} at a time`,
      "≤ 1.1",
      latency,
      {
        met: (value) => value <= 1.1,
        text: (value) => value.toFixed(2),
      },
    ),
    judged(
      "spurious aborts: retries per transaction on disjoint rows",
      "0",
      cellOf(results, "disjoint", judgedContestant)?.conflictsPerCommit,
      { met: (value) => value === 0, text: (value) => value.toString() },
    ),
  ];
}

function latencyTargets(results: BenchResults): readonly Target[] {
  const lone = cellOf(results, "u4", judgedContestant, "lowest");
  const commit = lone?.concurrency === 1 ? lone.latencyMs.p50 : undefined;
  return [
    judged("a lone transaction of 4 items, p50", "≤ 6 ms", commit, {
      met: (value) => value <= 6,
      text: (value) => `${value.toFixed(1)} ms`,
    }),
    judged(
      "commits per second on one hot row",
      "≥ 1,000",
      cellOf(results, "hot-row", judgedContestant)?.perSecond.median,
      { met: (value) => value >= 1_000, text: (value) => value.toFixed(0) },
    ),
  ];
}

/** Of what happens in the application's own process. */
function clientTargets(results: BenchResults): readonly Target[] {
  const beside = (
    workload: string,
    concurrency: number,
    figure: typeof clientProcessor,
  ): number | undefined => {
    const pick = concurrency === 1 ? "lowest" : "highest";
    const cell = cellOf(results, workload, judgedContestant, pick);
    if (cell?.concurrency !== concurrency) return undefined;
    return ratiosTo(results, cell, "native", figure)?.median;
  };
  const atMost = (name: string, most: number, value: number | undefined): Target =>
    judged(name, `≤ ${most}`, value, {
      met: (found) => found <= most,
      text: (found) => found.toFixed(2),
    });
  return [
    atMost("p50 ÷ native, u1, 1 at a time", 3, beside("u1", 1, medianLatency)),
    atMost(
      "client's processor time ÷ native, u1, 1 at a time",
      2.5,
      beside("u1", 1, clientProcessor),
    ),
    atMost(
      "client's processor time ÷ native, u4, 64 at a time",
      1.4,
      beside("u4", 64, clientProcessor),
    ),
  ];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
