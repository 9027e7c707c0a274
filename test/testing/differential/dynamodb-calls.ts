/**
 * Random calls of DynamoDB, valid and invalid. Table names are those of the shapes; a run gives
 * them names of its own.
 */
import type { AttributeValue, TransactWriteItem } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import type { Operations } from "../../../testing/cloud/dynamodb/operation-types.ts";
import {
  condition,
  path,
  projection,
  render,
  sometimesBrokenText,
  update,
} from "./dynamodb-expressions.ts";
import { item, key, keyValue, shapes, validItem, type TableShape } from "./dynamodb-values.ts";

export type ItemOperation = Exclude<
  keyof Operations,
  | ("CreateTable" | "DescribeTable" | "DeleteTable" | "ListTables")
  | ("UpdateTimeToLive" | "DescribeTimeToLive")
>;

export type Call = {
  readonly [Name in ItemOperation]: {
    readonly operation: Name;
    readonly table: TableShape["name"];
    readonly input: Operations[Name]["input"];
  };
}[ItemOperation];

const shape = fc.constantFrom(shapes.plain, shapes.indexed, shapes.indexed, shapes.binary);
const placeholderEvery = fc.constantFrom(1, 2, 3);
const report = fc.constantFrom("TOTAL", "INDEXES", "NONE", undefined);
const rarely = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Parameters whose value is undefined are left out, as a caller would leave them out. */
function compact<Input extends object>(input: Input): Input {
  return Object.fromEntries(
    Object.entries(input).filter(([, member]) => member !== undefined),
  ) as Input;
}

const optionalCondition = rarely(sometimesBrokenText(condition));

function expressionInput(
  rendered: ReturnType<typeof render>,
  unused: boolean,
): {
  ExpressionAttributeNames?: Record<string, string>;
  ExpressionAttributeValues?: Record<string, AttributeValue>;
} {
  const values = unused ? { ...rendered.values, ":unused": { S: "x" } } : rendered.values;
  return {
    ...(rendered.names === undefined ? {} : { ExpressionAttributeNames: rendered.names }),
    ...(values === undefined ? {} : { ExpressionAttributeValues: values }),
  };
}

const unused = fc.integer({ min: 0, max: 40 }).map((draw) => draw === 0);

const getItem: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .record({
      Key: key(table),
      paths: rarely(sometimesBrokenText(projection)),
      every: placeholderEvery,
      unused,
      ConsistentRead: fc.constantFrom(true, false, undefined),
      ReturnConsumedCapacity: report,
    })
    .map(({ paths, every, unused: _unused, ...input }) => {
      const rendered = render(paths === undefined ? [] : [paths], every);
      return {
        operation: "GetItem" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          ...input,
          ProjectionExpression: rendered.texts[0],
          ...expressionInput(rendered, false),
        }),
      };
    }),
);

const putItem: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .record({
      Item: item(table),
      test: optionalCondition,
      every: placeholderEvery,
      unused,
      ReturnValues: fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom("ALL_OLD", "NONE", undefined) },
        { weight: 1, arbitrary: fc.constant("ALL_NEW" as const) },
      ),
      ReturnConsumedCapacity: report,
      ReturnValuesOnConditionCheckFailure: fc.constantFrom("ALL_OLD", undefined),
    })
    .map(({ test, every, unused: extra, ...input }) => {
      const rendered = render(test === undefined ? [] : [test], every);
      return {
        operation: "PutItem" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          ...input,
          ConditionExpression: rendered.texts[0],
          ...expressionInput(rendered, extra),
        }),
      };
    }),
);

const deleteItem: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .record({
      Key: key(table),
      test: optionalCondition,
      every: placeholderEvery,
      unused,
      ReturnValues: fc.constantFrom("ALL_OLD", "NONE", undefined),
      ReturnConsumedCapacity: report,
      ReturnValuesOnConditionCheckFailure: fc.constantFrom("ALL_OLD", undefined),
    })
    .map(({ test, every, unused: extra, ...input }) => {
      const rendered = render(test === undefined ? [] : [test], every);
      return {
        operation: "DeleteItem" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          ...input,
          ConditionExpression: rendered.texts[0],
          ...expressionInput(rendered, extra),
        }),
      };
    }),
);

