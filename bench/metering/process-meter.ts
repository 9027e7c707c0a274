/**
 * Counts what this process asks of DynamoDB and Kinesis, whoever in it asks: the AWS SDK's `send`
 * is wrapped for the whole process, so the shipped handlers and the SDK run unchanged and nothing
 * that a part forgets to count is missing. Off by default: a timed run pays one comparison per
 * call, and a counted run is not timed.
 *
 * Units are what the store reports, with three corrections to DynamoDB's documented rules: a Query
 * that finds nothing costs a unit (both local stores report 0), a write whose condition failed
 * costs what it would have, and TransactWriteItems costs two units per KB of each item, cancelled
 * or not (DynamoDB Local reports other figures, bench/README.md).
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { KinesisClient } from "@aws-sdk/client-kinesis";
import { itemSizeBytes } from "../../core/item-size.ts";
import type { Item } from "../../core/types.ts";
import { type Cost, noCost } from "../cost.ts";

export type ProcessMeter = {
  readonly cost: Readonly<Cost>;
  count(on: boolean): void;
  /** By functions, once per invocation. */
  invoked(): void;
};

type Fields = Record<string, unknown>;
type Command = { readonly constructor: { readonly name: string }; readonly input: Fields };
type Send = (this: unknown, command: Command, ...rest: readonly unknown[]) => Promise<Fields>;

const reads = new Set(["GetItemCommand", "BatchGetItemCommand", "QueryCommand", "ScanCommand"]);
const writes = new Set(["PutItemCommand", "UpdateItemCommand", "DeleteItemCommand"]);
const puts = new Set(["PutRecordCommand", "PutRecordsCommand"]);
const streamUnitBytes = 25 * 1024;
const writeUnitBytes = 1024;

let installed: ProcessMeter | undefined;

/** The process's one meter. */
export function processMeter(): ProcessMeter {
  installed ??= install();
  return installed;
}

function install(): ProcessMeter {
  const cost: { -readonly [Name in keyof Cost]: number } = { ...noCost };
  let counting = false;
  wrapSend(DynamoDBClient, async (command, send) => {
    const { name } = command.constructor;
    if (!counting) return send();
    if (name === "TransactWriteItemsCommand") {
      cost.calls += 1;
      cost.writeUnits += transactUnits(command.input);
      return send();
    }
    if (!reads.has(name) && !writes.has(name)) return send();
    cost.calls += 1;
    command.input["ReturnConsumedCapacity"] = "TOTAL";
    try {
      const output = await send();
      const units = reportedUnits(output["ConsumedCapacity"]);
      if (writes.has(name)) cost.writeUnits += units;
      else cost.readUnits += name === "QueryCommand" ? Math.max(units, 1) : units;
      return output;
    } catch (error) {
      if (isNamed(error, "ConditionalCheckFailedException")) {
        cost.writeUnits += writeUnits(command.input["Item"]);
      }
      throw error;
    }
  });
  wrapSend(KinesisClient, (command, send) => {
    if (counting && puts.has(command.constructor.name)) {
      cost.calls += 1;
      cost.streamUnits += streamUnits(command.input);
    }
    return send();
  });
  return {
    cost,
    count: (on) => (counting = on),
    invoked: () => {
      if (counting) cost.invocations += 1;
    },
  };
}

type Around = (command: Command, send: () => Promise<Fields>) => Promise<Fields>;

function wrapSend(client: { readonly prototype: unknown }, around: Around): void {
  const prototype = client.prototype as { send: Send };
  const send = prototype.send;
  prototype.send = function (command, ...rest) {
    return around(command, () => send.call(this, command, ...rest));
  };
}

function reportedUnits(consumed: unknown): number {
  const all = [consumed].flat() as readonly ({ readonly CapacityUnits?: number } | undefined)[];
  return all.reduce((sum, capacity) => sum + (capacity?.CapacityUnits ?? 0), 0);
}

function writeUnits(item: unknown): number {
  if (item === undefined) return 1;
  return Math.max(1, Math.ceil(itemSizeBytes(item as Item) / writeUnitBytes));
}

/**
 * A condition check writes nothing and costs as a write; its item's size is not in the request, so
 * 1 KB is taken.
 */
function transactUnits(input: Fields): number {
  const actions = input["TransactItems"] as readonly {
    readonly Put?: { readonly Item: unknown };
  }[];
  return actions.reduce((sum, { Put }) => sum + 2 * writeUnits(Put?.Item), 0);
}

function streamUnits(input: Fields): number {
  const records = (input["Records"] ?? [input]) as readonly { readonly Data: Uint8Array }[];
  return records.reduce((sum, { Data }) => sum + Math.ceil(Data.length / streamUnitBytes), 0);
}

function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
