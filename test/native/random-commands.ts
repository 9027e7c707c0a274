/** Commands on a few items of one table, at random, as inputs without the table's name. */
import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import type { Attributes } from "../harness/native-world.ts";

/** What one command answers, on that table. */
export type Command = { readonly name: string; readonly input: object };

const text = fc.constantFrom("a", "b", "c");
const value: fc.Arbitrary<Attributes[string]> = fc.oneof<fc.Arbitrary<Attributes[string]>[]>(
  text.map((S) => ({ S })),
  fc.integer({ min: 0, max: 3 }).map((n) => ({ N: n.toString() })),
  fc.constantFrom<Attributes[string]>(
    { M: { x: { S: "a" }, y: { L: [{ N: "1" }, { S: "b" }] } } },
    { L: [{ M: { x: { N: "1" } } }, { S: "b" }, { N: "2" }] },
  ),
);

export const key: fc.Arbitrary<Attributes> = fc
  .constantFrom("1", "2", "3", "4", "5")
  .map((sk) => ({ pk: { S: "p" }, sk: { S: sk } }));

export const item: fc.Arbitrary<Attributes> = fc
  .tuple(key, fc.record({ a: value, b: value, c: value }, { requiredKeys: [] }))
  .map(([own, content]) => ({ ...own, ...content }));

type Expressed = {
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Attributes;
};
/** Names and values that all expressions of an input may use, and must, between them. */
const projection = fc.constantFrom(
  {},
  { ProjectionExpression: "a" },
  { ProjectionExpression: "pk" },
  { ProjectionExpression: "#b, sk", ExpressionAttributeNames: { "#b": "b" } },
  { ProjectionExpression: "a.x, a.y[1], b[0].x, b[2]" },
  { ProjectionExpression: "c, #d", ExpressionAttributeNames: { "#d": "d" } },
);
const condition = fc.constantFrom<Expressed & { readonly ConditionExpression?: string }>(
  {},
  { ConditionExpression: "attribute_not_exists(pk)" },
  { ConditionExpression: "attribute_exists(a) OR attribute_not_exists(b)" },
  {
    ConditionExpression: "#c = :c",
    ExpressionAttributeNames: { "#c": "c" },
    ExpressionAttributeValues: { ":c": { S: "a" } },
  },
);
const update = fc.constantFrom<Expressed & { readonly UpdateExpression?: string }>(
  {},
  { UpdateExpression: "SET a = :v", ExpressionAttributeValues: { ":v": { S: "b" } } },
  { UpdateExpression: "REMOVE a, b" },
  {
    UpdateExpression: "remove b set #a = if_not_exists(#a, :v)",
    ExpressionAttributeNames: { "#a": "a" },
    ExpressionAttributeValues: { ":v": { N: "2" } },
  },
  { UpdateExpression: "ADD counted :v", ExpressionAttributeValues: { ":v": { N: "1" } } },
);
const shown = fc.constantFrom({}, { ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const });

function together(...all: readonly object[]): object {
  const inputs = all as readonly Expressed[];
  const names = Object.assign({}, ...inputs.map((each) => each.ExpressionAttributeNames)) as object;
  const values = Object.assign(
    {},
    ...inputs.map((each) => each.ExpressionAttributeValues),
  ) as object;
  return {
    ...(Object.assign({}, ...inputs) as object),
    ...(Object.keys(names).length === 0 ? {} : { ExpressionAttributeNames: names }),
    ...(Object.keys(values).length === 0 ? {} : { ExpressionAttributeValues: values }),
  };
}

const old = fc.constantFrom({}, { ReturnValues: "ALL_OLD" as const });
const put = fc
  .tuple(item, condition, old, shown)
  .map(([Item, ...others]) => ({ Item, ...together(...others) }));
const remove = fc
  .tuple(key, condition, old, shown)
  .map(([Key, ...others]) => ({ Key, ...together(...others) }));
const answers = fc.constantFrom(
  {},
  ...(["NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"] as const).map(
    (ReturnValues) => ({ ReturnValues }),
  ),
);
/** DynamoDB Local fails by itself where an update of nothing is to show what it changed. */
const isAnswered = ([, of, , { ReturnValues }]: readonly [
  unknown,
  object,
  unknown,
  { readonly ReturnValues?: string },
  ...unknown[],
]) => "UpdateExpression" in of || ReturnValues?.startsWith("UPDATED") !== true;
const change = fc
  .tuple(key, update, condition, answers, shown)
  .filter(isAnswered)
  .map(([Key, ...others]) => ({ Key, ...together(...others) }));

