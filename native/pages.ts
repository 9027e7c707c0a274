/**
 * Queries and scans, so that placeholders are neither among the items nor counted, and a page with
 * a limit is as full as it would be without them. Where only a count is asked for, the marks are
 * fetched and counted; a page on which one stands is read again whole.
 */
import type { KeyNames } from "../core/attributes.ts";
import * as limits from "../core/limits.ts";
import { projectingAll, projectingMark } from "./expressions.ts";
import { sightOf, visibleItems, withoutReserved } from "./hidden.ts";
import { nameOf, pathsOf, projected } from "./projection.ts";
import { refuseLegacy } from "./refused.ts";
import type { Answer, Ask, PageInput, ShownItem, WireItem } from "./wire.ts";
import { expressionBytesMax } from "../expressions/limits.ts";

export type PageOutput = {
  Items?: ShownItem[];
  Count?: number;
  ScannedCount?: number;
  LastEvaluatedKey?: ShownItem;
  ConsumedCapacity?: { CapacityUnits?: number };
};
type AskPage = Ask<PageInput, PageOutput>;

/** Indexes that do not have the mark: then no placeholder can be told there. */
export type MarklessIndexes = Set<string>;
type PagesOf = { readonly table: KeyNames; readonly markless: MarklessIndexes };

export async function page(
  ask: AskPage,
  input: PageInput,
  of: PagesOf,
): Promise<Answer<PageOutput>> {
  refuseLegacy(input, of.table.name);
  const first = await shownPage(ask, input, of);
  const { answer } = first;
  // A filter's pages are as full as they happen to be.
  if (input.Limit === undefined || input.FilterExpression !== undefined) return answer;
  await fillUp(answer.output, first.hidden, (more) => shownPage(ask, { ...input, ...more }, of));
  return answer;
}

/**
 * Adds so many rows, behind whatever is hidden there. Where all was hidden twice as many are asked
 * for, so that a crowd of placeholders costs few calls; where that was too many, half as many.
 */
async function fillUp(
  output: PageOutput,
  hidden: number,
  ask: (more: Pick<PageInput, "Limit" | "ExclusiveStartKey">) => Promise<Shown>,
): Promise<void> {
  let missing = hidden;
  let limit = missing;
  while (missing > 0 && output.LastEvaluatedKey !== undefined) {
    const ExclusiveStartKey = wireKey(output.LastEvaluatedKey);
    const { answer } = await ask({ Limit: limit, ExclusiveStartKey });
    const found = answer.output.Count ?? answer.output.Items?.length ?? 0;
    if (found > missing) {
      addConsumed(output, answer.output);
      limit = Math.max(missing, Math.floor(limit / 2));
      continue;
    }
    append(output, answer.output);
    missing -= found;
    limit = found === 0 ? Math.min(limit * 2, limits.rowsBehindHiddenMax) : missing;
  }
}

type Shown = { readonly answer: Answer<PageOutput>; readonly hidden: number };

async function shownPage(ask: AskPage, input: PageInput, of: PagesOf): Promise<Shown> {
  const { table } = of;
  const isCount = input.Select === "COUNT";
  const isWhole = !isCount && input.ProjectionExpression === undefined;
  const asked = isWhole
    ? { answer: await ask(input), isMarked: true }
    : await markedPage(ask, input, of);
  let { answer } = asked;
  if (isCount && !asked.isMarked) return { answer, hidden: 0 };
  const { Items: items = [] } = answer.output;
  const isAgain = items.some((item) => sightOf(item, table, isWhole) === "unsure");
  if (isAgain) {
    const { Select: _, ...rest } = input;
    answer = await ask(projectingAll(rest));
  }
  const { output } = answer;
  const before = output.Items?.length ?? 0;
  output.Items = shownItems(output.Items ?? [], { input, table, isWhole: isWhole || isAgain });
  const hidden = before - output.Items.length;
  if (output.Count !== undefined) output.Count -= hidden;
  if (output.ScannedCount !== undefined) output.ScannedCount -= hidden;
  if (isCount) delete output.Items;
  return { answer, hidden };
}

