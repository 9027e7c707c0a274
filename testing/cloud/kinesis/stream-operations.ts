/**
 * Making, describing and resharding streams. A stream is usable as soon as it is made, and a
 * reshard is done at once.
 */
import type { Shard as ShardDescription, StreamDescriptionSummary } from "@aws-sdk/client-kinesis";
import { ServiceError } from "../../../expressions/service-error.ts";
import { invalidArgument, violation } from "./failures.ts";
import type { Operations } from "./operation-types.ts";
import * as limits from "./service-limits.ts";
import { Stream, type Shard } from "./stream.ts";
import { requireShard, requireShardId, requireStreamName, type Streams } from "./streams.ts";

export function createStream(
  streams: Streams,
  input: Operations["CreateStream"]["input"],
): Operations["CreateStream"]["output"] {
  const name = requireStreamName(input);
  const mode = input.StreamModeDetails?.StreamMode === "ON_DEMAND" ? "ON_DEMAND" : "PROVISIONED";
  const shardCount = mode === "ON_DEMAND" ? limits.onDemandShards : input.ShardCount;
  if (shardCount === undefined) throw violation("shardCount", "Member must not be null");
  if (shardCount < 1 || shardCount > 100_000) {
    throw violation("shardCount", "Member must have value between 1 and 100000");
  }
  if (streams.byName.has(name)) {
    throw new ServiceError("ResourceInUseException", { message: `Stream ${name} already exists.` });
  }
  const createdMs = streams.nowMs;
  streams.byName.set(name, new Stream({ name, createdMs, mode, shardCount }));
  return {};
}

export function deleteStream(
  streams: Streams,
  input: Operations["DeleteStream"]["input"],
): Operations["DeleteStream"]["output"] {
  streams.byName.delete(streams.find(input).name);
  return {};
}

export function describeStreamSummary(
  streams: Streams,
  input: Operations["DescribeStreamSummary"]["input"],
): Operations["DescribeStreamSummary"]["output"] {
  const stream = streams.find(input);
  const OpenShardCount = stream.shards.filter(({ isOpen }) => isOpen).length;
  return { StreamDescriptionSummary: { ...summary(stream), OpenShardCount, ConsumerCount: 0 } };
}

export function describeStream(
  streams: Streams,
  input: Operations["DescribeStream"]["input"],
): Operations["DescribeStream"]["output"] {
  const { Limit = 100, ExclusiveStartShardId: start } = input;
  if (Limit < 1 || Limit > limits.describedShardsMax) {
    throw violation("limit", "Member must have value between 1 and 10000");
  }
  const stream = streams.find(input);
  const rest = stream.shards.filter(({ id }) => start === undefined || id > start);
  const Shards = rest.slice(0, Limit).map(shardDescription);
  return {
    StreamDescription: {
      ...summary(stream),
      Shards,
      HasMoreShards: rest.length > Shards.length,
    },
  };
}

function summary(
  stream: Stream,
): Omit<StreamDescriptionSummary, "OpenShardCount" | "ConsumerCount"> {
  return {
    StreamName: stream.name,
    StreamARN: stream.arn,
    StreamStatus: "ACTIVE",
    StreamModeDetails: { StreamMode: stream.mode },
    RetentionPeriodHours: stream.retentionHours,
    StreamCreationTimestamp: new Date(stream.createdMs),
    EnhancedMonitoring: [{ ShardLevelMetrics: [] }],
    EncryptionType: "NONE",
  };
}

function shardDescription(shard: Shard): ShardDescription {
  const [parent, adjacent] = shard.parents;
  return {
    ShardId: shard.id,
    HashKeyRange: {
      StartingHashKey: shard.range.low.toString(),
      EndingHashKey: shard.range.high.toString(),
    },
    SequenceNumberRange: {
      StartingSequenceNumber: shard.startingSequenceNumber,
      ...(shard.endingSequenceNumber === undefined
        ? {}
        : { EndingSequenceNumber: shard.endingSequenceNumber }),
    },
    ...(parent === undefined ? {} : { ParentShardId: parent.id }),
    ...(adjacent === undefined ? {} : { AdjacentParentShardId: adjacent.id }),
  };
}

/** A token that ListShards goes on with: which stream, and behind which shard. */
const tokenPattern = /^shards-behind:([^:]+):([^:]+)$/;

