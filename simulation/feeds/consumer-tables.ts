/** Tables that are there for consumers of the change feed alone. */
import { defineTable } from "../../sdk/index.ts";
import type { TestTable } from "../../testing/deployment-options.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { SeedPlan } from "../seed-plan.ts";

type Effect = { readonly change: string; readonly times: number };
type Mark = { readonly id: string; readonly n: number };

/** What consumers do exactly once: each change has a row, which says how often that was done. */
export const effects = defineTable<Effect, Pick<Effect, "change">>("feed-effects", {
  key: "change",
});
/** Written now and then, for who asks for little. */
export const marks = defineTable<Mark, Pick<Mark, "id">>("feed-marks", { key: "id" });
/** Of no interest to anybody, and large. */
export const noise = defineTable<Mark & { readonly text: string }, Pick<Mark, "id">>("feed-noise", {
  key: "id",
});

/** Whether named consumers are at the feed. Judges of one crowded log count who appends to it. */
export function hasConsumers({ feeds, consumers, hotLog, visits }: SeedPlan): boolean {
  return feeds && consumers && !hotLog && !visits;
}

export function consumerTables(plan: SeedPlan): readonly TestTable[] {
  return hasConsumers(plan) ? [effects, marks, noise].map((table) => testTable(table)) : [];
}
