/** BatchGetItem and BatchWriteItem: inside of a transaction nothing of them is left undone. */
import type { Item } from "../core/types.ts";
import { CapacityCount, readUnits } from "../expressions/capacity.ts";
import { readItem } from "../expressions/attribute-values.ts";
import {
  keyOf,
  requireKey,
  requireScalarKeys,
  requireTableName,
} from "../expressions/key-schema.ts";
import type { DocumentPath } from "../expressions/placeholders.ts";
import { invalid, missing } from "../expressions/refusals.ts";
import { sentMembers } from "../expressions/sent-members.ts";
import { decideWrite } from "../expressions/writes.ts";
import { boundWrite } from "./bound-writes.ts";
import { consumedByTable, countWrite, sizeOf } from "./consumption.ts";
import { requireDistinct } from "./key-texts.ts";
import { kindOfRead, projected, projectionOf, type ProjectedInput } from "./projections.ts";
import { checkPart, checkRequest, refuseArn, type Reported } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TableWrite, TransactionCommands } from "./transaction-commands.ts";
import { batchGetKeysMax, batchWriteItemsMax } from "./limits.ts";

type TableKeys = ProjectedInput & { readonly Keys?: readonly unknown[] | undefined };
type BatchGetInput = Reported & {
  readonly RequestItems?: Readonly<Record<string, TableKeys>> | undefined;
};

type Wanted = {
  /** As the request names it. */
  readonly name: string;
  readonly request: TableKeys;
  readonly table: CommandTable;
  readonly key: Item;
  readonly paths: readonly DocumentPath[] | undefined;
};

export async function batchGetItem(
  input: BatchGetInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const requests = Object.entries(sentMembers(input.RequestItems ?? {}));
  if (requests.length === 0) throw missing("RequestItems");
  const wanted = wantedKeys(requests, commands);
  const items = await commands.batchGet(wanted);
  const Responses: Record<string, Item[]> = {};
  const counts = new Map<string, CapacityCount>();
  wanted.forEach(({ name, request, table, paths }, i) => {
    const item = items[i];
    const found = (Responses[name] ??= []);
    const count = counts.get(name) ?? new CapacityCount(table.name);
    count.addTable(readUnits(sizeOf(item), kindOfRead(request)));
    counts.set(name, count);
    if (item !== undefined) found.push(projected(item, paths));
  });
  return {
    ...{ Responses, UnprocessedKeys: {} },
    ...consumedByTable(counts.values(), input.ReturnConsumedCapacity),
  };
}

function wantedKeys(
  requests: readonly (readonly [string, TableKeys])[],
  commands: TransactionCommands,
): readonly Wanted[] {
  const read = requests.map(([name, given]) => {
    const request = sentMembers(given);
    checkPart(request);
    refuseArn(name);
    const paths = projectionOf(request);
    const keys = (request.Keys ?? []).map(readItem);
    if (keys.length === 0) {
      throw invalid(
        `The list of keys in RequestItems for BatchGetItem is required: ${name} has empty list`,
      );
    }
    return { name, tableName: requireTableName(name), request, paths, keys };
  });
  if (read.reduce((sum, { keys }) => sum + keys.length, 0) > batchGetKeysMax) {
    throw invalid("Too many items requested for the BatchGetItem call");
  }
  const wanted = read.flatMap(({ name, tableName, request, paths, keys }): readonly Wanted[] => {
    const table = commands.table(tableName);
    requireScalarKeys(table, paths ?? []);
    return keys.map((key) => {
      requireKey(table.schema, key);
      return { name, request, table, key, paths };
    });
  });
  requireDistinct(wanted, "Provided list of item keys contains duplicates");
  return wanted;
}

type WriteRequest = {
  readonly PutRequest?: { readonly Item?: unknown } | undefined;
  readonly DeleteRequest?: { readonly Key?: unknown } | undefined;
};
type BatchWriteInput = Reported & {
  readonly RequestItems?: Readonly<Record<string, readonly WriteRequest[]>> | undefined;
};

export async function batchWriteItem(
  input: BatchWriteInput,
  commands: TransactionCommands,
): Promise<object> {
  checkRequest(input);
  const requests = Object.entries(sentMembers(input.RequestItems ?? {}));
  if (requests.length === 0) throw missing("RequestItems");
  const entries = requests.flatMap(([name, list]) => {
    if (list.length === 0) {
      throw invalid(`The batch write request list for a table cannot be null or empty: ${name}`);
    }
    return list.map((request) => [name, request] as const);
  });
  if (entries.length > batchWriteItemsMax) {
    throw invalid("Too many items requested for the BatchWriteItem call");
  }
  const writes = entries.map(([name, request]) => batchEntry(name, request, commands));
  requireDistinct(
    writes.map(({ table, item }) => ({ table, key: keyOf(table.schema, item) })),
    "Provided list of item keys contains duplicates",
  );
  const counts = new Map<string, CapacityCount>();
  await commands.inTurn(async () => {
    for (const write of writes) {
      const { table } = write;
      const decision = { before: undefined, after: decideWrite(write, undefined) };
      commands.apply(write, decision, false);
      counts.set(table.name, countWrite(table, decision, counts.get(table.name)));
    }
  });
  return {
    UnprocessedItems: {},
    ...consumedByTable(counts.values(), input.ReturnConsumedCapacity),
  };
}

function batchEntry(
  TableName: string,
  request: WriteRequest,
  commands: TransactionCommands,
): TableWrite {
  const { PutRequest, DeleteRequest } = sentMembers(request);
  if ((PutRequest === undefined) === (DeleteRequest === undefined)) {
    throw invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest");
  }
  return PutRequest === undefined
    ? boundWrite({ kind: "delete", input: { TableName, Key: DeleteRequest?.Key } }, commands)
    : boundWrite({ kind: "put", input: { TableName, Item: PutRequest.Item } }, commands);
}
