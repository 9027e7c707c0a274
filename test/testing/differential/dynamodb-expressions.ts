/** Random expressions with the placeholders that they need; rarely broken ones. */
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import {
  fewNumbers,
  fewTexts,
  memberName,
  numbers,
  sometimesBroken,
  value,
  type Values,
} from "./dynamodb-values.ts";

/** A piece of an expression: words, values, and names that may become placeholders. */
type Piece = string | { readonly value: AttributeValue } | { readonly name: string };
type Pieces = readonly Piece[];

export type Expressions = {
  readonly texts: readonly string[];
  readonly names: Record<string, string> | undefined;
  readonly values: Values | undefined;
};

/** Gives every value, and every name that the seed picks, a placeholder. */
export function render(expressions: readonly Pieces[], placeholderEvery: number): Expressions {
  const names: Record<string, string> = {};
  const values: Values = {};
  let count = 0;
  const texts = expressions.map((pieces) => {
    const words = pieces.map((piece) => {
      if (typeof piece === "string") return piece;
      count += 1;
      if ("value" in piece) {
        values[`:v${count.toString()}`] = piece.value;
        return `:v${count.toString()}`;
      }
      if (count % placeholderEvery !== 0) return piece.name;
      names[`#n_${piece.name}`] = piece.name;
      return `#n_${piece.name}`;
    });
    return words.join("");
  });
  return {
    texts,
    names: Object.keys(names).length === 0 ? undefined : names,
    values: Object.keys(values).length === 0 ? undefined : values,
  };
}

const topName = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("a", "b", "c", "d", "e", "g", "h", "l") },
  { weight: 1, arbitrary: fc.constantFrom("p", "s", "zz") },
);

export const path: fc.Arbitrary<Pieces> = fc.oneof(
  { weight: 6, arbitrary: topName.map((name) => [{ name }]) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(topName, memberName)
      .map(([name, member]) => [{ name }, ".", { name: member }]),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(topName, fc.constantFrom(0, 1, 2, 5))
      .map(([name, index]) => [{ name }, `[${index.toString()}]`]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(topName, fc.constantFrom(0, 1))
      .map(([name, index]) => [{ name }, `[${index.toString()}].`, { name: "k" }]),
  },
);

const literal: fc.Arbitrary<Pieces> = sometimesBroken.map((each) => [{ value: each }]);
const number: fc.Arbitrary<Pieces> = numbers.map((N) => [{ value: { N } }]);

const size: fc.Arbitrary<Pieces> = path.map((pieces) => ["size(", ...pieces, ")"]);
const operand = fc.oneof(
  { weight: 4, arbitrary: path },
  { weight: 5, arbitrary: literal },
  { weight: 1, arbitrary: size },
);
const comparator = fc.constantFrom(" = ", " <> ", " < ", " <= ", " > ", " >= ", "=", "<");

const simpleCondition: fc.Arbitrary<Pieces> = fc.oneof(
  fc.tuple(operand, comparator, operand).map(([a, sign, b]) => [...a, sign, ...b]),
  fc.tuple(size, comparator, number).map(([a, sign, b]) => [...a, sign, ...b]),
  fc.tuple(operand, operand, operand).map(([a, b, c]) => [...a, " BETWEEN ", ...b, " AND ", ...c]),
  fc
    .tuple(operand, fc.array(operand, { minLength: 1, maxLength: 3 }))
    .map(([a, list]) => [
      ...a,
      " IN (",
      ...list.flatMap((b, i) => (i > 0 ? [", ", ...b] : b)),
      ")",
    ]),
  fc
    .tuple(fc.constantFrom("attribute_exists(", "attribute_not_exists("), path)
    .map(([name, a]) => [name, ...a, ")"]),
  fc
    .tuple(fc.constantFrom("begins_with(", "contains("), operand, operand)
    .map(([name, a, b]) => [name, ...a, ", ", ...b, ")"]),
  fc
    .tuple(path, fc.constantFrom("S", "N", "B", "L", "M", "SS", "BOOL", "NULL", "X"))
    .map(([a, S]) => ["attribute_type(", ...a, ", ", { value: { S } }, ")"]),
);

/** Conditions on attributes that mostly have the type of what they are compared with. */
const fittingCondition: fc.Arbitrary<Pieces> = fc
  .constantFrom<"a" | "b">("a", "b")
  .chain((name) => {
    const few: fc.Arbitrary<Pieces> =
      name === "a"
        ? fewTexts.map((S) => [{ value: { S } }])
        : fewNumbers.map((N) => [{ value: { N } }]);
    return fc.oneof(
      fc.tuple(comparator, few).map(([sign, b]): Pieces => [{ name }, sign, ...b]),
      fc.tuple(few, comparator).map(([b, sign]): Pieces => [...b, sign, { name }]),
      fc
        .tuple(few, few)
        .map(([low, high]): Pieces => [{ name }, " BETWEEN ", ...low, " AND ", ...high]),
      fc.tuple(few, few).map(([b, c]): Pieces => [{ name }, " IN (", ...b, ", ", ...c, ")"]),
      fc
        .tuple(fc.constantFrom("begins_with(", "contains("), fewTexts)
        .map(([word, S]): Pieces => [word, { name: "a" }, ", ", { value: { S } }, ")"]),
    );
  });

export const condition: fc.Arbitrary<Pieces> = fc.letrec<{ any: Pieces }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: simpleCondition },
    { weight: 5, arbitrary: fittingCondition },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("any"), fc.constantFrom(" AND ", " OR ", " and "), tie("any"))
        .map(([a, word, b]) => [...a, word, ...b]),
    },
    { weight: 1, arbitrary: tie("any").map((a) => ["NOT ", ...a]) },
    { weight: 1, arbitrary: tie("any").map((a) => ["(", ...a, ")"]) },
  ),
})).any;

