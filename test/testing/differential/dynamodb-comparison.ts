/**
 * One call on the model and on a real server, and whether the answers say the same: outputs with
 * what is unordered brought into an order, of errors their names.
 */
import {
  type DynamoDB,
  type AttributeValue,
  type CreateTableCommandInput,
} from "@aws-sdk/client-dynamodb";
import { canonicalNumber } from "../../../core/decimal.ts";
import type { DynamoDbModel } from "../../../testing/cloud/dynamodb/model.ts";
import type { OperationName, Operations } from "../../../testing/cloud/dynamodb/operation-types.ts";
import { type ServiceError } from "../../../expressions/service-error.ts";
import type { Call } from "./dynamodb-calls.ts";
import type { TableShape, Values } from "./dynamodb-values.ts";

/** What came of a call, comparable. */
export type Answer = {
  readonly error: string | undefined;
  /** Codes of the reasons for which a transaction was cancelled. */
  readonly reasons: readonly string[] | undefined;
  readonly message: string;
  readonly output: unknown;
};

type Output = Record<string, unknown>;

/** Performs an operation; throws what the service refuses. */
export type Service = (operation: OperationName, input: object) => Promise<Output> | Output;

export function modelService(model: DynamoDbModel): Service {
  return (operation, input) => model.execute(operation, input);
}

const methods = {
  CreateTable: "createTable",
  DescribeTable: "describeTable",
  DeleteTable: "deleteTable",
  ListTables: "listTables",
  UpdateTimeToLive: "updateTimeToLive",
  DescribeTimeToLive: "describeTimeToLive",
  GetItem: "getItem",
  PutItem: "putItem",
  UpdateItem: "updateItem",
  DeleteItem: "deleteItem",
  Query: "query",
  Scan: "scan",
  BatchGetItem: "batchGetItem",
  BatchWriteItem: "batchWriteItem",
  TransactWriteItems: "transactWriteItems",
  TransactGetItems: "transactGetItems",
} as const satisfies Record<OperationName, keyof DynamoDB>;

export function realService(client: DynamoDB): Service {
  return async (operation, input) => {
    const send = client[methods[operation]] as unknown as (input: object) => Promise<Output>;
    const { $metadata: _metadata, ...output } = await send.call(client, input);
    return output;
  };
}

/** Tables of one run, so that runs do not meet. */
export function tableInput(
  shape: TableShape,
  name: string,
): CreateTableCommandInput & { readonly TableName: string } {
  const keys = shape.keys.map(({ name: AttributeName }, index) => ({
    AttributeName,
    KeyType: index === 0 ? ("HASH" as const) : ("RANGE" as const),
  }));
  const definitions = shape.keys.map(({ name: AttributeName, type: AttributeType }) => ({
    AttributeName,
    AttributeType,
  }));
  const table = {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST" as const,
    KeySchema: keys,
    AttributeDefinitions: definitions,
  };
  if (shape.name !== "indexed") return table;
  return {
    ...table,
    AttributeDefinitions: [
      ...definitions,
      { AttributeName: "g", AttributeType: "S" },
      { AttributeName: "h", AttributeType: "N" },
      { AttributeName: "l", AttributeType: "S" },
    ],
    LocalSecondaryIndexes: [
      {
        IndexName: "local",
        KeySchema: [
          { AttributeName: "p", KeyType: "HASH" },
          { AttributeName: "l", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: "global",
        KeySchema: [
          { AttributeName: "g", KeyType: "HASH" },
          { AttributeName: "h", KeyType: "RANGE" },
        ],
        Projection: { ProjectionType: "INCLUDE", NonKeyAttributes: ["a", "b"] },
      },
      {
        IndexName: "hash-only",
        KeySchema: [{ AttributeName: "g", KeyType: "HASH" }],
        Projection: { ProjectionType: "ALL" },
      },
    ],
  };
}

/** The call's input with the run's own names of tables. */
export function withTableNames(call: Call, prefix: string): object {
  const rename = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rename);
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        if (name === "TableName") return [name, prefix + String(member)];
        if (name === "RequestItems")
          return [name, { [prefix + call.table]: rename(Object.values(member as object)[0]) }];
        return [name, rename(member)];
      }),
    );
  };
  return rename(call.input) as object;
}

const pagesMax = 200;

