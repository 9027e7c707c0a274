/**
 * Whatever arrives, the service answers with a declared status, and never with a fault of its own.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { routes } from "../../schemas/rest/routes.ts";
import { memoryApi } from "./fixtures/api-harness.ts";

const paths = Object.values(routes)
  .filter((route) => route.method === "post")
  .map((route) => route.path.replace("{id}", "0600e1a5c2d3400f1e2d3c4b5a697887"));

/**
 * Names and values that the contract knows, put together at random: deeper than random JSON gets.
 */
const words = fc.constantFrom(
  ...["format", "isolation", "reads", "gets", "queries", "scans", "table", "key", "item", "writes"],
  ...["op", "condition", "conditions", "attributes", "exists", "eq", "between", "partitionKey"],
  ...["sortKey", "cursor", "limit", "set", "add", "remove", "transaction", "asOf", "account"],
  ...["number", "$typed", "S", "N", "M", "L", "__proto__", "constructor", "_v"],
);
const leaves = fc.oneof(
  fc.constantFrom("put", "update", "delete", "json", "dynamodb", "accounts", "entries", "ada", ""),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string(),
);
const trees = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6, depthSize: "medium" },
    leaves,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.dictionary(words, tie("tree"), { maxKeys: 5 }),
  ),
})).tree;

const json = fc.oneof(leaves, trees);
const key = fc.record({ account: json, number: json }, { requiredKeys: [] });
const table = fc.constantFrom("accounts", "entries", "none", "");
const condition = fc.record(
  {
    exists: fc.boolean(),
    attributes: fc.dictionary(
      words,
      fc.dictionary(fc.constantFrom("eq", "ne", "lt", "gte", "beginsWith", "in", "exists"), json, {
        maxKeys: 2,
      }),
      { maxKeys: 2 },
    ),
  },
  { requiredKeys: [] },
);
const change = fc.record(
  {
    op: fc.constantFrom("put", "update", "delete"),
    table,
    key,
    item: fc.oneof(key, fc.dictionary(words, json, { maxKeys: 4 })),
    set: fc.dictionary(words, json, { maxKeys: 2 }),
    add: fc.dictionary(words, json, { maxKeys: 2 }),
    condition,
  },
  { requiredKeys: ["op", "table"] },
);
/** Close to the contract: most of these pass validation or fail late. */
const near = fc.record(
  {
    format: fc.constantFrom("json", "dynamodb"),
    isolation: fc.constantFrom("serializable", "snapshot"),
    reads: fc.record(
      {
        gets: fc.array(fc.record({ table, key }), { maxLength: 3 }),
        queries: fc.array(
          fc.record(
            {
              table,
              partitionKey: json,
              sortKey: fc.dictionary(fc.constantFrom("eq", "lt", "between"), json, { maxKeys: 1 }),
              limit: fc.integer({ min: 0, max: 3 }),
              cursor: fc.string(),
            },
            { requiredKeys: ["table", "partitionKey"] },
          ),
          { maxLength: 2 },
        ),
        scans: fc.array(fc.record({ table }), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    conditions: fc.array(fc.record({ table, key, condition }), { maxLength: 2 }),
    writes: fc.array(change, { maxLength: 3 }),
    returnItems: fc.boolean(),
  },
  { requiredKeys: [] },
);

const declared = new Set([200, 202, 400, 404, 405, 409, 410, 412, 413, 415, 422, 429, 503]);

test("total: random bodies never give 500, on any path", async () => {
  const { call } = memoryApi();
  const statuses = new Map<number, number>();
  const body = fc.oneof(
    near.map((each) => JSON.stringify(each)),
    near.map((each) => JSON.stringify({ ...each, op: undefined })),
    trees.map((each) => JSON.stringify(each)),
    fc.json(),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), body, async (path, text) => {
      const answer = await call(path, text);
      expect(declared).toContain(answer.status);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    }),
    { numRuns: 1_000 },
  );
  // The generators are good for something: they reach success as well as refusal.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 422]));
});
