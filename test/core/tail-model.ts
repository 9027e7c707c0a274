/**
 * A tail that remembers everything, and random logs to fold: what the real one is judged against.
 */
import fc from "fast-check";
import type {
  CommittedVerdict,
  KeyHash,
  LogBlock,
  LogPosition,
  SequenceNumber,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../../core/types.ts";

/** Key `k` of partition `p` of table `t`; small numbers, so that they meet often. */
export type ModelWrite = {
  readonly table: number;
  readonly partition: number;
  readonly key: number;
};

export type ModelCommit = { readonly timestamp: number; readonly writes: readonly ModelWrite[] };

export function tableHash(table: number): KeyHash {
  return (0x1000n + BigInt(table)) as KeyHash;
}

export function partitionHash(table: number, partition: number): KeyHash {
  return (0x2000n + BigInt(table * 16 + partition)) as KeyHash;
}

export function keyHash({ table, partition, key }: ModelWrite): KeyHash {
  return (0x3000n + BigInt((table * 16 + partition) * 16 + key)) as KeyHash;
}

function hashesOf(write: ModelWrite): WriteHashes {
  return {
    table: tableHash(write.table),
    partition: partitionHash(write.table, write.partition),
    key: keyHash(write),
    sortKey: undefined,
  };
}

/**
 * What each verdict of a block is, and how far timestamps step; blocks may be empty, and may end
 * above their verdicts.
 */
export type BlockPlan = {
  readonly verdicts: readonly (
    | { readonly kind: "committed"; readonly writes: readonly ModelWrite[]; readonly step: number }
    | { readonly kind: "aborted"; readonly step: number }
    | { readonly kind: "stale" }
  )[];
};

const write = fc.record({
  table: fc.integer({ min: 0, max: 1 }),
  partition: fc.integer({ min: 0, max: 2 }),
  key: fc.integer({ min: 0, max: 3 }),
});
const step = fc.integer({ min: 1, max: 5 });

/** Distinct keys, as a payload has them. */
const writes = fc.uniqueArray(write, {
  minLength: 1,
  maxLength: 4,
  selector: (each) => keyHash(each),
});

export const blockPlan: fc.Arbitrary<BlockPlan> = fc.record({
  verdicts: fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("committed" as const), writes, step }),
      },
      fc.record({ kind: fc.constant("aborted" as const), step }),
      fc.record({ kind: fc.constant("stale" as const) }),
    ),
    { maxLength: 4 },
  ),
});

export const startTimestamp = 100 as Timestamp;

/** Makes the blocks of a log one after the other, and remembers every commit. */
export class ModelLog {
  readonly commits: ModelCommit[] = [];
  readonly decisions = new Map<TransactionId, Verdict>();
  readonly blocks: LogBlock[] = [];
  newest: Timestamp = startTimestamp;
  readonly #hashesOf: (write: ModelWrite) => WriteHashes;
  #ids = 0;

  constructor(hashing: (write: ModelWrite) => WriteHashes = hashesOf) {
    this.#hashesOf = hashing;
  }

  append(plan: BlockPlan): LogBlock {
    const previousTimestamp = this.newest;
    const verdicts = plan.verdicts.map((each): Verdict => {
      this.#ids += 1;
      const id = this.#ids.toString(16).padStart(32, "0") as TransactionId;
      if (each.kind === "stale") return { kind: "stale", id };
      this.newest = (this.newest + each.step) as Timestamp;
      const verdict: Verdict =
        each.kind === "aborted"
          ? { kind: "aborted", id, timestamp: this.newest, reason: { kind: "probed" } }
          : committed(id, this.newest, each.writes.map(this.#hashesOf));
      this.decisions.set(id, verdict);
      if (each.kind === "committed") {
        this.commits.push({ timestamp: this.newest, writes: each.writes });
      }
      return verdict;
    });
    const block: LogBlock = {
      position: (this.blocks.length + 1) as LogPosition,
      previousTimestamp,
      throughTimestamp: this.newest,
      cursor: undefined,
      arrivalMs: 0,
      rejectedRecords: 0,
      verdicts,
    };
    this.blocks.push(block);
    return block;
  }

  /** Commits in `(above, upTo]` that write under the hash, ascending. */
  under(hash: KeyHash, range: { readonly above: number; readonly upTo: number }): ModelCommit[] {
    return this.commits.filter(
      ({ timestamp, writes: written }) =>
        timestamp > range.above &&
        timestamp <= range.upTo &&
        written.some((each) => isUnder(each, hash)),
    );
  }
}

export function isUnder(each: ModelWrite, hash: KeyHash): boolean {
  const { table, partition, key } = hashesOf(each);
  return hash === table || hash === partition || hash === key;
}

function committed(
  id: TransactionId,
  timestamp: Timestamp,
  writes: readonly WriteHashes[],
): CommittedVerdict {
  return {
    kind: "committed",
    id,
    timestamp,
    writes,
    payload: { kind: "stream", sequenceNumber: "1" as SequenceNumber, requestIndex: 0 },
  };
}

/** Every hash that a random log can hold. */
export const allHashes: readonly KeyHash[] = [0, 1].flatMap((table) => [
  tableHash(table),
  ...[0, 1, 2].flatMap((partition) => [
    partitionHash(table, partition),
    ...[0, 1, 2, 3].map((key) => keyHash({ table, partition, key })),
  ]),
]);
