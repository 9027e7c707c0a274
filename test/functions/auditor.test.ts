/** The auditor on events as Lambda sends them for a table's stream. */
import type { AttributeValue, DynamoDBRecord, DynamoDBStreamEvent } from "aws-lambda";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { auditWrites } from "../../functions/auditor/service.ts";
import { parseTableStreamEvent } from "../../functions/auditor/table-stream-event.ts";
import type { Observability } from "../../functions/shared/observability.ts";

type Image = Readonly<Record<string, AttributeValue>>;

const key: Image = { pk: { S: "of a customer" } };
const base64 = (byte: number, length = 16) => Buffer.alloc(length, byte).toString("base64");

function record(before: Image | undefined, after: Image | undefined, n = 1): DynamoDBRecord {
  const eventName = before === undefined ? "INSERT" : after === undefined ? "REMOVE" : "MODIFY";
  return {
    eventID: n.toString(),
    eventName,
    eventVersion: "1.1",
    eventSource: "aws:dynamodb",
    awsRegion: "eu-west-1",
    dynamodb: {
      Keys: { ...key },
      ...(before === undefined ? {} : { OldImage: { ...before, ...key } }),
      ...(after === undefined ? {} : { NewImage: { ...after, ...key } }),
      SequenceNumber: n.toString().padStart(21, "4"),
      SizeBytes: 26,
      StreamViewType: "NEW_AND_OLD_IMAGES",
    },
    eventSourceARN:
      "arn:aws:dynamodb:eu-west-1:123456789012:table/carts/stream/2026-01-01T00:00:00.000",
  };
}

function audited(records: readonly DynamoDBRecord[]) {
  const counts: Record<string, number> = {};
  const lines: (readonly [string, unknown])[] = [];
  const say = (message: string, fields?: unknown): void => {
    lines.push([message, fields]);
  };
  const observability: Observability = {
    log: { debug: say, info: say, warn: say, error: say },
    metrics: {
      count: (name, value) => (counts[name] = (counts[name] ?? 0) + value),
      milliseconds: () => undefined,
      bytes: () => undefined,
    },
  };
  auditWrites(parseTableStreamEvent({ Records: [...records] }), observability);
  return { counts, lines };
}

const nonce = { B: base64(1) };

test("counts what is written, and by whom nobody knows of transactions", () => {
  const { counts, lines } = audited([
    record(undefined, { n: { N: "1" }, _n: nonce }),
    record({ n: { N: "1" }, _n: nonce }, { n: { N: "2" }, _n: { B: base64(2) } }),
    record({ n: { N: "1" }, _n: nonce }, undefined),
    record({ n: { N: "1" }, _n: nonce, _f: nonce }, { n: { N: "2" }, _n: nonce, _f: nonce }, 7),
    record({ a: { S: "x" }, _v: { N: "7" } }, { a: { S: "y" } }, 8),
    record({ a: { S: "y" } }, { a: { S: "z" } }, 9),
    record({ a: { S: "z" } }, { a: { S: "y" } }, 10),
  ]);
  expect(counts).toEqual({ AuditedWrites: 7, UnawareWrites: 4, UnawareUnderFence: 1 });
  const message = "a mixed table is written by somebody who knows of no transactions";
  const finding = (n: number, fields: object): unknown => [
    message,
    {
      ...{ table: "carts", sequenceNumber: n.toString().padStart(21, "4"), writes: 1 },
      ...{ isUnderFence: false, ...fields },
    },
  ];
  expect(lines).toEqual([
    finding(9, { write: "update", attributes: ["a"], writes: 2 }),
    finding(7, { write: "update", attributes: ["n"], isUnderFence: true }),
    finding(8, { write: "put", attributes: ["a"] }),
  ]);
});

test("compares values of every type, deep down", () => {
  const deep: Image = {
    L: { L: [{ M: { b: { B: base64(3, 3) } } }, { NULL: true }, { BOOL: false }] },
    SS: { SS: ["b", "a"] },
    NS: { NS: ["1.0", "2"] },
    BS: { BS: [base64(1, 2), base64(2, 2)] },
  };
  const same: Image = {
    L: { L: [{ M: { b: { B: base64(3, 3) } } }, { NULL: true }, { BOOL: false }] },
    SS: { SS: ["a", "b"] },
    NS: { NS: ["2", "1"] },
    BS: { BS: [base64(2, 2), base64(1, 2)] },
  };
  const { lines } = audited([record(deep, { ...same, now: { S: "new" } })]);
  expect(lines).toMatchObject([
    ["a mixed table is written by somebody who knows of no transactions", { attributes: ["now"] }],
  ]);
});

test("says so much of a name, however long it is", () => {
  const name = "n".repeat(60_000);
  const { lines } = audited([record({ [name]: { N: "1" } }, { [name]: { N: "2" } })]);
  expect(lines).toMatchObject([
    [expect.anything(), { attributes: ["n".repeat(limits.auditNameLengthMax)] }],
  ]);
});

test("says no value and no key, whatever is written", () => {
  const secret = "nobody may read it";
  const value = fc.oneof<fc.Arbitrary<AttributeValue>[]>(
    fc.constant({ S: secret }),
    fc.constant({ L: [{ S: secret }] }),
    fc.constant({ M: { [secret]: { S: secret } } }),
  );
  const image = fc.option(fc.dictionary(fc.constantFrom("a", "b", "_f", "_x"), value), {
    nil: undefined,
  });
  fc.assert(
    fc.property(image, image, (before, after) => {
      if (before === undefined && after === undefined) return;
      const said = JSON.stringify(audited([record(before, after)]).lines);
      expect(said).not.toContain(secret);
      expect(said).not.toContain("of a customer");
    }),
  );
});

describe("bounds what it says of one batch:", () => {
  test("the ways of writing that are seen most, and some names of each", () => {
    const names = Array.from({ length: limits.auditNamesMax + 5 }, (_, i) => `name${i}`);
    const wide = Object.fromEntries(names.map((name) => [name, { S: "" }]));
    const ways = Array.from({ length: limits.auditLinesMax + 3 }, (_, i) =>
      record(undefined, { [`a${i}`]: { S: "" } }),
    );
    const often = [1, 2, 3].map(() => record(undefined, wide));
    const { counts, lines } = audited([...ways, ...often]);
    expect(counts["UnawareWrites"]).toBe(limits.auditLinesMax + 6);
    expect(lines).toHaveLength(limits.auditLinesMax);
    expect(lines[0]?.[1]).toMatchObject({ writes: 3 });
    const { attributes } = lines[0]?.[1] as { readonly attributes: readonly string[] };
    expect(attributes).toHaveLength(limits.auditNamesMax);
  });
});

describe("a stream that tells nothing", () => {
  test("for it lacks an image, is told once", () => {
    const { dynamodb, ...rest } = record({ n: { N: "1" } }, { n: { N: "2" } });
    const { OldImage: _, ...without } = dynamodb ?? {};
    const { counts, lines } = audited([1, 2].map(() => ({ ...rest, dynamodb: without })));
    expect(counts).toMatchObject({ AuditedWrites: 2, UnawareWrites: 0 });
    expect(lines).toEqual([
      [expect.stringContaining("does not carry old and new images"), { table: "carts" }],
    ]);
  });

  test("for it is no table's, is refused", () => {
    const event: DynamoDBStreamEvent = {
      Records: [{ ...record(undefined, {}), eventSourceARN: "arn:aws:kinesis:x" }],
    };
    expect(() => parseTableStreamEvent(event)).toThrow(CorruptDataError);
  });
});