const updateItem: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .record({
      Key: key(table),
      change: fc.oneof(
        { weight: 12, arbitrary: sometimesBrokenText(update) },
        { weight: 1, arbitrary: fc.constant(undefined) },
      ),
      test: rarely(condition),
      every: placeholderEvery,
      unused,
      ReturnValues: fc.constantFrom("ALL_NEW", "ALL_NEW", "ALL_OLD", "UPDATED_NEW", "UPDATED_OLD"),
      ReturnConsumedCapacity: report,
    })
    .map(({ change, test, every, unused: extra, ...input }) => {
      const pieces = [change, test].filter((each) => each !== undefined);
      const rendered = render(pieces, every);
      const texts = [...rendered.texts];
      return {
        operation: "UpdateItem" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          ...input,
          UpdateExpression: change === undefined ? undefined : texts.shift(),
          ConditionExpression: test === undefined ? undefined : texts.shift(),
          ...expressionInput(rendered, extra),
        }),
      };
    }),
);

type QueryTarget = {
  readonly table: TableShape;
  readonly index: string | undefined;
  readonly keys: TableShape["keys"];
};

const queryTarget = fc.constantFrom<QueryTarget>(
  { table: shapes.indexed, index: undefined, keys: shapes.indexed.keys },
  { table: shapes.binary, index: undefined, keys: shapes.binary.keys },
  { table: shapes.plain, index: undefined, keys: shapes.plain.keys },
  { table: shapes.indexed, index: undefined, keys: shapes.indexed.keys },
  { table: shapes.binary, index: undefined, keys: shapes.binary.keys },
  {
    table: shapes.indexed,
    index: "global",
    keys: [
      { name: "g", type: "S" },
      { name: "h", type: "N" },
    ],
  },
  { table: shapes.indexed, index: "hash-only", keys: [{ name: "g", type: "S" }] },
  {
    table: shapes.indexed,
    index: "local",
    keys: [
      { name: "p", type: "S" },
      { name: "l", type: "S" },
    ],
  },
  { table: shapes.indexed, index: "nosuch", keys: shapes.indexed.keys },
);

function indexKeyValue({ name, type }: TableShape["keys"][number]): fc.Arbitrary<AttributeValue> {
  if (name === "g") return fc.constantFrom({ S: "g1" }, { S: "g2" });
  if (name === "l") return fc.constantFrom({ S: "l1" }, { S: "l2" }, { S: "l" });
  return keyValue(type);
}

function sortTest(keys: TableShape["keys"]) {
  const sort = keys[1];
  if (sort === undefined) return fc.constant(undefined);
  const name = { name: sort.name };
  return fc
    .tuple(
      fc.constantFrom("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with", "<>", undefined),
      indexKeyValue(sort),
      indexKeyValue(sort),
    )
    .map(([operator, low, high]) => {
      if (operator === undefined) return undefined;
      if (operator === "BETWEEN") {
        return [name, " BETWEEN ", { value: low }, " AND ", { value: high }];
      }
      if (operator === "begins_with") return ["begins_with(", name, ", ", { value: low }, ")"];
      return [name, ` ${operator} `, { value: low }];
    });
}

const pageParts = {
  filter: rarely(condition),
  paths: rarely(projection),
  every: placeholderEvery,
  Limit: fc.constantFrom(1, 2, 3, undefined, undefined),
  ConsistentRead: fc.constantFrom(true, false, undefined, undefined, undefined),
  Select: fc.constantFrom("COUNT", undefined, undefined, undefined, "ALL_ATTRIBUTES"),
};

const query: fc.Arbitrary<Call> = queryTarget.chain(({ table, index, keys }) =>
  fc
    .record({
      ...pageParts,
      partition: indexKeyValue(keys[0] ?? { name: "p", type: "S" }),
      sort: sortTest(keys),
      ScanIndexForward: fc.constantFrom(true, false, undefined),
      startKey: index === undefined ? rarely(key(table)) : fc.constant(undefined),
    })
    .map(({ partition, sort, filter, paths, every, startKey, ...input }) => {
      const name = { name: keys[0]?.name ?? "p" };
      const test = [
        name,
        " = ",
        { value: partition },
        ...(sort === undefined ? [] : [" AND ", ...sort]),
      ];
      const pieces = [test, filter, paths].filter((each) => each !== undefined);
      const rendered = render(pieces, every);
      const texts = rendered.texts.slice(1);
      return {
        operation: "Query" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          IndexName: index,
          ...input,
          ExclusiveStartKey: startKey,
          KeyConditionExpression: rendered.texts[0],
          FilterExpression: filter === undefined ? undefined : texts.shift(),
          ProjectionExpression: paths === undefined ? undefined : texts.shift(),
          ...expressionInput(rendered, false),
        }),
      };
    }),
);

