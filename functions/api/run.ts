/**
 * Carries a plan out in a transaction. Everything that must be known of items as they stand comes
 * in one batch; conditions are judged on that state, all of them before the first write; writes
 * then follow in the request's order, each on top of those before it.
 */
import { attribute } from "../../core/attributes.ts";
import { InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import { itemSizeBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import type { EngineTransaction, Reader, RowPage } from "../../engine/types.ts";
import type { ReadsAnswer } from "../../schemas/rest/answers.ts";
import { encodeItem, type ItemFormat, type JsonObject } from "../../schemas/rest/items.ts";
import { AnswerItems, requireDeliverable } from "./answer-items.ts";
import { ItemInWork } from "./item-in-work.ts";
import { canonicalItem, judge, type ItemCondition } from "./conditions.ts";
import type { Pace } from "./pace.ts";
import {
  encodeCursor,
  type ChangePlan,
  type ItemReference,
  type PlannedWrite,
  type ReadPlan,
} from "./plan.ts";
import { ApiProblem } from "./problem.ts";

/** How reads are answered. */
export type Manner = { readonly format: ItemFormat; readonly pace: Pace };

export type WrittenAnswer = readonly (JsonObject | null)[] | undefined;

/**
 * @throws whatever the reader throws; TransactionTooLargeError when the answer could not be
 * delivered.
 */
export async function runReads(
  reader: Reader,
  plan: ReadPlan,
  { format, pace }: Manner,
): Promise<ReadsAnswer> {
  const items = new AnswerItems(format);
  const toPage = ({ rows, cursor }: RowPage): ReadsAnswer["queries"][number] => ({
    items: rows.map((row) => items.add(row) ?? {}),
    ...(cursor === undefined ? {} : { cursor: encodeCursor(cursor) }),
  });
  const [gets, queries, scans] = await Promise.all([
    inSlices(reader, plan.gets, (item) => pace().then(() => items.add(item))),
    Promise.all(plan.queries.map(({ table, spec, page }) => reader.queryPage(table, spec, page))),
    Promise.all(plan.scans.map(({ table, page }) => reader.scanPage(table, {}, page))),
  ]);
  const answer = { gets, queries: queries.map(toPage), scans: scans.map(toPage) };
  requireDeliverable(answer);
  return answer;
}

/**
 * Judges the conditions and buffers the writes.
 * @throws ApiProblem `condition-failed` with the item as it stands.
 */
export async function runChanges(
  transaction: EngineTransaction,
  plan: ChangePlan,
  pace: Pace,
): Promise<WrittenAnswer> {
  const writes = plan.writes.map((write, index) => {
    const reference = { table: write.table, key: keyOf(transaction, write, index) };
    return { write, reference, id: identityOf(reference) };
  });
  const current = await readCurrent(transaction, [
    ...plan.conditions,
    ...writes.filter(({ write }) => needsCurrent(write)).map(({ reference }) => reference),
  ]);
  for (const [index, { condition, ...reference }] of plan.conditions.entries()) {
    await pace();
    requireHolds(condition, { list: "conditions", index, reference, current, plan });
  }
  for (const [index, { write, reference }] of writes.entries()) {
    if (write.condition === undefined) continue;
    await pace();
    requireHolds(write.condition, { list: "writes", index, reference, current, plan });
  }

  const inWork = new Map<string, { readonly item: ItemInWork; readonly place: ItemReference }>();
  for (const [index, { write, reference, id }] of writes.entries()) {
    await pace();
    const found = inWork.get(id) ?? { item: new ItemInWork(current.get(id)), place: reference };
    inWork.set(id, found);
    found.item.apply(write, `writes[${index.toString()}]`);
  }
  const after = new Map<string, Item | undefined>();
  for (const [id, { item: inHand, place }] of inWork) {
    await pace();
    const { item } = inHand;
    after.set(id, item);
    if (item === undefined) transaction.delete(place.table, place.key);
    else transaction.put(place.table, item);
  }
  if (!plan.returnItems) return undefined;
  const items = new AnswerItems(plan.format);
  const written = writes.map(({ id }) => items.add(after.get(id)));
  requireDeliverable(written);
  return written;
}

type CurrentItems = ReadonlyMap<string, Item | undefined>;

async function readCurrent(
  transaction: EngineTransaction,
  references: readonly ItemReference[],
): Promise<CurrentItems> {
  const distinct = new Map(references.map((each) => [identityOf(each), each]));
  let bytes = 0;
  const items = await inSlices(transaction, [...distinct.values()], (item) => {
    bytes += item === undefined ? 0 : itemSizeBytes(item);
    if (bytes > limits.restCurrentBytesMax) throw tooMuchToJudge(bytes);
    return Promise.resolve(item);
  });
  return new Map([...distinct.keys()].map((id, index) => [id, items[index]]));
}

function tooMuchToJudge(actual: number): TransactionTooLargeError {
  const max = limits.restCurrentBytesMax;
  return new TransactionTooLargeError(
    `the items that the request's conditions and updates are about have ${actual.toString()} ` +
      `bytes or more, above the limit of ${max.toString()}; put them into several requests`,
    { name: "restCurrentBytesMax", max, actual },
  );
}

/** Reads a slice after the other, so that what is too much ends before all of it is there. */
async function inSlices<Result>(
  reader: Reader,
  references: readonly ItemReference[],
  use: (item: Item | undefined) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < references.length; from += limits.restItemsAtOnceMax) {
    const slice = references.slice(from, from + limits.restItemsAtOnceMax);
    for (const item of await reader.batchGet(slice)) results.push(await use(item));
  }
  return results;
}

function identityOf({ table, key }: ItemReference): string {
  return `${table}\n${canonicalItem(key)}`;
}

function needsCurrent(write: PlannedWrite): boolean {
  return write.condition !== undefined || write.op === "update";
}

function keyOf(reader: Reader, write: PlannedWrite, index: number): Item {
  if (write.op !== "put") return write.key;
  const { partitionKey, sortKey } = reader.describe(write.table);
  const names = sortKey === undefined ? [partitionKey.name] : [partitionKey.name, sortKey.name];
  const entries = names.map((name): [string, AttributeValue] => {
    const value = attribute(write.item, name);
    if (value !== undefined) return [name, value];
    const field = `writes[${index.toString()}].item.${name}`;
    throw new InvalidRequestError(field, `${field}: the key attribute is missing`);
  });
  return Object.fromEntries(entries);
}

function requireHolds(
  condition: ItemCondition,
  at: {
    readonly list: "conditions" | "writes";
    readonly index: number;
    readonly reference: ItemReference;
    readonly current: CurrentItems;
    readonly plan: ChangePlan;
  },
): void {
  const { list, index, reference, plan } = at;
  const item = at.current.get(identityOf(reference));
  const judgement = judge(condition, item);
  if (judgement.holds) return;
  const { attribute } = judgement;
  const field = `${list}[${index.toString()}].condition`;
  const about = attribute === undefined ? "whether the item exists" : `attribute "${attribute}"`;
  throw new ApiProblem(
    "condition-failed",
    `${field}: does not hold for ${about}; nothing was written`,
    {
      outcome: "aborted",
      field: attribute === undefined ? field : `${field}.attributes.${attribute}`,
      condition: {
        list,
        index,
        ...(attribute === undefined ? {} : { attribute }),
        table: reference.table,
        key: encodeItem(reference.key, plan.format),
        currentItem: item === undefined ? null : encodeItem(item, plan.format),
      },
    },
  );
}
