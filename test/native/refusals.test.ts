/** Whose condition has not held, by what is shown (docs/mixed-tables.md). */
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { NativeAddress } from "../../core/native-support.ts";
import { Refusals, type GuardedWrite, type Refusal } from "../../native/refusals.ts";
import type { ShownItem } from "../../native/wire.ts";

const key = { pk: { S: "p" } };
const write: GuardedWrite = {
  ...{ table: { name: "rows", partitionKey: "pk" }, key },
  ...{ asked: undefined, isConditional: true },
};
const fence = { _f: { B: new Uint8Array(16) } };

class Refused extends Error {
  Item: ShownItem | undefined;
  constructor(item: ShownItem | undefined) {
    super("refused");
    this.Item = item;
  }
}

/** A store that answers with these items, one refusal each, and then does what it was asked. */
class Store {
  readonly cleared: NativeAddress[] = [];
  calls = 0;
  readonly refusals = new Refusals({
    clearFence: (at) => {
      this.cleared.push(at);
      return Promise.resolve(this.stood.shift() ?? false);
    },
  });
  readonly stood: boolean[] = [];

  call(items: readonly (ShownItem | undefined)[], of = write, isDynamoDb = false) {
    const left = [...items];
    this.calls = 0;
    return this.refusals.overcome(
      () => {
        this.calls += 1;
        return left.length === 0
          ? Promise.resolve("done")
          : Promise.reject(new Refused(left.shift()));
      },
      (error) => (error instanceof Refused ? [[error as Refusal, of]] : []),
      () => isDynamoDb,
    );
  }
}

describe("a refusal is the user's", () => {
  test("where the item that is shown has no fence", async () => {
    const store = new Store();
    await expect(store.call([{ ...key, _n: {} }])).rejects.toThrow("refused");
    expect([store.calls, store.cleared]).toEqual([1, []]);
  });

  test("where DynamoDB shows none, or a store that has shown one before", async () => {
    const store = new Store();
    await expect(store.call([undefined], write, true)).rejects.toThrow("refused");
    expect([store.calls, store.cleared]).toEqual([1, []]);
    await expect(store.call([key])).rejects.toThrow("refused");
    await expect(store.call([undefined])).rejects.toThrow("refused");
    expect([store.calls, store.cleared]).toEqual([1, []]);
  });

  test("where a store shows none, none is found, and it refuses again", async () => {
    const store = new Store();
    await expect(store.call([undefined, undefined])).rejects.toThrow("refused");
    expect([store.calls, store.cleared.length]).toEqual([2, 2]);
  });

  test("and shows what was asked for, without Tidemark's attributes", async () => {
    const store = new Store();
    const stored = { ...key, a: { S: "x" }, _n: { B: "" } };
    const shown = async (asked: string | undefined, item: ShownItem) => {
      const error = await store.call([item], { ...write, asked }).catch((each: unknown) => each);
      return (error as Refused).Item;
    };
    expect(await shown(undefined, stored)).toBeUndefined();
    expect(await shown("NONE", stored)).toBeUndefined();
    expect(await shown("ALL_OLD", stored)).toEqual({ ...key, a: { S: "x" } });
    expect(await shown("ALL_OLD", { ...key, _v: { N: "5" }, _x: { BOOL: true } })).toBeUndefined();
  });
});

describe("a refusal is a fence's", () => {
  test("where one is shown, even if another has cleared it by now", async () => {
    const store = new Store();
    expect(await store.call([{ ...key, ...fence }])).toBe("done");
    expect([store.calls, store.cleared]).toEqual([2, [{ table: "rows", key }]]);
  });

  test("where the user has set no condition", async () => {
    const store = new Store();
    const blind = { ...write, isConditional: false };
    expect(await store.call([undefined, undefined, undefined], blind)).toBe("done");
    expect(store.calls).toBe(4);
  });

  test("where one is found, and where it had gone before it was looked for", async () => {
    const store = new Store();
    store.stood.push(true, false);
    expect(await store.call([undefined, undefined])).toBe("done");
    expect(store.calls).toBe(3);
    expect(await store.call([undefined])).toBe("done");
    expect(store.calls).toBe(2);
  });
});

test("one fence after the other ends as an error, with the refusal as its cause", async () => {
  const store = new Store();
  const fenced = Array.from({ length: 20 }, () => ({ ...key, ...fence }));
  await expect(store.call(fenced)).rejects.toMatchObject({
    code: "unavailable",
    cause: expect.any(Refused) as unknown,
  });
  expect(store.calls).toBe(limits.mixedSettlesMax + 1);
});

test("other errors pass as they are", async () => {
  const store = new Store();
  const broken = store.refusals.overcome(
    () => Promise.reject(new Error("broken")),
    () => [],
    () => false,
  );
  await expect(broken).rejects.toThrow("broken");
});
