/** Spilled payloads: chunks beside the blocks of the log, under (spill#name, index). */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock } from "../core/ports.ts";
import type { SdkItem } from "./attribute-values.ts";
import { mapBounded } from "./bounded.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { expiresAtSeconds, bytesOf } from "./stored-attributes.ts";

type SpillParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

export async function spill(
  { dynamodb, table, clock }: SpillParts,
  { name, chunks }: { readonly name: string; readonly chunks: readonly Uint8Array[] },
  options: CallOptions | undefined,
): Promise<void> {
  assert(chunks.length <= limits.spillChunksMax, "commit log: too many chunks to spill");
  await mapBounded(chunks, limits.spillConcurrencyMax, (chunk, index) =>
    dynamodb.put(
      {
        TableName: table,
        Item: {
          ...chunkKey(name, index),
          chunk: { B: chunk },
          expiresAt: { N: expiresAtSeconds(clock.nowMs()) },
        },
      },
      options,
    ),
  );
}

export async function readSpilled(
  { dynamodb, table }: SpillParts,
  { name, chunks }: { readonly name: string; readonly chunks: number },
  options: CallOptions | undefined,
): Promise<readonly Uint8Array[] | undefined> {
  // The count comes from the wire. What the limits exclude cannot have been spilled.
  if (chunks > limits.spillChunksMax) return undefined;
  const indices = Array.from({ length: chunks }, (_, index) => index);
  const found = await mapBounded(indices, limits.spillConcurrencyMax, async (index) => {
    const key = { TableName: table, ConsistentRead: true, Key: chunkKey(name, index) };
    const item = await dynamodb.get(key, options);
    return item === undefined ? undefined : bytesOf({ what: "spilled chunk", item }, "chunk");
  });
  const present = found.filter((chunk) => chunk !== undefined);
  return present.length === chunks ? present : undefined;
}

function chunkKey(name: string, index: number): SdkItem {
  return { shard: { S: `spill#${name}` }, position: { N: index.toString() } };
}
