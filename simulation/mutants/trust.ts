/** Breaks of what is believed, and of whom. */
import { instead, when, type Mutant } from "./mutant.ts";

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
];
