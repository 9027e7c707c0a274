/**
 * Breaks of closing and opening the stream (docs/protocol.md §3, Closing the stream). Further ones,
 * of a smaller protocol and in all its states, are those of model/TidemarkClosing.tla.
 */
import { always, instead, never, type Mutant } from "./mutant.ts";

/** Small runs: operators set the pace. */
const switched = { commit: "stream", workload: "bank", transactions: 80, pauseMs: 300 } as const;

export const closing: readonly Mutant[] = [
  {
    name: "taken-away-undrained",
    breaks: "a closed stream counts as drained at once: payloads go with it before they are read",
    edit: always,
    changes: { ...switched, closings: 6, faults: { "crash-after-call": 0.01 } },
  },
  {
    name: "drained-at-an-earlier-closing",
    breaks: "of two closings the first will do: what the stream took between goes with it",
    edit: never,
    changes: {
      ...{ ...switched, closings: 16 },
      faults: { "crash-after-call": 0.01, "consumer-pause": 0.05, "schedule-skipped": 0.5 },
    },
  },
  {
    name: "oracle-passes-a-later-stream",
    breaks: "an oracle that has seen a closing passes all that comes: nobody answers it",
    edit: { "oracle-passes-a-later-stream": never, "oracle-begins-where-it-was": never },
    changes: { ...switched, closings: 6, faults: {} },
  },
  {
    name: "stream-client-keeps-its-way",
    breaks: "who goes by the stream does not notice that it was closed: nobody reads what it sends",
    edit: instead("false"),
    // By the stream that is gone.
    refuses: true,
    changes: { ...switched, closings: 2, faults: {} },
  },
  {
    name: "closing-believed-early",
    breaks: "what was sent counts as undecided for good while the stream is open: it is given up",
    edit: always,
    changes: {
      ...{ commit: "stream", workload: "bank", hurried: 0.9 },
      faults: { "answer-lost": 0.1, "request-late": 0.1, "throttling-storm": 0.1 },
    },
  },
];
