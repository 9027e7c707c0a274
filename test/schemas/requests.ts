/** Generators of payloads and commit requests. */
import fc from "fast-check";
import * as limits from "../../core/limits.ts";
import { keyHash } from "../../core/key-hash.ts";
import { type RequestBatch, sortKeyWords, writeWords } from "../../core/request-batch.ts";
import type {
  AttributeValue,
  CommitRequest,
  InstalledReport,
  Item,
  Payload,
  PayloadTable,
  Stamp,
  Timestamp,
  TransactionId,
  WholeOutcome,
  Write,
  WriteHashes,
} from "../../core/types.ts";
import { systemDigest } from "../../aws/system-digest.ts";
import { canonicalKey } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { provesTransactionId, transactionIdFor } from "../../schemas/transaction-id.ts";
import { parts, stamps } from "./blocks.ts";
import { fromHex, hex, names, numbers, texts, values } from "./arbitraries.ts";

const keyValues: fc.Arbitrary<AttributeValue> = fc.oneof(
  texts.filter((text) => text !== "").map((S) => ({ S })),
  numbers.map((N) => ({ N })),
  fc.uint8Array({ minLength: 1, maxLength: 150 }).map((B) => ({ B })),
);

const keyNames = fc.uniqueArray(names, { minLength: 2, maxLength: 2 });

const payloadTables: fc.Arbitrary<readonly PayloadTable[]> = fc
  .uniqueArray(fc.tuple(names, keyNames, fc.boolean(), fc.boolean(), fc.boolean()), {
    minLength: 1,
    maxLength: 4,
    selector: ([name]) => name,
  })
  .map((each) =>
    each.map(([name, [partitionKey = "", sortKey = ""], sorted, history, isMixed]) => {
      const key = sorted ? { partitionKey, sortKey } : { partitionKey };
      return { name, ...key, history, ...(isMixed ? { isMixed: true as const } : {}) };
    }),
  );

type Draft = {
  readonly partition: AttributeValue;
  readonly sort: AttributeValue;
  readonly others: readonly (readonly [string, AttributeValue])[] | undefined;
  readonly sawVersion: boolean;
};

const drafts: fc.Arbitrary<Draft> = fc.record({
  partition: keyValues,
  sort: keyValues,
  others: fc.option(
    fc.uniqueArray(fc.tuple(names, values(2)), { maxLength: 4, selector: ([name]) => name }),
    { nil: undefined },
  ),
  sawVersion: fc.boolean(),
});

function writeOf(tables: readonly PayloadTable[], index: number, draft: Draft): Write {
  const table = index % tables.length;
  const { partitionKey = "", sortKey } = tables[table] ?? {};
  const keyEntries: (readonly [string, AttributeValue])[] = [[partitionKey, draft.partition]];
  if (sortKey !== undefined) keyEntries.push([sortKey, draft.sort]);
  const key: Item = Object.fromEntries(keyEntries);
  const base = { table, key, ...(draft.sawVersion ? { sawVersion: true as const } : {}) };
  if (draft.others === undefined) return { ...base, item: undefined };
  return { ...base, item: Object.fromEntries([...draft.others, ...keyEntries]) };
}

/**
 * Distinct keys, every table written to; around the border where duplicates are sought otherwise.
 */
export const payloads: fc.Arbitrary<Payload> = fc
  .tuple(
    payloadTables,
    fc.array(drafts, { minLength: 4, maxLength: 14 }),
    fc.option(fc.integer({ min: 1, max: limits.earlierAttemptsMax }), { nil: undefined }),
  )
  .map(([tables, each, earlierAttempts]) => {
    const seen = new Set<string>();
    const writes = each
      .map((draft, index) => writeOf(tables, index, draft))
      .filter(({ table, key }) => {
        const description = tables[table];
        if (description === undefined) return false;
        const identity = hex(canonicalKey(description, key));
        const fresh = !seen.has(identity);
        seen.add(identity);
        return fresh;
      });
    return { tables, writes, ...(earlierAttempts === undefined ? {} : { earlierAttempts }) };
  })
  .filter(({ tables, writes }) =>
    tables.every((_, index) => writes.some((write) => write.table === index)),
  );

