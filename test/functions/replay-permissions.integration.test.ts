/**
 * What replay may not write, and where it is not let in: it neither writes beyond the registry nor
 * gives up what an operator's mistake keeps from it (docs/protocol.md §8).
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import type { DeadLetter, Ports } from "../../core/ports.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import { failureOf, key, number, numberOf } from "../integration/support.ts";
import { certify, certifyingEngine, runReplay, type ReplayRun } from "./replay-runs.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let kept: TableDescription;
let client: Engine;

beforeAll(async () => {
  ({ deployment, plain: table, kept } = await startWithoutReplay());
  client = certifyingEngine(deployment.stores);
});
afterAll(() => deployment.stop());

const replay = (run: ReplayRun = {}) => runReplay(deployment.stores, run);
const commit = (of: TableDescription, writes: readonly Item[], deletes: readonly Item[] = []) =>
  certify(client, { of, writes, deletes });

async function stored(of: TableDescription, each: Item): Promise<number> {
  return numberOf((await deployment.stores.ports.items.get(of, each)).item);
}

async function watermark(): Promise<Timestamp> {
  const { ports, shard } = deployment.stores;
  return (await ports.control.readWatermark(shard))?.timestamp ?? (0 as Timestamp);
}

test.each([
  ["is registered no more", (): readonly TableDescription[] => []],
  [
    "is registered with another key",
    (one: TableDescription) => [{ ...one, partitionKey: { name: "id", type: "S" as const } }],
  ],
  [
    "is registered with a sort key",
    (one: TableDescription) => [{ ...one, sortKey: { name: "n", type: "N" as const } }],
  ],
])("a write whose table %s becomes a dead letter; others are made", async (_, to) => {
  const { ports } = deployment.stores;
  const { at } = await commit(table, [{ ...key("strange"), n: number(1) }], [key("gone")]);
  const after = await commit(kept, [{ ...key("strange"), n: number(2) }]);
  const letters: DeadLetter[] = [];
  const buried: unknown[] = [];
  const control: Ports["control"] = {
    ...ports.control,
    async registry() {
      const found = await ports.control.registry();
      const others = found.tables.filter(({ name }) => name !== table.name);
      return { ...found, tables: [...others, ...to(table)] };
    },
    saveDeadLetter: (letter) => {
      letters.push(letter);
      return Promise.resolve();
    },
    queueTombstones: (batch) => {
      buried.push(batch);
      return Promise.resolve();
    },
  };
  await replay({ ports: { control } });
  expect(letters.map(({ timestamp }) => timestamp)).toEqual([at, at]);
  expect(letters[0]?.reason).toMatch(/registered/);
  expect(buried).toEqual([]);
  expect(await watermark()).toBeGreaterThanOrEqual(after.at);
  expect((await ports.items.get(table, key("strange"))).version).toBe(0);
  expect(await stored(kept, key("strange"))).toBe(2);
});

test("I7: a table that denies access holds the watermark, not other installs", async () => {
  const { ports } = deployment.stores;
  const first = await commit(kept, [{ ...key("one-denied"), n: number(1) }]);
  await commit(kept, [{ ...key("one-denied"), n: number(2) }]);
  await commit(table, [{ ...key("one-denied"), n: number(3) }]);
  const denied = new StoreError("rejected", "scripted", { code: "AccessDeniedException" });
  const isDenied = new Set(["read", "written"]);
  const installs: string[] = [];
  const items: Ports["items"] = {
    ...ports.items,
    versions: (keys, options) =>
      isDenied.has("read") && keys.some((each) => each.table === kept.name)
        ? Promise.reject(denied)
        : ports.items.versions(keys, options),
    install(request, options) {
      installs.push(request.table);
      return isDenied.has("written") && request.table === kept.name
        ? Promise.reject(denied)
        : ports.items.install(request, options);
    },
  };
  const logged: unknown[] = [];
  const observability = {
    ...silentObservability,
    log: { ...silentObservability.log, error: (_: string, more?: object) => logged.push(more) },
  };
  for (const right of ["read", "written"]) {
    expect(await failureOf(replay({ ports: { items }, observability }))).toBe(denied);
    isDenied.delete(right);
  }
  // The second of an item's writes is not tried before the first.
  expect(installs.filter((name) => name === kept.name)).toHaveLength(1);
  expect(logged[0]).toMatchObject({ denied: [kept.name], admitted: [table.name] });
  expect(await stored(table, key("one-denied"))).toBe(3);
  expect(await watermark()).toBeLessThan(first.at);
  await replay({ ports: { items } });
  expect(await watermark()).toBeGreaterThanOrEqual(first.at);
  expect(await stored(kept, key("one-denied"))).toBe(2);
});