function shownItems(
  items: readonly ShownItem[],
  {
    input,
    table,
    isWhole,
  }: { readonly input: PageInput; readonly table: KeyNames; readonly isWhole: boolean },
): ShownItem[] {
  if (!isWhole) return items.map(withoutReserved);
  const { ProjectionExpression: projection, ExpressionAttributeNames: names } = input;
  const there = visibleItems(items, table);
  if (projection === undefined) return there;
  const paths = pathsOf(projection, names);
  return there.map((item) => projected(item, paths, table.partitionKey));
}

/** What is projected or counted, with the marks if there can be any. */
async function markedPage(
  ask: AskPage,
  input: PageInput,
  { table, markless }: PagesOf,
): Promise<{ readonly answer: Answer<PageOutput>; readonly isMarked: boolean }> {
  const index = `${table.name}/${input.IndexName ?? ""}`;
  if (!mayHoldPlaceholders(input, table) || markless.has(index)) {
    return { answer: await ask(input), isMarked: false };
  }
  const isCount = input.Select === "COUNT";
  const marked = projectingMark(isCount ? { ...input, Select: "SPECIFIC_ATTRIBUTES" } : input);
  try {
    return { answer: await ask(marked), isMarked: true };
  } catch (error) {
    const isRefused = error instanceof Error && error.name === "ValidationException";
    if (input.IndexName === undefined || !isRefused) throw error;
    const answer = await ask(input);
    // One that the mark has made too long says nothing of the index.
    if ((marked.ProjectionExpression?.length ?? 0) <= expressionBytesMax) markless.add(index);
    return { answer, isMarked: false };
  }
}

/** An item without an index's key is not in it, and a placeholder has only the table's. */
function mayHoldPlaceholders(input: PageInput, { partitionKey, sortKey }: KeyNames): boolean {
  if (input.IndexName === undefined) return true;
  // A local index: its sort key is another attribute.
  if (input.ConsistentRead === true) return false;
  const { KeyConditionExpression = "", ExpressionAttributeNames: names = {} } = input;
  const words = KeyConditionExpression.replaceAll(/:\w+/gu, "").match(/#?[A-Za-z_]\w*/gu) ?? [];
  return words
    .filter((word) => !/^(?:and|between|begins_with)$/iu.test(word))
    .map((word) => nameOf(word, names))
    .every((name) => name === partitionKey || name === sortKey);
}

function append(to: PageOutput, more: PageOutput): void {
  if (to.Items !== undefined) to.Items.push(...(more.Items ?? []));
  if (to.Count !== undefined) to.Count += more.Count ?? 0;
  if (to.ScannedCount !== undefined) to.ScannedCount += more.ScannedCount ?? 0;
  if (more.LastEvaluatedKey === undefined) delete to.LastEvaluatedKey;
  else to.LastEvaluatedKey = more.LastEvaluatedKey;
  addConsumed(to, more);
}

function addConsumed({ ConsumedCapacity: consumed }: PageOutput, more: PageOutput): void {
  if (consumed?.CapacityUnits !== undefined) {
    consumed.CapacityUnits += more.ConsumedCapacity?.CapacityUnits ?? 0;
  }
}

/** A key of either form in the wire's: its values are texts, numbers and bytes. */
function wireKey(key: ShownItem): WireItem {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [name, wireValue(value)]));
}

function wireValue(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === "string") return { S: value };
  if (typeof value === "number" || typeof value === "bigint") return { N: value.toString() };
  if (value instanceof Uint8Array) return { B: value };
  const { value: wrapped } = value as { readonly value?: unknown };
  if (typeof wrapped === "string") return { N: wrapped };
  // What else an application's own `wrapNumbers` makes of a number, such as a decimal of a library.
  const text = String(value);
  return isNumber(text) ? { N: text } : (value as Readonly<Record<string, unknown>>);
}

function isNumber(text: string): boolean {
  return /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/iu.test(text);
}
