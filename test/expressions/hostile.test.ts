/** Expressions and values of somebody who wants the process's time, or its stack. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { indexOfBytes } from "../../expressions/attribute-values.ts";
import { parseCondition, parseUpdate } from "../../expressions/parser.ts";

test.each([
  ["parentheses", () => parseCondition("(".repeat(4_096), "ConditionExpression")],
  ["calls", () => parseCondition("f(".repeat(2_040), "ConditionExpression")],
  ["sums", () => parseUpdate(`SET a=${"(".repeat(4_000)}`, "UpdateExpression")],
])("%s within each other are refused, and do not fill the stack", (_, parse) => {
  expect(parse).toThrow(expect.objectContaining({ name: "ValidationException" }));
});

test("bytes are found in bytes where they first stand", () => {
  const few = fc.uint8Array({ max: 1, maxLength: 12 });
  fc.assert(
    fc.property(few, few, (whole, part) => {
      expect(indexOfBytes(whole, part)).toBe(Buffer.from(whole).indexOf(part));
    }),
  );
});

test("bytes are looked for in time that grows with their number", { timeout: 2_000 }, () => {
  const part = new Uint8Array(200_000);
  part[part.length - 1] = 1;
  expect(indexOfBytes(new Uint8Array(400_000), part)).toBe(-1);
});
