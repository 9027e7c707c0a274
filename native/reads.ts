/**
 * Reads of single items, so that a placeholder is absent and reserved attributes are not there
 * (docs/mixed-tables.md). What is projected may not tell a placeholder from an item that an unaware
 * UpdateItem has made of one: then everything is read again whole, and projected here.
 */
import type { KeyNames } from "../core/attributes.ts";
import { projectingAll, projectingMark } from "./expressions.ts";
import { sightOf, visible, withoutReserved } from "./hidden.ts";
import type { MixedTables } from "./mixed-tables.ts";
import { pathsOf, projected } from "./projection.ts";
import { refuseLegacy } from "./refused.ts";
import type { Answer, Ask, GetInput, Projected, ShownItem } from "./wire.ts";

export type ItemOutput = { Item?: ShownItem };
export type BatchGetInput = { readonly RequestItems?: Readonly<Record<string, Projected>> };
type BatchGetOutput = {
  Responses?: Record<string, ShownItem[]>;
  UnprocessedKeys?: Record<string, Projected>;
};
export type TransactGetInput = { readonly TransactItems?: readonly { readonly Get?: GetInput }[] };
type TransactGetOutput = { Responses?: ItemOutput[] };

/** How what is answered was asked for. */
type Asked = { readonly own: Projected; readonly table: KeyNames; readonly isWhole: boolean };

export async function getItem(
  ask: Ask<GetInput, ItemOutput>,
  input: GetInput,
  table: KeyNames,
): Promise<Answer<ItemOutput>> {
  refuseLegacy(input, table.name);
  let answer = await ask(marked(input));
  let isWhole = input.ProjectionExpression === undefined;
  if (isUnsure(answer.output.Item, { own: input, table, isWhole })) {
    answer = await ask(projectingAll(input));
    isWhole = true;
  }
  show(answer.output, { own: input, table, isWhole });
  return answer;
}

export async function transactGetItems(
  ask: Ask<TransactGetInput, TransactGetOutput>,
  input: TransactGetInput,
  tables: MixedTables,
): Promise<Answer<TransactGetOutput>> {
  const { TransactItems: parts = [] } = input;
  const asked = parts.map(({ Get: own }) => {
    const table = tables.find(own?.TableName);
    return own === undefined || table === undefined ? undefined : { own, table };
  });
  const withEach = (change: (own: GetInput) => GetInput): TransactGetInput => ({
    ...input,
    TransactItems: parts.map((part, i) => {
      const own = asked[i]?.own;
      return own === undefined ? part : { ...part, Get: change(own) };
    }),
  });
  const isWhole = (own: Projected): boolean => own.ProjectionExpression === undefined;
  let answer = await ask(withEach(marked));
  let isAgain = false;
  const isAnyUnsure = answer.output.Responses?.some(({ Item }, i) => {
    const part = asked[i];
    return part !== undefined && isUnsure(Item, { ...part, isWhole: isWhole(part.own) });
  });
  if (isAnyUnsure === true) {
    answer = await ask(withEach(projectingAll));
    isAgain = true;
  }
  answer.output.Responses?.forEach((response, i) => {
    const part = asked[i];
    if (part !== undefined) show(response, { ...part, isWhole: isAgain || isWhole(part.own) });
  });
  return answer;
}

export async function batchGetItem(
  ask: Ask<BatchGetInput, BatchGetOutput>,
  input: BatchGetInput,
  tables: MixedTables,
): Promise<Answer<BatchGetOutput>> {
  const requests = Object.entries(input.RequestItems ?? {});
  for (const [name, request] of requests) {
    const table = tables.find(name);
    if (table !== undefined) refuseLegacy(request, table.name);
  }
  const withEach = (change: (own: Projected) => Projected): BatchGetInput => ({
    ...input,
    RequestItems: Object.fromEntries(
      requests.map(([name, own]) => [name, tables.find(name) === undefined ? own : change(own)]),
    ),
  });
  const askedOf = (name: string, isAgain: boolean): Asked | undefined => {
    const table = tables.find(name);
    const own = requests.find(([each]) => each === name || tables.find(each) === table)?.[1];
    if (table === undefined || own === undefined) return undefined;
    return { own, table, isWhole: isAgain || own.ProjectionExpression === undefined };
  };
  let answer = await ask(withEach(marked));
  const isAgain = Object.entries(answer.output.Responses ?? {}).some(([name, items]) => {
    const asked = askedOf(name, false);
    return asked !== undefined && items.some((item) => isUnsure(item, asked));
  });
  if (isAgain) answer = await ask(withEach(projectingAll));
  const { Responses = {}, UnprocessedKeys = {} } = answer.output;
  for (const [name, items] of Object.entries(Responses)) {
    const asked = askedOf(name, isAgain);
    if (asked !== undefined)
      Responses[name] = items
        .map((item) => shown(item, asked))
        .filter((item) => item !== undefined);
  }
  for (const [name, left] of Object.entries(UnprocessedKeys)) {
    const asked = askedOf(name, isAgain);
    if (asked !== undefined) UnprocessedKeys[name] = asTheUserAsked(left, asked.own);
  }
  return answer;
}

function marked<Input extends Projected>(input: Input): Input {
  return input.ProjectionExpression === undefined ? input : projectingMark(input);
}

function isUnsure(item: ShownItem | undefined, { table, isWhole }: Asked): boolean {
  return item !== undefined && sightOf(item, table, isWhole) === "unsure";
}

function show(output: ItemOutput, asked: Asked): void {
  if (output.Item === undefined) return;
  const item = shown(output.Item, asked);
  if (item === undefined) delete output.Item;
  else output.Item = item;
}

function shown(item: ShownItem, { own, table, isWhole }: Asked): ShownItem | undefined {
  // What was projected and is not unsure is there.
  if (!isWhole) return withoutReserved(item);
  const whole = visible(item, table);
  const { ProjectionExpression: projection, ExpressionAttributeNames: names } = own;
  if (whole === undefined || projection === undefined) return whole;
  return projected(whole, pathsOf(projection, names), table.partitionKey);
}

/** What was added to the projection is not the user's, who sends this again. */
function asTheUserAsked(left: Projected, own: Projected): Projected {
  const { ProjectionExpression: _p, ExpressionAttributeNames: _n, ...rest } = left;
  const { ProjectionExpression, ExpressionAttributeNames } = own;
  return {
    ...rest,
    ...(ProjectionExpression === undefined ? {} : { ProjectionExpression }),
    ...(ExpressionAttributeNames === undefined ? {} : { ExpressionAttributeNames }),
  };
}
