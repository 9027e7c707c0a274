/** Query and Scan: what is read of tables and indexes, and where a page ends. */
import { attribute, setAttribute } from "../core/attributes.ts";
import { sameKeyValue } from "../core/key-order.ts";
import type { SortKeyCondition } from "../core/ports.ts";
import { matchesSortKey } from "../core/sort-key-condition.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { typeOf } from "../expressions/attribute-values.ts";
import { pathsOf } from "../expressions/conditions.ts";
import {
  keyAttributes,
  keyOf,
  requireScalarKeys,
  requireTableName,
  type IndexSchema,
} from "../expressions/key-schema.ts";
import { fitKeyTests, type FittedTests, type KeyTest } from "../expressions/key-tests.ts";
import {
  bindQuery,
  bindScan,
  fetchesOf,
  requireStartKey,
  requireUnkeyedFilter,
  selectOf,
} from "../expressions/pages.ts";
import { invalid } from "../expressions/refusals.ts";
import { canonical } from "./canonical.ts";
import { keyText } from "./key-texts.ts";
import { pageAnswer } from "./page-answer.ts";
import type { PageCommand, PagePlan } from "./page-plan.ts";
import { checkRequest } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TransactionCommands } from "./transaction-commands.ts";

/** Rows behind a cut that are looked up together. */
const keysAtOnce = 100;

export async function query(input: PageCommand, commands: TransactionCommands): Promise<object> {
  checkRequest(input);
  const bound = bindQuery(input);
  const { tests, startKey } = bound;
  const table = commands.table(requireTableName(input.TableName));
  const index = indexOf(table, input, tests);
  const schema = index ?? table.schema;
  const fitted = fitKeyTests(tests, schema, index);
  requireUnkeyedFilter(schema, bound.filter);
  requireScalarKeys(table, [...pathsOf(bound.filter), ...(bound.paths ?? [])]);
  const sortKey = fitted.sort === undefined ? undefined : sortKeyCondition(fitted.sort);
  const matches = (item: Item): boolean => isInRange(item, { fitted, sortKey, schema });
  if (startKey !== undefined) {
    if (index === undefined || table.knows(index)) requireStartKey(table, index, startKey);
    if (!matches(startKey)) {
      throw invalid("The provided starting key does not match the range key predicate");
    }
  }
  const descending = input.ScanIndexForward === false;
  const spec = {
    ...{ partitionKey: fitted.partition, sortKey, descending },
    index:
      index === undefined
        ? undefined
        : { name: index.name, partitionKey: index.partition.name, sortKey: index.sort?.name },
  };
  return readPage(commands, {
    ...{ input, bound, table, index, isQuery: true },
    ...contentOf(input, { bound, table, index, isQuery: true }),
    fetch: (page) => commands.transaction.queryPage(table.name, spec, page),
    pass: JSON.stringify(["query", table.name, index?.name, descending, tests.map(testText)]),
    isOrdered: index === undefined,
    holds: matches,
  });
}

export async function scan(input: PageCommand, commands: TransactionCommands): Promise<object> {
  checkRequest(input);
  const bound = bindScan(input);
  const { segment, startKey } = bound;
  const table = commands.table(requireTableName(input.TableName));
  const index = indexOf(table, input, []);
  requireScalarKeys(table, [...pathsOf(bound.filter), ...(bound.paths ?? [])]);
  if (startKey !== undefined) requireStartKey(table, index, startKey);
  return readPage(commands, {
    ...{ input, bound, table, index, isQuery: false },
    ...contentOf(input, { bound, table, index, isQuery: false }),
    fetch: (page) => commands.transaction.scanPage(table.name, { segment }, page),
    pass: JSON.stringify(["scan", table.name, index?.name, segment]),
    isOrdered: false,
    // An index has the rows of its table that have its key.
    holds: (item) =>
      index === undefined ||
      keyAttributes(index).every(({ name, type }) => {
        const value = attribute(item, name);
        return value !== undefined && typeOf(value) === type;
      }),
  });
}

function indexOf(
  table: CommandTable,
  { IndexName: name, ConsistentRead }: PageCommand,
  tests: readonly KeyTest[],
): IndexSchema | undefined {
  if (name === undefined) return undefined;
  const index = table.index(name, tests);
  if (index.kind === "global" && ConsistentRead === true) {
    throw invalid("Consistent reads are not supported on global secondary indexes");
  }
  return index;
}

/** @throws ServiceError where an index does not hold what is asked for. */
function contentOf(
  input: PageCommand,
  of: Pick<PagePlan, "bound" | "table" | "index" | "isQuery">,
): Pick<PagePlan, "select" | "fetches"> {
  const { index, table, isQuery } = of;
  const { filter, paths } = of.bound;
  const select = selectOf(input, index);
  if (index === undefined) return { select, fetches: "never" };
  return { select, fetches: fetchesOf(table, index, { select, filter, paths, query: isQuery }) };
}

