/**
 * Carries a plan out in a transaction. Everything that must be known of items as they stand comes
 * in one batch; conditions are judged on that state, all of them before the first write; writes
 * then follow in the request's order, each on top of those before it.
 */
import { attribute } from "../../core/attributes.ts";
import { canonicalNumber, requireDecimal } from "../../core/decimal.ts";
import { InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import type { EngineTransaction, Reader, RowPage } from "../../engine/types.ts";
import type { ReadsAnswer } from "../../schemas/rest/answers.ts";
import { encodeItem, type ItemFormat, type JsonObject } from "../../schemas/rest/items.ts";
import { canonicalItem, judge, type ItemCondition } from "./conditions.ts";
import {
  encodeCursor,
  type ChangePlan,
  type ItemReference,
  type PlannedWrite,
  type ReadPlan,
} from "./plan.ts";
import { ApiProblem } from "./problem.ts";

export type WrittenAnswer = readonly (JsonObject | null)[] | undefined;

/**
 * @throws whatever the reader throws; TransactionTooLargeError when the answer could not be
 * delivered.
 */
export async function runReads(
  reader: Reader,
  plan: ReadPlan,
  format: ItemFormat,
): Promise<ReadsAnswer> {
  const toPage = ({ rows, cursor }: RowPage): ReadsAnswer["queries"][number] => ({
    items: rows.map((row) => encodeItem(row, format)),
    ...(cursor === undefined ? {} : { cursor: encodeCursor(cursor) }),
  });
  const [items, queries, scans] = await Promise.all([
    plan.gets.length === 0 ? [] : reader.batchGet(plan.gets),
    Promise.all(plan.queries.map(({ table, spec, page }) => reader.queryPage(table, spec, page))),
    Promise.all(plan.scans.map(({ table, page }) => reader.scanPage(table, {}, page))),
  ]);
  const answer = {
    gets: items.map((item) => (item === undefined ? null : encodeItem(item, format))),
    queries: queries.map(toPage),
    scans: scans.map(toPage),
  };
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
): Promise<WrittenAnswer> {
  const writes = plan.writes.map((write, index) => ({
    write,
    reference: { table: write.table, key: keyOf(transaction, write, index) },
  }));
  const current = await readCurrent(transaction, [
    ...plan.conditions,
    ...writes.filter(({ write }) => needsCurrent(write)).map(({ reference }) => reference),
  ]);
  plan.conditions.forEach(({ condition, ...reference }, index) => {
    requireHolds(condition, { list: "conditions", index, reference, current, plan });
  });
  writes.forEach(({ write, reference }, index) => {
    if (write.condition === undefined) return;
    requireHolds(write.condition, { list: "writes", index, reference, current, plan });
  });

  const after = new Map(current);
  writes.forEach(({ write, reference }, index) => {
    const id = identityOf(reference);
    const next = apply(write, after.get(id), `writes[${index.toString()}]`);
    after.set(id, next);
    if (next === undefined) transaction.delete(reference.table, reference.key);
    else transaction.put(reference.table, next);
  });
  if (!plan.returnItems) return undefined;
  const written = writes.map(({ reference }) => {
    const item = after.get(identityOf(reference));
    return item === undefined ? null : encodeItem(item, plan.format);
  });
  requireDeliverable(written);
  return written;
}

/**
 * What cannot be delivered must not be committed first: this runs before the commit.
 * @throws TransactionTooLargeError
 */
export function requireDeliverable(answer: unknown): void {
  const text = JSON.stringify(answer);
  // Lambda puts the body into JSON once more, where quotes and backslashes double.
  const max = limits.restResponseBytesMax;
  const actual = Buffer.byteLength(text.length * 6 <= max ? text : JSON.stringify(text));
  if (actual <= max) return;
  throw new TransactionTooLargeError(
    `the answer would have ${actual.toString()} bytes, more than the ${max.toString()} that can ` +
      "be delivered; " +
      "read fewer items, or pages with a lower limit",
    { name: "restResponseBytesMax", max, actual },
  );
}

type CurrentItems = ReadonlyMap<string, Item | undefined>;

async function readCurrent(
  transaction: EngineTransaction,
  references: readonly ItemReference[],
): Promise<CurrentItems> {
  const distinct = new Map(references.map((each) => [identityOf(each), each]));
  if (distinct.size === 0) return new Map();
  const items = await transaction.batchGet([...distinct.values()]);
  return new Map([...distinct.keys()].map((id, index) => [id, items[index]]));
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

function apply(write: PlannedWrite, before: Item | undefined, field: string): Item | undefined {
  if (write.op === "delete") return undefined;
  if (write.op === "put") return write.item;
  const next = new Map(Object.entries({ ...before, ...write.key, ...write.set }));
  for (const [name, amount] of Object.entries(write.add)) {
    next.set(name, sum(next.get(name), amount, `${field}.add.${name}`));
  }
  for (const name of write.remove) next.delete(name);
  return Object.fromEntries(next);
}

function sum(value: AttributeValue | undefined, amount: AttributeValue, field: string) {
  const stored = value ?? { N: "0" };
  if (!("N" in stored) || !("N" in amount)) {
    const message = `${field}: the stored attribute is not a number`;
    throw new InvalidRequestError(field, message);
  }
  return { N: addNumbers(stored.N, amount.N, field) };
}

/** Exact. @throws InvalidRequestError when the sum has more digits than DynamoDB stores. */
export function addNumbers(a: string, b: string, field: string): string {
  const terms = [requireDecimal(a, field), requireDecimal(b, field)];
  const scale = Math.min(...terms.map(({ exponent, digits }) => exponent - digits.length + 1));
  let total = 0n;
  for (const { negative, digits, exponent } of terms) {
    const zeros = exponent - digits.length + 1 - scale;
    const term = BigInt(digits === "" ? "0" : digits + "0".repeat(zeros));
    total += negative ? -term : term;
  }
  return canonicalNumber(`${total.toString()}e${scale.toString()}`, field);
}
