/**
 * The faults that a run may meet, each with a knob of its own: how likely it strikes at an
 * opportunity, 0 for off. They count how often they struck, so that a sweep can tell that each was
 * really tried. Every fault draws from its own stream of randomness. `calm` ends them all: what has
 * to come right must then come right.
 */
import type { SeededRandom } from "./seeded-random.ts";

/**
 * Opportunities: a try of a call (t), an arriving call (a), an invocation (i), a delivered batch
 * (b), a moment of the whole system, once a second (s), the start of a process (p).
 */
export const faultDescriptions = {
  "request-lost": "t: never arrives; the caller times out or its connection breaks",
  "request-late": "t: arrives after its caller has given up, up to minutes later",
  "answer-lost": "a: took effect, and the caller never hears of it",
  "service-error": "a: answers 500 and does nothing",
  "service-error-after-effect": "a: answers 500 although it took effect",
  throttled: "a: refused for want of capacity",
  "throttling-storm": "s: for seconds, most calls are refused",
  "slow-service": "s: for seconds, one service takes tens of times as long",
  "part-unprocessed": "a: a batch read or write does only a part",
  "put-records-in-part": "a: some records of a put are refused, or end in an internal failure",
  "stale-read": "a: an eventually consistent read shows the state of a moment ago",
  "torn-page": "a: rows of a page are read at different moments, writes between them",
  "iterator-expired": "a: a shard iterator is no longer valid",
  "empty-page": "a: GetRecords answers without records although there are some",
  "arrival-backwards": "a: the stream's arrival times step back",
  "crash-before-call": "t: the process dies instead of making its call",
  "crash-after-call": "t: the process dies when its answer is there",
  "freeze-at-call": "t: the process stops for up to 30 minutes",
  "suspend-at-call": "t: its machine sleeps for up to 30 minutes; timers stand still meanwhile",
  "clock-skew": "p: the process's clock is off by up to 5 min (a function's by 40 s), and drifts",
  "cold-start": "i: the warm instance of a function is gone",
  "frozen-invocation": "i: the invocation stops, its successor works, and minutes later it goes on",
  "batch-redelivered": "b: the mapping forgets that the batch was done",
  "batch-cut": "b: the mapping delivers a part of the batch",
  "consumer-restart": "b: the mapping goes on from an older checkpoint",
  "consumer-overlap": "b: two instances get the batch at once",
  "consumer-pause": "s: a mapping delivers nothing for up to a minute",
  "schedule-skipped": "i: a scheduled invocation does not happen",
  "ttl-late": "s: expired items stay; otherwise they go within the minute",
  "hostile-record":
    "s: somebody puts records into the stream that are malformed, or lie about tables",
  "record-duplicated": "a: a producer's own retry stores a record twice",
  "answer-slow":
    "a: the answer is under way for up to the caller's time limit; the world goes on meanwhile",
  "arrival-ahead":
    "a: an arrival time lies ahead; those that follow lie behind what is decided for as long",
  "freeze-before-call":
    "t: the process stops for up to 4 minutes, and its call goes out when it goes on",
  "log-throttled": "s: for seconds, most blocks are refused for want of capacity, and nothing else",
  "append-denied": "s: for up to minutes, no client has the right to append blocks to the log",
} as const;

/** Those that are about blocks of clients' own, or show there. */
export const appendFaultNames = ["freeze-before-call", "log-throttled", "append-denied"] as const;

export type FaultName = keyof typeof faultDescriptions;

export const faultNames = Object.keys(faultDescriptions) as readonly FaultName[];

/** Probability per opportunity; what is not named is off. */
export type FaultPlan = { readonly [Name in FaultName]?: number };

export class Faults {
  readonly #plan: FaultPlan;
  readonly #random: SeededRandom;
  readonly #streams = new Map<FaultName, SeededRandom>();
  readonly #struck = new Map<FaultName, number>();
  readonly #onStrike: (name: FaultName, where: string) => void;
  #calm = false;
  #total = 0;
  #totalMax: number;

  constructor(parts: {
    readonly plan: FaultPlan;
    readonly random: SeededRandom;
    /** Faults beyond this number do not strike; for making a failing run smaller. */
    readonly strikesMax?: number | undefined;
    readonly onStrike: (name: FaultName, where: string) => void;
  }) {
    this.#plan = parts.plan;
    this.#random = parts.random;
    this.#totalMax = parts.strikesMax ?? Number.POSITIVE_INFINITY;
    this.#onStrike = parts.onStrike;
  }

  /** Whether the fault strikes at this opportunity. A strike is counted and traced. */
  strikes(name: FaultName, where: string): boolean {
    const probability = this.#plan[name];
    if (probability === undefined || probability <= 0 || this.#calm) return false;
    if (!this.of(name).chance(probability) || this.#total >= this.#totalMax) return false;
    this.#total += 1;
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + 1);
    this.#onStrike(name, where);
    return true;
  }

  /** The fault's own randomness, for how it strikes. */
  of(name: FaultName): SeededRandom {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = this.#random.fork(name);
      this.#streams.set(name, stream);
    }
    return stream;
  }

  /** Whether the fault can strike at all in this run. */
  isOn(name: FaultName): boolean {
    return !this.#calm && (this.#plan[name] ?? 0) > 0;
  }

  /** No fault strikes from here on. */
  calm(): void {
    this.#calm = true;
  }

  resume(): void {
    this.#calm = false;
  }

  /** How often each fault has struck. */
  get struck(): ReadonlyMap<FaultName, number> {
    return this.#struck;
  }
}
