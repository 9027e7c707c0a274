/** What commands know of tables and their indexes. */
import { describe, expect, test } from "vitest";
import { commandTable } from "../../commands/tables.ts";
import type { TableDescription } from "../../core/types.ts";
import type { KeyTest } from "../../expressions/key-tests.ts";
import {
  decodeIndexes,
  encodeIndexes,
  type DescribedIndex,
} from "../../schemas/described-indexes.ts";

const indexes: readonly DescribedIndex[] = [
  {
    ...{ name: "by-owner", kind: "global", projection: "INCLUDE" },
    partitionKey: { name: "owner", type: "S" },
    sortKey: { name: "at", type: "N" },
    nonKeyAttributes: ["note", "amount"],
  },
  {
    ...{ name: "by-size", kind: "local", projection: "KEYS_ONLY", nonKeyAttributes: [] },
    partitionKey: { name: "id", type: "S" },
    sortKey: { name: "size", type: "N" },
  },
];
const table: TableDescription = {
  name: "orders",
  partitionKey: { name: "id", type: "S" },
  history: false,
  access: "transactional",
};
const known = commandTable({ ...table, indexDescriptions: encodeIndexes(indexes) });
const text = (name: string): KeyTest => ({ name, operator: "=", values: [{ S: "a" }] });

test("what the registry says of indexes survives being stored", () => {
  expect(decodeIndexes(encodeIndexes(indexes))).toEqual(indexes);
  expect(decodeIndexes(undefined)).toEqual([]);
});

test("an index that a later version describes in its own way is left out", () => {
  const stored = encodeIndexes(indexes) as { readonly L: readonly object[] };
  const changed = { M: { name: { S: "new" }, projection: { S: "SOME" } } };
  expect(decodeIndexes({ L: [changed, ...stored.L] } as never)).toEqual(indexes);
});

describe("an index", () => {
  test("is as it was when its table was registered", () => {
    expect(known.index("by-owner")).toEqual({
      ...{ name: "by-owner", kind: "global" },
      partition: { name: "owner", type: "S" },
      sort: { name: "at", type: "N" },
      projection: { type: "INCLUDE", nonKeyAttributes: ["note", "amount"] },
    });
  });

  test("that was made since is what the query takes it for, and projects everything", () => {
    const since: KeyTest = { name: "since", operator: ">", values: [{ N: "5" }] };
    expect(known.index("new", [since, text("city")])).toEqual({
      ...{ name: "new", kind: "global" },
      partition: { name: "city", type: "S" },
      sort: { name: "since", type: "N" },
      projection: { type: "ALL", nonKeyAttributes: [] },
    });
  });

  test("tested for two equal values has the partition key that the registry knows", () => {
    const indexKeys = [{ name: "city", type: "S", role: "partition" }] as const;
    const old = commandTable({ ...table, indexKeys });
    const index = old.index("new", [text("street"), text("city")]);
    expect([index.partition.name, index.sort?.name]).toEqual(["city", "street"]);
  });

  test("that nothing is known of cannot be scanned", () => {
    expect(() => known.index("new")).toThrow(/does not have the specified index: new/u);
  });
});
