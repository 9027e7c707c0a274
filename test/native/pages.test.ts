/** Pages with a limit, where placeholders stand before what is wanted. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { page, type PageOutput } from "../../native/pages.ts";
import type { Answer, PageInput } from "../../native/wire.ts";

const table = { name: "rows", partitionKey: "pk", sortKey: "sk" };
const keyOf = (n: number) => ({ pk: { S: "p" }, sk: { N: n.toString() } });
const row = (n: number) => ({ ...keyOf(n), of: { S: "somebody" } });
const placeholder = (n: number) => ({
  ...keyOf(n),
  _f: { B: new Uint8Array(16) },
  _n: { B: new Uint8Array(16) },
  _x: { BOOL: true },
});

/** A partition whose rows are hidden or not, as DynamoDB pages through it. */
function partition(hidden: readonly boolean[]) {
  const rows = hidden.map((isHidden, n) => (isHidden ? placeholder(n) : row(n)));
  let calls = 0;
  const ask = ({ Limit = rows.length, ExclusiveStartKey, Select }: PageInput) => {
    calls += 1;
    const after = (ExclusiveStartKey as ReturnType<typeof keyOf> | undefined)?.sk.N;
    const first = after === undefined ? 0 : Number(after) + 1;
    const items = rows.slice(first, first + Limit);
    const last = items.length === Limit ? first + Limit - 1 : undefined;
    const output: PageOutput = {
      ...(Select === "COUNT" ? {} : { Items: [...items] }),
      Count: items.length,
      ScannedCount: items.length,
      ConsumedCapacity: { CapacityUnits: 1 },
      ...(last === undefined ? {} : { LastEvaluatedKey: keyOf(last) }),
    };
    return Promise.resolve({ output } as Answer<PageOutput>);
  };
  const read = async (input: PageInput) => {
    calls = 0;
    const { output } = await page(ask, input, { table, markless: new Set() });
    return { output, calls };
  };
  return read;
}

describe("a page with a limit", () => {
  test("has its rows behind any crowd of placeholders, by few calls", async () => {
    const read = partition(Array.from({ length: 3_005 }, (_, n) => n < 3_000));
    const { output, calls } = await read({ Limit: 2 });
    expect(output.Items).toEqual([row(3_000), row(3_001)]);
    expect(output).toMatchObject({ Count: 2, LastEvaluatedKey: keyOf(3_001) });
    expect(output.ConsumedCapacity).toEqual({ CapacityUnits: calls });
    expect(calls).toBeLessThan(40);
  });

  test("shows the rows, all of them, once, wherever placeholders stand", async () => {
    const each = fc.asyncProperty(
      fc.array(fc.boolean(), { maxLength: 60 }),
      fc.integer({ min: 1, max: 7 }),
      async (hidden, Limit) => {
        const read = partition(hidden);
        const found: unknown[] = [];
        let from: object = {};
        for (;;) {
          const { output } = await read({ Limit, ...from });
          expect(output.Items?.length).toBe(output.Count);
          expect(output.Count).toBeLessThanOrEqual(Limit);
          found.push(...(output.Items ?? []));
          if (output.LastEvaluatedKey === undefined) break;
          expect(output.Count).toBe(Limit);
          from = { ExclusiveStartKey: output.LastEvaluatedKey };
        }
        expect(found).toEqual(hidden.flatMap((isHidden, n) => (isHidden ? [] : [row(n)])));
      },
    );
    await fc.assert(each);
  });
});

test.each<[string, unknown]>([
  ["a number", 12],
  ["a bigint", 12n],
  ["one that is wrapped", { value: "12" }],
  ["one of an application's own", { toString: () => "12" }],
  ["one on the wire", { N: "12" }],
])("goes on behind a key as its client shows it: %s", async (_what, sk) => {
  const asked: unknown[] = [];
  const ask = (input: PageInput) => {
    asked.push(input.ExclusiveStartKey);
    const isFirst = asked.length === 1;
    const output: PageOutput = {
      Items: [isFirst ? placeholder(12) : row(13)],
      Count: 1,
      ...(isFirst ? { LastEvaluatedKey: { pk: "p", sk } } : {}),
    };
    return Promise.resolve({ output } as Answer<PageOutput>);
  };
  const { output } = await page(ask, { Limit: 1 }, { table, markless: new Set() });
  expect(output.Items).toEqual([row(13)]);
  expect(asked).toEqual([undefined, keyOf(12)]);
});
