/** The last projection, for the report of the measurements. */
import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import type { Section } from "../report/chart-spec.ts";
import { storedChart } from "../report/stored-figures.ts";
import { sectionOf } from "./charts.ts";

const stored = z.object({ seed: z.number(), charts: z.array(storedChart) });

/** Its section, as `npm run bench:projection` left it; none when it was never run. */
export function storedProjection(path: string): readonly Section[] {
  if (!existsSync(path)) return [];
  return [sectionOf(stored.parse(JSON.parse(readFileSync(path, "utf8"))))];
}
