/**
 * The transactions that are prepared in a log and not decided: a fold over its verdicts, the same
 * for oracles, tails and replay. What the open ones have checked bars writers, what they write bars
 * readers and writers: so nothing that is certified meanwhile can lie on both sides of their
 * outcome (docs/adr/0014-native-operations.md).
 *
 *               prepared              committed, aborted
 *     unknown ───────────▶   open   ────────────────────▶  decided
 *
 * Nothing is evicted: whoever begins at the watermark, or at the oldest open block that a header
 * names, knows them all. What was folded since the last `mark` can be undone.
 *
 * Invariants: I4, and I10 (no past of a commit is changed). Paper: Mediator §4.2.
 */
import { assert } from "./assert.ts";
import * as limits from "./limits.ts";
import type {
  KeyHash,
  LogPosition,
  PreparedVerdict,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "./types.ts";

export type OpenTransaction = {
  readonly prepared: PreparedVerdict;
  /** Of the block that holds it. */
  readonly position: LogPosition;
};

type Change = { readonly kind: "opened" | "decided"; readonly transaction: OpenTransaction };

/** Open transactions by a hash that they have checked, or write. */
type ByHash = Map<KeyHash, Set<OpenTransaction>>;

export class OpenTransactions {
  /** In the order of the log. */
  readonly #byId = new Map<TransactionId, OpenTransaction>();
  readonly #checked: ByHash = new Map();
  /** By key, partition and table. */
  readonly #written: ByHash = new Map();
  /** Checks and writes held. */
  #entries = 0;
  /** Of those open, how many are parts of transactions in several logs. */
  #parts = 0;
  /** Since the mark. */
  readonly #changes: Change[] = [];

  get size(): number {
    return this.#byId.size;
  }

  /** The oldest one, in the order of the log. */
  get oldest(): OpenTransaction | undefined {
    for (const transaction of this.#byId.values()) return transaction;
    return undefined;
  }

  /** In the order of the log. */
  all(): Iterable<OpenTransaction> {
    return this.#byId.values();
  }

  get(id: TransactionId): OpenTransaction | undefined {
    return this.#byId.get(id);
  }

  /** Whether another one may be opened. What the log holds is folded all the same. */
  hasRoomFor(checks: number, writes: number): boolean {
    if (this.size === 0) return true;
    const entries = this.#entries + checks + writes;
    return this.size < limits.openTransactionsMax && entries <= limits.openEntriesMax;
  }

  /** What stands in the way of a request; the same as an oracle finds (core/certification.ts). */
  inTheWay(
    checks: readonly KeyHash[],
    writes: readonly WriteHashes[],
  ): OpenTransaction | undefined {
    if (this.size === 0) return undefined;
    for (const check of checks) {
      const writer = this.writerOf(check);
      if (writer !== undefined) return writer;
    }
    for (const write of writes) {
      const found = this.inTheWayOf(write);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** All that stands there, in the order of the log. */
  allInTheWay(
    checks: Iterable<KeyHash>,
    writes: readonly Omit<WriteHashes, "sortKey">[],
  ): readonly TransactionId[] {
    if (this.size === 0) return [];
    const found = new Set<OpenTransaction>();
    const add = (byHash: ByHash, hash: KeyHash): void => {
      for (const transaction of byHash.get(hash) ?? []) found.add(transaction);
    };
    for (const check of checks) add(this.#written, check);
    for (const { table, partition, key } of writes) {
      add(this.#written, key);
      for (const hash of [key, partition, table]) add(this.#checked, hash);
    }
    const inOrder = [...found].sort((a, b) => a.prepared.timestamp - b.prepared.timestamp);
    return inOrder.map(({ prepared }) => prepared.id);
  }

  /** What stands in the way of somebody who has read the key, or what the hash stands for. */
  writerOf(check: KeyHash): OpenTransaction | undefined {
    // mutant: writes-do-not-bar
    return first(this.#written.get(check));
  }

  /** The id of one that is about to write any of what was read. */
  writerOfAny(checks: Iterable<KeyHash>): TransactionId | undefined {
    if (this.size === 0) return undefined;
    for (const check of checks) {
      const writer = this.writerOf(check);
      if (writer !== undefined) return writer.prepared.id;
    }
    return undefined;
  }

  /** Parts that are about to write any of what was read, and were prepared at or below `upTo`. */
  partsWriting(checks: Iterable<KeyHash>, upTo?: Timestamp): readonly TransactionId[] {
    if (this.#parts === 0) return [];
    const found = new Set<TransactionId>();
    for (const check of checks) {
      for (const { prepared } of this.#written.get(check) ?? []) {
        const isPart = prepared.parts !== undefined;
        if (isPart && prepared.timestamp <= (upTo ?? prepared.timestamp)) found.add(prepared.id);
      }
    }
    return [...found];
  }

  /** What stands in the way of a write. */
  inTheWayOf({ table, partition, key }: Omit<WriteHashes, "sortKey">): OpenTransaction | undefined {
    // mutant: reads-do-not-bar
    return (
      first(this.#written.get(key)) ??
      first(this.#checked.get(key)) ??
      first(this.#checked.get(partition)) ??
      first(this.#checked.get(table))
    );
  }

  /** Takes in the next verdict of the log, of the block at that position. */
  fold(verdict: Verdict, position: LogPosition): void {
    if (verdict.kind === "prepared") this.#open({ prepared: verdict, position });
    else if (verdict.kind === "committed" || verdict.kind === "aborted") this.#decide(verdict.id);
  }

  /** What was folded stands: `undo` comes back to here. */
  mark(): void {
    this.#changes.length = 0;
  }

  /** Comes back to the last mark. */
  undo(): void {
    const isReopened = this.#changes.some(({ kind }) => kind === "decided");
    for (const { kind, transaction } of this.#changes.reverse()) {
      if (kind === "opened") this.#remove(transaction);
      else this.#add(transaction);
    }
    this.#changes.length = 0;
    if (isReopened) this.#restoreOrder();
  }

  #open(transaction: OpenTransaction): void {
    // An honest oracle prepares no id that is open. What a liar does has no effect (I3).
    if (this.#byId.has(transaction.prepared.id)) return;
    this.#add(transaction);
    this.#changes.push({ kind: "opened", transaction });
  }

  #decide(id: TransactionId): void {
    const transaction = this.#byId.get(id);
    if (transaction === undefined) return;
    this.#remove(transaction);
    this.#changes.push({ kind: "decided", transaction });
  }

  #add(transaction: OpenTransaction): void {
    const { id, checks, writes, parts } = transaction.prepared;
    this.#byId.set(id, transaction);
    this.#entries += checks.length + writes.length;
    if (parts !== undefined) this.#parts += 1;
    for (const check of checks) addTo(this.#checked, check, transaction);
    for (const hash of hashesOf(writes)) addTo(this.#written, hash, transaction);
  }

  #remove(transaction: OpenTransaction): void {
    const { id, checks, writes, parts } = transaction.prepared;
    const held = this.#byId.delete(id);
    if (parts !== undefined) this.#parts -= 1;
    assert(held, "I3: what is decided was open");
    this.#entries -= checks.length + writes.length;
    for (const check of checks) removeFrom(this.#checked, check, transaction);
    for (const hash of hashesOf(writes)) removeFrom(this.#written, hash, transaction);
  }

  /** Which of several is named must not depend on what was undone. */
  #restoreOrder(): void {
    const inOrder = Array.from(this.#byId.values()).sort(
      (a, b) => a.prepared.timestamp - b.prepared.timestamp,
    );
    this.#byId.clear();
    this.#checked.clear();
    this.#written.clear();
    this.#entries = 0;
    this.#parts = 0;
    for (const transaction of inOrder) this.#add(transaction);
  }
}

function* hashesOf(writes: readonly WriteHashes[]): Generator<KeyHash> {
  for (const { table, partition, key } of writes) {
    yield table;
    yield partition;
    yield key;
  }
}

function first(
  transactions: ReadonlySet<OpenTransaction> | undefined,
): OpenTransaction | undefined {
  if (transactions === undefined) return undefined;
  for (const transaction of transactions) return transaction;
  return undefined;
}

function addTo(byHash: ByHash, hash: KeyHash, transaction: OpenTransaction): void {
  const those = byHash.get(hash);
  if (those === undefined) byHash.set(hash, new Set([transaction]));
  else those.add(transaction);
}

function removeFrom(byHash: ByHash, hash: KeyHash, transaction: OpenTransaction): void {
  const those = byHash.get(hash);
  those?.delete(transaction);
  if (those?.size === 0) byHash.delete(hash);
}
