/**
 * Which Kinesis shards carry a shard of the deployment. To the stream that is a hash key, to which
 * all its records are sent. At any time one open Kinesis shard covers it; a reshard, by hand or by
 * an on-demand stream, closes that one and leads what follows to a child. So a shard's carriers are
 * a line of Kinesis shards, each of which may carry others, too; and a record in any other Kinesis
 * shard is nobody's (docs/adr/0008-a-shard-is-a-hash-key.md).
 */
import type { CallOptions } from "../core/ports.ts";
import type { SequenceNumber, ShardId } from "../core/types.ts";
import { callRead } from "./call.ts";
import type { KinesisHandle } from "./clients.ts";
import type { ShardEntry } from "./dynamodb-control-store.ts";

/** As Kinesis names it, such as `shardId-000000000004`. */
export type KinesisShardId = string;

export type KinesisShard = {
  readonly id: KinesisShardId;
  readonly startingHashKey: string;
  readonly endingHashKey: string;
  readonly firstSequenceNumber: string;
  /** Undefined while it is open. */
  readonly lastSequenceNumber: string | undefined;
  /** Made by a reshard, not with the stream. */
  readonly hasParent: boolean;
};

export type KinesisShardsParts = {
  readonly kinesis: () => Promise<KinesisHandle>;
  readonly stream: string;
  readonly shardEntries: (options?: CallOptions) => Promise<readonly ShardEntry[]>;
};

/** The carrier of the shard that gave out the sequence number, if the stream still has it. */
export async function carrierOf(
  parts: KinesisShardsParts,
  { shard, sequenceNumber }: { readonly shard: ShardId; readonly sequenceNumber: SequenceNumber },
  options?: CallOptions,
): Promise<KinesisShardId | undefined> {
  const entry = (await parts.shardEntries(options)).find((each) => each.shard === shard);
  if (entry === undefined) return undefined;
  const at = BigInt(sequenceNumber);
  return (await listKinesisShards(await parts.kinesis(), parts.stream, options)).find(
    (each) =>
      covers(each, entry) &&
      BigInt(each.firstSequenceNumber) <= at &&
      (each.lastSequenceNumber === undefined || at <= BigInt(each.lastSequenceNumber)),
  )?.id;
}

export function covers(
  shard: KinesisShard,
  { startingHashKey }: Pick<ShardEntry, "startingHashKey">,
): boolean {
  const key = BigInt(startingHashKey);
  return BigInt(shard.startingHashKey) <= key && key <= BigInt(shard.endingHashKey);
}

/** All Kinesis shards that the stream still has, closed ones included. */
export async function listKinesisShards(
  { sdk, client }: KinesisHandle,
  stream: string,
  options?: CallOptions,
): Promise<readonly KinesisShard[]> {
  const shards: KinesisShard[] = [];
  let NextToken: string | undefined;
  do {
    const page = NextToken === undefined ? { StreamName: stream } : { NextToken };
    const output = await callRead({
      operation: `ListShards ${stream}`,
      send: (http) => client.send(new sdk.ListShardsCommand(page), http),
      options,
    });
    if (options?.consumption !== undefined) options.consumption.calls += 1;
    for (const { ShardId, HashKeyRange, SequenceNumberRange, ParentShardId } of output.Shards ??
      []) {
      const { StartingHashKey: startingHashKey, EndingHashKey: endingHashKey } = HashKeyRange ?? {};
      const firstSequenceNumber = SequenceNumberRange?.StartingSequenceNumber;
      if (ShardId === undefined || startingHashKey === undefined || endingHashKey === undefined) {
        continue;
      }
      if (firstSequenceNumber === undefined) continue;
      shards.push({
        id: ShardId,
        startingHashKey,
        endingHashKey,
        firstSequenceNumber,
        lastSequenceNumber: SequenceNumberRange?.EndingSequenceNumber,
        hasParent: ParentShardId !== undefined,
      });
    }
    NextToken = output.NextToken;
  } while (NextToken !== undefined);
  return shards;
}
