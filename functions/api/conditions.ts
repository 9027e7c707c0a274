/**
 * Conditions on items: decoded from the request, then held against an item. Comparisons follow
 * DynamoDB: numbers by value, strings and binary by bytes, and an order only within one type.
 */
import { attribute } from "../../core/attributes.ts";
import { canonicalNumber, compareNumbers } from "../../core/decimal.ts";
import type { AttributeValue, Item } from "../../core/types.ts";
import { compareBytes, compareUtf8 } from "../../core/utf8.ts";
import { decodeValue, type ItemFormat } from "../../schemas/rest/items.ts";
import type { Comparison, Condition } from "../../schemas/rest/requests.ts";

type Test = (value: AttributeValue | undefined) => boolean;

/** A condition ready to be held against an item. */
export type ItemCondition = {
  readonly exists: boolean | undefined;
  readonly attributes: readonly { readonly name: string; readonly test: Test }[];
};

export type Judgement =
  | { readonly holds: true }
  /** `attribute` names the first comparison that failed; undefined: it was the existence. */
  | { readonly holds: false; readonly attribute: string | undefined };

/** @throws InvalidRequestError naming the comparand that cannot be read. */
export function decodeCondition(
  condition: Condition,
  { format, field }: { readonly format: ItemFormat; readonly field: string },
): ItemCondition {
  const attributes = Object.entries(condition.attributes ?? {}).map(([name, comparison]) => {
    const tests = testsOf(comparison, { format, field: `${field}.attributes.${name}` });
    return {
      name,
      test: (value: AttributeValue | undefined) => tests.every((test) => test(value)),
    };
  });
  return { exists: condition.exists, attributes };
}

export function judge(condition: ItemCondition, item: Item | undefined): Judgement {
  if (condition.exists !== undefined && condition.exists !== (item !== undefined)) {
    return { holds: false, attribute: undefined };
  }
  for (const { name, test } of condition.attributes) {
    const value = item === undefined ? undefined : attribute(item, name);
    if (!test(value)) return { holds: false, attribute: name };
  }
  return { holds: true };
}

function testsOf(
  comparison: Comparison,
  place: { readonly format: ItemFormat; readonly field: string },
): readonly Test[] {
  const tests: Test[] = [];
  const read = (operator: keyof Comparison): AttributeValue | undefined =>
    comparison[operator] === undefined
      ? undefined
      : decodeValue(comparison[operator], {
          format: place.format,
          field: `${place.field}.${operator}`,
        });
  const { exists } = comparison;
  if (exists !== undefined) tests.push((value) => (value !== undefined) === exists);

  const eq = read("eq");
  if (eq !== undefined) tests.push((value) => value !== undefined && sameValue(value, eq));
  const ne = read("ne");
  if (ne !== undefined) tests.push((value) => value === undefined || !sameValue(value, ne));
  const order = (operator: "lt" | "lte" | "gt" | "gte", holds: (sign: number) => boolean): void => {
    const bound = read(operator);
    if (bound === undefined) return;
    tests.push((value) => {
      const sign = value === undefined ? undefined : compareValues(value, bound);
      return sign !== undefined && holds(sign);
    });
  };
  order("lt", (sign) => sign < 0);
  order("lte", (sign) => sign <= 0);
  order("gt", (sign) => sign > 0);
  order("gte", (sign) => sign >= 0);

  const prefix = read("beginsWith");
  if (prefix !== undefined) tests.push((value) => value !== undefined && begins(value, prefix));
  if (comparison.in !== undefined) {
    const members = comparison.in.map((member, index) =>
      canonicalValue(
        decodeValue(member, {
          format: place.format,
          field: `${place.field}.in[${index.toString()}]`,
        }),
      ),
    );
    tests.push((value) => value !== undefined && members.includes(canonicalValue(value)));
  }
  return tests;
}

function sameValue(a: AttributeValue, b: AttributeValue): boolean {
  return canonicalValue(a) === canonicalValue(b);
}

/** Negative, zero or positive; undefined where no order is defined. */
function compareValues(a: AttributeValue, b: AttributeValue): number | undefined {
  if ("N" in a && "N" in b) return compareNumbers(a.N, b.N);
  if ("S" in a && "S" in b) return compareUtf8(a.S, b.S);
  if ("B" in a && "B" in b) return compareBytes(a.B, b.B);
  return undefined;
}

function begins(value: AttributeValue, prefix: AttributeValue): boolean {
  if ("S" in value && "S" in prefix) return value.S.startsWith(prefix.S);
  if ("B" in value && "B" in prefix) {
    return compareBytes(value.B.subarray(0, prefix.B.length), prefix.B) === 0;
  }
  return false;
}

/** Made once for each value: many conditions may be about the same one. */
const canonicalForms = new WeakMap<AttributeValue, string>();

/** Equal values have equal text: numbers by value, maps and sets without regard to order. */
function canonicalValue(value: AttributeValue): string {
  let form = canonicalForms.get(value);
  if (form === undefined) {
    form = JSON.stringify(formOf(value));
    canonicalForms.set(value, form);
  }
  return form;
}

export function canonicalItem(item: Item): string {
  return JSON.stringify(formOf({ M: item }));
}

type Form = string | boolean | null | readonly Form[];

function formOf(value: AttributeValue): Form {
  if ("S" in value) return ["S", value.S];
  if ("N" in value) return ["N", canonicalNumber(value.N)];
  if ("B" in value) return ["B", hex(value.B)];
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("SS" in value) return ["SS", ...value.SS.toSorted()];
  if ("NS" in value) return ["NS", ...value.NS.map((text) => canonicalNumber(text)).sort()];
  if ("BS" in value) return ["BS", ...value.BS.map(hex).sort()];
  if ("L" in value) return ["L", ...value.L.map(formOf)];
  const names = Object.keys(value.M).sort();
  return ["M", ...names.map((name): Form => [name, formOf(value.M[name] ?? { NULL: true })])];
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
