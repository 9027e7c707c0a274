/**
 * Breaks of what holds a split together (docs/protocol.md §10, Splitting a shard). Names are those
 * of the model's mistakes, where it has them (model/harness/mutants.ts).
 *
 * Not here: that replay waits for its log's past and installs nothing of it, and what was open at a
 * fork only within its range. What comes of that takes a replay that stands still for longer than
 * tombstones do. Nor that replay enters a fork whose operator died, and that a number is one
 * shard's before anything else is written under it: test/engine/sharded/split.test.ts has these.
 */
import type { SeedPlan } from "../seed-plan.ts";
import { always, instead, omitted, type Mutant } from "./mutant.ts";

const split: Partial<SeedPlan> = { splits: 3, closings: 0, mixed: false };
const crowded: Partial<SeedPlan> = { ...split, keys: 6, clients: 8 };

export const splits: readonly Mutant[] = [
  {
    name: "fork-keeps-old-checks",
    breaks:
      "what was checked before a fork is decided behind it, by who has not seen the other log",
    edit: instead("opensStream(block) || block.handover !== undefined"),
    changes: { ...crowded, workload: "bank", commit: "stream" },
  },
  {
    name: "reads-by-old-map",
    breaks: "a transaction goes on by the map that it began with",
    edit: instead("false"),
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "map-without-forks",
    breaks: "who meets a fork goes on by the old map",
    edit: omitted,
    changes: { ...crowded, workload: "bank" },
  },
  {
    name: "begins-by-old-map",
    breaks: "a tail that begins above a fork reads what lies in the other log",
    edit: always,
    changes: { ...split, workload: "bank", keys: 12 },
  },
  {
    name: "follows-its-past-beyond-the-fork",
    breaks: "a new log has blocks of the old one that come behind the fork",
    edit: instead("page.blocks"),
    changes: { ...split, workload: "bank" },
  },
  {
    name: "owners-asked-once",
    breaks: "records of a shard that was split off go to the first, which refuses them",
    edit: omitted,
    changes: { ...split, workload: "bank", commit: "stream" },
  },
];
