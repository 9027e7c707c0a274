/** Reads a Kinesis stream for the event source mapping, through the service's own protocol. */
import type { ListShardsCommandOutput, Shard } from "@aws-sdk/client-kinesis";
import type { KinesisHandle } from "../aws/clients.ts";
import type { ReadResult, ShardDescription, StreamReader } from "./shard-consumer.ts";
import { shardPagesMax } from "./limits.ts";

export function kinesisStreamReader({ client, sdk }: KinesisHandle, stream: string): StreamReader {
  return {
    async shards(): Promise<readonly ShardDescription[]> {
      const shards: Shard[] = [];
      let token: string | undefined;
      for (let page = 0; page < shardPagesMax; page += 1) {
        const answer: ListShardsCommandOutput = await client.send(
          new sdk.ListShardsCommand(
            token === undefined ? { StreamName: stream } : { NextToken: token },
          ),
        );
        shards.push(...(answer.Shards ?? []));
        token = answer.NextToken;
        if (token === undefined) break;
      }
      return shards.map(({ ShardId, ParentShardId, AdjacentParentShardId }) => ({
        shardId: ShardId ?? "",
        parents: [ParentShardId, AdjacentParentShardId].filter((parent) => parent !== undefined),
      }));
    },

    async iterator(shardId: string, after: string | undefined): Promise<string> {
      const { ShardIterator } = await client.send(
        new sdk.GetShardIteratorCommand({
          StreamName: stream,
          ShardId: shardId,
          ...(after === undefined
            ? { ShardIteratorType: "TRIM_HORIZON" }
            : { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber: after }),
        }),
      );
      if (ShardIterator === undefined) throw new Error(`no iterator for ${shardId} of ${stream}`);
      return ShardIterator;
    },

    async read(iterator: string, recordsMax: number): Promise<ReadResult> {
      try {
        const { Records, NextShardIterator, MillisBehindLatest } = await client.send(
          new sdk.GetRecordsCommand({ ShardIterator: iterator, Limit: recordsMax }),
        );
        const records = (Records ?? []).map((record) => ({
          sequenceNumber: record.SequenceNumber ?? "",
          partitionKey: record.PartitionKey ?? "",
          arrivalMs: record.ApproximateArrivalTimestamp?.getTime() ?? 0,
          data: record.Data ?? new Uint8Array(0),
        }));
        // Not told by every stand-in; an answer that is not full says the same where nothing cuts
        // answers short.
        const caughtUp = MillisBehindLatest === 0 && records.length < recordsMax;
        return { kind: "records", records, next: NextShardIterator, caughtUp };
      } catch (error) {
        if (error instanceof sdk.ExpiredIteratorException) return { kind: "expired" };
        throw error;
      }
    },
  };
}