function sortKeyCondition({ operator, values }: KeyTest): SortKeyCondition {
  const [first, second] = values;
  if (first === undefined) throw new TypeError("a key test without a value");
  if (operator !== "between") return { operator, value: first };
  return { operator, low: first, high: second ?? first };
}

function testText({ name, operator, values }: KeyTest): string {
  return JSON.stringify([name, operator, ...values.map((value) => keyText({ value }))]);
}

function isInRange(
  item: Item,
  range: {
    readonly fitted: FittedTests;
    readonly sortKey: SortKeyCondition | undefined;
    readonly schema: Pick<IndexSchema, "partition" | "sort">;
  },
): boolean {
  const { fitted, sortKey, schema } = range;
  const partition = attribute(item, schema.partition.name);
  const sort = schema.sort === undefined ? undefined : attribute(item, schema.sort.name);
  return (
    partition !== undefined &&
    sameKeyValue(partition, fitted.partition) &&
    (sortKey === undefined || (sort !== undefined && matchesSortKey(sortKey, sort)))
  );
}

/** Where to go on: first with rows that are known by their keys, then where the engine was. */
type Place = {
  readonly keys: readonly Item[];
  at: number;
  cursor: Item | undefined;
  isOver: boolean;
};

/**
 * A page has as many rows as are asked for, where there are as many. The engine's own pages may
 * have fewer, where rows are not there any more, or more, by what the transaction has put.
 */
async function readPage(commands: TransactionCommands, plan: PagePlan): Promise<object> {
  const { input, holds, table } = plan;
  const wanted = input.Limit ?? Infinity;
  const rows: Item[] = [];
  let place = placeOf(commands, plan);
  while (place.at < place.keys.length && rows.length < wanted) {
    const next = place.keys.slice(place.at, place.at + Math.min(wanted - rows.length, keysAtOnce));
    place.at += next.length;
    for (const item of await commands.batchGet(next.map((key) => ({ table, key })))) {
      if (item !== undefined && holds(item)) rows.push(item);
    }
  }
  while (!place.isOver && rows.length < (input.Limit ?? 1)) {
    const room = wanted - rows.length;
    const limit = input.Limit === undefined ? undefined : room;
    const page = await plan.fetch({ limit, cursor: place.cursor });
    const found = page.rows.map(canonical).filter(holds);
    rows.push(...found.slice(0, room));
    const keys = found.slice(room).map((item) => keyOf(table.schema, item));
    place = { keys, at: 0, cursor: page.cursor, isOver: page.cursor === undefined };
  }
  return pageAnswer(plan, { rows, lastKey: lastKey(commands, plan, { rows, place }) });
}

/** Goes on where the page before was cut, or at a key. */
function placeOf(
  { cutPages }: TransactionCommands,
  { bound: { startKey }, pass, table, index, isQuery }: PagePlan,
): Place {
  if (startKey === undefined) return { keys: [], at: 0, cursor: undefined, isOver: false };
  const cut = cutPages.get(`${pass} ${keyText(startKey)}`);
  if (cut !== undefined) return { ...cut, isOver: cut.cursor === undefined };
  const isOfStore = index === undefined || isQuery;
  const cursor = isOfStore ? startKey : keyOf(table.schema, startKey);
  return { keys: [], at: 0, cursor, isOver: false };
}

/** As DynamoDB says it: a page that is full does not know whether it was the last one. */
function lastKey(
  { cutPages }: TransactionCommands,
  { input: { Limit: limit }, table, index, isQuery, isOrdered, pass }: PagePlan,
  { rows, place }: { readonly rows: readonly Item[]; readonly place: Place },
): Item | undefined {
  const { keys, at, cursor } = place;
  const last = rows.at(-1);
  const isCut = at < keys.length;
  const isFull = rows.length === limit;
  const isOfStore = index === undefined || isQuery;
  // The store may stand behind rows that the transaction has deleted; what it puts among them later
  // comes after this page.
  const isBehind = isOrdered && isFull;
  if (!isCut && cursor !== undefined && isOfStore && !isBehind) return cursor;
  if (last === undefined || !(isCut || cursor !== undefined || isFull)) return undefined;
  const key = startKeyOf(last, table, index);
  // Keys are shared: a page of one row each costs no more than a page of all.
  if (!isOrdered) cutPages.set(`${pass} ${keyText(key)}`, { keys, at, cursor });
  return key;
}

function startKeyOf(item: Item, table: CommandTable, index: IndexSchema | undefined): Item {
  const key: Record<string, AttributeValue> = {};
  const attributes = [...keyAttributes(table.schema), ...(index ? keyAttributes(index) : [])];
  for (const { name } of attributes) {
    const value = attribute(item, name);
    if (value !== undefined) setAttribute(key, name, value);
  }
  return key;
}
