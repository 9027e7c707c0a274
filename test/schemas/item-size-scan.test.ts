/** Sizes of encoded items: what the SDK counts before it sends, and never more than is promised. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { valueSizeBytes } from "../../core/item-size.ts";
import type { AttributeValue } from "../../core/types.ts";
import { encodeValue } from "../../schemas/attribute-value.ts";
import { ByteReader } from "../../schemas/byte-reader.ts";
import { encodedValueSizeBytes, sizePerEncodedByte } from "../../schemas/item-size-scan.ts";
import { mapOf, values } from "./arbitraries.ts";

test("an encoded value has the size that it has as it was given", () => {
  fc.assert(
    fc.property(mapOf(values()), (M) => {
      const reader = new ByteReader(encodeValue({ M }));
      expect(encodedValueSizeBytes(reader)).toBe(valueSizeBytes({ M }));
      expect(reader.remaining).toBe(0);
    }),
  );
});

test("no value has a larger size for its bytes than is said", () => {
  fc.assert(
    fc.property(values(), (value) => {
      const { length } = encodeValue(value);
      // As an entry of a list, which takes a byte more.
      expect(valueSizeBytes(value) + 1).toBeLessThanOrEqual(sizePerEncodedByte * length);
    }),
  );
});

test("the most for its bytes is a list of small integers", () => {
  const value: AttributeValue = { L: Array.from({ length: 1_000 }, () => ({ N: "63" })) };
  const bytes = encodeValue(value);
  const size = encodedValueSizeBytes(new ByteReader(bytes));
  expect(size).toBe(valueSizeBytes(value));
  expect(size / bytes.length).toBeGreaterThan(0.99 * sizePerEncodedByte);
});
