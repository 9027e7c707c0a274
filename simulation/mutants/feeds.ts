/** Breaks of the change feed (engine/changes). */
import type { SeedPlan } from "../seed-plan.ts";
import { always, omitted, when, type Mutant } from "./mutant.ts";

const read: Partial<SeedPlan> = { feeds: true, closings: 0, hotLog: false, visits: false };
const ofBases: Partial<SeedPlan> = {
  ...read,
  workload: "base-transfers",
  isolation: "serializable",
  mixed: false,
  lanes: 1,
  clients: 4,
  transactions: 20,
};

export const feeds: readonly Mutant[] = [
  {
    name: "feed-gives-open-steps",
    breaks: "a step is given when it is committed, and again at the release",
    edit: when("released.length === 0"),
    changes: ofBases,
  },
  {
    name: "feed-forgets-earlier-steps",
    breaks: "who begins while one is open is given its last steps alone",
    edit: always,
    changes: ofBases,
  },
  {
    name: "feed-passes-open-parts",
    breaks: "a part that is settled late counts below what was given before it",
    edit: omitted,
    changes: { ...read, workload: "bank", shards: 3, mixed: false },
  },
];
