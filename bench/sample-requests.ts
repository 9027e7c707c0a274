/**
 * Commit requests of n checks and n writes of items of about 40 bytes: each written key was read
 * before.
 */
import type { CommitRequest, Item, Payload, Timestamp } from "../core/types.ts";
import { encodeItem, encodeValue } from "../schemas/attribute-value.ts";
import { encodePayload } from "../schemas/payload.ts";
import { makeTransactionId } from "../schemas/transaction-id.ts";
import { sampleHashes } from "../testing/sample-hashes.ts";

export const checkedTo = 1_700_000_000_000_000 as Timestamp;
export const sampleTable = { name: "accounts", partitionKey: "id", history: false } as const;

export function payloadOf(writes: number, first: number): Payload {
  return {
    tables: [sampleTable],
    writes: Array.from({ length: writes }, (_, index) => {
      const key = { id: { S: `account-${(first + index).toString().padStart(7, "0")}` } };
      const item: Item = {
        ...key,
        balanceCents: { N: (125_000 + index).toString() },
        owner: { S: "ada" },
      };
      return { table: 0, key, item };
    }),
  };
}

/** @param random makes its id differ from others. */
export function requestOf(payload: Payload, random: number): CommitRequest {
  return {
    kind: "commit",
    id: makeTransactionId(checkedTo, new Uint8Array(9).fill(random)),
    isolation: "serializable",
    checkedTo,
    checks: payload.writes.map((write) => sampleHashes.item(sampleTable, write.key).key),
    payload: { kind: "inline", bytes: encodePayload(payload) },
  };
}

/** Names, keys and items in their own encodings: what no format could do without. */
export function itselfBytes(payload: Payload): number {
  let bytes = sampleTable.name.length + sampleTable.partitionKey.length;
  for (const { key, item } of payload.writes) {
    bytes += encodeValue(key["id"] ?? { NULL: true }).length;
    const others = Object.entries(item ?? {}).filter(([name]) => name !== sampleTable.partitionKey);
    bytes += encodeItem(Object.fromEntries(others)).length - 1;
  }
  return bytes;
}
