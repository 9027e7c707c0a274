/**
 * Reads of any number of keys by BatchGetItem, which takes 100 at a time, refuses duplicates,
 * answers in any order, leaves absent items out, and may hand keys back unread (throttled, or 16 MB
 * are full).
 */
import type { KeysAndAttributes } from "@aws-sdk/client-dynamodb";
import { CorruptDataError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, Clock, Random } from "../core/ports.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { setAttribute, attribute } from "../core/attributes.ts";
import { fromSdkItem, toSdkItem, type SdkItem } from "./attribute-values.ts";
import { backOff, mapBounded } from "./bounded.ts";
import type { ClientDynamoDb } from "./dynamodb.ts";
import { keyIdentity } from "./key-identity.ts";

export type BatchKey = { readonly table: string; readonly key: Item };

export type BatchGetParts = {
  readonly dynamodb: ClientDynamoDb;
  readonly clock: Clock;
  readonly random: Random;
};

type Tables = Record<string, KeysAndAttributes>;

/**
 * Items in the order of `keys`; undefined where there is none. Duplicates are read once.
 * @param attributes names what to read beside the key; undefined reads whole items.
 * @throws StoreError `throttled` when the store keeps handing keys back.
 */
export async function batchGetItems(
  parts: BatchGetParts,
  keys: readonly BatchKey[],
  request: {
    readonly attributes: readonly string[] | undefined;
    /** Default: strongly consistent. */
    readonly isEventual?: boolean;
    readonly options: CallOptions | undefined;
  },
): Promise<readonly (Item | undefined)[]> {
  const identities = keys.map(({ table, key }) => keyIdentity(table, key));
  const distinct = new Map<string, BatchKey>();
  keys.forEach((key, index) => distinct.set(identities[index] ?? "", key));

  const found = new Map<string, Item>();
  const chunks = cut([...distinct.values()], limits.batchGetKeysMax);
  await mapBounded(chunks, limits.batchGetConcurrencyMax, async (chunk) => {
    await readChunk(parts, { tables: tablesOf(chunk, request), ...request }, (read) => {
      const identity = keyIdentity(read.table, onlyKey(read.item, chunk, read.table));
      if (!distinct.has(identity))
        throw new CorruptDataError("BatchGetItem answered a key unasked");
      found.set(identity, read.item);
    });
  });
  return identities.map((identity) => found.get(identity));
}

async function readChunk(
  parts: BatchGetParts,
  request: { readonly tables: Tables; readonly options: CallOptions | undefined },
  onItem: (read: { readonly table: string; readonly item: Item }) => void,
): Promise<void> {
  let tables = request.tables;
  let idleTries = 0;
  for (;;) {
    const output = await parts.dynamodb.batchGet({ RequestItems: tables }, request.options);
    let items = 0;
    for (const [table, rows] of Object.entries(output.Responses ?? {})) {
      items += rows.length;
      for (const row of rows) onItem({ table, item: fromSdkItem(row) });
    }
    const left = output.UnprocessedKeys ?? {};
    const leftCount = countKeys(left);
    // mutant: batch-rest-forgotten
    if (leftCount === 0) return;
    // Absent items are read without being answered, so progress is what is no longer left.
    idleTries = items > 0 || leftCount < countKeys(tables) ? 0 : idleTries + 1;
    if (idleTries >= limits.batchGetTriesMax) {
      throw new StoreError("throttled", "BatchGetItem: the store hands the keys back unread");
    }
    tables = left;
    await backOff(idleTries + 1, parts, request.options?.signal);
  }
}

function countKeys(tables: Tables): number {
  return Object.values(tables).reduce((sum, { Keys }) => sum + (Keys?.length ?? 0), 0);
}

function tablesOf(
  keys: readonly BatchKey[],
  {
    attributes,
    isEventual = false,
  }: { readonly attributes: readonly string[] | undefined; readonly isEventual?: boolean },
): Tables {
  const keysByTable = new Map<string, SdkItem[]>();
  for (const { table, key } of keys) {
    const list = keysByTable.get(table);
    if (list === undefined) keysByTable.set(table, [toSdkItem(key)]);
    else list.push(toSdkItem(key));
  }
  const tables: Tables = {};
  for (const [table, Keys] of keysByTable) {
    tables[table] = {
      Keys,
      ConsistentRead: !isEventual,
      ...projection(Object.keys(Keys[0] ?? {}), attributes),
    };
  }
  return tables;
}

/**
 * Names go through placeholders: a key attribute may be called `size`, `_v` must not start a path.
 */
function projection(
  keyNames: readonly string[],
  attributes: readonly string[] | undefined,
): Pick<KeysAndAttributes, "ProjectionExpression" | "ExpressionAttributeNames"> {
  if (attributes === undefined) return {};
  const names = [...keyNames, ...attributes];
  return {
    ProjectionExpression: names.map((_, index) => `#a${index}`).join(", "),
    ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#a${index}`, name])),
  };
}

/** The key part of an answered row, by the names that the questions for its table use. */
function onlyKey(item: Item, asked: readonly BatchKey[], table: string): Item {
  const example = asked.find((key) => key.table === table)?.key ?? {};
  const key: Record<string, AttributeValue> = {};
  for (const name of Object.keys(example)) {
    const value = attribute(item, name);
    if (value !== undefined) setAttribute(key, name, value);
  }
  return key;
}

function cut<Element>(elements: readonly Element[], size: number): Element[][] {
  const pieces: Element[][] = [];
  for (let start = 0; start < elements.length; start += size) {
    pieces.push(elements.slice(start, start + size));
  }
  return pieces;
}
