/**
 * Each cell of the first table of "Who can do what" (docs/operations.md): with a role's rights
 * everything is tried, and what it names is let through, and nothing else is.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTables } from "../../../aws/create-tables.ts";
import { startLocalStores, type LocalStores } from "../../harness/local-stores.ts";
import { parts, tableWith } from "./page.ts";
import { admitted, columns, probes, type Column, type Scene } from "./probes.ts";
import { actorAs, roles, type Actor, type Role } from "./roles.ts";

const rows = tableWith("your tables");
let stores: LocalStores;
let scene: Scene;

beforeAll(async () => {
  stores = await startLocalStores();
  const { name: table } = await stores.createTable("mine");
  const { name: mixed } = await stores.createTable("mixed", { access: "mixed" });
  const foreign = `foreign-${stores.deployment}`;
  const partitionKey = { name: "pk", type: "S" } as const;
  await createTables(stores.clientOptions, [{ name: foreign, partitionKey }]);
  scene = { stores, table, mixed, foreign };
});
afterAll(() => stores.stop());

test("the document speaks of every role and resource, in words that are tried", () => {
  const functionsAndPolicies = Object.keys(roles).filter((each) => !/^an? /.test(each));
  expect(rows.map(({ who }) => who)).toEqual(functionsAndPolicies);
  for (const { cells } of rows) {
    expect(Object.keys(cells)).toEqual(columns);
    for (const column of columns) {
      expect(Object.keys(probes[column])).toEqual(
        expect.arrayContaining(parts(cells[column] ?? "", ", ")),
      );
    }
  }
});

describe.each(rows)("$who", ({ who, cells }) => {
  let actor: Actor;
  beforeAll(async () => {
    actor = await actorAs(who as Role, stores, [scene.table], [scene.mixed ?? ""]);
  });
  afterAll(() => actor.stop());

  test.each(Object.entries(cells))("%s: %s", async (column, cell) => {
    const found = await admitted(actor, scene, column as Column);
    expect(found.sort()).toEqual(parts(cell, ", ").sort());
  });
});

test("a call that fails for another reason is not taken for one that was denied", async () => {
  const missing = { ...scene, foreign: "no-such-table" };
  const actor = await actorAs("policy read-only", stores, [scene.table, missing.foreign]);
  await expect(admitted(actor, missing, "your tables")).rejects.toMatchObject({
    name: "ResourceNotFoundException",
  });
  await actor.stop();
});
