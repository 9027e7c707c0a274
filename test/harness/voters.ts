/**
 * Transactions that are prepared and voted on, each of one item, on real stores: by requests as a
 * client puts them into the stream.
 */
import { randomBytes } from "node:crypto";
import { systemDigest } from "../../aws/system-digest.ts";
import type {
  CommitRequest,
  Item,
  LogBlock,
  LogPosition,
  TableDescription,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { transactionIdFor, transactionIdProofBytes } from "../../schemas/transaction-id.ts";
import { key, number } from "../integration/support.ts";
import { putOf } from "../simulation/producer.ts";
import type { LocalStores } from "./local-stores.ts";

export type Voter = {
  readonly id: TransactionId;
  readonly proof: Uint8Array;
  readonly item: Item;
};

export type SentRequest = Partial<CommitRequest> & Pick<CommitRequest, "id" | "kind">;

export async function logOf({ ports, shard, hashes }: LocalStores): Promise<readonly LogBlock[]> {
  const blocks: LogBlock[] = [];
  for (;;) {
    const after = (blocks.at(-1)?.position ?? 0) as LogPosition;
    const page = await ports.log.readAfter(shard, after);
    blocks.push(...page.blocks.map((block) => decodeBlock(block, hashes)));
    if (page.complete) return blocks;
  }
}

/** The one that writes `prepared <n>`. */
export async function voterAt(stores: LocalStores, n: number): Promise<Voter> {
  const seen = (await logOf(stores)).at(-1)?.throughTimestamp ?? (0 as Timestamp);
  const proof = new Uint8Array(randomBytes(transactionIdProofBytes));
  const item = { ...key(`prepared ${n.toString()}`), n: number(n) };
  return { id: transactionIdFor(seen, proof, systemDigest), proof, item };
}

export function voterPayload({ name }: TableDescription, item: Item) {
  const payload = putOf({ name, partitionKey: "pk", history: false }, ["pk"], item);
  return { kind: "inline", bytes: encodePayload(payload) } as const;
}

export function preparing(table: TableDescription, { id, item }: Voter): SentRequest {
  return { id, kind: "prepare", payload: voterPayload(table, item) };
}

/** Sends a request, and gives what the log says of it. */
export async function sendRequest(stores: LocalStores, request: SentRequest) {
  return verdictOn(stores, request.id, { above: await putRequest(stores, request) });
}

/** Up to where it is checked. */
export async function putRequest(stores: LocalStores, request: SentRequest): Promise<Timestamp> {
  const { ports, shard, hashes } = stores;
  const checkedTo = (await logOf(stores)).at(-1)?.throughTimestamp ?? (0 as Timestamp);
  const bytes = encodeCommitRequest({
    isolation: "serializable",
    checkedTo,
    checks: [],
    payload: { kind: "none" },
    ...request,
  });
  await ports.stream.put(shard, [encodeCommitRecord(hashes.fingerprint, [bytes])]);
  return checkedTo;
}

export async function verdictOn(
  stores: LocalStores,
  id: TransactionId,
  { above }: { readonly above: Timestamp },
): Promise<{ readonly verdict: Verdict & { timestamp: Timestamp }; readonly block: LogBlock }> {
  for (let i = 0; i < 500; i += 1) {
    for (const block of await logOf(stores)) {
      for (const verdict of block.verdicts) {
        if (verdict.id !== id || !("timestamp" in verdict)) continue;
        if (verdict.timestamp > above) return { verdict, block };
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no verdict on ${id}`);
}
