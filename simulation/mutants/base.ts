/** Breaks of what keeps BASE transactions apart, and makes their steps once (engine/base). */
import { always, instead, never, omitted, type Mutant } from "./mutant.ts";

/** Where crashes leave BASE transactions open for long, and few accounts are wanted by all. */
const transfers = {
  workload: "base-transfers",
  isolation: "serializable",
  shards: 1,
  splits: 0,
  joins: 0,
  closings: 0,
  mixed: false,
  hotLog: false,
  visits: false,
  hashBits: 64,
  tablesOnly: true,
  commit: "express",
  housekeeping: "functions",
  hurried: 0,
  history: true,
  keys: 4,
  clients: 4,
  lanes: 1,
  transactions: 30,
  pauseMs: 50,
  faults: { "crash-after-call": 0.001 },
} as const;

/** Where errands are asked for, and cancelled while runners begin them. */
const requests = { ...transfers, workload: "base-requests" } as const;

export const bases: readonly Mutant[] = [
  {
    name: "written-locks-not-heeded",
    breaks: "who reads by key is shown what an open BASE transaction has written",
    edit: always,
    changes: transfers,
  },
  {
    name: "queries-pass-locks",
    breaks: "who queries is shown it",
    edit: always,
    changes: transfers,
  },
  {
    name: "remembers-what-has-changed",
    breaks: "what the store said of a lock is believed for ever",
    edit: instead("if (known.tail !== tail) return undefined;"),
    changes: transfers,
  },
  {
    name: "scans-pass-locks",
    breaks: "who scans is shown it",
    edit: never,
    changes: transfers,
  },
  {
    name: "overwrites-what-is-open",
    breaks: "who writes blindly overwrites what an open BASE transaction has written",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "late-puts-taken",
    breaks: "what a body writes while locks are looked at is committed without a look at its own",
    edit: always,
    changes: transfers,
  },
  {
    name: "overwrites-what-open-has-read",
    breaks: "an ACID transaction lies between two steps of one that has read before it",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "reads-not-locked",
    breaks: "a step leaves nothing of what it has read: the same",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "hides-newest-writer",
    breaks: "of an item that two open ones have written, readers are shown the first one's write",
    edit: instead((own) => own.replace("Math.min", "Math.max")),
    changes: transfers,
  },
  {
    name: "first-write-forgotten",
    breaks: "of an item that was written by two steps, readers are shown the first one's write",
    edit: instead("this.#readTimestampOf(table, key)"),
    changes: transfers,
  },
  {
    name: "reads-without-depending",
    breaks: "what an open one has written is seen by all through one that has read it",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "overwrites-without-depending",
    breaks: "who overwrites blindly what an open one has written is released before it",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "released-with-what-is-open",
    breaks: "an open one is released with who depends on it",
    edit: never,
    changes: transfers,
  },
  {
    name: "closure-of-direct-ones",
    breaks: "what lies behind a dependency does not count",
    edit: omitted,
    changes: transfers,
  },
  {
    name: "cleaned-with-those-of-others",
    breaks: "with a void hold all others of its item are taken away",
    edit: instead("lock.holds.slice(lock.holds.length)"),
    changes: transfers,
  },
  {
    name: "told-at-the-end",
    breaks: "a result is told before others see what was done",
    edit: instead('head.phase === "ended"'),
    changes: transfers,
  },
  {
    name: "goes-on-with-own-input",
    breaks: "who begins what another one has just begun goes on with an input of its own",
    edit: never,
    changes: transfers,
  },
  {
    name: "step-made-again",
    breaks: "nobody looks whether a step is made already",
    edit: never,
    changes: transfers,
  },
  {
    name: "cancels-what-has-begun",
    breaks: "who cancels is told that nothing will happen of what has begun",
    edit: always,
    changes: requests,
  },
  {
    name: "begins-what-was-cancelled",
    breaks: "who takes up a request makes its first step, whatever has become of it meanwhile",
    edit: instead("found.steps === 0 && found.request === request"),
    changes: requests,
  },
  {
    name: "asks-over-what-stands",
    breaks: "who asks again begins anew what is cancelled, or under way, or over",
    edit: never,
    changes: requests,
  },
  {
    name: "requests-not-listed",
    breaks: "no runner finds what was asked for",
    edit: omitted,
    changes: requests,
  },
  {
    name: "begins-by-own-input",
    breaks: "who begins at once what was asked for does so by another input than was recorded",
    edit: instead((own) => `{ ...(${own}), input }`),
    changes: requests,
  },
  {
    name: "begins-with-what-is-reserved",
    breaks: "a BASE transaction begins with an item that one which waits keeps free",
    edit: always,
    changes: transfers,
  },
  {
    name: "reserves-over-others",
    breaks: "who waits takes over what another one that waits keeps free",
    edit: never,
    changes: transfers,
  },
];
