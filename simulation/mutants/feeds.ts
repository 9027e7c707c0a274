/** Breaks of the change feed (engine/changes). */
import type { SeedPlan } from "../seed-plan.ts";
import { always, instead, omitted, preceded, when, type Mutant } from "./mutant.ts";

const read: Partial<SeedPlan> = { feeds: true, closings: 0, hotLog: false, visits: false };
const consumed: Partial<SeedPlan> = { ...read, consumers: true };
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
  {
    name: "feed-begins-at-a-later-now",
    breaks: "where a consumer begins is kept too late: the first change, if it fails, is lost",
    edit: omitted,
    changes: consumed,
  },
  {
    name: "feed-keeps-no-position-of-rare-changes",
    breaks:
      "what was passed by counts once the log shows nothing new: short invocations never come on",
    edit: instead(
      'look === "passed" && hold.position !== undefined ? hold.position : feed.position',
    ),
    changes: {
      ...{ ...consumed, workload: "bank", commit: "express", mixed: false, faults: {} },
      ...{ shards: 1, splits: 0, joins: 0, transactions: 30, clients: 4, lanes: 1 },
    },
  },
  {
    name: "feed-believes-any-hold",
    breaks: "who has died with a clock far ahead keeps all others from the feed",
    edit: instead("true"),
    changes: consumed,
  },
  {
    name: "feed-moved-unheard-of",
    breaks: "who was at a feed that an operator moves back goes on, and takes it forward with him",
    edit: instead("true"),
    changes: consumed,
  },
  {
    name: "feed-moved-does-all-again",
    breaks: "what was done once is done once more, where the operator has not asked for that",
    edit: instead("(state.round ?? 0) + 1"),
    changes: consumed,
  },
  {
    name: "feed-keeps-what-is-not-handled",
    breaks:
      "a position is kept while its change is handled: where that fails, it never comes again",
    edit: preceded("hold.position = feed.position;"),
    changes: consumed,
  },
  {
    name: "feed-once-of-all-changes",
    breaks: "what is done once for a change is taken for done for all others",
    edit: instead("`feed:${wish.name}`"),
    changes: consumed,
  },
];
