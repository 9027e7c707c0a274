/** Breaks of what is kept of the past, and of who is trusted with it. */
import { always, instead, type Mutant } from "./mutant.ts";

/** The directed steps of the workload show it: what comes before them is short. */
const edges = { workload: "past", transactions: 10, clients: 2, lanes: 1, faults: {} } as const;

export const pasts: readonly Mutant[] = [
  {
    name: "beginning-of-history-ignored",
    breaks: "a read of before history began takes a row whose tombstone is gone for absent",
    edit: instead("history"),
    changes: edges,
  },
  {
    name: "retention-without-margin",
    breaks: "tombstones go when the retention ends, and readers with slow clocks are still there",
    edit: instead("retentionInForceMs(retention, nowMs)"),
    changes: edges,
  },
  {
    name: "own-retention-believed",
    breaks: "a reader goes by a retention of its own, and finds what is gone absent",
    edit: instead(
      "oldestKept({ ...retention, retentionMs: limits.historyRetentionMsDefault }, nowMs)",
    ),
    changes: edges,
  },
  {
    name: "history-reaped-early",
    breaks: "tombstones of a table with history live no longer than others",
    edit: always,
    changes: edges,
  },
  {
    name: "both-kinds-apart",
    breaks: "replay installs a write without history beside the one with history that follows it",
    edit: instead("undefined"),
    changes: edges,
  },
  {
    name: "blind-writes-yield",
    breaks: "replay leaves a plain row in the place of a commit that never read it: I9",
    edit: instead("true"),
    changes: edges,
  },
  {
    name: "older-over-nothing",
    breaks: "replay puts a write where a newer one has stood, and believes the newer one's client",
    edit: instead("writes"),
    changes: edges,
  },
];
