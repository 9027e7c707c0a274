/**
 * Breaks of what holds a join of two shards together (docs/protocol.md §10, Joining shards). Names
 * are those of the model's mistakes, where it has them (model/harness/mutants.ts).
 *
 * Not here: that who writes waits for the end. Without that he is answered `stale`, and comes
 * again.
 */
import type { SeedPlan } from "../seed-plan.ts";
import { instead, never, omitted, type Mutant } from "./mutant.ts";

const joined: Partial<SeedPlan> = { shards: 4, joins: 3, splits: 0, closings: 0, mixed: false };
const crowded: Partial<SeedPlan> = { ...joined, keys: 6, clients: 8 };

export const joins: readonly Mutant[] = [
  {
    name: "join-keeps-old-checks",
    breaks: "what was checked before a takeover is decided behind it, by who has not seen the rest",
    edit: instead("opensStream(block) || block.fork !== undefined"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "ends-with-open",
    breaks: "a log ends with parts that are open, and bar nobody in the neighbour's",
    edit: instead("isClosing"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "reads-after-end",
    breaks: "a transaction goes on by a log that has ended",
    edit: never,
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "takes-below-the-end",
    breaks: "a takeover lies below what the other log has decided",
    edit: instead("(end.timestamp + 1) as Timestamp"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "remembers-what-was-given-away",
    breaks: "a tail shows what its log has committed in a range before that was another one's",
    edit: omitted,
    changes: { ...crowded, splits: 2, shards: 3, keys: 4, workload: "bank", commit: "express" },
  },
  {
    name: "range-given-to-nobody",
    breaks: "nobody takes the range of a log that has ended",
    edit: never,
    changes: { ...joined, workload: "bank" },
  },
  {
    name: "outcome-forgets-the-ended",
    breaks: "who asks for an outcome does not look at the log that has ended, and aborts elsewhere",
    edit: instead("entries"),
    changes: { ...joined, workload: "bank" },
  },
  {
    name: "watermark-passes-a-closing",
    breaks: "a tail that begins at the watermark does not learn that the log is closing",
    edit: instead("false"),
    changes: { ...joined, workload: "bank" },
  },
];