export function listShards(
  streams: Streams,
  input: Operations["ListShards"]["input"],
): Operations["ListShards"]["output"] {
  const { NextToken, MaxResults = 1_000 } = input;
  const named = input.StreamName !== undefined || input.StreamARN !== undefined;
  if (NextToken === undefined && !named) {
    throw invalidArgument("Either NextToken or StreamName should be provided.");
  }
  if (NextToken !== undefined && named) {
    throw invalidArgument("NextToken and StreamName cannot be provided together.");
  }
  if (MaxResults < 1 || MaxResults > 10_000) {
    throw violation("maxResults", "Member must have value between 1 and 10000");
  }
  const token = NextToken === undefined ? undefined : tokenPattern.exec(NextToken);
  if (token === null) throw invalidArgument("NextToken is not valid.");
  const stream = streams.find(token === undefined ? input : { StreamName: token[1] });
  const start = token === undefined ? input.ExclusiveStartShardId : token[2];
  const rest = stream.shards.filter(({ id }) => start === undefined || id > start);
  const page = rest.slice(0, MaxResults);
  const last = page.at(-1);
  const more = rest.length > page.length && last !== undefined;
  return {
    Shards: page.map(shardDescription),
    ...(more ? { NextToken: `shards-behind:${stream.name}:${last.id}` } : {}),
  };
}

export function splitShard(
  streams: Streams,
  input: Operations["SplitShard"]["input"],
): Operations["SplitShard"]["output"] {
  const id = requireShardId("shardToSplit", input.ShardToSplit);
  const { NewStartingHashKey: text = "" } = input;
  if (!/^(?:0|[1-9]\d{0,38})$/.test(text)) {
    throw violation("newStartingHashKey", "Member must satisfy pattern: 0|([1-9]\\d{0,38})");
  }
  const stream = streams.find(input);
  const shard = requireShard(stream, id);
  requireOpen(stream, shard);
  const { low, high } = shard.range;
  const middle = BigInt(text);
  if (middle <= low + 1n || middle >= high) {
    throw invalidArgument(
      `NewStartingHashKey ${text} used in SplitShard() on shard ${shard.id} in stream ` +
        `${stream.name} ` +
        `is not both greater than one plus the shard's StartingHashKey ${low.toString()} ` +
        `and less than the shard's EndingHashKey ${high.toString()}.`,
    );
  }
  const createdMs = streams.nowMs;
  shard.close(createdMs);
  stream.addShard({ low, high: middle - 1n }, { parents: [shard], createdMs });
  stream.addShard({ low: middle, high }, { parents: [shard], createdMs });
  return {};
}

export function mergeShards(
  streams: Streams,
  input: Operations["MergeShards"]["input"],
): Operations["MergeShards"]["output"] {
  const ids = [
    requireShardId("shardToMerge", input.ShardToMerge),
    requireShardId("adjacentShardToMerge", input.AdjacentShardToMerge),
  ] as const;
  const stream = streams.find(input);
  const [first, second] = [requireShard(stream, ids[0]), requireShard(stream, ids[1])];
  requireOpen(stream, first);
  requireOpen(stream, second);
  const [lower, upper] = first.range.low < second.range.low ? [first, second] : [second, first];
  if (lower.range.high + 1n !== upper.range.low) {
    throw invalidArgument(
      `Shards ${first.id} and ${second.id} in stream ${stream.name} ` +
        "are not an adjacent pair of shards eligible for merging",
    );
  }
  const createdMs = streams.nowMs;
  first.close(createdMs);
  second.close(createdMs);
  stream.addShard(
    { low: lower.range.low, high: upper.range.high },
    { parents: [first, second], createdMs },
  );
  return {};
}

function requireOpen(stream: Stream, shard: Shard): void {
  if (shard.isOpen) return;
  throw invalidArgument(
    `Shard ${shard.id} in stream ${stream.name} is not open and cannot be split or merged`,
  );
}

export function changeRetention(
  streams: Streams,
  direction: "increase" | "decrease",
  input: Operations["IncreaseStreamRetentionPeriod"]["input"],
): Operations["IncreaseStreamRetentionPeriod"]["output"] {
  const { RetentionPeriodHours: hours } = input;
  if (hours === undefined) throw violation("retentionPeriodHours", "Member must not be null");
  const stream = streams.find(input);
  const before = stream.retentionHours;
  if (hours < limits.retentionHoursMin || hours > limits.retentionHoursMax) {
    throw invalidArgument(
      `Retention is between 24 and 8760 hours. Requested retention period: ${hours.toString()}`,
    );
  }
  if (direction === "increase" ? hours < before : hours > before) {
    throw invalidArgument(
      `Requested retention period (${hours.toString()} hours) for stream ${stream.name} ` +
        `does not ${direction} the existing one (${before.toString()} hours).`,
    );
  }
  stream.retentionHours = hours;
  return {};
}
