/**
 * From which share of native operations on mixed tables are faster than a database in which every
 * operation is a transaction (Mediator's equilibrium curve), from the cells of a run over ρ × ν.
 */
import { ratiosTo } from "../harness/print.ts";
import type { BenchResults, MeasuredCell } from "../harness/results.ts";
import { mediatorName } from "../workloads/mediator.ts";

export type Grid = {
  readonly accessesMax: number;
  readonly readShares: readonly number[];
  readonly nativeShares: readonly number[];
};

/** Throughput over mixed tables ÷ that of everything transactified. */
export type GridPoint = {
  readonly readShare: number;
  readonly nativeShare: number;
  readonly ratio: number;
};

export type Equilibrium = {
  readonly readShare: number;
  /** Where the ratio is 1 for good; undefined: nowhere below 1. */
  readonly nativeShare: number | undefined;
};

export const mixedSide = "tidemark-mixed";
/** Every operation is a transaction, a lone read a snapshot: the cheapest there is of each. */
export const transactifiedSide = "tidemark-express";

export function gridPoints(results: BenchResults, grid: Grid): readonly GridPoint[] {
  const { accessesMax, readShares, nativeShares } = grid;
  return readShares.flatMap((readShare) =>
    nativeShares.flatMap((nativeShare) => {
      const workload = mediatorName({ accessesMax, readShare, nativeShare });
      const cell = results.cells.find(
        (one): one is MeasuredCell =>
          one.kind === "measured" && one.workload === workload && one.contestant === mixedSide,
      );
      const ratio = cell && ratiosTo(results, cell, transactifiedSide);
      return ratio === undefined ? [] : [{ readShare, nativeShare, ratio: ratio.median }];
    }),
  );
}

/** Between two measured shares a straight line is drawn. */
export function equilibria(points: readonly GridPoint[]): readonly Equilibrium[] {
  return [...new Set(points.map(({ readShare }) => readShare))].map((readShare) => {
    const row = points
      .filter((point) => point.readShare === readShare)
      .sort((a, b) => a.nativeShare - b.nativeShare);
    const last = row.findLastIndex(({ ratio }) => ratio < 1);
    const below = row[last];
    const above = row[last + 1];
    if (below === undefined) return { readShare, nativeShare: row[0]?.nativeShare };
    if (above === undefined) return { readShare, nativeShare: undefined };
    const share = (1 - below.ratio) / (above.ratio - below.ratio);
    const nativeShare = below.nativeShare + share * (above.nativeShare - below.nativeShare);
    return { readShare, nativeShare };
  });
}
