/** Random attribute values, keys and items, from small universes so that calls meet each other. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";

export type Values = Record<string, AttributeValue>;

export const numbers = fc.oneof(
  fc.constantFrom("0", "1", "-1", "2", "2.5", "10", "-0.5"),
  fc.constantFrom("1e10", "1.50", "007", "-0", "+3", ".5", "1E-3"),
  fc.constantFrom("12345678901234567890123456789012345678", "1e125", "-9.9e125", "1e-130"),
);
/** What attribute `a` mostly has, and conditions on it mostly ask for: so they often meet. */
export const fewTexts = fc.constantFrom("a", "ab", "b", "\u{1F600}", "\uFFFD");
/** The same for `b`. */
export const fewNumbers = fc.constantFrom("-1", "1", "2", "2.5", "10");
const texts = fc.constantFrom("", "a", "ab", "abc", "b", "é", "\u{1F600}", "\uFFFD", "1");
const keyTexts = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "b") },
  { weight: 1, arbitrary: fc.constantFrom("ab", "é", "\u{1F600}", "\uFFFD") },
);
const binaries = fc
  .constantFrom([], [0], [1], [1, 2], [1, 2, 3], [255], [2])
  .map((bytes) => Uint8Array.from(bytes));
const keyBinaries = fc.constantFrom([0], [1, 2], [255]).map((bytes) => Uint8Array.from(bytes));

const scalar: fc.Arbitrary<AttributeValue> = fc.oneof(
  texts.map((S) => ({ S })),
  numbers.map((N) => ({ N })),
  binaries.map((B) => ({ B })),
  fc.boolean().map((BOOL) => ({ BOOL })),
  fc.constant({ NULL: true } as const),
);

const sets: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.uniqueArray(texts, { minLength: 1, maxLength: 3 }).map((SS) => ({ SS })),
  fc
    .uniqueArray(fc.constantFrom("1", "2", "2.5", "-1", "1e3"), { minLength: 1, maxLength: 3 })
    .map((NS) => ({ NS })),
  fc
    .uniqueArray(binaries, { minLength: 1, maxLength: 3, selector: (bytes) => bytes.join() })
    .map((BS) => ({ BS })),
);

/** Short names, so that random paths hit something. */
export const memberName = fc.constantFrom("k", "j");

const nested: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.array(fc.oneof(scalar, sets), { maxLength: 3 }).map((L) => ({ L })),
  fc.dictionary(memberName, fc.oneof(scalar, sets), { maxKeys: 2 }).map((M) => ({ M })),
  fc.array(fc.array(scalar, { maxLength: 2 }), { maxLength: 2 }).map((lists) => ({
    L: lists.map((L) => ({ M: { k: { L } } })),
  })),
);

export const value: fc.Arbitrary<AttributeValue> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  { weight: 2, arbitrary: sets },
  { weight: 2, arbitrary: nested },
);

/** Values that the service refuses. */
const brokenValue: fc.Arbitrary<AttributeValue> = fc.constantFrom<AttributeValue>(
  { N: "abc" },
  { N: "" },
  { N: "1e126" },
  { N: "1e-131" },
  { N: "1.23456789012345678901234567890123456789" },
  { SS: [] },
  { NS: [] },
  { BS: [] },
  { SS: ["a", "a"] },
  { NS: ["1", "1"] },
  { L: [{ N: "x" }] },
  { M: { k: { SS: [] } } },
);

export const sometimesBroken = fc.oneof(
  { weight: 40, arbitrary: value },
  { weight: 1, arbitrary: brokenValue },
);

export type TableShape = {
  readonly name: "plain" | "indexed" | "binary";
  readonly keys: readonly { readonly name: string; readonly type: "S" | "N" | "B" }[];
};

/**
 * One table without a sort key, one with both kinds of indexes, one with keys that are no texts.
 */
export const shapes: Record<TableShape["name"], TableShape> = {
  plain: { name: "plain", keys: [{ name: "p", type: "S" }] },
  indexed: {
    name: "indexed",
    keys: [
      { name: "p", type: "S" },
      { name: "s", type: "N" },
    ],
  },
  binary: {
    name: "binary",
    keys: [
      { name: "p", type: "N" },
      { name: "s", type: "B" },
    ],
  },
};

const keyNumbers = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom("0", "-1", "2", "2.5", "10") },
  { weight: 1, arbitrary: fc.constantFrom("1", "1e3", "-0.5") },
);

export function keyValue(type: "S" | "N" | "B"): fc.Arbitrary<AttributeValue> {
  if (type === "S") return keyTexts.map((S) => ({ S }));
  return type === "N" ? keyNumbers.map((N) => ({ N })) : keyBinaries.map((B) => ({ B }));
}

function validKey(shape: TableShape): fc.Arbitrary<Values> {
  return fc.record(Object.fromEntries(shape.keys.map(({ name, type }) => [name, keyValue(type)])));
}

/** The key of an item that may exist; rarely one that no item can have. */
export function key(shape: TableShape): fc.Arbitrary<Values> {
  const valid = validKey(shape);
  const broken = valid.chain((good) =>
    fc.oneof(
      fc.constant({ ...good, p: { BOOL: true } }),
      fc.constant({ ...good, p: { S: "" } }),
      fc.constant({ ...good, s: { S: "" } }),
      fc.constant({ ...good, z: { S: "a" } }),
      fc.constant({ p: good["p"] ?? { S: "a" } }),
      fc.constant({ s: { N: "1" } }),
      fc.constant({}),
    ),
  );
  return fc.oneof({ weight: 25, arbitrary: valid }, { weight: 1, arbitrary: broken });
}

const indexAttributes: fc.Arbitrary<Values> = fc.record(
  {
    g: fc.constantFrom<AttributeValue>({ S: "g1" }, { S: "g2" }),
    h: keyNumbers.map((N) => ({ N })),
    l: fc.constantFrom<AttributeValue>({ S: "l1" }, { S: "l2" }, { S: "l3" }),
  },
  { requiredKeys: [] },
);

const ordinary: fc.Arbitrary<Values> = fc.record(
  { a: fewTexts.map((S) => ({ S })), b: fewNumbers.map((N) => ({ N })) },
  { requiredKeys: [] },
);

/** An item that every table of this shape takes. */
export function validItem(shape: TableShape): fc.Arbitrary<Values> {
  return fc
    .tuple(
      validKey(shape),
      fc.dictionary(fc.constantFrom("c", "d", "e"), value),
      ordinary,
      indexAttributes,
    )
    .map(([keys, any, attributes, index]) => ({ ...any, ...attributes, ...index, ...keys }));
}

export function item(shape: TableShape): fc.Arbitrary<Values> {
  const plainName = fc.constantFrom("a", "b", "c", "d", "e");
  const any = fc.dictionary(plainName, sometimesBroken, { maxKeys: 3 });
  const rest = fc.tuple(any, ordinary).map(([first, second]) => ({ ...first, ...second }));
  const misfit = fc.constantFrom<Values>({ g: { N: "1" } }, { l: { S: "" } }, { h: { S: "a" } });
  const noMisfit: Values = {};
  return fc
    .tuple(
      key(shape),
      rest,
      indexAttributes,
      fc.oneof({ weight: 20, arbitrary: fc.constant(noMisfit) }, { weight: 1, arbitrary: misfit }),
    )
    .map(([keys, attributes, index, wrong]) => ({ ...attributes, ...index, ...wrong, ...keys }));
}
