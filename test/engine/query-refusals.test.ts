/**
 * Queries that cannot work, as the SDK answers them on the simulated cloud. How the REST service
 * does, on real servers, is in api.integration.test.ts of test/functions.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { defineTable, type Client } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const orders = defineTable<{ n: number }, { customer: string; placedAt: number }, "customer">(
  "orders",
);
const plain = defineTable("plain", { key: "id" });

let cloud: TestCloud;
let db: Client;

beforeAll(async () => {
  const described = testTable(orders, {
    partitionKey: "customer",
    sortKey: { name: "placedAt", type: "N" },
  });
  const byState = {
    name: "by-state",
    partitionKey: { name: "state", type: "S" },
    sortKey: { name: "placedAt", type: "N" },
  } as const;
  const byTag = { name: "by-tag", partitionKey: { name: "tag", type: "S" } } as const;
  cloud = await createTestCloud({
    tables: [{ ...described, indexes: [byState, byTag] }, plain],
  });
  db = cloud.createClient();
});

const query = (table: typeof orders | typeof plain, options: object) =>
  cloud.run(() => db.snapshot((snapshot) => snapshot.query(table, options as never).all()));

describe("a query of an index", () => {
  test("that the table does not have names those that it is registered with", async () => {
    await expect(
      query(orders, { index: "by-stat", where: { state: "open" } }),
    ).rejects.toMatchObject({
      code: "invalid-request",
      field: "index",
      message: 'table "orders" has no index "by-stat"; registered are: by-state, by-tag',
    });
    await expect(query(plain, { index: "any", where: { id: "a" } })).rejects.toMatchObject({
      field: "index",
      message: 'table "plain" has no index "any"',
    });
  });

  test("by attributes that are not its key names them, with the store's own words", async () => {
    await expect(
      query(orders, { index: "by-state", where: { tag: "blue" } }),
    ).rejects.toMatchObject({
      field: "index",
      message: expect.stringMatching(
        /"by-state" of table "orders".*by tag: .*Validation/,
      ) as string,
    });
  });
});

describe("a condition", () => {
  test.each([
    ["the sort key", { where: { customer: "c", placedAt: { beginsWith: 2024 } } }],
    ["an index's", { index: "by-state", where: { state: "open", placedAt: { beginsWith: "2" } } }],
  ])("of a prefix on a number of %s says what numbers take instead", async (_of, options) => {
    await expect(query(orders, options)).rejects.toMatchObject({
      code: "invalid-request",
      field: "placedAt",
      message:
        '`beginsWith` is for strings and bytes, and the sort key "placedAt" of table "orders" ' +
        "is a number; use eq, lt, lte, gt, gte or between",
    });
  });

  test.each([
    [{ where: { customer: 7 } }, "partition", "customer", "S"],
    [{ where: { customer: "c", placedAt: { gt: "1" } } }, "sort", "placedAt", "N"],
    [{ where: { customer: "c", placedAt: { between: [1, "2"] } } }, "sort", "placedAt", "N"],
    [{ index: "by-tag", where: { tag: 1 } }, "partition", "tag", "S"],
  ])("of another type than the key's says which it is: %j", async (options, role, field, type) => {
    await expect(query(orders, options)).rejects.toMatchObject({
      code: "invalid-request",
      field,
      message:
        `the ${role} key "${field}" of table "orders" is of type ${type}; give a value of that ` +
        "type",
    });
  });

  test("with its bounds in the wrong order says so; equal ones are a range", async () => {
    const between = (...bounds: readonly number[]) =>
      query(orders, { where: { customer: "c", placedAt: { between: bounds } } });
    await expect(between(2, 1)).rejects.toMatchObject({ field: "placedAt" });
    expect(await between(1, 1)).toEqual([]);
  });
});
