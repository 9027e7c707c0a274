/**
 * A request's reads and changes, decoded before any work is done: what is wrong with the request
 * alone is answered without touching a store.
 */
import type { SortKeyCondition } from "../../core/ports.ts";
import { InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Item } from "../../core/types.ts";
import type { QuerySpec } from "../../engine/types.ts";
import {
  decodeItem,
  decodeValue,
  encodeItem,
  isJsonObject,
  type ItemFormat,
} from "../../schemas/rest/items.ts";
import type {
  ConditionRequest,
  QueryRequest,
  ReadsRequest,
  WriteRequest,
} from "../../schemas/rest/requests.ts";
import { decodeCondition, type ItemCondition } from "./conditions.ts";

export type ItemReference = { readonly table: string; readonly key: Item };

type PageBounds = { readonly limit?: number; readonly cursor?: Item };

export type ReadPlan = {
  readonly gets: readonly ItemReference[];
  readonly queries: readonly {
    readonly table: string;
    readonly spec: QuerySpec;
    readonly page: PageBounds;
  }[];
  readonly scans: readonly { readonly table: string; readonly page: PageBounds }[];
};

export type PlannedCheck = ItemReference & { readonly condition: ItemCondition };

export type PlannedWrite = {
  readonly table: string;
  readonly condition: ItemCondition | undefined;
} & (
  | { readonly op: "put"; readonly item: Item }
  | {
      readonly op: "update";
      readonly key: Item;
      readonly set: Item;
      readonly add: Item;
      readonly remove: readonly string[];
    }
  | { readonly op: "delete"; readonly key: Item }
);

export type ChangePlan = {
  readonly format: ItemFormat;
  readonly conditions: readonly PlannedCheck[];
  readonly writes: readonly PlannedWrite[];
  readonly returnItems: boolean;
};

/** @throws InvalidRequestError, TransactionTooLargeError */
export function planReads(request: ReadsRequest, format: ItemFormat): ReadPlan {
  requireKeysAtMost(request.gets.length);
  return {
    gets: request.gets.map(({ table, key }, index) => ({
      table,
      key: decodeItem(key, { format, field: `reads.gets[${index.toString()}].key` }),
    })),
    queries: request.queries.map((query, index) => {
      const field = `reads.queries[${index.toString()}]`;
      return {
        table: query.table,
        spec: planQuery(query, { format, field }),
        page: planPage(query, field),
      };
    }),
    scans: request.scans.map((scan, index) => ({
      table: scan.table,
      page: planPage(scan, `reads.scans[${index.toString()}]`),
    })),
  };
}

type Changes = {
  readonly format: ItemFormat;
  readonly conditions: readonly ConditionRequest[];
  readonly writes: readonly WriteRequest[];
  readonly returnItems: boolean;
};

/** @throws InvalidRequestError, TransactionTooLargeError */
export function planChanges(request: Changes): ChangePlan {
  requireKeysAtMost(request.conditions.length + request.writes.length);
  const { format } = request;
  return {
    format,
    returnItems: request.returnItems,
    conditions: request.conditions.map(({ table, key, condition }, index) => {
      const field = `conditions[${index.toString()}]`;
      return {
        table,
        key: decodeItem(key, { format, field: `${field}.key` }),
        condition: decodeCondition(condition, { format, field: `${field}.condition` }),
      };
    }),
    writes: request.writes.map((write, index) =>
      planWrite(write, { format, field: `writes[${index.toString()}]` }),
    ),
  };
}

type Place = { readonly format: ItemFormat; readonly field: string };

function planWrite(write: WriteRequest, { format, field }: Place): PlannedWrite {
  const at = (member: string): Place => ({ format, field: `${field}.${member}` });
  const { table } = write;
  const condition =
    write.condition === undefined ? undefined : decodeCondition(write.condition, at("condition"));
  if (write.op === "put") {
    return { op: "put", table, condition, item: decodeItem(write.item, at("item")) };
  }
  const key = decodeItem(write.key, at("key"));
  if (write.op === "delete") return { op: "delete", table, condition, key };

  const set = decodeItem(write.set ?? {}, at("set"));
  const add = decodeItem(write.add ?? {}, at("add"));
  const remove = write.remove ?? [];
  for (const [name, amount] of Object.entries(add)) {
    if ("N" in amount) continue;
    throw new InvalidRequestError(`${field}.add.${name}`, `${field}.add.${name}: must be a number`);
  }
  requireOnce([...Object.keys(set), ...Object.keys(add), ...remove], { key, field });
  return { op: "update", table, condition, key, set, add, remove };
}

