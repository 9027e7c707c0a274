/**
 * The conditional put that appends a block to the log: the commit point of every transaction in the
 * block (I1). A client needs it only where it commits express.
 */
import type { AppendOptions, Appended, Clock, StoredBlock } from "../core/ports.ts";
import type { ShardId } from "../core/types.ts";
import { fromSdkItem } from "./attribute-values.ts";
import { callWrite } from "./call.ts";
import { count, prepared, type ClientDynamoDb } from "./dynamodb.ts";
import { inKnownOrder } from "./middleware-order.ts";
import { askingForShown, learnShown } from "./refusals-shown.ts";
import { sentOnce } from "./single-try.ts";
import { expiresAtSeconds } from "./stored-attributes.ts";
import { storedBlock } from "./stored-block.ts";

type AppendParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly table: string;
};

/** Taken without its block where the store does not tell it: it is asked for that once. */
export async function append(
  parts: AppendParts,
  append: { readonly shard: ShardId; readonly block: StoredBlock },
  options: AppendOptions | undefined,
): Promise<Appended> {
  const { client } = await parts.dynamodb.handle();
  return askingForShown(client, async (asks) => {
    const answer = await put(parts, { ...append, asks }, options);
    if (answer !== "appended") learnShown(client, answer.taken !== undefined);
    return answer;
  });
}

async function put(
  { dynamodb, table, clock }: AppendParts,
  { shard, block, asks }: Parameters<typeof append>[1] & { readonly asks: object },
  options: AppendOptions | undefined,
): Promise<Appended> {
  const { handle } = dynamodb;
  const beforeMs = options?.signBeforeMs;
  const signDeadline = beforeMs === undefined ? undefined : { clock, beforeMs };
  const operation = { handle, name: "PutItem", table, options, signDeadline };
  const call = await prepared(operation, (to, metered) => {
    const put = new to.sdk.PutItemCommand({
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
      ...asks,
      ...metered,
    });
    const command = inKnownOrder(to.client, put);
    const send = (http: { abortSignal?: AbortSignal }) => to.client.send(command, http);
    return { command, send: options?.once === true ? sentOnce(command, send) : send };
  });
  const result = await callWrite(call);
  if (result.kind === "done") {
    count(options, "writeUnits", result.output.ConsumedCapacity);
    return "appended";
  }
  const { Item } = result.error;
  return { taken: Item === undefined ? undefined : storedBlock(fromSdkItem(Item)) };
}
