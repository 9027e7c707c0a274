/**
 * The conditional put that appends a block to the log: the commit point of every transaction in the
 * block (I1). A client needs it only where it commits express.
 */
import type { AppendOptions, Appended, Clock, StoredBlock } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import { fromSdkItem } from "./attribute-values.ts";
import { callWrite } from "./call.ts";
import { count, prepared, type ClientDynamoDb } from "./dynamodb.ts";
import { expiresAtSeconds } from "./stored-attributes.ts";
import { storedBlock } from "./stored-block.ts";

type AppendParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

/** Taken without its block where the store does not know the question, as dynalite. */
export async function append(
  { dynamodb, table, clock }: AppendParts,
  { shard, block }: { readonly shard: ShardId; readonly block: StoredBlock },
  options: AppendOptions | undefined,
): Promise<Appended> {
  const { handle } = dynamodb;
  const beforeMs = options?.signBeforeMs;
  const signDeadline = beforeMs === undefined ? undefined : { clock, beforeMs };
  const operation = { handle, name: "PutItem", table, options, signDeadline };
  const call = await prepared(operation, (to, metered) => {
    const command = new to.sdk.PutItemCommand({
      TableName: table,
      Item: {
        shard: { S: shard },
        position: { N: block.position.toString() },
        block: { B: block.bytes },
        expiresAt: { N: expiresAtSeconds(options?.dateMs ?? clock.nowMs()) },
      },
      // mutant: block-put-without-condition
      ConditionExpression: "attribute_not_exists(#position)",
      // mutant: block-put-without-condition
      ExpressionAttributeNames: { "#position": "position" },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      ...metered,
    });
    return { command, send: (http) => to.client.send(command, http) };
  });
  const result = await callWrite(call);
  if (result.kind === "done") {
    count(options, "writeUnits", result.output.ConsumedCapacity);
    return "appended";
  }
  const { Item } = result.error;
  return { taken: Item === undefined ? undefined : storedBlock(fromSdkItem(Item)) };
}
