/**
 * When a record that has arrived in a shard can be given to a function. In order, and with the
 * published percentiles on an idle shard:
 *
 * - *fan-out*: each record is pushed. The delay wanders: records close to each other have almost
 *   the same one, records a second apart have nothing to do with each other. Drawn anew for each
 *   record, the slowest push would hold up all those behind it, and a busy shard would only know
 *   the tail.
 * - *standard*: records wait for the next poll, once a second, and all of a poll's share what the
 *   poll takes.
 */
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import {
  drawLogNormal,
  type LogNormal,
  logNormalBehindPoll,
  logNormalThrough,
  standardNormal,
  valueAt,
} from "./log-normal.ts";
import { type Consumer, deliveryLatencies, serviceLimits } from "./published-figures.ts";

export type Delivery = {
  /** When a record that arrives now becomes available; never before those asked for earlier. */
  availableAtMs(arrivalMs: number): number;
};

/**
 * How long a push's delay is remembered: after so long a silence it has lost 63 % of its influence.
 */
const pushMemoryMs = 250;

class FanOutDelivery implements Delivery {
  readonly #random: SeededRandom;
  readonly #delay: LogNormal = logNormalThrough(deliveryLatencies["fan-out"]);
  #z: number | undefined;
  #arrivalMs = 0;
  #availableMs = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  availableAtMs(arrivalMs: number): number {
    // An Ornstein–Uhlenbeck process: at every moment distributed as the figure says.
    const kept = this.#z === undefined ? 0 : Math.exp((this.#arrivalMs - arrivalMs) / pushMemoryMs);
    const fresh = kept < 1 ? standardNormal(this.#random) : 0;
    this.#z = kept * (this.#z ?? 0) + Math.sqrt(1 - kept * kept) * fresh;
    this.#arrivalMs = arrivalMs;
    this.#availableMs = Math.max(this.#availableMs, arrivalMs + valueAt(this.#delay, this.#z));
    return this.#availableMs;
  }
}

/** Costly to fit, and the same for all. */
let pollFit: LogNormal | undefined;

class StandardDelivery implements Delivery {
  readonly #random: SeededRandom;
  readonly #behindPoll: LogNormal;
  readonly #phaseMs: number;
  #poll = Number.NEGATIVE_INFINITY;
  #availableMs = 0;

  constructor(random: SeededRandom) {
    const { standardPollMs } = serviceLimits;
    this.#random = random;
    this.#behindPoll = pollFit ??= logNormalBehindPoll(standardPollMs, deliveryLatencies.standard);
    this.#phaseMs = random.between(0, standardPollMs);
  }

  availableAtMs(arrivalMs: number): number {
    const { standardPollMs } = serviceLimits;
    const poll = Math.ceil((arrivalMs - this.#phaseMs) / standardPollMs);
    if (poll > this.#poll) {
      this.#poll = poll;
      const pollMs = this.#phaseMs + poll * standardPollMs;
      const availableMs = pollMs + drawLogNormal(this.#behindPoll, this.#random);
      this.#availableMs = Math.max(this.#availableMs, availableMs);
    }
    return this.#availableMs;
  }
}

export function createDelivery(consumer: Consumer, random: SeededRandom): Delivery {
  return consumer === "fan-out" ? new FanOutDelivery(random) : new StandardDelivery(random);
}
