/** A suite's file: figures as they were run last, with the charts and tables made of them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type { ChartSpec, TableSpec } from "./chart-spec.ts";

/** As files of results have it. */
export const storedChart = z.object({
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
  bench: z.string(),
  seed: z.number(),
  figures: z.record(z.string(), z.array(z.unknown())),
  charts: z.array(storedChart),
  tables: z.array(table),
});

export type StoredFigures = {
  /** Name of the suite. */
  readonly bench: string;
  readonly seed: number;
  /** Rows by the name of the figure. */
  readonly figures: Readonly<Record<string, readonly unknown[]>>;
  readonly charts: readonly ChartSpec[];
  readonly tables: readonly TableSpec[];
};

/** Undefined where there is no file. @throws for one of another suite, or of another form. */
export function readStoredFigures(path: string, bench: string): StoredFigures | undefined {
  if (!existsSync(path)) return undefined;
  const found = stored.parse(JSON.parse(readFileSync(path, "utf8")));
  if (found.bench !== bench) throw new TypeError(`${path} has figures of ${found.bench}`);
  return found;
}

export function writeStoredFigures(path: string, figures: StoredFigures): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(figures, undefined, 1)}\n`);
}

/** As it stands in the documentation. */
export function markdownOf({ title, head, rows }: TableSpec): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const lines = [line(head), line(head.map(() => "---")), ...rows.map(line)];
  return `### ${title ?? ""}\n\n${lines.join("\n")}\n`;
}
