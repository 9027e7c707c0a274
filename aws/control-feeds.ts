/** How far consumers of changes have come: items of the control table, one for each name. */
import type { CallOptions, FeedState } from "../core/ports.ts";
import type { Item } from "../core/types.ts";
import { toSdkItem } from "./attribute-values.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { has, integerOf, textOf } from "./stored-attributes.ts";

export type FeedParts = { readonly dynamodb: ClientDynamoDb; readonly table: string };

const keyOf = (name: string): Item => ({ pk: { S: `feed#${name}` }, sk: { S: "position" } });

export async function readFeed(
  { dynamodb, table }: FeedParts,
  name: string,
  options: CallOptions | undefined,
): Promise<FeedState | undefined> {
  const Key = toSdkItem(keyOf(name));
  const item = await dynamodb.get({ TableName: table, ConsistentRead: true, Key }, options);
  if (item === undefined) return undefined;
  const stored = { what: `position of the feed ${name}`, item };
  return {
    position: has(stored, "position") ? textOf(stored, "position") : undefined,
    turn: integerOf(stored, "turn"),
    holder: has(stored, "holder") ? textOf(stored, "holder") : undefined,
    heldUntilMs: integerOf(stored, "heldUntilMs"),
  };
}

export async function putFeed(
  { dynamodb, table }: FeedParts,
  { name, ...state }: FeedState & { readonly name: string },
  options: CallOptions | undefined,
): Promise<boolean> {
  const { position, holder, turn, heldUntilMs } = state;
  const item: Item = {
    ...keyOf(name),
    turn: { N: turn.toString() },
    heldUntilMs: { N: heldUntilMs.toString() },
    ...(position === undefined ? {} : { position: { S: position } }),
    ...(holder === undefined ? {} : { holder: { S: holder } }),
  };
  const isFirst = turn === 1;
  const done = await dynamodb.put(
    {
      TableName: table,
      Item: toSdkItem(item),
      ConditionExpression: isFirst ? "attribute_not_exists(#turn)" : "#turn = :before",
      ExpressionAttributeNames: { "#turn": "turn" },
      ...(isFirst
        ? {}
        : { ExpressionAttributeValues: { ":before": { N: (turn - 1).toString() } } }),
    },
    options,
  );
  return done === "done";
}
