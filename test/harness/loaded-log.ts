/** Blocks of clients as a load would leave them in a log, at given times, of given partitions. */
import type { StoredBlock } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  KeyHash,
  LogPosition,
  MakerNumber,
  Timestamp,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../../schemas/transaction-id.ts";

export type LoadedBlock = {
  readonly atMs: number;
  /** A commit each: the upper 32 bits of the hash of the partition that it writes. */
  readonly partitions: readonly number[];
  /** Of each commit; default 1. */
  readonly payloadBytes?: number;
};

/** Blocks that follow one another, in a log of no stream, and behind a block if one is given. */
export function loadedBlocks(
  hashes: KeyHashes,
  blocks: readonly LoadedBlock[],
  after: { readonly position: number; readonly timestamp: number } = { position: 0, timestamp: 0 },
): readonly StoredBlock[] {
  let { position, timestamp } = after;
  return blocks.map(({ atMs, partitions, payloadBytes = 1 }) => {
    const previousTimestamp = timestamp as Timestamp;
    const first = Math.max(timestamp + 1, Math.round(atMs * 1_000) - partitions.length);
    const verdicts = partitions.map((high, i): CommittedVerdict => {
      const own = (first + i) as Timestamp;
      const partition = ((BigInt(high) << 32n) | 5n) as KeyHash;
      const write = { table: 7n as KeyHash, partition, key: partition, sortKey: undefined };
      return {
        ...{ kind: "committed", timestamp: own, writes: [write] },
        id: makeTransactionId(own, new Uint8Array(transactionIdRandomBytes)),
        payload: { kind: "inline", bytes: new Uint8Array(payloadBytes) },
      };
    });
    position += 1;
    timestamp = first + partitions.length - 1;
    const block = {
      ...{ position: position as LogPosition, previousTimestamp, verdicts },
      ...{ throughTimestamp: timestamp as Timestamp, cursor: undefined, rejectedRecords: 0 },
      arrivalMs: Math.floor(timestamp / 1_000),
      maker: { number: 1 as MakerNumber, installed: [] },
    };
    return { position: block.position, bytes: encodeLogBlock(block, hashes) };
  });
}
