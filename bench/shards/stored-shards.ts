/** The suite's file: figures as they were run last, with the charts and tables made of them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type { Section } from "../report/chart-spec.ts";
import { chartsOf } from "./charts.ts";
import type { ShardsFigures } from "./figures.ts";
import { tablesOf } from "./tables.ts";

const chart = z.object({
  kind: z.enum(["bar", "line"]),
  title: z.string(),
  unit: z.string(),
  labels: z.array(z.string()),
  series: z.array(z.object({ name: z.string(), values: z.array(z.number().nullable()) })),
  logarithmic: z.boolean().default(false),
  marks: z.array(z.object({ name: z.string(), value: z.number() })).default([]),
});

const table = z.object({
  title: z.string(),
  head: z.array(z.string()),
  rows: z.array(z.array(z.string())),
});

const stored = z.object({
  bench: z.literal("shards"),
  seed: z.number(),
  figures: z.record(z.string(), z.array(z.unknown())),
  charts: z.array(chart),
  tables: z.array(table),
});

/** The figures of a file; none where there is no file, or of another seed. */
export function storedFigures(path: string, seed: number): Partial<ShardsFigures> {
  if (!existsSync(path)) return {};
  const found = stored.parse(JSON.parse(readFileSync(path, "utf8")));
  return found.seed === seed ? found.figures : {};
}

export function storeFigures(path: string, seed: number, figures: Partial<ShardsFigures>): void {
  const charts = chartsOf(figures);
  const file = { bench: "shards", seed, figures, charts, tables: tablesOf(figures) };
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(file, undefined, 1)}\n`);
}

/** The section of the last run; none when it was never run. */
export function storedShards(path: string): readonly Section[] {
  if (!existsSync(path)) return [];
  const { seed, charts, tables } = stored.parse(JSON.parse(readFileSync(path, "utf8")));
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
