/**
 * Somebody who may append to the log, and does not go by the condition of its put: raw items by
 * DynamoDB's own API.
 */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../../../aws/clients.ts";
import type { LogBlock, LogPosition, Timestamp, TransactionId } from "../../../core/types.ts";
import { decodeBlock } from "../../../engine/log/stored-block.ts";
import type { LocalStores } from "../../harness/local-stores.ts";
import { encodeLogBlock } from "../../schemas/encode-log-block.ts";
import { sealedAt } from "../../simulation/producer.ts";
import type { Actor } from "./roles.ts";

/** The newest block of the log. */
export async function newestBlock({ ports, shard, hashes }: LocalStores): Promise<LogBlock> {
  const [stored] = await ports.log.readBackward(shard, { blocksMax: 1 });
  if (stored === undefined) throw new Error("the scene: a log with a block");
  return decodeBlock(stored, hashes);
}

/** The block that has decided on the id. */
export async function blockOf(
  { ports, shard, hashes }: LocalStores,
  id: TransactionId,
): Promise<LogBlock> {
  const { blocks } = await ports.log.readAfter(shard, 0 as LogPosition);
  const all = blocks.map((stored) => decodeBlock(stored, hashes));
  const found = all.find(({ verdicts }) => verdicts.some((verdict) => verdict.id === id));
  if (found === undefined) throw new Error("the scene: a decision on the id");
  return found;
}

/** A block that may follow, and says that something nobody asked for is aborted. */
export function follower(before: LogBlock, timestamp = before.throughTimestamp + 1): LogBlock {
  const { id } = sealedAt(before.throughTimestamp);
  const reason = { kind: "probed" } as const;
  return {
    ...before,
    position: (before.position + 1) as LogPosition,
    previousTimestamp: before.throughTimestamp,
    throughTimestamp: timestamp as Timestamp,
    rejectedRecords: 0,
    verdicts: [{ kind: "aborted", id, timestamp: timestamp as Timestamp, reason }],
  };
}

/** Puts a block, or other bytes, over whatever stands at the position. */
export async function putBlock(
  { dynamodb }: Pick<Actor, "dynamodb">,
  { ports, shard, hashes }: LocalStores,
  block: LogBlock | { readonly position: number; readonly bytes: Uint8Array },
): Promise<void> {
  const bytes = "bytes" in block ? block.bytes : encodeLogBlock(block, hashes);
  await dynamodb.send(
    new PutItemCommand({
      TableName: ports.names.logTable,
      Item: {
        shard: { S: shard },
        position: { N: block.position.toString() },
        block: { B: bytes },
      },
    }),
  );
}

/** What the document has an operator do, with rights that no role has. */
export async function removeBlock(
  { ports, shard, clientOptions }: LocalStores,
  position: number,
): Promise<void> {
  const clients = createAwsClients(clientOptions);
  const { client } = await clients.dynamodb();
  const Key = { shard: { S: shard }, position: { N: position.toString() } };
  await client.send(new DeleteItemCommand({ TableName: ports.names.logTable, Key }));
  await clients.close();
}
