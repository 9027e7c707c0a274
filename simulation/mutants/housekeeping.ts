/** Breaks of housekeeping by clients (functions/housekeeping/by-clients). */
import { instead, type Mutant } from "./mutant.ts";

const byClients = { commit: "express", tablesOnly: true, housekeeping: "clients" } as const;

export const housekeeping: readonly Mutant[] = [
  {
    name: "keeper-reaps-by-own-clock",
    breaks: "tombstones go by clocks that differ by minutes, and sooner than whoever may need them",
    edit: instead("clock.nowMs()"),
    changes: { ...byClients, workload: "reinsert", history: false, faults: { "clock-skew": 1 } },
  },
  {
    name: "house-left-to-the-dead",
    breaks: "a turn whose holder has died is never over: nothing is installed for anybody",
    edit: instead("return limits.houseTurnMsMax * 1e6;"),
    changes: { ...byClients, faults: { "crash-after-call": 0.01, "crash-before-call": 0.01 } },
  },
];
