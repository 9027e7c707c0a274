/**
 * Validators as the Centiman paper has them, without feedback: each enters what it has accepted,
 * whatever the others say, and a write set that one accepted and another refused pollutes the first
 * until a watermark passes it. A read is checked from the version that it saw, or from the
 * watermark, whichever is newer. In rounds of virtual time, without stores.
 *
 * Paper: Centiman §3.3, §5.
 */
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";

export type NaiveCase = {
  readonly validators: number;
  readonly records: number;
  readonly reads: number;
  readonly writes: number;
  /** Transactions under way at any moment. */
  readonly concurrent: number;
  /** A watermark after so many transactions. */
  readonly watermarkEvery: number;
  readonly transactions: number;
};

export type NaiveResult = {
  readonly aborted: number;
  /** Of these, refused only because of writes that were never committed. */
  readonly spurious: number;
  readonly transactions: number;
};

type UnderWay = {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  /** Of what it read: the newest committed version that was installed when it began. */
  readonly seen: readonly number[];
  readonly watermark: number;
};

/**
 * One transaction after the other is certified, in the order of their timestamps, and so in each
 * validator alike; so many others begin between a transaction's reads and its certification.
 */
export function naiveValidators(task: NaiveCase, random: SeededRandom): NaiveResult {
  const { validators, concurrent, watermarkEvery } = task;
  /** By record: newest write that its validator accepted, and newest one that was committed. */
  const accepted = new Map<number, number>();
  const committed = new Map<number, number>();
  const underWay: UnderWay[] = [];
  const result = { aborted: 0, spurious: 0, transactions: 0 };
  let watermark = 0;
  for (let timestamp = 1; timestamp <= task.transactions; timestamp += 1) {
    // Everything up to the oldest that is under way has ended, and is installed.
    if (timestamp % watermarkEvery === 0) watermark = Math.max(0, timestamp - concurrent);
    while (underWay.length < concurrent)
      underWay.push(begin(task, { random, committed, watermark }));
    const [one] = underWay.splice(random.integer(0, underWay.length - 1), 1);
    if (one === undefined) continue;
    const refusals = new Set<number>();
    let isTrue = false;
    for (const [at, record] of one.reads.entries()) {
      const from = Math.max(one.seen[at] ?? 0, one.watermark);
      if ((committed.get(record) ?? 0) > (one.seen[at] ?? 0)) isTrue = true;
      if ((accepted.get(record) ?? 0) > from) refusals.add(record % validators);
    }
    result.transactions += 1;
    if (refusals.size > 0) {
      result.aborted += 1;
      if (!isTrue) result.spurious += 1;
    }
    for (const record of one.writes) {
      if (!refusals.has(record % validators)) accepted.set(record, timestamp);
      if (refusals.size === 0) committed.set(record, timestamp);
    }
  }
  return result;
}

function begin(
  { records, reads, writes }: NaiveCase,
  state: {
    readonly random: SeededRandom;
    readonly committed: ReadonlyMap<number, number>;
    readonly watermark: number;
  },
): UnderWay {
  const { random, committed, watermark } = state;
  const chosen = new Set<number>();
  while (chosen.size < reads + writes) chosen.add(random.integer(0, records - 1));
  const all = [...chosen];
  const read = all.slice(0, reads);
  return {
    reads: read,
    writes: all.slice(reads),
    seen: read.map((record) => committed.get(record) ?? 0),
    watermark,
  };
}
