/** The last projection, for the report of the measurements. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import type { Section } from "../report/chart-spec.ts";
import { sectionOf } from "./charts.ts";

const chart = z.object({
  kind: z.enum(["bar", "line"]),
  title: z.string(),
  unit: z.string(),
  labels: z.array(z.string()),
  series: z.array(z.object({ name: z.string(), values: z.array(z.number().nullable()) })),
  logarithmic: z.boolean().default(false),
  marks: z.array(z.object({ name: z.string(), value: z.number() })).default([]),
});

const stored = z.object({ seed: z.number(), charts: z.array(chart) });

/** Its section, as `npm run bench:projection` left it; none when it was never run. */
export function storedProjection(path: string): readonly Section[] {
  if (!existsSync(path)) return [];
  return [sectionOf(stored.parse(JSON.parse(readFileSync(path, "utf8"))))];
}
