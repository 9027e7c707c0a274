/**
 * The commit log on DynamoDB: one item per block under (shard, position), spilled payloads beside
 * them under (spill#id, chunk). The conditional put of `append` is the commit point of every
 * transaction in the block (I1).
 */
import { OnDemand } from "../core/on-demand.ts";
import type { ClientPorts, Clock, CommitLog, StoredBlock } from "../core/ports.ts";
import type { Item, LogPosition } from "../core/types.ts";
import { fromSdkItem } from "./attribute-values.ts";
import type { ClientDynamoDb, DynamoDb } from "./dynamodb.ts";
import { expiresAtSeconds, bytesOf, integerOf } from "./stored-attributes.ts";

const spilling = new OnDemand("spilled payloads", () => import("./dynamodb-spills.ts"));

export type CommitLogParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

export function createDynamoDbCommitLog(
  parts: CommitLogParts & { readonly dynamodb: DynamoDb },
): CommitLog {
  return { ...createClientCommitLog(parts), ...appender(parts), ...backwardReader(parts) };
}

/** What a client needs of it. */
export function createClientCommitLog(parts: CommitLogParts): ClientPorts["log"] {
  return {
    ...readers(parts),
    spill: (id, chunks, options) =>
      spilling.use(({ spill }) => spill(parts, { id, chunks }, options)),
    readSpilled: (id, chunks, options) =>
      spilling.use(({ readSpilled }) => readSpilled(parts, { id, chunks }, options)),
  };
}

function appender({
  dynamodb,
  table,
  clock,
}: Parameters<typeof createDynamoDbCommitLog>[0]): Pick<CommitLog, "append"> {
  return {
    async append(shard, block, options) {
      const result = await dynamodb.putOrSee(
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
      if (result === "done") return "appended";
      return { taken: result.stored === undefined ? undefined : storedBlock(result.stored) };
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

function storedBlock(item: Item): StoredBlock {
  const stored = { what: "log block", item };
  return {
    position: integerOf(stored, "position") as LogPosition,
    bytes: bytesOf(stored, "block"),
  };
}
