/** Breaks of what is believed, and of whom. */
import { instead, never, preceded, when, type Mutant } from "./mutant.ts";

export const trust: readonly Mutant[] = [
  {
    name: "unseen-taken-for-gone",
    breaks: "a payload that the stream did not show counts as lost: commits never installed",
    edit: when("read.complete || ageMs > limits.streamRetentionMsMax"),
    changes: { faults: { "empty-page": 0.3, "crash-after-call": 0.003 } },
  },
  {
    name: "writes-to-any-table",
    breaks:
      "the oracle commits what names any table, and replay writes to it: watermark, log, others",
    edit: instead("0"),
    changes: { faults: { "hostile-record": 0.5 } },
  },
  {
    name: "replay-writes-to-any-table",
    breaks: "what the oracle lets through, replay writes: watermark, log, others' tables and items",
    edit: { "writes-to-any-table": instead("0"), "replay-writes-to-any-table": never },
    changes: { faults: { "hostile-record": 0.5 } },
  },
  {
    name: "takes-what-no-table-takes",
    breaks: "the oracle commits an item that no table takes: a dead letter, and readers that wait",
    edit: never,
    changes: { faults: { "hostile-record": 1 } },
  },
  {
    name: "believes-any-report",
    breaks: "replay believes whoever says that a commit is installed: others' writes are left out",
    edit: instead("true"),
    changes: { faults: { "hostile-record": 1, "crash-after-call": 0.003 } },
  },
  {
    name: "report-covers-earlier-writes",
    breaks: "a true report leaves out what it overwrites, of others too: a commit never installed",
    edit: preceded("if (isInstalled) { latest.delete(identity); ordered.delete(identity); }"),
    changes: { faults: { "hostile-record": 1 } },
  },
];
