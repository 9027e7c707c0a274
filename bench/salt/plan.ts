/** What `npm run bench:salt` runs: sizes, and durations in virtual seconds. */
import type { SaltPlan } from "./figures.ts";

const many = { processes: 8, clientsPerProcess: 4, warmUpSeconds: 2, seconds: 4 } as const;

/** What docs/performance.md shows. */
export const fullPlan: SaltPlan = {
  contention: { ...many, values: [10, 100, 1_000] },
  place: { ...many, values: [1, 5, 10] },
  readShare: { ...many, values: [0, 0.5, 0.95] },
  waiting: { ...many, values: [0, 200, 1_000, 3_000], clientsPerProcess: 8, seconds: 12 },
  tpcc: { ...many, values: [10] },
  ticketing: { ...many, values: [2_000] },
};

const few = { processes: 2, clientsPerProcess: 1, warmUpSeconds: 0.5, seconds: 1 } as const;

/** Each figure once, and as small as it can be: for tests. */
export const briefPlan: SaltPlan = {
  contention: { ...few, values: [10] },
  place: { ...few, values: [1] },
  readShare: { ...few, values: [0.5] },
  waiting: { ...few, values: [200] },
  tpcc: { ...few, values: [1], seconds: 2 },
  ticketing: { ...few, values: [20], seconds: 2 },
};
