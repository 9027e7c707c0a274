/**
 * Looks whether items of a table, before it comes under Tidemark, have attributes with the names
 * that Tidemark keeps for itself (docs/adoption.md). What transactions of an earlier registration
 * have left, and native writers that knew of it, is not meant: a version, a nonce, a fence, a
 * tombstone or placeholder, as only they write it.
 */
import type { AttributeValue as SdkValue } from "@aws-sdk/client-dynamodb";
import {
  attribute,
  fenceAttribute,
  isReserved,
  markAttribute,
  nonceAttribute,
  reservedAttributes,
  valueTypeOf,
  versionAttribute,
} from "../core/attributes.ts";
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { AttributeValue, Item } from "../core/types.ts";
import { fromSdkItem } from "./attribute-values.ts";
import { callRead } from "./call.ts";
import type { DynamoDbHandle } from "./clients.ts";
import { keyAttributes, type KeyPair } from "./described-table.ts";

/** How many items of a table are looked at: those of its first pages, all of them, or none. */
export type Look = "first" | "all" | "none";

export type Looked = {
  readonly items: number;
  /** There are no others. */
  readonly isAll: boolean;
};

/**
 * Reads whole pages of the table, eventually consistent: 128 read units each.
 * @throws InvalidRequestError naming an item with a reserved name, or why none could be looked at.
 * StoreError.
 */
export async function lookForReservedNames(
  dynamodb: DynamoDbHandle,
  table: KeyPair & { readonly name: string },
  look: Exclude<Look, "none">,
): Promise<Looked> {
  requireOtherKey(table);
  const found: Item[] = [];
  let items = 0;
  let startKey: Record<string, SdkValue> | undefined;
  for (let pages = 0; look === "all" || pages < limits.adoptionLookPagesMax; pages += 1) {
    const page = await scanPage(dynamodb, table, startKey);
    items += page.ScannedCount ?? 0;
    found.push(
      ...(page.Items ?? []).map(fromSdkItem).filter((each) => foreignIn(each) !== undefined),
    );
    startKey = page.LastEvaluatedKey;
    if (startKey === undefined) break;
  }
  const looked = { items, isAll: startKey === undefined };
  const [first] = found;
  if (first !== undefined) throw refusal(table, { item: first, count: found.length, looked });
  return looked;
}

async function scanPage(
  { sdk, client }: DynamoDbHandle,
  table: KeyPair & { readonly name: string },
  ExclusiveStartKey: Record<string, SdkValue> | undefined,
) {
  const names = [...keyAttributes(table).map(({ name }) => name), ...reservedAttributes];
  const aliases = names.map((_, i) => `#n${i.toString()}`);
  const reserved = aliases.slice(-reservedAttributes.length);
  const command = new sdk.ScanCommand({
    TableName: table.name,
    ProjectionExpression: aliases.join(", "),
    FilterExpression: reserved.map((alias) => `attribute_exists(${alias})`).join(" OR "),
    ExpressionAttributeNames: Object.fromEntries(
      aliases.map((alias, i) => [alias, names[i] ?? ""]),
    ),
    ...(ExclusiveStartKey === undefined ? {} : { ExclusiveStartKey }),
  });
  try {
    return await callRead({
      operation: `Scan ${table.name}`,
      send: () => client.send(command),
      options: undefined,
    });
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "AccessDeniedException")) throw error;
    throw new InvalidRequestError(
      "look",
      `table "${table.name}" may not be read here, so its items cannot be looked through for ` +
        "Tidemark's reserved attribute names: allow dynamodb:Scan on it, or register it with " +
        '`look` (in a terminal --look) "none"',
      { cause: error },
    );
  }
}

function requireOtherKey(table: KeyPair & { readonly name: string }): void {
  const own = keyAttributes(table).find(({ name }) => isReserved(name));
  if (own === undefined) return;
  throw new InvalidRequestError(
    "table",
    `table "${table.name}" has the key attribute "${own.name}", a name that Tidemark keeps for ` +
      "itself; such a table cannot be registered",
  );
}

/** The first attribute that neither transactions nor native writers beside them have written. */
function foreignIn(item: Item): string | undefined {
  return reservedAttributes.find((name) => {
    const value = attribute(item, name);
    if (value === undefined) return false;
    if (name === versionAttribute) return !isVersion(value);
    if (name === nonceAttribute) return !("B" in value && value.B.length === limits.nonceBytes);
    if (name === fenceAttribute) return !("B" in value && value.B.length === limits.fenceBytes);
    const isOurs = [versionAttribute, nonceAttribute].some(
      (identity) => attribute(item, identity) !== undefined,
    );
    return !(name === markAttribute && "BOOL" in value && value.BOOL && isOurs);
  });
}

/** 2020-01-01 in microseconds: no commit is older. */
const versionsBegan = 1_577_836_800_000_000;

/** A commit timestamp, in microseconds; a program's own counter is none. */
function isVersion(value: AttributeValue): boolean {
  return "N" in value && /^\d+$/.test(value.N) && Number(value.N) >= versionsBegan;
}

/** The first of so many. */
type Found = { readonly item: Item; readonly count: number; readonly looked: Looked };

function refusal(
  table: KeyPair & { readonly name: string },
  { item, count, looked }: Found,
): InvalidRequestError {
  const name = foreignIn(item) ?? "";
  const value = attribute(item, name);
  const type = value === undefined ? "" : (valueTypeOf(value) ?? "");
  const key = Object.fromEntries(keyAttributes(table).map((each) => [each.name, item[each.name]]));
  const those = `${looked.items} items${looked.isAll ? ", which are all" : " looked at so far"}`;
  return new InvalidRequestError(
    "table",
    `table "${table.name}" has an item with the attribute "${name}" (of type ${type}), a name ` +
      `that Tidemark keeps for itself: ${JSON.stringify(key)}; ${count} such among the ` +
      `${those}. ` +
      "Give the attribute another name, in the items and in what writes them, and register the " +
      "table then",
  );
}
