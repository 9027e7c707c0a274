/** Breaks of express commit (docs/adr/0013-express-commit.md). */
import { instead, never, omitted, type Mutant } from "./mutant.ts";

export const express: readonly Mutant[] = [
  {
    name: "express-without-check",
    breaks: "a block is made of what was not checked up to its position: lost updates",
    edit: omitted,
    changes: { commit: "express", isolation: "serializable" },
  },
  {
    name: "express-block-conflicts-with-itself",
    breaks: "transactions of one block are not held against each other",
    edit: never,
    // Serializable ones of one process are chained, or take turns.
    changes: { commit: "express", isolation: "snapshot", lanes: 4 },
  },
  {
    name: "express-moves-cursor",
    breaks: "a client's block claims to decide of the stream: the shard stands",
    edit: instead("undefined"),
    changes: { commit: "mixed" },
  },
];
