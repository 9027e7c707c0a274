/**
 * How far consumers of changes have come: items of the control table, one for each name, and a
 * partition with the names. A scan would find them as well; but it reads all the idempotency keys
 * of a day, and no policy can keep it from the secrets.
 */
import type { FeedNotes, FeedState } from "../core/feed-port.ts";
import type { CallOptions } from "../core/ports.ts";
import type { Item } from "../core/types.ts";
import { toSdkItem } from "./attribute-values.ts";
import { createControlReads, lastKeyOf } from "./control-table.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { booleanOf, has, integerOf, momentOf, textOf, type Stored } from "./stored-attributes.ts";

export type FeedParts = { readonly dynamodb: ClientDynamoDb; readonly table: string };

const keyOf = (name: string): Item => ({ pk: { S: `feed#${name}` }, sk: { S: "position" } });
const listed = "feeds";
/** Neither stands in the name of a table. */
const tablesApart = ",";
const moreMark = "+";

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
    heldUntilMs: momentOf(stored, "heldUntilMs"),
    // One release back knew of none of these.
    notes: has(stored, "failures") ? toNotes(stored) : undefined,
    round: has(stored, "round") ? integerOf(stored, "round") : undefined,
    isRemoved: has(stored, "removed") && booleanOf(stored, "removed"),
    isListed: has(stored, "listed") && booleanOf(stored, "listed"),
  };
}

export async function putFeed(
  { dynamodb, table }: FeedParts,
  { name, ...state }: FeedState & { readonly name: string },
  options: CallOptions | undefined,
): Promise<boolean> {
  const { position, holder, turn, heldUntilMs, notes, round, isRemoved, isListed } = state;
  const item: Item = {
    ...keyOf(name),
    turn: { N: turn.toString() },
    heldUntilMs: { N: heldUntilMs.toString() },
    ...(position === undefined ? {} : { position: { S: position } }),
    ...(holder === undefined ? {} : { holder: { S: holder } }),
    ...(notes === undefined ? {} : fromNotes(notes)),
    ...(round === undefined ? {} : { round: { N: round.toString() } }),
    ...(isRemoved === true ? { removed: { BOOL: true } } : {}),
    ...(isListed === true ? { listed: { BOOL: true } } : {}),
  };
  // I11: of those who have seen a turn one takes the next.
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

export async function enlistFeed(
  { dynamodb, table }: FeedParts,
  name: string,
  options: CallOptions | undefined,
): Promise<void> {
  const Item = toSdkItem({ pk: { S: listed }, sk: { S: name } });
  await dynamodb.put({ TableName: table, Item }, options);
}

export async function listFeeds(
  { dynamodb, table }: FeedParts,
  namesMax: number,
  options: CallOptions | undefined,
): Promise<readonly string[]> {
  const control = createControlReads(dynamodb, table);
  const found: string[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await control.page({ pk: listed, after }, options);
    for (const item of page.items) found.push(textOf({ what: "the list of feeds", item }, "sk"));
    after = lastKeyOf(page.items);
    const isEnough = found.length >= namesMax;
    if (page.complete || after === undefined || isEnough) return found.slice(0, namesMax);
  }
}

function fromNotes(notes: FeedNotes): Item {
  const { tables, tablesMore, movedMs, failures, failingSinceMs, resetMs, failure } = notes;
  const more = tablesMore === 0 ? [] : [`${moreMark}${tablesMore}`];
  return {
    failures: { N: failures.toString() },
    ...(tables === undefined ? {} : { tables: { S: [...tables, ...more].join(tablesApart) } }),
    ...(movedMs === undefined ? {} : { movedMs: { N: movedMs.toString() } }),
    ...(failingSinceMs === undefined ? {} : { failingMs: { N: failingSinceMs.toString() } }),
    ...(resetMs === undefined ? {} : { resetMs: { N: resetMs.toString() } }),
    ...(failure === undefined
      ? {}
      : { failure: { S: failure.text }, failedMs: { N: failure.atMs.toString() } }),
  };
}

function toNotes(stored: Stored): FeedNotes {
  const names = has(stored, "tables") ? textOf(stored, "tables").split(tablesApart) : undefined;
  const more = names?.find((each) => each.startsWith(moreMark));
  return {
    tables: names?.filter((each) => each !== more),
    tablesMore: more === undefined ? 0 : Number(more.slice(moreMark.length)),
    movedMs: has(stored, "movedMs") ? momentOf(stored, "movedMs") : undefined,
    failures: integerOf(stored, "failures"),
    failingSinceMs: has(stored, "failingMs") ? momentOf(stored, "failingMs") : undefined,
    resetMs: has(stored, "resetMs") ? momentOf(stored, "resetMs") : undefined,
    failure: has(stored, "failure")
      ? { text: textOf(stored, "failure"), atMs: momentOf(stored, "failedMs") }
      : undefined,
  };
}
