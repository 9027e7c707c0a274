/** What was to be reached, and what was. */
import type { OutlierRow } from "./outlier.ts";
import type { ShardsFigures } from "./figures.ts";

export type Target = {
  readonly figure: string;
  readonly paper: string;
  readonly target: string;
  readonly found: string;
  readonly verdict: "met" | "missed" | "as measured";
};

/** Only of figures that are there. */
export function targetsOf(figures: Partial<ShardsFigures>): readonly Target[] {
  return [
    ...workTargets(figures),
    ...throughputTargets(figures),
    ...spuriousTargets(figures),
    ...readOnlyTargets(figures),
    ...outlierTargets(figures),
    ...crossShardTargets(figures),
    ...oneOfManyTargets(figures),
    ...elasticTargets(figures),
    ...deadOracleTargets(figures),
    ...orphansTargets(figures),
  ];
}

function verdict(isMet: boolean): Target["verdict"] {
  return isMet ? "met" : "missed";
}

const rateLeftMin = 0.95;

function workTargets({ work = [] }: Partial<ShardsFigures>): readonly Target[] {
  const most = Math.max(0, ...work.map(({ shards }) => shards));
  return work
    .filter(({ shards }) => shards === most)
    .map(({ workload, shards, rateLeft }) => ({
      figure: `oracles' rate left at ${shards.toString()} shards of that at 2: ${workload}`,
      ...{ paper: "89 %", target: "≥ 95 %", found: percent(rateLeft) },
      verdict: verdict(rateLeft >= rateLeftMin),
    }));
}

function throughputTargets({ throughput = [] }: Partial<ShardsFigures>): readonly Target[] {
  return throughput.flatMap((row): Target[] => {
    const lone = throughput.find((one) => one.spread === row.spread && one.shards === 1);
    if (lone === undefined || row === lone) return [];
    const kept = row.committedPerSecond / row.shards / lone.committedPerSecond;
    const isWithin = row.spread === "own shard" || row.spread === "within";
    return [
      {
        figure: `throughput of a shard, ${row.shards.toString()} shards × one: ${row.spread}`,
        ...{ paper: "sublinear", target: isWithin ? "≥ 0.95" : "as measured" },
        found: kept.toFixed(2),
        verdict: isWithin ? verdict(kept >= 0.95) : "as measured",
      },
    ];
  });
}

const spuriousMax = 0.001;

function spuriousTargets({ spurious = [] }: Partial<ShardsFigures>): readonly Target[] {
  const shares = spurious
    .filter(({ variant }) => variant === "tidemark")
    .map(({ spuriousShare }) => spuriousShare);
  if (shares.length === 0) return [];
  const most = Math.max(...shares);
  return [
    {
      figure: "spurious aborts, 4 + 4 keys",
      ...{ paper: "< 1 %", target: "≤ 0.1 %", found: percent(most, 3) },
      verdict: verdict(most <= spuriousMax),
    },
  ];
}

function readOnlyTargets({ readOnly = [] }: Partial<ShardsFigures>): readonly Target[] {
  if (readOnly.length === 0) return [];
  const least = Math.min(...readOnly.map(({ withoutOracle }) => withoutOracle));
  return [
    {
      figure: "read-only transactions that need no oracle, at the worst share of writes",
      ...{ paper: "86–58 %", target: "≥ 99 %", found: percent(least, 2) },
      verdict: verdict(least >= 0.99),
    },
  ];
}

function outlierTargets({ outlier = [] }: Partial<ShardsFigures>): readonly Target[] {
  const calm = outlier.find(({ stallSeconds }) => stallSeconds === 0);
  if (calm === undefined) return [];
  return outlier
    .filter((row) => row !== calm)
    .map((row) => ({
      figure: `abort rate with an install stalled ${row.stallSeconds.toString()} s, and without`,
      ...{ paper: "unchanged", target: "unchanged" },
      found: `${percent(row.conflictShare, 2)}, ${percent(calm.conflictShare, 2)}`,
      verdict: verdict(deviations(row, calm) <= 2),
    }));
}

