/** Native writers of the simulator: what they send, what they record, and what they wonder at. */
import { expect, test } from "vitest";
import type { Item } from "../../core/types.ts";
import { NativeItems, type ClearFence } from "../../simulation/native/native-items.ts";
import type { NativeKind, NativeWrite } from "../../simulation/native/native-write.ts";
import { HistoryRecorder } from "../../testing/history/recorder.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";

const table = testTable("goods", { partitionKey: "id" });
const key = { id: { S: "a" } };
const sells: NativeWrite = {
  ...{ kind: "update", key, add: { units: -2 } },
  condition: { kind: "at-least", name: "units", amount: 2 },
};
const fence = { B: new Uint8Array(16).fill(7) };

async function stage(kind: NativeKind, clearFence?: (clear: () => void) => ClearFence) {
  const cloud = await createTestCloud({ tables: [table] });
  const { world } = cloud;
  const process = world.startProcess("native", { exact: true });
  const recorder = new HistoryRecorder({ nowNs: () => Math.round(world.time.nowMs * 1_000) });
  const { dynamodb } = world.handles(process, { calm: true, callTries: 1 });
  const store = (item: Item): void => {
    world.dynamodb.execute("PutItem", { TableName: "goods", Item: item as never });
  };
  const stored = (): Item | undefined => world.dynamodb.rows("goods")[0]?.item;
  const free = (): void => {
    const { _f: _fence, ...rest } = stored() ?? {};
    store({ ...rest, ...key });
  };
  const { clock, random } = process;
  const items = new NativeItems({
    ...{ process: "native", kind, dynamodb, clock, random, recorder },
    clearFence: clearFence?.(free),
  });
  const write = (given: NativeWrite) => cloud.run(() => items.write(table, given));
  return { cloud, items, write, store, stored, free, recorder };
}

test("an aware writer leaves a nonce, and a version for the history", async () => {
  const { write, stored, recorder } = await stage("aware");
  expect(await write({ kind: "put", item: { ...key, units: { N: "5" } } })).toEqual({
    ...{ kind: "done", old: undefined },
  });
  expect(stored()).toMatchObject({ units: { N: "5" }, _h: { S: "native:1.1" } });
  const nonce = stored()?.["_n"];
  expect(await write({ ...sells, returnsOld: true })).toEqual({
    ...{ kind: "done", old: { ...key, units: { N: "5" } } },
  });
  expect(stored()).toMatchObject({ units: { N: "3" } });
  expect(stored()?.["_n"]).not.toEqual(nonce);
  expect(await write({ kind: "delete", key })).toMatchObject({ kind: "done" });
  expect(recorder.finish().map(({ status, ops }) => [status, ops])).toEqual([
    ["commit", [["w", 'goods["a"]', "native:1.1"]]],
    [
      "commit",
      [
        ["r", 'goods["a"]', "native:1.1"],
        ["w", 'goods["a"]', "native:2.1"],
      ],
    ],
    ["commit", [["d", 'goods["a"]', "native:3.1"]]],
  ]);
});

test("its own condition refuses it, and the answer shows of what", async () => {
  const { write, store } = await stage("aware");
  store({ ...key, units: { N: "1" } });
  expect(await write(sells)).toEqual({ kind: "refused", shown: { ...key, units: { N: "1" } } });
});

test("an aware update waits at a fence, or has it taken away; a blind put passes it", async () => {
  const fenced = { ...key, units: { N: "5" }, _f: fence };
  const waiting = await stage("aware");
  waiting.store(fenced);
  waiting.cloud.world.time.after(300, waiting.free);
  expect(await waiting.write(sells)).toMatchObject({ kind: "done" });
  expect(waiting.stored()).not.toHaveProperty("_f");

  const clearing = await stage("aware", (free) => () => {
    free();
    return Promise.resolve();
  });
  clearing.store(fenced);
  expect(await clearing.write(sells)).toMatchObject({ kind: "done" });

  const blind = await stage("blind");
  blind.store(fenced);
  expect(await blind.write({ kind: "put", item: key })).toMatchObject({ kind: "done" });
  expect(blind.stored()).not.toHaveProperty("_f");
});

test("a fence that stays for ever is waited for so long, and nothing is written", async () => {
  const { write, store, recorder } = await stage("aware");
  store({ ...key, units: { N: "5" }, _f: fence });
  expect(await write(sells)).toEqual({ kind: "nothing" });
  expect(recorder.finish().every(({ status }) => status === "abort")).toBe(true);
});

test("a refusal that no condition of its own explains is a finding", async () => {
  const { write, store } = await stage("unaware");
  store({ ...key, units: { N: "5" } });

  // Somebody who hides what stands there: a placeholder without a fence.
  store({ ...key, _x: { BOOL: true } });
  const insert = { kind: "put", item: key, condition: { kind: "absent" } } as const;
  expect(await write(insert)).toEqual({ kind: "refused", shown: undefined });
  const aware = await stage("aware");
  aware.store({ ...key, _x: { BOOL: true } });
  await expect(aware.write(insert)).rejects.toThrow("I10: a native put of");
});
