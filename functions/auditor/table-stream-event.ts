/**
 * What a mapping of a table's own stream hands to a function: of each write the item before and
 * after, as Lambda spells items in JSON, binary values in base64.
 */
import type { AttributeValue as EventValue, DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";
import { setAttribute } from "../../core/attributes.ts";
import type { ItemChange } from "../../core/audit.ts";
import { CorruptDataError } from "../../core/errors.ts";
import type { AttributeValue, Item } from "../../core/types.ts";

export type TableWrite = {
  readonly table: string;
  /** Of the table, in any order. */
  readonly keyNames: readonly string[];
  /** Names the record in the table's stream; "" where it has none. */
  readonly sequenceNumber: string;
  /** Undefined where the stream does not carry both images. */
  readonly change: ItemChange | undefined;
};

/** @throws CorruptDataError for what no table's stream holds. */
export function parseTableStreamEvent(event: DynamoDBStreamEvent): readonly TableWrite[] {
  return event.Records.map(tableWrite);
}

function tableWrite({ dynamodb, eventName, eventSourceARN }: DynamoDBRecord): TableWrite {
  const [, table] = /:table\/([^/]+)\/stream\//.exec(eventSourceARN ?? "") ?? [];
  if (table === undefined) throw new CorruptDataError("a record is of no table's stream");
  const { Keys = {}, OldImage, NewImage, SequenceNumber = "" } = dynamodb ?? {};
  const isWhole =
    (eventName === "INSERT" || OldImage !== undefined) &&
    (eventName === "REMOVE" || NewImage !== undefined);
  const change = { before: OldImage && itemOf(OldImage), after: NewImage && itemOf(NewImage) };
  return {
    table,
    keyNames: Object.keys(Keys),
    sequenceNumber: SequenceNumber,
    change: isWhole ? change : undefined,
  };
}

function itemOf(image: Readonly<Record<string, EventValue>>): Item {
  const item: Record<string, AttributeValue> = {};
  for (const [name, value] of Object.entries(image)) setAttribute(item, name, valueOf(value));
  return item;
}

function valueOf(value: EventValue): AttributeValue {
  if (value.S !== undefined) return { S: value.S };
  if (value.N !== undefined) return { N: value.N };
  if (value.B !== undefined) return { B: bytesOf(value.B) };
  if (value.BOOL !== undefined) return { BOOL: value.BOOL };
  if (value.NULL !== undefined) return { NULL: true };
  if (value.L !== undefined) return { L: value.L.map(valueOf) };
  if (value.M !== undefined) return { M: itemOf(value.M) };
  if (value.SS !== undefined) return { SS: value.SS };
  if (value.NS !== undefined) return { NS: value.NS };
  if ("BS" in value) return { BS: value.BS.map(bytesOf) };
  throw new CorruptDataError("a record has an attribute of no known type");
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}