/** By how many standard deviations of chance the first one's share of conflicts is the higher. */
export function deviations(
  stalled: Pick<OutlierRow, "conflictShare" | "committed">,
  calm: Pick<OutlierRow, "conflictShare" | "committed">,
): number {
  const runs = (row: typeof calm): number => row.committed / Math.max(1e-9, 1 - row.conflictShare);
  const all = runs(stalled) + runs(calm);
  const pooled =
    (stalled.conflictShare * runs(stalled) + calm.conflictShare * runs(calm)) / Math.max(1, all);
  const variance = pooled * (1 - pooled) * (1 / runs(stalled) + 1 / runs(calm));
  const difference = stalled.conflictShare - calm.conflictShare;
  return variance === 0 ? 0 : difference / Math.sqrt(variance);
}

function crossShardTargets({ crossShard = [] }: Partial<ShardsFigures>): readonly Target[] {
  const bounds = { express: 1.1, stream: 1.6 } as const;
  return crossShard
    .filter(({ access, touched }) => access === "transactional" && touched > 1)
    .flatMap((row): Target[] => {
      const lone = crossShard.find(
        ({ access, commit, touched }) =>
          access === row.access && commit === row.commit && touched === 1,
      );
      if (lone === undefined) return [];
      const certain = row.certain.p50 / lone.certain.p50;
      const installed = row.installed.p50 / lone.installed.p50;
      const bound = bounds[row.commit];
      return [["certain", certain] as const, ["installed", installed] as const].map(
        ([until, ratio]) => ({
          figure: `commit over two shards × within one, p50 until ${until}: ${row.commit}`,
          ...{ paper: "2 round trips", target: `≤ ${bound.toString()}`, found: ratio.toFixed(2) },
          verdict: verdict(ratio <= bound),
        }),
      );
    });
}

const sameWithin = 1.02;

function oneOfManyTargets({ oneOfMany = [] }: Partial<ShardsFigures>): readonly Target[] {
  return oneOfMany.flatMap((row): Target[] => {
    const lone = oneOfMany.find((one) => one.commit === row.commit && one.shards === 1);
    if (lone === undefined || row === lone) return [];
    const ratio = row.readUnits / lone.readUnits;
    return [
      {
        figure:
          `read units of a process that uses one shard of ${row.shards.toString()} × of one: ` +
          row.commit,
        ...{ paper: "–", target: "as on one shard", found: ratio.toFixed(3) },
        verdict: verdict(ratio <= sameWithin),
      },
    ];
  });
}

/** Of p99, of some 1,200 commits a window: less is chance. */
const p99Noise = 1.2;
const runsInVainNoise = 0.01;

function elasticTargets({ elastic = [] }: Partial<ShardsFigures>): readonly Target[] {
  return elastic.map(({ spread, commit, shards, before, around, after }) => {
    // More shards may cost more for good: that is no bump.
    const usual = Math.max(before.latency.p99, after.latency.p99);
    const usualShare = Math.max(before.runAgainShare, after.runAgainShare);
    const isCalm =
      around.latency.p99 <= p99Noise * usual &&
      around.runAgainShare <= usualShare + runsInVainNoise;
    const windows = [before, around, after];
    return {
      figure:
        `before / around / after ${shards.toString()} → ${(shards + 1).toString()} shards, p99 ` +
        `and runs in vain: ${spread}, ${commit}`,
      ...{ paper: "a bump", target: "within noise" },
      found:
        `${windows.map(({ latency }) => latency.p99.toFixed(0)).join(" / ")} ms, ` +
        windows.map(({ runAgainShare }) => percent(runAgainShare, 2)).join(" / "),
      verdict: verdict(isCalm),
    };
  });
}

function deadOracleTargets({ deadOracle = [] }: Partial<ShardsFigures>): readonly Target[] {
  return deadOracle
    .filter(({ touches, commit }) => touches === "elsewhere" && commit === "stream")
    .map(({ before, down }) => ({
      figure: "p99 of who does not touch the shard whose oracle is down, and before",
      ...{ paper: "–", target: "go on" },
      found: `${down.latency.p99.toFixed(0)} ms, ${before.latency.p99.toFixed(0)} ms`,
      verdict: verdict(down.latency.p99 <= p99Noise * before.latency.p99),
    }));
}

function orphansTargets({ orphans = [] }: Partial<ShardsFigures>): readonly Target[] {
  return orphans.map(({ commit, met, longestMs }) => ({
    figure: `who meets a part whose client died waits, p50 and at most: ${commit}`,
    ...{ paper: "–", target: "bounded, measured" },
    found: `${met.p50.toFixed(0)} ms, ${longestMs.toFixed(0)} ms`,
    verdict: "as measured",
  }));
}

export function percent(share: number, digits = 1): string {
  return `${(100 * share).toFixed(digits)} %`;
}
