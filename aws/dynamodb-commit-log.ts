/**
 * The commit log on DynamoDB: one item per block under (shard, position), spilled payloads beside
 * them under (spill#name, chunk).
 */
import { OnDemand } from "../core/on-demand.ts";
import type { Clock, CommitLog } from "../core/ports.ts";
import { fromSdkItem } from "./attribute-values.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { forkedLogs } from "./forked-logs.ts";
import { storedBlock } from "./stored-block.ts";

const appending = new OnDemand("appended blocks", () => import("./dynamodb-append.ts"));
const spilling = new OnDemand("spilled payloads", () => import("./dynamodb-spills.ts"));

export type CommitLogParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

export function createDynamoDbCommitLog(parts: CommitLogParts): CommitLog {
  return forkedLogs({ ...storedLogs(parts), ...backwardReader(parts) });
}

/** What a client needs of it. */
export function createClientCommitLog(parts: CommitLogParts): Omit<CommitLog, "readBackward"> {
  return forkedLogs(storedLogs(parts));
}

/** What the table holds under each shard's name. */
function storedLogs(parts: CommitLogParts): Omit<CommitLog, "readBackward" | "continues"> {
  return {
    ...readers(parts),
    append: (shard, block, options) =>
      appending.use(({ append }) => append(parts, { shard, block }, options)),
    spill: (name, chunks, options) =>
      spilling.use(({ spill }) => spill(parts, { name, chunks }, options)),
    readSpilled: (name, chunks, options) =>
      spilling.use(({ readSpilled }) => readSpilled(parts, { name, chunks }, options)),
  };
}

function readers({ dynamodb, table }: CommitLogParts): Pick<CommitLog, "readAfter" | "readAt"> {
  return {
    async readAfter(shard, after, options) {
      const page = await dynamodb.query(
        {
          TableName: table,
          // mutant: tail-of-a-lagging-copy
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