/** Query and Scan are read to their end; everything else is one call. */
export async function answerOf(service: Service, call: Call, input: object): Promise<Answer> {
  try {
    const output = await outputOf(service, call, input);
    return { error: undefined, reasons: undefined, message: "", output: normalized(call, output) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reasons = (error as Partial<Pick<ServiceError, "CancellationReasons">>)
      .CancellationReasons;
    const Item = (error as Partial<Pick<ServiceError, "Item">>).Item;
    return {
      error: error.name,
      reasons: reasons?.map(({ Code }) => Code ?? ""),
      message: error.message,
      output: Item === undefined ? undefined : comparableItem(Item as Values),
    };
  }
}

/**
 * Pages are read to their end, and all segments of a scan: which of them has an item is the
 * service's secret.
 */
async function outputOf(service: Service, call: Call, input: object): Promise<Output> {
  if (call.operation === "Query") return allPages(service, call, input);
  if (call.operation !== "Scan") return service(call.operation, input);
  const { Segment, TotalSegments = 1 } = call.input;
  if (Segment === undefined || Segment >= TotalSegments) return allPages(service, call, input);
  const outputs: Output[] = [];
  for (let each = 0; each < TotalSegments; each++) {
    outputs.push(await allPages(service, call, { ...input, Segment: each }));
  }
  const sum = (name: string) => outputs.reduce((total, output) => total + Number(output[name]), 0);
  const Items = outputs.flatMap((output) => (output["Items"] ?? []) as Values[]);
  return { Items, Count: sum("Count"), ScannedCount: sum("ScannedCount") };
}

async function allPages(service: Service, call: Call, input: object): Promise<Output> {
  const items: Values[] = [];
  let counts = { Count: 0, ScannedCount: 0 };
  let hasItems = false;
  let start: object = {};
  let first: unknown;
  for (let page = 0; page < pagesMax; page++) {
    const output = await service(call.operation, { ...input, ...start });
    const { Items, Count, ScannedCount, LastEvaluatedKey } =
      output as unknown as Operations["Query"]["output"];
    hasItems ||= Items !== undefined;
    first ??= [Count, ScannedCount];
    items.push(...(Items ?? []));
    counts = {
      Count: counts.Count + (Count ?? 0),
      ScannedCount: counts.ScannedCount + (ScannedCount ?? 0),
    };
    if (LastEvaluatedKey === undefined) {
      return { ...(hasItems ? { Items: items } : {}), ...counts, first };
    }
    start = { ExclusiveStartKey: LastEvaluatedKey };
  }
  throw new Error(`${call.operation} did not end within ${pagesMax.toString()} pages`);
}

function normalized(call: Call, output: Output): unknown {
  const comparable: Output = {};
  for (const [name, member] of Object.entries(output)) {
    if (member === undefined) continue;
    if (name === "Items") comparable[name] = itemsInOrder(call, member as Values[]);
    else if (name === "Item" || name === "Attributes") {
      comparable[name] = comparableItem(member as Values);
    } else if (name === "Responses") comparable[name] = responses(member);
    else if (name === "first") {
      const { IndexName } = call.input as { IndexName?: string };
      // Where a page of a scan ends follows from the hash, and which of equal index keys comes
      // first from nothing that is known.
      if (call.operation === "Query") {
        comparable[name] = IndexName === undefined ? member : (member as unknown[])[1];
      }
    } else comparable[name] = member;
  }
  return comparable;
}

/**
 * Rows of a table's partition have one order; a scan's and those with equal index keys have none.
 */
function itemsInOrder(call: Call, items: readonly Values[]): readonly string[] {
  const texts = items.map(comparableItem);
  const ordered =
    call.operation === "Query" && (call.input as { IndexName?: string }).IndexName === undefined;
  return ordered ? texts : texts.sort();
}

function responses(member: unknown): unknown {
  if (Array.isArray(member)) {
    return (member as { Item?: Values }[]).map(({ Item }) =>
      Item === undefined ? "none" : comparableItem(Item),
    );
  }
  return Object.values(member as Record<string, Values[]>).map((items) =>
    items.map(comparableItem).sort(),
  );
}

/** The same text for the same item, whatever the order of attributes and of members of sets. */
function comparableItem(item: Values): string {
  return JSON.stringify(comparableMap(item));
}

function comparableMap(map: Values): unknown {
  return Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, comparableValue(value)]);
}

function comparableValue(value: AttributeValue): unknown {
  if (value.B !== undefined) return { B: [...value.B] };
  if (value.SS !== undefined) return { SS: [...value.SS].sort() };
  if (value.NS !== undefined) return { NS: value.NS.map((text) => canonicalNumber(text)).sort() };
  if (value.N !== undefined) return { N: canonicalNumber(value.N) };
  if (value.BS !== undefined) return { BS: value.BS.map((bytes) => bytes.join()).sort() };
  if (value.L !== undefined) return { L: value.L.map(comparableValue) };
  return value.M === undefined ? value : { M: comparableMap(value.M) };
}
