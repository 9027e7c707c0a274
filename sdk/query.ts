/**
 * Queries and scans as callers write them: conditions typed by the table's key, rows as an async
 * iterable, as pages, or as a bounded array. Paging, visibility and phantom protection are the
 * engine's; here is only how a request is spelt and how long a caller lets it run.
 */
import { InvalidRequestError, TransactionTooLargeError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { SortKeyCondition } from "../core/ports.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import type { PageRequest, QuerySpec, RowPage } from "../engine/types.ts";
import {
  aBoolean,
  aFunction,
  anObject,
  aText,
  checkOptions,
  integerIn,
  isPlainObject,
  type Checks,
} from "./check-options.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { keyNames, type RowCodec } from "./row-codec.ts";
import type { RowReader } from "./row-reader.ts";
import type { AnyTable, KeyOf, KeyValue, PartitionNameOf, PartitionOf, RowOf } from "./table.ts";

/** Exactly one member of `T`. */
type OneOf<T> = {
  [Name in keyof T]: { readonly [Only in Name]: T[Only] } & {
    readonly [Other in Exclude<keyof T, Name>]?: never;
  };
}[keyof T];

type Comparisons<Value> = {
  eq: Value;
  lt: Value;
  lte: Value;
  gt: Value;
  gte: Value;
  /** Both ends included, as in DynamoDB. */
  between: readonly [low: Value, high: Value];
};

/** A condition on a sort key: exactly one comparison. `beginsWith` for strings and bytes only. */
export type SortCondition<Value> = [Value] extends [string | Uint8Array]
  ? OneOf<Comparisons<Value> & { beginsWith: Value }>
  : OneOf<Comparisons<Value>>;

/** What a compiler shows where a key of two attributes does not say which comes first. */
type UnnamedPartition = {
  readonly 'Name the partition key: defineTable<Item, Key, "...">(name)': never;
};

/** The partition key's value, and optionally a condition on the sort key. */
export type Where<Key, Partition extends string = PartitionOf<Key>> = Key extends KeyValue
  ? { readonly [attribute: string]: Key | SortCondition<string> | SortCondition<number> }
  : string extends Partition
    ? { readonly [attribute: string]: unknown }
    : [Partition] extends [never]
      ? UnnamedPartition
      : { readonly [Name in Partition & keyof Key]: Key[Name] } & {
          readonly [Sort in Exclude<keyof Key, Partition>]?: SortCondition<Key[Sort]>;
        };

/** The same over any attributes, since an index may have any of them as its key. */
export type IndexWhere<Row> = Row extends unknown
  ? {
      readonly [Name in keyof Row as NonNullable<Row[Name]> extends KeyValue ? Name : never]?:
        | NonNullable<Row[Name]>
        | SortCondition<NonNullable<Row[Name]>>;
    }
  : never;

type QuerySettings<T extends AnyTable> = {
  /** Sort keys from high to low. Default false. */
  readonly descending?: boolean;
  /**
   * Keeps the rows for which it returns true. Runs here, on the version that this transaction sees:
   * a DynamoDB filter expression would judge the newest one. Rows left out still count as read.
   */
  readonly filter?: (row: RowOf<T>) => boolean;
};

export type QueryOptions<T extends AnyTable> = QuerySettings<T> &
  (
    | {
        /**
         * The partition key's value, and at most one condition on the sort key.
         * `{ customer: "c1" }` or `{ customer: "c1", order: { beginsWith: "2024-" } }`.
         */
        readonly where: Where<KeyOf<T>, PartitionNameOf<T>>;
        readonly index?: never;
      }
    | {
        /**
         * The name of a global or local secondary index. See docs/sdk.md for what an index query
         * guarantees.
         */
        readonly index: string;
        readonly where: IndexWhere<RowOf<T>>;
      }
  );

export type ScanOptions<T extends AnyTable> = Pick<QuerySettings<T>, "filter">;

export type PageOptions = {
  /** Rows examined (not: returned) by this page, as DynamoDB counts. */
  readonly limit?: number;
  /** Where the page before ended. */
  readonly cursor?: string | undefined;
};

export type AllOptions = {
  /** A bound, not a cut: more rows are an error. Default 10,000. */
  readonly rowsMax?: number;
};

const aRowCount = integerIn({ min: 1, max: limits.transactionKeysMax });

export const queryChecks = {
  where: anObject,
  index: aText,
  descending: aBoolean,
  filter: aFunction,
} satisfies Checks<QueryOptions<AnyTable>>;

export const scanChecks = { filter: aFunction } satisfies Checks<ScanOptions<AnyTable>>;
export const pageChecks = { limit: aRowCount, cursor: aText } satisfies Checks<PageOptions>;
export const allChecks = { rowsMax: aRowCount } satisfies Checks<AllOptions>;

export type RowsPage<R> = {
  readonly rows: R[];
  /** Opaque; undefined at the end. A page may be empty and yet have a cursor. */
  readonly cursor: string | undefined;
};

/** The rows of a query or scan. Nothing is read before it is asked for; every use reads anew. */
export type Rows<R> = AsyncIterable<R> & {
  /**
   * @throws InvalidRequestError for a cursor of another table or index.
   * @example
   * const { rows, cursor } = await tx.scan(accounts).page({ limit: 25 });
   * const next = await tx.scan(accounts).page({ limit: 25, cursor });
   */
  page(options?: PageOptions): Promise<RowsPage<R>>;
  /**
   * Every row.
   * @throws TransactionTooLargeError when there are more than `rowsMax`.
   * @example
   * const all = await tx.query(orders, { where: { customer: "ann" } }).all({ rowsMax: 500 });
   */
  all(options?: AllOptions): Promise<R[]>;
  /**
   * The first `count` rows, or all if there are fewer.
   * @example
   * const ofAnn = tx.query(orders, { where: { customer: "ann" }, descending: true });
   * const [newest] = await ofAnn.take(1);
   */
  take(count: number): Promise<R[]>;
};

type FetchPage = (page: PageRequest) => Promise<RowPage>;

export type RowSource<R> = {
  readonly table: AnyTable;
  readonly index: string | undefined;
  readonly filter: ((row: R) => boolean) | undefined;
  readonly fetch: FetchPage;
  readonly decode: (item: Item) => R;
};

export class RowStream<R> implements Rows<R> {
  readonly #source: RowSource<R>;

  constructor(source: RowSource<R>) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<R, void, undefined> {
    let cursor: Item | undefined;
    do {
      const page = await this.#source.fetch({ cursor });
      yield* this.#visible(page);
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async page(options: PageOptions = {}): Promise<RowsPage<R>> {
    checkOptions("", options, pageChecks);
    const { table, index, fetch } = this.#source;
    const scope = { table: table.name, index };
    const page = await fetch({
      limit: options.limit,
      cursor: options.cursor === undefined ? undefined : decodeCursor(scope, options.cursor),
    });
    return {
      rows: [...this.#visible(page)],
      cursor: page.cursor === undefined ? undefined : encodeCursor(scope, page.cursor),
    };
  }

  async all(options: AllOptions = {}): Promise<R[]> {
    checkOptions("", options, allChecks);
    const rowsMax = options.rowsMax ?? limits.transactionKeysMax;
    const rows: R[] = [];
    for await (const row of this) {
      rows.push(row);
      if (rows.length > rowsMax) {
        throw new TransactionTooLargeError(
          `table ${this.#source.table.name} has more rows here than the ${rowsMax} allowed; ` +
            "raise `rowsMax`, or use `page` or `take`",
          { name: "rowsMax", max: rowsMax, actual: rows.length },
        );
      }
    }
    return rows;
  }

  async take(count: number): Promise<R[]> {
    checkOptions("", { count }, { count: aRowCount });
    const rows: R[] = [];
    let cursor: Item | undefined;
    do {
      // With a filter the rows wanted say nothing about the rows to examine.
      const limit = this.#source.filter === undefined ? count - rows.length : undefined;
      const page = await this.#source.fetch({ limit, cursor });
      for (const row of this.#visible(page)) if (rows.length < count) rows.push(row);
      cursor = page.cursor;
    } while (cursor !== undefined && rows.length < count);
    return rows;
  }

  *#visible(page: RowPage): Generator<R, void, undefined> {
    const { filter, decode } = this.#source;
    for (const item of page.rows) {
      const row = decode(item);
      if (filter === undefined || filter(row)) yield row;
    }
  }
}

/** What a caller without types may have passed. */
type LooseQuery = {
  readonly where?: unknown;
  readonly index?: string;
  readonly descending?: boolean;
  readonly filter?: unknown;
};

/**
 * @throws InvalidRequestError naming what is wrong with `where`: exactly one plain value (the
 * partition key) and at most one condition (the sort key), of the table's own key unless an index
 * is named.
 */
export function querySpec(
  { items, codec }: RowReader,
  table: AnyTable,
  options: LooseQuery,
): QuerySpec {
  checkOptions("", options, queryChecks);
  const conditions = Object.entries(
    (options.where ?? {}) as Readonly<Record<string, unknown>>,
  ).filter(([, value]) => value !== undefined);
  const partitions = conditions.filter(([, value]) => !isPlainObject(value));
  const sorts = conditions.filter(([, value]) => isPlainObject(value));
  const [partition] = partitions;
  const [sort] = sorts;
  if (partition === undefined || partitions.length > 1 || sorts.length > 1) {
    throw new InvalidRequestError(
      "where",
      "`where` takes the partition key's value and at most one condition on the sort key, " +
        'such as { customer: "c1", order: { beginsWith: "2024-" } }',
    );
  }
  if (options.index === undefined) {
    const [partitionName, sortName] = keyNames(table, items.describe(table.name));
    checkName(partition[0], partitionName, "partition key");
    if (sort !== undefined) checkName(sort[0], sortName, "sort key");
  }
  return {
    partitionKey: codec.keyValue(partition[1], `where.${partition[0]}`),
    descending: options.descending ?? false,
    index:
      options.index === undefined
        ? undefined
        : { name: options.index, partitionKey: partition[0], sortKey: sort?.[0] },
    sortKey: sort === undefined ? undefined : sortKeyCondition(sort, codec),
  };
}

type Condition = readonly [name: string, value: unknown];

function checkName(given: string, expected: string | undefined, role: string): void {
  if (given === expected) return;
  throw new InvalidRequestError(
    `where.${given}`,
    expected === undefined
      ? `the table has no ${role}`
      : `${given} is not the table's ${role}, which is ${expected}; name an ` +
          "`index` to query by it",
  );
}

const operators = { eq: "=", lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;

function sortKeyCondition([name, condition]: Condition, codec: RowCodec): SortKeyCondition {
  const path = `where.${name}`;
  const given = Object.entries(condition as Readonly<Record<string, unknown>>).filter(
    ([, value]) => value !== undefined,
  );
  const [only] = given;
  if (only === undefined || given.length > 1) {
    throw new InvalidRequestError(path, `\`${path}\` takes exactly one comparison`);
  }
  const [operator, operand] = only;
  const value = (operandValue: unknown): AttributeValue =>
    codec.keyValue(operandValue, `${path}.${operator}`);
  if (operator === "between") {
    const [low, high] = Array.isArray(operand) ? (operand as unknown[]) : [];
    return { operator, low: value(low), high: value(high) };
  }
  if (operator === "beginsWith") return { operator: "begins_with", value: value(operand) };
  if (Object.hasOwn(operators, operator)) {
    return { operator: operators[operator as keyof typeof operators], value: value(operand) };
  }
  throw new InvalidRequestError(
    `${path}.${operator}`,
    `there is no comparison \`${operator}\`; known are eq, lt, lte, gt, gte, between, beginsWith`,
  );
}
