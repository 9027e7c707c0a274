/** Query and Scan: what is read of tables and indexes, and where a page ends. */
import { attribute, setAttribute } from "../core/attributes.ts";
import { InvalidRequestError } from "../core/errors.ts";
import type { SortKeyCondition } from "../core/ports.ts";
import { matchesSortKey } from "../core/sort-key-condition.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { typeOf, valuesEqual } from "../expressions/attribute-values.ts";
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
import { keyText } from "./item-identity.ts";
import { pageAnswer } from "./page-answer.ts";
import type { PageCommand, PagePlan } from "./page-plan.ts";
import { checkRequest } from "./refused.ts";
import type { CommandTable } from "./tables.ts";
import type { TransactionCommands } from "./transaction-commands.ts";

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
  if (startKey !== undefined) {
    requireStartKey(table, index, startKey);
    requireInRange(startKey, { fitted, sortKey, schema });
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
    pass: JSON.stringify(["query", table.name, index?.name, descending]),
    isOrdered: index === undefined,
    holds: () => true,
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

function requireInRange(
  startKey: Item,
  range: {
    readonly fitted: FittedTests;
    readonly sortKey: SortKeyCondition | undefined;
    readonly schema: Pick<IndexSchema, "partition" | "sort">;
  },
): void {
  const { fitted, sortKey, schema } = range;
  const partition = attribute(startKey, schema.partition.name);
  const sort = schema.sort === undefined ? undefined : attribute(startKey, schema.sort.name);
  const isWithin =
    partition !== undefined &&
    valuesEqual(partition, fitted.partition) &&
    (sortKey === undefined || (sort !== undefined && matchesSortKey(sortKey, sort)));
  if (isWithin) return;
  throw invalid("The provided starting key does not match the range key predicate");
}

/**
 * A page has as many rows as are asked for, where there are as many. The engine's own pages may
 * have fewer, where rows are not there any more, or more, by what the transaction has put.
 */
async function readPage(commands: TransactionCommands, plan: PagePlan): Promise<object> {
  const { input, holds } = plan;
  const { Limit: limit } = input;
  if (limit !== undefined && !Number.isSafeInteger(limit)) {
    throw new InvalidRequestError("Limit", "a page's Limit is a whole number");
  }
  const rows: Item[] = [];
  let { cursor, isOver } = await begin(commands, plan, rows);
  while (!isOver && rows.length < (limit ?? 1)) {
    const page = await plan.fetch({
      limit: limit === undefined ? undefined : limit - rows.length,
      cursor,
    });
    rows.push(...page.rows.filter(holds));
    ({ cursor } = page);
    isOver = cursor === undefined;
  }
  const shown = limit === undefined ? rows : rows.slice(0, limit);
  const end = lastKey(commands, plan, { shown, rest: rows.slice(shown.length), cursor });
  return pageAnswer(plan, { rows: shown, lastKey: end });
}

/** Goes on where the page before was cut, or at a key. */
async function begin(
  commands: TransactionCommands,
  { bound: { startKey }, pass, table, index, isQuery, holds }: PagePlan,
  rows: Item[],
): Promise<{ cursor: Item | undefined; isOver: boolean }> {
  if (startKey === undefined) return { cursor: undefined, isOver: false };
  const cut = commands.cutPages.get(`${pass} ${keyText(startKey)}`);
  if (cut === undefined) {
    const isShared = index === undefined || isQuery;
    return { cursor: isShared ? startKey : keyOf(table.schema, startKey), isOver: false };
  }
  const rest = await commands.batchGet(cut.rest.map((key) => ({ table, key })));
  for (const item of rest) if (item !== undefined && holds(item)) rows.push(item);
  return { cursor: cut.cursor, isOver: cut.cursor === undefined };
}

/** As DynamoDB says it: a page that is full does not know whether it was the last one. */
function lastKey(
  commands: TransactionCommands,
  { input: { Limit: limit }, table, index, isQuery, isOrdered, pass }: PagePlan,
  {
    shown,
    rest,
    cursor,
  }: {
    readonly shown: readonly Item[];
    readonly rest: readonly Item[];
    readonly cursor: Item | undefined;
  },
): Item | undefined {
  const isOfStore = index === undefined || isQuery;
  if (rest.length === 0 && cursor !== undefined && isOfStore) return cursor;
  const last = shown.at(-1);
  const isCut = rest.length > 0 || cursor !== undefined || shown.length === limit;
  if (last === undefined || !isCut) return undefined;
  const key = startKeyOf(last, table, index);
  if (!isOrdered) {
    const keys = rest.map((item) => keyOf(table.schema, item));
    commands.cutPages.set(`${pass} ${keyText(key)}`, { rest: keys, cursor });
  }
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
