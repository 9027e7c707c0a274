/** The suite's file, and the section of the report that is drawn from it. */
import type { Section } from "../report/chart-spec.ts";
import { readStoredFigures, writeStoredFigures } from "../report/stored-figures.ts";
import { chartsOf } from "./charts.ts";
import type { ShardsFigures } from "./figures.ts";
import { tablesOf } from "./tables.ts";

const bench = "shards";

/** The figures of a file; none where there is no file, or of another seed. */
export function storedFigures(path: string, seed: number): Partial<ShardsFigures> {
  const found = readStoredFigures(path, bench);
  // What is in it was written by `storeFigures`.
  return found?.seed === seed ? found.figures : {};
}

export function storeFigures(path: string, seed: number, figures: Partial<ShardsFigures>): void {
  const charts = chartsOf(figures);
  writeStoredFigures(path, { bench, seed, figures, charts, tables: tablesOf(figures) });
}

/** The section of the last run; none when it was never run. */
export function storedShards(path: string): readonly Section[] {
  const found = readStoredFigures(path, bench);
  if (found === undefined) return [];
  const { seed, charts, tables } = found;
  return [
    {
      title: "Several shards",
      text: [
        "Not measured on AWS: the real client, oracle and replay in the simulator's virtual " +
          `time, with published latencies and limits, seed ${seed.toString()}. Processor time of ` +
          "the oracles alone is that of this machine, as ratios within one run.",
      ],
      parts: [
        ...tables.map((each) => ({ kind: "table", table: each }) as const),
        ...charts.map((each) => ({ kind: "chart", chart: each }) as const),
      ],
    },
  ];
}
