/**
 * Secondary indexes as the registry of tables keeps them: each with its key and what it projects.
 */
import type { AttributeValue, KeyAttribute } from "../core/types.ts";

export type DescribedIndex = {
  readonly name: string;
  readonly kind: "global" | "local";
  readonly partitionKey: KeyAttribute;
  readonly sortKey: KeyAttribute | undefined;
  readonly projection: "ALL" | "KEYS_ONLY" | "INCLUDE";
  /** What is projected beside the keys, with `INCLUDE`. */
  readonly nonKeyAttributes: readonly string[];
};

export function encodeIndexes(indexes: readonly DescribedIndex[]): AttributeValue {
  return { L: indexes.map(encodeIndex) };
}

function encodeIndex(index: DescribedIndex): AttributeValue {
  const { name, kind, partitionKey, sortKey, projection, nonKeyAttributes } = index;
  return {
    M: {
      name: { S: name },
      kind: { S: kind },
      key: { L: [partitionKey, sortKey ?? []].flat().map(encodeKey) },
      projection: { S: projection },
      ...(nonKeyAttributes.length === 0
        ? {}
        : { attributes: { L: nonKeyAttributes.map((S) => ({ S })) } }),
    },
  };
}

function encodeKey({ name, type }: KeyAttribute): AttributeValue {
  return { M: { name: { S: name }, type: { S: type } } };
}

/** An index that this version cannot read is left out, as if it had been made since. */
export function decodeIndexes(stored: AttributeValue | undefined): readonly DescribedIndex[] {
  if (stored === undefined || !("L" in stored)) return [];
  return stored.L.flatMap((each) => decodeIndex(each) ?? []);
}

function decodeIndex(stored: AttributeValue): DescribedIndex | undefined {
  if (!("M" in stored)) return undefined;
  const { name, kind, key, projection, attributes } = stored.M;
  const keys =
    key !== undefined && "L" in key ? key.L.flatMap((each) => decodeKey(each) ?? []) : [];
  const [partitionKey, sortKey] = keys;
  const named = textOf(name);
  const isGlobal = textOf(kind) === "global";
  const projected = textOf(projection);
  if (named === undefined || partitionKey === undefined) return undefined;
  if (projected !== "ALL" && projected !== "KEYS_ONLY" && projected !== "INCLUDE") return undefined;
  return {
    name: named,
    kind: isGlobal ? "global" : "local",
    ...{ partitionKey, sortKey, projection: projected },
    nonKeyAttributes:
      attributes !== undefined && "L" in attributes
        ? attributes.L.flatMap((each) => textOf(each) ?? [])
        : [],
  };
}

function decodeKey(stored: AttributeValue): KeyAttribute | undefined {
  if (!("M" in stored)) return undefined;
  const [name, type] = [textOf(stored.M["name"]), textOf(stored.M["type"])];
  if (name === undefined || (type !== "S" && type !== "N" && type !== "B")) return undefined;
  return { name, type };
}

function textOf(value: AttributeValue | undefined): string | undefined {
  return value !== undefined && "S" in value ? value.S : undefined;
}
