/**
 * Splits and merges Kinesis shards as an on-demand stream does by itself, on a real protocol
 * server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createAwsClients, type AwsClientOptions } from "../../aws/clients.ts";
import { listKinesisShards, type KinesisShard } from "../../aws/kinesis-shards.ts";

export type Reshard = {
  /** All shards, closed ones included. */
  shards(): Promise<readonly KinesisShard[]>;
  /** In the middle of its range. @returns the children, lower range first. */
  split(shard: string): Promise<readonly [string, string]>;
  /** Neighbours in the range of hash keys. @returns the child. */
  merge(lower: string, upper: string): Promise<string>;
  /** Puts a record by hash key, past all ports. */
  put(hashKey: string, data: Uint8Array): Promise<void>;
  close(): Promise<void>;
};

export async function openReshard(options: AwsClientOptions, stream: string): Promise<Reshard> {
  const clients = createAwsClients(options);
  const { sdk, client } = await clients.kinesis();
  const shards = () => listKinesisShards({ sdk, client }, stream);
  const madeSince = async (known: readonly KinesisShard[]): Promise<readonly string[]> => {
    for (;;) {
      const { StreamDescriptionSummary } = await client.send(
        new sdk.DescribeStreamSummaryCommand({ StreamName: stream }),
      );
      if (StreamDescriptionSummary?.StreamStatus === "ACTIVE") break;
      await sleep(20);
    }
    const before = new Set(known.map(({ id }) => id));
    return (await shards()).map(({ id }) => id).filter((id) => !before.has(id));
  };
  return {
    shards,
    async split(ShardToSplit) {
      const known = await shards();
      const parent = known.find(({ id }) => id === ShardToSplit);
      if (parent === undefined) throw new Error(`no shard ${ShardToSplit}`);
      const middle = (BigInt(parent.startingHashKey) + BigInt(parent.endingHashKey)) / 2n;
      const NewStartingHashKey = middle.toString();
      await client.send(
        new sdk.SplitShardCommand({ StreamName: stream, ShardToSplit, NewStartingHashKey }),
      );
      const [lower, upper] = await madeSince(known);
      if (lower === undefined || upper === undefined) throw new Error("the split made no children");
      return [lower, upper];
    },
    async merge(ShardToMerge, AdjacentShardToMerge) {
      const known = await shards();
      await client.send(
        new sdk.MergeShardsCommand({ StreamName: stream, ShardToMerge, AdjacentShardToMerge }),
      );
      const [child] = await madeSince(known);
      if (child === undefined) throw new Error("the merge made no child");
      return child;
    },
    async put(ExplicitHashKey, Data) {
      await client.send(
        new sdk.PutRecordCommand({ StreamName: stream, PartitionKey: "x", ExplicitHashKey, Data }),
      );
    },
    close: () => clients.close(),
  };
}
