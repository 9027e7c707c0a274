/**
 * What the checker can find. Names follow Adya ("Weak Consistency: A Generalized Theory and
 * Optimistic Implementations for Distributed Transactions", MIT 1999; with Liskov and O'Neil,
 * "Generalized Isolation Level Definitions", ICDE 2000) and, for the rest, common use.
 */

export type Anomaly =
  /** Writes in a cycle: two transactions overwrote each other. */
  | "G0"
  /** A version of a transaction that aborted was read. */
  | "G1a"
  /** A version was read that its transaction itself replaced. */
  | "G1b"
  /** Writes and reads in a cycle: information flowed in a circle. */
  | "G1c"
  /**
   * A cycle with one anti-dependency: part of a state was read before, part after another
   * transaction.
   */
  | "G-single"
  /** G-single through a read of nothing: a row appeared in what had been searched. */
  | "phantom"
  /** G-single whose reader wrote the key that it had read an old version of. */
  | "lost update"
  /** Anti-dependencies in a cycle, all of them on versions that were read. */
  | "G2-item"
  /** Two transactions, each of which read what the other one then wrote. */
  | "write skew"
  /** Readers disagree about the order of independent writes. */
  | "long fork"
  /** G2-item, with a read of nothing among the anti-dependencies. */
  | "G2"
  /** G0, closed by the order of real time. */
  | "G0-realtime"
  /** G1c, closed by the order of real time: something was seen before it was there. */
  | "G1c-realtime"
  /** A read missed what had been acknowledged before its transaction began. */
  | "stale read"
  /** G2-item or G2, closed by the order of real time. */
  | "G2-realtime"
  /**
   * By the database's own timestamps, a snapshot transaction saw or overwrote what was committed
   * after its snapshot.
   */
  | "G-SIa"
  /**
   * By the database's own timestamps, a snapshot transaction missed what was committed before its
   * snapshot.
   */
  | "G-SIb"
  /** What one process did with one item took effect in another order than its own. */
  | "process order"
  /** There is no order that explains all, though every part of it has one. */
  | "no order"
  /** The order of the database's own timestamps is not the order of what happened. */
  | "timestamp order"
  /** A transaction did not see its own write, or two versions of one key. */
  | "internal"
  /** A version was read that nobody wrote. */
  | "garbage read"
  /** A version, an id or a place in the order of commits was given twice. */
  | "duplicate"
  /** An ACID transaction on a cycle with BASE transactions, each of them taken as a whole. */
  | "not apart"
  /** One step of a BASE transaction, committed more than once. */
  | "step made twice"
  /** What an aborted transaction wrote, or nobody did, is in the stores. */
  | "dirty write"
  /** What a committed transaction wrote is not in the stores. */
  | "lost write"
  /** The end of the run is not what the order of versions ends with. */
  | "final-state mismatch";

/** Why one transaction comes before the next one in a cycle. */
export type CycleStep = {
  readonly from: string;
  readonly to: string;
  readonly kind:
    | "ww"
    | "wr"
    | "rw"
    | "real-time"
    | "timestamp"
    | "initial"
    /** Real time of two operations on one item, at least one of them native. */
    | "item-time"
    /** The same, of one process. */
    | "process"
    /** From a write to the look at the end that did not find it. */
    | "final";
  readonly key?: string;
  /** In words, with the operations. */
  readonly text: string;
};

export type Finding = {
  readonly anomaly: Anomaly;
  /** In words; of a cycle, one line per step. */
  readonly description: string;
  /** Ids. */
  readonly transactions: readonly string[];
  /** Each step leads to the transaction with which the next one begins, the last to the first. */
  readonly cycle?: readonly CycleStep[];
};

/** Gathers findings up to a maximum, and counts the rest. */
export class Findings {
  readonly #max: number;
  readonly #list: Finding[] = [];
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(anomaly: Anomaly, transactions: readonly string[], description: string): void {
    this.push({ anomaly, description, transactions });
  }

  push(finding: Finding): void {
    this.#count += 1;
    if (this.#list.length < this.#max) this.#list.push(finding);
  }

  get list(): readonly Finding[] {
    return this.#list;
  }

  get count(): number {
    return this.#count;
  }
}
