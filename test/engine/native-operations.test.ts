/** Which tables native operations have to know of, and how old that may be. */
import { expect, test } from "vitest";
import { retentionDefault } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type { TableDescription } from "../../core/types.ts";
import { mixedTables } from "../../engine/native-operations.ts";
import { TableRegistry } from "../../engine/table-registry.ts";

const partitionKey = { name: "id", type: "S" } as const;
const table = (name: string, rest: Partial<TableDescription> = {}): TableDescription => ({
  ...{ name, partitionKey, history: false, access: "transactional" },
  ...rest,
});

function registryOf(tables: TableDescription[]) {
  let nowMs = 0;
  let asked = 0;
  const registry = new TableRegistry(
    {
      registry: () => {
        asked += 1;
        return Promise.resolve({ tables: [...tables], retention: retentionDefault });
      },
    } as never,
    {
      nowMs: () => nowMs,
      monotonicMs: () => nowMs,
      sleep: () => new Promise<never>(() => undefined),
    },
  );
  const { signal } = new AbortController();
  return {
    tables: () => mixedTables({ registry }, { signal }),
    names: async () => (await mixedTables({ registry }, { signal })).map(({ name }) => name),
    asked: () => asked,
    pass: (ms: number) => (nowMs += ms),
  };
}

test("those that are mixed, and those on their way there or back", async () => {
  const registry = registryOf([
    table("plain"),
    table("mixed", { access: "mixed", sortKey: { name: "at", type: "N" } }),
    table("going", { access: "mixed", move: { to: "mixed", stage: "guarded" } }),
    table("coming back", { move: { to: "transactional", stage: "tidying" } }),
  ]);
  expect(await registry.tables()).toEqual([
    { name: "mixed", partitionKey: "id", sortKey: "at" },
    { name: "going", partitionKey: "id", move: { to: "mixed", stage: "guarded" } },
    { name: "coming back", partitionKey: "id", move: { to: "transactional", stage: "tidying" } },
  ]);
});

test("as of half of what a plugin's list may be old", async () => {
  const tables = [table("one", { access: "mixed" })];
  const registry = registryOf(tables);
  await registry.names();
  tables.push(table("two", { access: "mixed" }));
  registry.pass(limits.nativeTablesMsMax / 2);
  expect(await registry.names()).toEqual(["one"]);
  registry.pass(1);
  expect(await registry.names()).toEqual(["one", "two"]);
  expect(registry.asked()).toBe(2);
});
