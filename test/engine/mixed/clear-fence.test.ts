/** What a fence that a native write has met comes to (docs/adr/0014-native-operations.md). */
import { describe, expect, test } from "vitest";
import type { FenceFate } from "../../../core/fence.ts";
import { fenceBytesOf } from "../../../core/item-identity.ts";
import * as limits from "../../../core/limits.ts";
import type { Item, TransactionId } from "../../../core/types.ts";
import { clearFence } from "../../../engine/mixed/clear-fence.ts";
import { NaiveItems } from "./naive-items.ts";
import { at, idOf, key, nonceOf } from "./scripted-store.ts";

const one = idOf("1");
const two = idOf("2");
const fencedBy = (id: TransactionId) => ({ _f: { B: fenceBytesOf(id) } });
const _n = { B: nonceOf(7) };
const placeholder = { _n, _x: { BOOL: true } };
const content = { is: { S: "here" } };

class World {
  readonly naive = new NaiveItems();
  readonly fates = new Map<TransactionId, FenceFate>();
  readonly settled: TransactionId[] = [];
  /** What settling comes to. */
  settle: (id: TransactionId) => void = () => undefined;

  constructor(item: Item | undefined) {
    this.set(item);
  }

  set(item: Item | undefined): void {
    this.naive.put(key, item && { ...item, ...key });
  }

  get item(): Item | undefined {
    return this.naive.get(key);
  }

  clear(): Promise<boolean> {
    return clearFence(
      {
        mixed: {
          read: () => Promise.resolve(this.item),
          cleanUp: (request) => Promise.resolve(this.naive.cleanUp(request)),
        },
        judge: {
          fateOf: ({ fence }) => Promise.resolve(this.fates.get(fence) ?? { kind: "over" }),
          settle: ({ fence }) => {
            this.settled.push(fence);
            this.settle(fence);
            return Promise.resolve();
          },
        },
      },
      at,
    );
  }
}

describe("a native write has met a fence", () => {
  test.each<[string, Item | undefined, Item | undefined]>([
    ["an item keeps what it has", { ...content, _n, ...fencedBy(one) }, { ...content, _n }],
    ["a placeholder goes", { ...placeholder, ...fencedBy(one) }, undefined],
    [
      "what an unaware UpdateItem has made of a placeholder stays",
      { ...placeholder, ...content, ...fencedBy(one) },
      { ...content, _n },
    ],
  ])("of an aborted one: %s", async (_what, before, after) => {
    const world = new World(before);
    expect(await world.clear()).toBe(true);
    expect(world.item).toEqual(after && { ...key, ...after });
    expect(world.settled).toEqual([]);
  });

  test("of an open one: it is settled, and cleaned up once it is aborted", async () => {
    const world = new World({ ...content, _n, ...fencedBy(one) });
    world.fates.set(one, { kind: "open" });
    world.settle = () => world.fates.set(one, { kind: "over" });
    expect(await world.clear()).toBe(true);
    expect(world.item).toEqual({ ...key, ...content, _n });
    expect(world.settled).toEqual([one]);
  });

  test("of a committed one: it is installed", async () => {
    const world = new World({ ...content, _n, ...fencedBy(one) });
    world.fates.set(one, { kind: "committed", stamp: { kind: "nonce", nonce: _n.B } });
    world.settle = () => world.set({ is: { S: "new" }, _v: { N: "9" } });
    expect(await world.clear()).toBe(true);
    expect(world.item).toEqual({ ...key, is: { S: "new" }, _v: { N: "9" } });
  });

  test("of a committed one that has voted another identity: it is taken off", async () => {
    const world = new World({ ...content, _n, ...fencedBy(one) });
    world.fates.set(one, { kind: "committed", stamp: { kind: "nonce", nonce: nonceOf(8) } });
    expect(await world.clear()).toBe(true);
    expect(world.item).toEqual({ ...key, ...content, _n });
    expect(world.settled).toEqual([]);
  });

  test("another that comes meanwhile is dealt with as well, up to a bound", async () => {
    const world = new World({ ...content, _n, ...fencedBy(one) });
    world.fates.set(one, { kind: "open" });
    world.settle = () => world.set({ ...content, _n, ...fencedBy(two) });
    expect(await world.clear()).toBe(true);
    expect(world.item).toEqual({ ...key, ...content, _n });
    world.set({ ...content, _n, ...fencedBy(one) });
    world.settle = () => undefined;
    world.settled.length = 0;
    expect(await world.clear()).toBe(true);
    expect(world.settled).toHaveLength(limits.mixedSettlesMax + 1);
  });

  test.each([
    ["no item", undefined],
    ["no fence", content],
  ] as const)("and finds %s: nothing stood there", async (_what, item) => {
    const world = new World(item);
    expect(await world.clear()).toBe(false);
    expect(world.item).toEqual(item && { ...key, ...item });
  });
});