function requireOnce(
  names: readonly string[],
  { key, field }: { readonly key: Item; readonly field: string },
): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) {
      const message = `${field}: "${name}" is changed twice; name it once in set, add or remove`;
      throw new InvalidRequestError(field, message);
    }
    if (Object.hasOwn(key, name)) {
      const message = `${field}: "${name}" belongs to the key, which no update can change`;
      throw new InvalidRequestError(field, message);
    }
    seen.add(name);
  }
}

function planQuery(query: QueryRequest, { format, field }: Place): QuerySpec {
  const { index } = query;
  const sortKey = planSortKey(query.sortKey ?? {}, { format, field: `${field}.sortKey` });
  if (index !== undefined && sortKey !== undefined && index.sortKey === undefined) {
    const message = `${field}.index.sortKey: is required with a condition on the sort key`;
    throw new InvalidRequestError(`${field}.index.sortKey`, message);
  }
  return {
    partitionKey: decodeValue(query.partitionKey, { format, field: `${field}.partitionKey` }),
    descending: query.descending,
    ...(sortKey === undefined ? {} : { sortKey }),
    ...(index === undefined
      ? {}
      : {
          index: {
            name: index.name,
            partitionKey: index.partitionKey,
            ...(index.sortKey === undefined ? {} : { sortKey: index.sortKey }),
          },
        }),
  };
}

const sortKeyOperators = {
  eq: "=",
  lt: "<",
  lte: "<=",
  gt: ">",
  gte: ">=",
  beginsWith: "begins_with",
} as const;

function planSortKey(
  condition: NonNullable<QueryRequest["sortKey"]>,
  { format, field }: Place,
): SortKeyCondition | undefined {
  if (condition.between !== undefined) {
    const [low, high] = condition.between;
    return {
      operator: "between",
      low: decodeValue(low, { format, field: `${field}.between[0]` }),
      high: decodeValue(high, { format, field: `${field}.between[1]` }),
    };
  }
  for (const [name, operator] of Object.entries(sortKeyOperators)) {
    const bound = condition[name as keyof typeof sortKeyOperators];
    if (bound === undefined) continue;
    return { operator, value: decodeValue(bound, { format, field: `${field}.${name}` }) };
  }
  return undefined;
}

function planPage(
  request: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  field: string,
): PageBounds {
  return {
    ...(request.limit === undefined ? {} : { limit: request.limit }),
    ...(request.cursor === undefined
      ? {}
      : { cursor: decodeCursor(request.cursor, `${field}.cursor`) }),
  };
}

/**
 * A page's end as opaque text. It is a key, not a secret: a forged one only names another place.
 */
export function encodeCursor(cursor: Item): string {
  return Buffer.from(JSON.stringify(encodeItem(cursor, "dynamodb"))).toString("base64url");
}

function decodeCursor(text: string, field: string): Item {
  const bytes = Buffer.from(text, "base64url");
  let parsed: unknown;
  try {
    // Strict in both: what would be read as something else than was sent is no cursor.
    if (bytes.toString("base64url") === text) {
      parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    }
  } catch (cause) {
    throw new InvalidRequestError(field, `${field}: is not a cursor of an earlier page`, { cause });
  }
  if (!isJsonObject(parsed) || Object.keys(parsed).length === 0) {
    throw new InvalidRequestError(field, `${field}: is not a cursor of an earlier page`);
  }
  return decodeItem(parsed, { format: "dynamodb", field });
}

/** @throws TransactionTooLargeError */
export function requireKeysAtMost(keys: number): void {
  const max = limits.transactionKeysMax;
  if (keys <= max) return;
  throw new TransactionTooLargeError(
    `the request names ${keys.toString()} keys; a transaction holds at most ${max.toString()}`,
    { name: "transactionKeysMax", max, actual: keys },
  );
}