const setOperand: fc.Arbitrary<Pieces> = fc.letrec<{ any: Pieces }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: path },
    { weight: 3, arbitrary: literal },
    { weight: 2, arbitrary: number },
    {
      weight: 1,
      arbitrary: fc
        .tuple(path, tie("any"))
        .map(([a, b]) => ["if_not_exists(", ...a, ", ", ...b, ")"]),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie("any"), tie("any"))
        .map(([a, b]) => ["list_append(", ...a, ", ", ...b, ")"]),
    },
  ),
})).any;

const setValue: fc.Arbitrary<Pieces> = fc.oneof(
  { weight: 2, arbitrary: setOperand },
  {
    weight: 1,
    arbitrary: fc
      .tuple(setOperand, fc.constantFrom(" + ", " - "), setOperand)
      .map(([a, sign, b]) => [...a, sign, ...b]),
  },
);

const clauses = {
  SET: fc.tuple(path, setValue).map(([a, b]): Pieces => [...a, " = ", ...b]),
  REMOVE: path,
  ADD: fc.tuple(path, value).map(([a, each]): Pieces => [...a, " ", { value: each }]),
  DELETE: fc.tuple(path, value).map(([a, each]): Pieces => [...a, " ", { value: each }]),
};

export const update: fc.Arbitrary<Pieces> = fc
  .uniqueArray(fc.constantFrom("SET", "SET", "REMOVE", "ADD", "DELETE"), {
    minLength: 1,
    maxLength: 2,
  })
  .chain((words) =>
    fc.tuple(
      ...words.map((word) =>
        fc
          .array(clauses[word], { minLength: 1, maxLength: 2 })
          .map((parts): Pieces => [
            `${word} `,
            ...parts.flatMap((part, i) => (i > 0 ? [", ", ...part] : part)),
          ]),
      ),
    ),
  )
  .map((parts) => parts.flatMap((part, i) => (i > 0 ? [" ", ...part] : part)));

export const projection: fc.Arbitrary<Pieces> = fc
  .array(path, { minLength: 1, maxLength: 3 })
  .map((paths) => paths.flatMap((each, i) => (i > 0 ? [", ", ...each] : each)));

/** Texts that are no expression of any kind, and such as are nearly one. */
const brokenText: fc.Arbitrary<Pieces> = fc.constantFrom<Pieces>(
  [""],
  ["a ="],
  ["a = :undefined"],
  ["#undefined = a"],
  ["((a = b))"],
  ["name = b"],
  ["_a = b"],
  ["size(a)"],
  ["a AND b"],
  ["attribute_exists(a, b)"],
  ["unknown_function(a)"],
  ["SET a = :undefined"],
  ["SET a = b SET b = a"],
  ["SET a = b + c + d"],
  ["REMOVE"],
  ["a, a.b"],
  ["a[0], a.b"],
);

/** Mostly as it is, rarely replaced by a broken one. */
export function sometimesBrokenText(pieces: fc.Arbitrary<Pieces>): fc.Arbitrary<Pieces> {
  return fc.oneof({ weight: 30, arbitrary: pieces }, { weight: 1, arbitrary: brokenText });
}