export const transactionIds: fc.Arbitrary<TransactionId> = fc
  .tuple(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: 2n ** 72n - 1n }))
  .map(
    ([seen, random]) =>
      (seen.toString(16).padStart(14, "0") +
        random.toString(16).padStart(18, "0")) as TransactionId,
  );

const hashes = fc
  .tuple(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff))
  .map(([high, low]) => keyHash(high, low));

const checkedTo = fc.maxSafeNat().map((timestamp) => timestamp as Timestamp);
const bare = {
  isolation: fc.constant("serializable" as const),
  checkedTo,
  checks: fc.constant([]),
  payload: fc.constant({ kind: "none" as const }),
};

/** What became of a transaction over several shards. */
const wholes: fc.Arbitrary<WholeOutcome> = fc.oneof(
  fc.constant({ kind: "aborted" as const }),
  checkedTo.map((timestamp) => ({ kind: "committed" as const, timestamp })),
  fc.record({ kind: fc.constant("committed" as const), timestamp: checkedTo, stamps }),
);

/** Votes with the proof of their id, and with one of another. */
export const votes: fc.Arbitrary<CommitRequest> = fc
  .record({
    seen: checkedTo,
    proof: fc.uint8Array({ minLength: 9, maxLength: 9 }),
    isForged: fc.boolean(),
    stamps,
    whole: fc.option(wholes, { nil: undefined }),
    ...bare,
  })
  .map(({ seen, proof, isForged, stamps: said, whole, ...rest }) => {
    const id = transactionIdFor(seen, proof, systemDigest);
    const shown = isForged ? proof.map((byte) => byte ^ 1) : proof;
    const what = whole === undefined ? { stamps: said } : { stamps: [], whole };
    return { kind: "vote", id, ...rest, vote: { proof: shown, ...what } };
  });

const payloadSources = fc.oneof(
  payloads.map((payload) => ({ kind: "inline" as const, bytes: encodePayload(payload) })),
  fc.integer({ min: 1, max: 384 * 1024 }).map((byteLength) => ({
    kind: "spilled" as const,
    chunks: 1,
    byteLength,
    digest: new Uint8Array(32).fill(0xfe),
  })),
);

export const commitRequests: fc.Arbitrary<CommitRequest> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("commit" as const, "prepare" as const),
    id: transactionIds,
    isolation: fc.constantFrom("serializable" as const, "snapshot" as const),
    checkedTo,
    checks: fc.array(hashes, { maxLength: 6 }),
    payload: payloadSources,
  }),
  fc.record({
    kind: fc.constant("prepare" as const),
    id: transactionIds,
    isolation: fc.constant("serializable" as const),
    checkedTo,
    checks: fc.array(hashes, { maxLength: 6 }),
    payload: fc.oneof(payloadSources, fc.constant({ kind: "none" as const })),
    parts,
  }),
  fc.record({
    kind: fc.constantFrom("abort" as const, "settle" as const),
    id: transactionIds,
    ...bare,
  }),
  votes,
);

/** What a vote says, if it is its maker's. */
export function countingStamps({
  id: own,
  vote: said,
}: CommitRequest): readonly Stamp[] | undefined {
  if (said === undefined || !provesTransactionId(own, said.proof, systemDigest)) return undefined;
  return said.whole === undefined ? said.stamps : undefined;
}

/** The write hashes of one request of a batch. */
export function hashesIn(batch: RequestBatch, request: number): WriteHashes[] {
  const hashes: WriteHashes[] = [];
  const word = (index: number): number => batch.writes[index] ?? 0;
  for (let i = batch.writeStart[request] ?? 0; i < (batch.writeStart[request + 1] ?? 0); i++) {
    const at = i * writeWords;
    const start = batch.sortKeys[i * sortKeyWords] ?? 0;
    const length = batch.sortKeys[i * sortKeyWords + 1] ?? 0;
    hashes.push({
      table: keyHash(word(at), word(at + 1)),
      partition: keyHash(word(at + 2), word(at + 3)),
      key: keyHash(word(at + 4), word(at + 5)),
      sortKey:
        length === 0 || length > 64
          ? undefined
          : batch.sources[request]?.slice(start, start + length),
    });
  }
  return hashes;
}

export const proofHex = "f1f2f3f4f5f6f7f8f9";

/** That a commit is installed. */
export function reportOf(timestamp: number): InstalledReport {
  return { timestamp: timestamp as Timestamp, proof: fromHex(proofHex) };
}
