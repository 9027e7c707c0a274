/** Generators of DynamoDB values, with a liking for the borders of every encoding. */
import fc from "fast-check";
import type { AttributeValue, Item } from "../../core/types.ts";
import { ByteWriter } from "../../schemas/byte-writer.ts";

/** Well-formed strings, pairs of surrogates and lengths around the short form included. */
export const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 80 }),
  fc.constantFrom("", "\uFEFF", "\uD83D\uDE00", "\uE000", "\u0000", "a".repeat(63), "a".repeat(64)),
);

export const names = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  fc.constantFrom("__proto__", "constructor", "toString", "0", "10", "\uD83D\uDE00", "\uE000"),
);

/** Up to 38 significant digits at any power of ten that DynamoDB takes, in canonical text. */
const decimals = fc
  .record({
    negative: fc.boolean(),
    digits: fc.bigInt({ min: 1n, max: 10n ** 38n - 1n }),
    exponent: fc.integer({ min: -130, max: 125 }),
  })
  .map(({ negative, digits, exponent }) => {
    const text = digits.toString().replace(/0+$/, "");
    return `${negative ? "-" : ""}${text[0] ?? ""}.${text.slice(1)}0e${exponent.toString()}`;
  });

export const integers = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -200, max: 200 }),
  fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 63, 64, -1, 0),
);

/** In any spelling. */
export const numbers = fc.oneof(
  integers.map((integer) => integer.toString()),
  decimals,
  fc
    .double({ noNaN: true, noDefaultInfinity: true, min: -1e100, max: 1e100 })
    .map((value) => (Math.abs(value) < 1e-100 ? "0" : value.toString())),
  fc.constantFrom("9007199254740992", "-9007199254740992", "1e125", "1E-130", "-0.0", "007", ".5"),
);

export const binaries = fc.uint8Array({ maxLength: 80 });

export function values(depthMax = 4): fc.Arbitrary<AttributeValue> {
  const { value } = fc.letrec<{ value: AttributeValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: depthMax, depthSize: "small" },
      texts.map((S) => ({ S })),
      numbers.map((N) => ({ N })),
      binaries.map((B) => ({ B })),
      fc.boolean().map((BOOL) => ({ BOOL })),
      fc.constant({ NULL: true } as const),
      fc.uniqueArray(texts, { minLength: 1, maxLength: 5 }).map((SS) => ({ SS })),
      fc.uniqueArray(integers.map(String), { minLength: 1, maxLength: 5 }).map((NS) => ({ NS })),
      fc
        .uniqueArray(binaries, { minLength: 1, maxLength: 5, selector: (bytes) => bytes.join() })
        .map((BS) => ({ BS })),
      fc.array(tie("value"), { maxLength: 4 }).map((L) => ({ L })),
      mapOf(tie("value")).map((M) => ({ M })),
    ),
  }));
  return value;
}

export function mapOf(value: fc.Arbitrary<AttributeValue>): fc.Arbitrary<Item> {
  const entries = fc.uniqueArray(fc.tuple(names, value), {
    maxLength: 4,
    selector: ([name]) => name,
  });
  // `fromEntries` makes own properties of all names, `__proto__` included.
  return entries.map((each): Item => Object.fromEntries(each));
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

export function varintHex(value: number): string {
  const writer = new ByteWriter();
  writer.varint(value);
  return hex(writer.toBytes());
}
