/**
 * One random call on one service, and its answer in words that do not depend on the service's own
 * sequence numbers and iterators: records by their number in their shard.
 */
import type { Operations } from "../../../testing/cloud/kinesis/operation-types.ts";
import type { KinesisCall, Start } from "./kinesis-calls.ts";

type Name = keyof Operations;

/** Performs an operation; throws what the service refuses. */
export type Service = <Operation extends Name>(
  operation: Operation,
  input: Operations[Operation]["input"],
) => Promise<Operations[Operation]["output"]> | Operations[Operation]["output"];

export type Answer = { readonly error: string | undefined; readonly said: unknown };

/** A service with one stream, and what it calls the records that were put. */
export class ComparedStream {
  readonly #service: Service;
  readonly #stream: string;
  /** Sequence numbers by shard, in the order of putting. */
  readonly #records = new Map<string, string[]>();

  constructor(service: Service, stream: string) {
    this.#service = service;
    this.#stream = stream;
  }

  async answer(call: KinesisCall): Promise<Answer> {
    try {
      return { error: undefined, said: await this.#perform(call) };
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return { error: error.name, said: undefined };
    }
  }

  /** Resharding takes real servers some milliseconds. */
  async untilActive(): Promise<void> {
    for (;;) {
      const output = await this.#service("DescribeStreamSummary", { StreamName: this.#stream });
      if (output.StreamDescriptionSummary?.StreamStatus === "ACTIVE") return;
    }
  }

  async #perform(call: KinesisCall): Promise<unknown> {
    const StreamName = this.#stream;
    switch (call.kind) {
      case "put": {
        const output = await this.#service("PutRecord", { StreamName, ...call.input } as never);
        return this.#note(output.ShardId, output.SequenceNumber);
      }
      case "put-many": {
        const Records = call.records as never;
        const output = await this.#service("PutRecords", { StreamName, Records });
        const places = (output.Records ?? []).map((each) =>
          this.#note(each.ShardId, each.SequenceNumber),
        );
        return { places, failed: output.FailedRecordCount };
      }
      case "read":
        return this.#read(shardId(call.shard), call.start, call.limit);
      case "split":
        await this.#service("SplitShard", {
          StreamName,
          ShardToSplit: shardId(call.shard),
          NewStartingHashKey: call.at,
        });
        return this.untilActive();
      case "merge":
        await this.#service("MergeShards", {
          StreamName,
          ShardToMerge: shardId(call.shard),
          AdjacentShardToMerge: shardId(call.with),
        });
        return this.untilActive();
      case "shards":
        return this.#shards(call.after);
    }
  }

  #note(shard = "", sequenceNumber = ""): string {
    const records = this.#records.get(shard) ?? [];
    this.#records.set(shard, records);
    const last = records.at(-1);
    if (last !== undefined && BigInt(sequenceNumber) <= BigInt(last)) {
      throw new RangeError(`sequence number ${sequenceNumber} does not rise above ${last}`);
    }
    records.push(sequenceNumber);
    return `${shard} record ${(records.length - 1).toString()}`;
  }

  async #read(ShardId: string, start: Start, Limit: number): Promise<unknown> {
    const from = this.#startInput(ShardId, start);
    const { ShardIterator } = await this.#service("GetShardIterator", {
      StreamName: this.#stream,
      ShardId,
      ...from,
    } as never);
    const read: string[] = [];
    let iterator = ShardIterator;
    // An open shard has no end; an empty page is as far as this reader goes.
    for (let pages = 0; iterator !== undefined && pages < 200; pages++) {
      const output = await this.#service("GetRecords", { ShardIterator: iterator, Limit });
      const records = output.Records ?? [];
      for (const { SequenceNumber = "", Data, PartitionKey } of records) {
        const place = this.#records.get(ShardId)?.indexOf(SequenceNumber);
        read.push(`${String(place)} ${String(PartitionKey)} ${[...(Data ?? [])].join()}`);
      }
      iterator = output.NextShardIterator;
      if (records.length === 0) break;
    }
    return { read, closed: iterator === undefined };
  }

  #startInput(shard: string, start: Start): Readonly<Record<string, string>> {
    if (start.kind === "broken") return start.input;
    if (!("record" in start)) return { ShardIteratorType: start.kind };
    const records = this.#records.get(shard) ?? [];
    const chosen = records[start.record % Math.max(1, records.length)];
    if (chosen === undefined) return { ShardIteratorType: "TRIM_HORIZON" };
    return { ShardIteratorType: start.kind, StartingSequenceNumber: chosen };
  }

  async #shards(after: number | undefined): Promise<unknown> {
    const output = await this.#service("ListShards", {
      StreamName: this.#stream,
      ...(after === undefined ? {} : { ExclusiveStartShardId: shardId(after) }),
    });
    return (output.Shards ?? []).map((shard) => ({
      id: shard.ShardId,
      parent: shard.ParentShardId,
      adjacent: shard.AdjacentParentShardId,
      range: shard.HashKeyRange,
      open: shard.SequenceNumberRange?.EndingSequenceNumber === undefined,
    }));
  }
}

function shardId(index: number): string {
  return `shardId-${index.toString().padStart(12, "0")}`;
}
