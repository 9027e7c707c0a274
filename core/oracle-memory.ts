/**
 * What an oracle knows of its log: ids that were decided within its window, when each hash was last
 * written, and what is prepared and not decided. All three are folds over the log; what they took
 * in since the last `mark` can be undone.
 *
 * Invariants: I2 (timestamps rise), I3 (an id is decided once), I4 (nothing committed is missed).
 */
import { assert } from "./assert.ts";
import { CertificationIndex } from "./certification-index.ts";
import { DecidedIds } from "./decided-ids.ts";
import * as limits from "./limits.ts";
import { OpenTransactions } from "./open-transactions.ts";
import { idWords, writeCount, writeWords, type RequestBatch } from "./request-batch.ts";
import type { SlotSeed } from "./slot-seed.ts";
import type { Timestamp } from "./types.ts";

/** A request, and where its writes are: of a spilled payload, not where the request is. */
export type RememberedRequest = {
  readonly requests: RequestBatch;
  readonly request: number;
  readonly writes: RequestBatch;
  readonly writesOf: number;
};

export class OracleMemory {
  readonly index: CertificationIndex;
  readonly decided: DecidedIds;
  readonly open = new OpenTransactions();
  #last: Timestamp;
  #markedLast: Timestamp;

  /** @param floor nothing is known of decisions at or below it. */
  constructor(
    { floor, last }: { readonly floor: Timestamp; readonly last: Timestamp },
    seed: SlotSeed,
    bounds: { readonly windowMicros: number; readonly indexEntriesMax: number },
  ) {
    this.index = new CertificationIndex(floor, seed, bounds.indexEntriesMax);
    this.decided = new DecidedIds(floor, seed, {
      windowMicros: bounds.windowMicros,
      weightMax: bounds.indexEntriesMax,
    });
    this.#last = last;
    this.#markedLast = last;
  }

  /** Newest timestamp handed out. */
  get last(): Timestamp {
    return this.#last;
  }

  /** The index knows every commit above it; a request checked to less is `stale`. */
  get floor(): Timestamp {
    return this.decided.floor;
  }

  /** The log has handed out the timestamp: to a decision, to what is prepared, or to nothing. */
  reach(timestamp: Timestamp): void {
    assert(timestamp >= this.#last, "I2: timestamps rise");
    this.#last = timestamp;
  }

  /**
   * Takes a decision in; of a commit, its writes. What is prepared counts as decided, too: of the
   * two, `open` is asked first. The floor rises first, so that the index need only span one window.
   * @param slot of its id, as `decided` gives it.
   */
  remember(
    { requests, request, writes, writesOf }: RememberedRequest,
    timestamp: Timestamp,
    { committed, slot }: { readonly committed: boolean; readonly slot: number },
  ): void {
    assert(timestamp > this.#last, "I2: timestamps rise");
    const written = committed ? writeCount(writes, writesOf) : 0;
    const entries = limits.indexEntriesPerWriteMax * written;
    const weight = limits.decidedIdWeight + entries;
    this.decided.add(requests.ids, request * idWords, timestamp, weight, slot);
    this.index.raiseFloor(this.decided.floor);
    this.#last = timestamp;
    if (committed) this.#enterWrites(writes, writesOf, timestamp);
  }

  /** Forgets decisions at or below `through`: the floor rises to it, if it lies lower. */
  forget(through: Timestamp): void {
    this.decided.forget(through);
    this.index.raiseFloor(this.decided.floor);
  }

  mark(): void {
    this.index.mark();
    this.decided.mark();
    this.open.mark();
    this.#markedLast = this.#last;
  }

  /** Comes back to the last mark. Costs what was taken in since. */
  undo(): void {
    this.index.undo();
    // mutant: lost-draft-remembered
    this.decided.undo();
    this.open.undo();
    this.#last = this.#markedLast;
  }

  /** Every write counts for its key, its partition and its table. */
  #enterWrites(batch: RequestBatch, request: number, timestamp: Timestamp): void {
    const { writes } = batch;
    const { index } = this;
    const end = (batch.writeStart[request + 1] ?? 0) * writeWords;
    let tableHigh = -1;
    let tableLow = -1;
    for (let at = (batch.writeStart[request] ?? 0) * writeWords; at < end; at += writeWords) {
      const high = writes[at] ?? 0;
      const low = writes[at + 1] ?? 0;
      if (high !== tableHigh || low !== tableLow) index.enter(high, low, timestamp);
      tableHigh = high;
      tableLow = low;
      const keyHigh = writes[at + 4] ?? 0;
      const keyLow = writes[at + 5] ?? 0;
      const partitionHigh = writes[at + 2] ?? 0;
      const partitionLow = writes[at + 3] ?? 0;
      index.enter(keyHigh, keyLow, timestamp);
      // mutant: partitions-not-entered
      if (partitionHigh !== keyHigh || partitionLow !== keyLow) {
        index.enter(partitionHigh, partitionLow, timestamp);
      }
    }
  }
}

assert(
  limits.decidedIdWeight + limits.indexEntriesPerWriteMax * limits.transactionKeysMax <=
    limits.indexEntriesMax,
  "limits: the index holds the largest transaction",
);
