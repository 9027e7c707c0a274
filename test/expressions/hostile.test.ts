/** Expressions and values of somebody who wants the process's time, or its stack. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { includesText, indexOfBytes, readItem } from "../../expressions/attribute-values.ts";
import { parseCondition, parseUpdate } from "../../expressions/parser.ts";
import { bindWrite, decideWrite } from "../../expressions/writes.ts";

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

test("texts are found in texts, however long", () => {
  const few = fc.string({ unit: fc.constantFrom("a", "b", "\u{1F600}"), maxLength: 12 });
  const times = fc.constantFrom(1, 3_000);
  fc.assert(
    fc.property(few, few, times, (some, part, many) => {
      const whole = some.repeat(many);
      const long = part.repeat(many);
      expect([includesText(whole, part), includesText(whole, long)]).toEqual([
        whole.includes(part),
        whole.includes(long),
      ]);
    }),
  );
});

test("texts are looked for in time that grows with their lengths", { timeout: 2_000 }, () => {
  const part = `${"a".repeat(100_000)}b${"a".repeat(100_000)}`;
  expect(includesText("a".repeat(400_000), part)).toBe(false);
});

describe("of two large sets", () => {
  const set = (from: number) => ({
    NS: Array.from({ length: 40_000 }, (_, n) => (from + n).toString()),
  });
  const after = (UpdateExpression: string) => {
    const schema = { partition: { name: "id", type: "S" }, sort: undefined } as const;
    const table = { name: "sets", schema, indexSchemas: () => [] };
    const Key = { id: { S: "a" } };
    const values = { ":set": set(120_000) };
    const input = {
      ...{ TableName: "sets", Key, UpdateExpression, ExpressionAttributeValues: values },
    };
    const write = bindWrite(() => table, { kind: "update", input });
    return decideWrite(write, readItem({ ...Key, numbers: set(100_000) }))?.["numbers"];
  };

  test("members are added in time that grows with their number", { timeout: 3_000 }, () => {
    const members = Array.from({ length: 60_000 }, (_, n) => (100_000 + n).toString());
    expect(after("ADD numbers :set")).toEqual({ NS: members });
  });

  test("members are taken out in time that grows with their number", { timeout: 3_000 }, () => {
    const members = Array.from({ length: 20_000 }, (_, n) => (100_000 + n).toString());
    expect(after("DELETE numbers :set")).toEqual({ NS: members });
  });
});