const keyed = fc.constantFrom(
  { KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": { S: "p" } } },
  {
    KeyConditionExpression: "pk = :p AND #sk BETWEEN :low AND :high",
    ExpressionAttributeNames: { "#sk": "sk" },
    ExpressionAttributeValues: { ":p": { S: "p" }, ":low": { S: "2" }, ":high": { S: "4" } },
  },
);
const filter = fc.constantFrom(
  {},
  { FilterExpression: "attribute_exists(a)" },
  { FilterExpression: "attribute_not_exists(b)" },
);
const select = fc.oneof(
  projection,
  fc.constantFrom({ Select: "COUNT" as const }, { Select: "ALL_ATTRIBUTES" as const }),
);

function named(name: string, inputs: fc.Arbitrary<object>): fc.Arbitrary<Command> {
  return inputs.map((input) => ({ name, input }));
}

export const reads = fc.oneof(
  named(
    "get",
    fc.tuple(key, projection).map(([Key, others]) => ({ Key, ...others })),
  ),
  named(
    "batchGet",
    fc
      .tuple(fc.uniqueArray(key, { minLength: 1, selector: (each) => each["sk"]?.S }), projection)
      .map(([Keys, others]) => ({ Keys, ...others })),
  ),
  named(
    "query",
    fc
      .tuple(keyed, filter, select, fc.constantFrom({}, { ScanIndexForward: false }))
      .map((all) => together(...all)),
  ),
  named(
    "scan",
    fc.tuple(filter, select).map((all) => together(...all)),
  ),
);

export const pages = fc
  .tuple(
    fc.oneof(
      fc.tuple(keyed, projection).map((all) => ({ name: "query", input: together(...all) })),
      projection.map((input) => ({ name: "scan", input })),
    ),
    fc.integer({ min: 1, max: 4 }),
  )
  .map(([{ name, input }, Limit]) => ({ name, input: { ...input, Limit } }));

export const writes = fc.oneof(
  named("put", put),
  named("update", change),
  named("delete", remove),
  named(
    "batchWrite",
    fc
      .uniqueArray(item, { minLength: 1, maxLength: 3, selector: (each) => each["sk"]?.S })
      .map((items) => ({ puts: items })),
  ),
);

/** Only where the store knows transactions. */
export const transactions = fc.oneof(
  named(
    "transactGet",
    fc
      .array(fc.tuple(key, projection), { minLength: 1, maxLength: 3 })
      .map((gets) => ({ gets: gets.map(([Key, others]) => ({ Key, ...others })) }))
      .filter(
        ({ gets }) => new Set(gets.map((each) => JSON.stringify(each.Key))).size === gets.length,
      ),
  ),
  named(
    "transactWrite",
    fc
      .tuple(
        put,
        change,
        remove,
        condition.filter((each) => each.ConditionExpression !== undefined),
      )
      .map(([Put, Update, Delete, check]) => ({
        parts: [
          { Put: { ...Put, Item: { ...Put.Item, sk: { S: "1" } } } },
          { Update: { ...Update, Key: { ...Update.Key, sk: { S: "2" } } } },
          { Delete: { ...Delete, Key: { ...Delete.Key, sk: { S: "3" } } } },
          { ConditionCheck: { Key: { pk: { S: "p" }, sk: { S: "4" } }, ...check } },
        ],
      })),
  ),
);

/** What the command answers, or how it fails, of which tables and request ids differ by nature. */
export async function answerOf(
  client: DynamoDBClient,
  { name, input }: Command,
  TableName: string,
): Promise<unknown> {
  try {
    const output = await client.send(commandOf(name, input, TableName) as GetItemCommand);
    // DynamoDB Local answers the capacity unasked.
    const {
      $metadata: _,
      ConsumedCapacity: __,
      ...answer
    } = output as {
      readonly $metadata: object;
      readonly ConsumedCapacity?: object;
    };
    return inTable(withoutNone(answer), TableName);
  } catch (error) {
    const {
      name: kind,
      message,
      Item,
      CancellationReasons,
    } = error as Error & {
      readonly Item?: unknown;
      readonly CancellationReasons?: unknown;
    };
    return { kind, message, Item, CancellationReasons };
  }
}

function commandOf(name: string, input: object, TableName: string): object {
  const of = { ...input, TableName } as never;
  switch (name) {
    case "get":
      return new GetItemCommand(of);
    case "put":
      return new PutItemCommand(of);
    case "update":
      return new UpdateItemCommand(of);
    case "delete":
      return new DeleteItemCommand(of);
    case "query":
      return new QueryCommand(of);
    case "scan":
      return new ScanCommand(of);
    case "batchGet":
      return new BatchGetItemCommand({ RequestItems: { [TableName]: input as never } });
    case "batchWrite": {
      const { puts } = input as { readonly puts: readonly Attributes[] };
      const requests = puts.map((Item) => ({ PutRequest: { Item } }));
      return new BatchWriteItemCommand({ RequestItems: { [TableName]: requests } });
    }
    case "transactGet": {
      const { gets } = input as { readonly gets: readonly object[] };
      const TransactItems = gets.map((each) => ({ Get: { ...each, TableName } as never }));
      return new TransactGetItemsCommand({ TransactItems });
    }
    default: {
      const { parts } = input as { readonly parts: readonly Record<string, object>[] };
      const TransactItems = parts.map((part) =>
        Object.fromEntries(
          Object.entries(part).map(([kind, each]) => {
            const { ReturnValues: _, ...rest } = each as { readonly ReturnValues?: unknown };
            return [kind, { ...rest, TableName }];
          }),
        ),
      );
      return new TransactWriteItemsCommand({ TransactItems });
    }
  }
}

/** dynalite shows no attributes where DynamoDB shows none. */
function withoutNone(answer: object): object {
  const { Attributes: old, ...others } = answer as { readonly Attributes?: Attributes };
  return old === undefined || Object.keys(old).length === 0 ? others : answer;
}

/** Items of a batch in their keys' order: a store answers them in any. */
function inTable(answer: object, table: string): unknown {
  const { Responses } = answer as { readonly Responses?: Readonly<Record<string, Attributes[]>> };
  const items = Responses?.[table];
  if (items === undefined) return answer;
  const sorted = items.map((each) => JSON.stringify(Object.entries(each).sort())).sort();
  return { ...answer, Responses: sorted };
}