const scan: fc.Arbitrary<Call> = queryTarget.chain(({ table, index }) =>
  fc
    .record({
      ...pageParts,
      segments: fc.constantFrom([undefined, undefined], [0, 1], [1, 3], [2, 2]),
    })
    .map(({ filter, paths, every, segments, ...input }) => {
      const pieces = [filter, paths].filter((each) => each !== undefined);
      const rendered = render(pieces, every);
      const texts = [...rendered.texts];
      return {
        operation: "Scan" as const,
        table: table.name,
        input: compact({
          TableName: table.name,
          IndexName: index,
          ...input,
          Segment: segments[0],
          TotalSegments: segments[1],
          FilterExpression: filter === undefined ? undefined : texts.shift(),
          ProjectionExpression: paths === undefined ? undefined : texts.shift(),
          ...expressionInput(rendered, false),
        }),
      };
    }),
);

const batchGet: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .record({
      Keys: fc.array(key(table), { minLength: 1, maxLength: 5 }),
      paths: rarely(path),
      every: placeholderEvery,
    })
    .map(({ Keys, paths, every }) => {
      const rendered = render(paths === undefined ? [] : [paths], every);
      const request = compact({
        Keys,
        ProjectionExpression: rendered.texts[0],
        ...expressionInput(rendered, false),
      });
      return {
        operation: "BatchGetItem" as const,
        table: table.name,
        input: { RequestItems: { [table.name]: request } },
      };
    }),
);

const batchWrite: fc.Arbitrary<Call> = shape.chain((table) =>
  fc
    .array(
      fc.oneof(
        item(table).map((Item) => ({ PutRequest: { Item } })),
        key(table).map((Key) => ({ DeleteRequest: { Key } })),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((requests) => ({
      operation: "BatchWriteItem" as const,
      table: table.name,
      input: { RequestItems: { [table.name]: requests } },
    })),
);

/** In a transaction there is nothing to return but the reasons. */
function quiet<Input extends { ReturnValues?: unknown; ReturnConsumedCapacity?: unknown }>(
  input: Input,
): Omit<Input, "ReturnValues" | "ReturnConsumedCapacity"> {
  const { ReturnValues: _values, ReturnConsumedCapacity: _report, ...rest } = input;
  return rest;
}

function transactItem(call: Call): TransactWriteItem {
  if (call.operation === "PutItem") return { Put: quiet(call.input) };
  if (call.operation === "DeleteItem") {
    const { ConditionExpression, ...input } = quiet(call.input);
    if (ConditionExpression === undefined) return { Delete: input };
    const condition = { ...input, ConditionExpression };
    const checks = input.ReturnValuesOnConditionCheckFailure !== undefined;
    return checks ? { ConditionCheck: condition } : { Delete: condition };
  }
  if (call.operation !== "UpdateItem") throw new TypeError("no write of a transaction");
  const { UpdateExpression = "REMOVE zz", ...input } = quiet(call.input);
  return { Update: { ...input, UpdateExpression } };
}

const transactWrite: fc.Arbitrary<Call> = fc
  .array(fc.oneof(putItem, deleteItem, updateItem).map(transactItem), {
    minLength: 1,
    maxLength: 3,
  })
  .map((TransactItems) => ({
    operation: "TransactWriteItems" as const,
    table: "indexed" as const,
    input: { TransactItems },
  }));

const transactGet: fc.Arbitrary<Call> = fc
  .array(
    shape.chain((table) => key(table).map((Key) => ({ Get: { TableName: table.name, Key } }))),
    { minLength: 1, maxLength: 3 },
  )
  .map((TransactItems) => ({
    operation: "TransactGetItems" as const,
    table: "indexed" as const,
    input: { TransactItems },
  }));

/** Puts that succeed, so that what follows finds something. */
export const fillings: fc.Arbitrary<readonly Call[]> = fc.array(
  shape.chain((table) =>
    validItem(table).map((Item) => ({
      operation: "PutItem" as const,
      table: table.name,
      input: { TableName: table.name, Item },
    })),
  ),
  { minLength: 10, maxLength: 20 },
);

export function calls({ transactions }: { readonly transactions: boolean }): fc.Arbitrary<Call> {
  const single = [
    { weight: 8, arbitrary: putItem },
    { weight: 3, arbitrary: getItem },
    { weight: 2, arbitrary: deleteItem },
    { weight: 8, arbitrary: updateItem },
    { weight: 5, arbitrary: query },
    { weight: 2, arbitrary: scan },
    { weight: 1, arbitrary: batchGet },
    { weight: 1, arbitrary: batchWrite },
  ];
  const several = [
    { weight: 3, arbitrary: transactWrite },
    { weight: 1, arbitrary: transactGet },
  ];
  return fc.oneof(...single, ...(transactions ? several : []));
}
