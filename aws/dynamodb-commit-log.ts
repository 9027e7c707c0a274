/**
 * The commit log on DynamoDB: one item per block under (shard, position), spilled payloads beside
 * them under (spill#id, chunk). The conditional put of `append` is the commit point of every
 * transaction in the block (I1).
 */
import { assert } from "../core/assert.ts";
import * as limits from "../core/limits.ts";
import type { ClientPorts, Clock, CommitLog, StoredBlock } from "../core/ports.ts";
import type { Item, LogPosition, TransactionId } from "../core/types.ts";
import { fromSdkItem, type SdkItem } from "./attribute-values.ts";
import { mapBounded } from "./bounded.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { bytesOf, integerOf } from "./stored-attributes.ts";

export type CommitLogParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

export function createDynamoDbCommitLog(parts: CommitLogParts): CommitLog {
  return { ...createClientCommitLog(parts), ...appender(parts), ...backwardReader(parts) };
}

/** What a client needs of it. */
export function createClientCommitLog(parts: CommitLogParts): ClientPorts["log"] {
  return { ...readers(parts), ...spills(parts) };
}

function appender({ dynamodb, table, clock }: CommitLogParts): Pick<CommitLog, "append"> {
  return {
    async append(shard, block, options) {
      const result = await dynamodb.put(
        {
          TableName: table,
          Item: {
            shard: { S: shard },
            position: { N: block.position.toString() },
            block: { B: block.bytes },
            expiresAt: { N: expiresAtSeconds(clock) },
          },
          // mutant: block-put-without-condition
          ConditionExpression: "attribute_not_exists(#position)",
          // mutant: block-put-without-condition
          ExpressionAttributeNames: { "#position": "position" },
        },
        options,
      );
      return result === "done" ? "appended" : "taken";
    },
  };
}

function readers({ dynamodb, table }: CommitLogParts): Pick<CommitLog, "readAfter" | "readAt"> {
  return {
    async readAfter(shard, after, options) {
      const page = await dynamodb.query(
        {
          TableName: table,
          ConsistentRead: true,
          KeyConditionExpression: "#shard = :shard AND #position > :after",
          ExpressionAttributeNames: { "#shard": "shard", "#position": "position" },
          ExpressionAttributeValues: { ":shard": { S: shard }, ":after": { N: after.toString() } },
        },
        options,
      );
      return {
        blocks: (page.Items ?? []).map((item) => storedBlock(fromSdkItem(item))),
        complete: page.LastEvaluatedKey === undefined,
      };
    },
    async readAt(shard, position, options) {
      const item = await dynamodb.get(
        {
          TableName: table,
          ConsistentRead: true,
          Key: { shard: { S: shard }, position: { N: position.toString() } },
        },
        options,
      );
      return item === undefined ? undefined : storedBlock(item);
    },
  };
}

function backwardReader({ dynamodb, table }: CommitLogParts): Pick<CommitLog, "readBackward"> {
  return {
    async readBackward(shard, options) {
      const { from } = options;
      const bounded = from !== undefined;
      const page = await dynamodb.query(
        {
          TableName: table,
          ConsistentRead: true,
          ScanIndexForward: false,
          Limit: options.blocksMax,
          KeyConditionExpression: bounded
            ? "#shard = :shard AND #position <= :from"
            : "#shard = :shard",
          ExpressionAttributeNames: {
            "#shard": "shard",
            ...(bounded ? { "#position": "position" } : {}),
          },
          ExpressionAttributeValues: {
            ":shard": { S: shard },
            ...(bounded ? { ":from": { N: from.toString() } } : {}),
          },
        },
        options,
      );
      return (page.Items ?? []).map((item) => storedBlock(fromSdkItem(item)));
    },
  };
}

function spills({
  dynamodb,
  table,
  clock,
}: CommitLogParts): Pick<CommitLog, "spill" | "readSpilled"> {
  return {
    async spill(id, chunks, options) {
      assert(chunks.length <= limits.spillChunksMax, "commit log: too many chunks to spill");
      await mapBounded(chunks, limits.spillConcurrencyMax, (chunk, index) =>
        dynamodb.put(
          {
            TableName: table,
            Item: {
              ...chunkKey(id, index),
              chunk: { B: chunk },
              expiresAt: { N: expiresAtSeconds(clock) },
            },
          },
          options,
        ),
      );
    },
    async readSpilled(id, chunks, options) {
      // The count comes from the wire. What the limits exclude cannot have been spilled.
      if (chunks > limits.spillChunksMax) return undefined;
      const indices = Array.from({ length: chunks }, (_, index) => index);
      const found = await mapBounded(indices, limits.spillConcurrencyMax, async (index) => {
        const key = { TableName: table, ConsistentRead: true, Key: chunkKey(id, index) };
        const item = await dynamodb.get(key, options);
        return item === undefined ? undefined : bytesOf({ what: "spilled chunk", item }, "chunk");
      });
      const present = found.filter((chunk) => chunk !== undefined);
      return present.length === chunks ? present : undefined;
    },
  };
}

/** The time at which DynamoDB may drop the item, seconds since the epoch. */
function expiresAtSeconds(clock: Clock): string {
  return (Math.ceil(clock.nowMs() / 1000) + limits.logRetentionSeconds).toString();
}

function chunkKey(id: TransactionId, index: number): SdkItem {
  return { shard: { S: `spill#${id}` }, position: { N: index.toString() } };
}

function storedBlock(item: Item): StoredBlock {
  const stored = { what: "log block", item };
  return {
    position: integerOf(stored, "position") as LogPosition,
    bytes: bytesOf(stored, "block"),
  };
}
