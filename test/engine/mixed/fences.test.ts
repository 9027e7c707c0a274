/** A fence's attempts, and what follows it, step by step (docs/adr/0014-native-operations.md). */
import { describe, expect, test } from "vitest";
import { fenceBytesOf } from "../../../core/item-identity.ts";
import * as limits from "../../../core/limits.ts";
import type { Item, Version } from "../../../core/types.ts";
import { at, idOf, key, loseAnswer, loseCall, nonceOf, ScriptedStore } from "./scripted-store.ts";

const own = idOf("1");
const other = idOf("2");
const fencedBy = (id: typeof own) => ({ _f: { B: fenceBytesOf(id) } });
const _n = { B: nonceOf(7) };
const content = { is: { S: "here" } };

async function fenceAsRead(store: ScriptedStore, between?: () => void) {
  const read = await store.items.read(at);
  store.calls.length = 0;
  between?.();
  return store.items.fence({ id: own, at, read });
}

describe("a fence on what was read", () => {
  test.each<[string, Item | undefined, Item, object]>([
    ["a nonce", { ...content, _n }, { ...content, _n }, { kind: "nonce", nonce: _n.B }],
    ["a version", { _v: { N: "5" } }, { _v: { N: "5" } }, { kind: "version", version: 5 }],
    [
      ...(["nothing of ours", content] as const),
      { ...content, _n: { B: nonceOf(101) } },
      { kind: "nonce", nonce: nonceOf(101) },
    ],
    [
      ...(["nothing at all", undefined] as const),
      { _n: { B: nonceOf(101) }, _x: { BOOL: true } },
      { kind: "nonce", nonce: nonceOf(101) },
    ],
  ])("that has %s is one call, and votes what it leaves", async (_what, first, left, stamp) => {
    const store = new ScriptedStore(first);
    expect(await fenceAsRead(store)).toEqual({ kind: "fenced", stamp });
    expect(store.item).toEqual({ ...key, ...left, ...fencedBy(own) });
    expect(store.called).toEqual(["fence"]);
  });

  test("is voted against where the content differs, whoever made it differ", async () => {
    for (const now of [
      { is: { S: "other" }, _n },
      { ...content, more: { S: "" }, _n },
      { is: { S: "other" } },
      { ...content, ...key, is: { S: "other" }, ...fencedBy(other) },
      undefined,
    ]) {
      const store = new ScriptedStore({ ...content, _n });
      expect(
        await fenceAsRead(store, () => {
          store.put(now);
        }),
      ).toEqual({ kind: "changed" });
    }
  });

  test("is voted against where its identity has gone, though the content came again", async () => {
    for (const now of [
      { ...content, _n: { B: nonceOf(8) } },
      { ...content, _v: { N: "9" } },
      content,
    ]) {
      const store = new ScriptedStore({ ...content, _n });
      const fenced = await fenceAsRead(store, () => {
        store.put(now);
      });
      expect(fenced).toEqual({ kind: "changed" });
    }
  });

  test("stands under an identity that came with the content (votes-identity-read)", async () => {
    const store = new ScriptedStore(content);
    const fenced = await fenceAsRead(store, () => {
      store.put({ ...content, _v: { N: "9" } });
    });
    expect(fenced).toEqual({ kind: "fenced", stamp: { kind: "version", version: 9 } });
    expect(store.called).toEqual(["fence", "fence"]);
  });

  test("is not aborted by what an aborted one has left there", async () => {
    for (const [first, left] of [
      [content, { ...content, _n, ...fencedBy(other) }],
      [undefined, { _n, _x: { BOOL: true }, ...fencedBy(other) }],
    ] as const) {
      const store = new ScriptedStore(first);
      const fenced = await fenceAsRead(store, () => {
        store.put(left);
      });
      expect(fenced).toEqual({ kind: "fenced", stamp: { kind: "nonce", nonce: _n.B } });
      expect(store.settled).toEqual([]);
    }
  });
});

test("a blind one takes any identity, goes by what a refusal shows, and learns by it", async () => {
  for (const [first, stamp] of [
    [
      { ...content, _n },
      { kind: "nonce", nonce: _n.B },
    ],
    [
      { ...content, _v: { N: "5" } },
      { kind: "version", version: 5 },
    ],
    [content, { kind: "nonce" }],
    [undefined, { kind: "nonce" }],
  ] as const) {
    const store = new ScriptedStore(first);
    for (const calls of [first !== undefined && first !== content ? 1 : 2, 1]) {
      store.put(first);
      store.calls.length = 0;
      const fenced = await store.items.fence({ id: own, at, read: undefined });
      expect(fenced).toMatchObject({ kind: "fenced", stamp });
      expect(store.called.length).toBe(calls);
      expect(store.item).toMatchObject(fencedBy(own));
    }
  }
});

describe("a fence that stands in the way", () => {
  const stamp = { kind: "nonce", nonce: _n.B } as const;

  test("of an open one is settled, and replaced once that is over", async () => {
    const store = new ScriptedStore({ ...content, _n, ...fencedBy(other) });
    store.fates.set(other, { kind: "open" });
    expect(await store.items.fence({ id: own, at, read: undefined })).toEqual({
      kind: "fenced",
      stamp,
    });
    expect(store.settled).toEqual([other]);
  });

  test("of a commit is settled, and what that installs is what is compared", async () => {
    const store = new ScriptedStore({ ...content, _n });
    store.fates.set(other, { kind: "committed", stamp });
    store.settling.set(other, () => {
      store.put({ is: { S: "new" }, _v: { N: "8" } });
    });
    const fenced = await fenceAsRead(store, () => {
      store.put({ ...content, _n, ...fencedBy(other) });
    });
    expect(fenced).toEqual({ kind: "changed" });
    expect(store.settled).toEqual([other]);
  });

  test("of a commit that has voted another identity is garbage (any-fence-bars)", async () => {
    const store = new ScriptedStore({ ...content, _n, ...fencedBy(other) });
    store.fates.set(other, { kind: "committed", stamp: { kind: "nonce", nonce: nonceOf(8) } });
    const read = await store.items.read(at);
    expect(read).toMatchObject({ content: { ...key, ...content }, over: other });
    expect(await store.items.fence({ id: own, at, read })).toEqual({ kind: "fenced", stamp });
    expect(store.settled).toEqual([]);
    expect(store.called).toEqual(["read", "fence"]);
  });

  test("again and again is given up", async () => {
    const store = new ScriptedStore({ ...content, _n, ...fencedBy(other) });
    store.fates.set(other, { kind: "open" });
    let last = 2;
    const next = (): void => {
      last += 1;
      store.fates.set(idOf(`${last}`), { kind: "open" });
      store.settling.set(idOf(`${last}`), next);
      store.put({ ...content, _n, ...fencedBy(idOf(`${last}`)) });
    };
    store.settling.set(other, next);
    expect(await store.items.fence({ id: own, at, read: undefined })).toEqual({ kind: "crowded" });
    expect(store.settled.length).toBe(limits.mixedSettlesMax);
  });
});

describe("an answer that is lost", () => {
  test("is not voted on, whether the call has worked or not (lost-fences-voted)", async () => {
    for (const first of [undefined, content, { ...content, _n }, { _v: { N: "5" } }]) {
      for (const lose of [loseAnswer, loseCall()]) {
        const store = new ScriptedStore(first);
        store.script.push(lose);
        expect(await fenceAsRead(store)).toEqual({ kind: "unsure", cause: "lost" });
        expect(store.called).toEqual(["fence"]);
      }
    }
  });

  test("leaves what comes late to a clean-up", async () => {
    const store = new ScriptedStore();
    const late: (() => void)[] = [];
    store.script.push(loseCall(late));
    expect(await fenceAsRead(store)).toMatchObject({ kind: "unsure" });
    await store.items.cleanUp(own, [at]);
    for (const copy of late) copy();
    expect(store.item).toMatchObject({ _x: { BOOL: true }, ...fencedBy(own) });
    expect(await store.items.read(at)).toMatchObject({ content: undefined, over: own });
    await store.items.cleanUp(own, [at]);
    expect(store.item).toBe(undefined);
  });
});

describe("an install", () => {
  const version = 9 as Version;
  const item = { ...key, is: { S: "new" } };

  test.each<[string, Item | undefined]>([
    ["an aware put", { is: { S: "native" }, _n: { B: nonceOf(8) } }],
    ["an unaware put", { is: { S: "native" } }],
    ["a delete", undefined],
    ["an unaware put of what was read before (installs-by-identity)", { is: { S: "old" }, _n }],
    ["a put of an item that another late fence stands on", { ...content, ...fencedBy(own) }],
  ])("over %s that came after the fence is superseded (installs-by-fence)", async (_what, now) => {
    const store = new ScriptedStore({ ...content, _n });
    const fenced = await fenceAsRead(store);
    if (fenced.kind !== "fenced") throw new Error("it is fenced");
    store.put(now);
    for (const next of [item, undefined]) {
      const install = { ...at, id: own, item: next, version, stamp: fenced.stamp };
      expect(store.naive.install(install)).toBe("superseded");
    }
    expect(store.item).toEqual(now && { ...now, ...key });
  });

  test("of what was absent finds a put and delete behind its back (no-placeholder)", async () => {
    const store = new ScriptedStore();
    const fenced = await fenceAsRead(store);
    if (fenced.kind !== "fenced") throw new Error("it is fenced");
    store.put({ is: { S: "native" } });
    store.put(undefined);
    const install = { ...at, id: own, item, version, stamp: fenced.stamp };
    expect(store.naive.install(install)).toBe("superseded");
    expect(store.item).toBe(undefined);
  });

  test("takes fence, nonce and mark away; one of a delete leaves nothing", async () => {
    for (const next of [item, undefined]) {
      const store = new ScriptedStore();
      const fenced = await fenceAsRead(store);
      if (fenced.kind !== "fenced") throw new Error("it is fenced");
      store.naive.install({ ...at, id: own, item: next, version, stamp: fenced.stamp });
      expect(store.item).toEqual(next && { ...next, _v: { N: "9" } });
    }
  });
});

describe("the clean-up of an aborted one", () => {
  test.each<[string, Item | undefined, Item | undefined]>([
    ["its fence", { ...content, _n, ...fencedBy(own) }, { ...content, _n }],
    ["its placeholder", { _n, _x: { BOOL: true }, ...fencedBy(own) }, undefined],
    [
      ...(["the mark of what an unaware update has made an item"] as const),
      { ...content, _n, _x: { BOOL: true }, ...fencedBy(own) },
      { ...content, _n },
    ],
    [
      "nothing of others",
      { _n, _x: { BOOL: true }, ...fencedBy(other) },
      { _n, _x: { BOOL: true }, ...fencedBy(other) },
    ],
    ["nothing where nothing is", undefined, undefined],
  ])("removes %s", async (_what, first, left) => {
    const store = new ScriptedStore(first);
    await store.items.cleanUp(own, [at]);
    expect(store.item).toEqual(left && { ...left, ...key });
    const isTouched = JSON.stringify(first) !== JSON.stringify(left);
    expect(store.called).toEqual(isTouched ? ["readAll", "cleanUp"] : ["readAll"]);
  });
});

test.each<[string, Item]>([
  ["_f", { _f: { S: "x" } }],
  ["_n", { _n: { B: nonceOf(1).subarray(1) } }],
  ["_v", { _v: { N: "-1" } }],
])("an item whose %s is none is named by the error", async (name, damaged) => {
  const store = new ScriptedStore({ ...content, ...damaged });
  const named = new RegExp(`${name}.*\\(table "t", key \\{"pk":\\{"S":"x"\\}\\}\\)`, "u");
  await expect(store.items.read(at)).rejects.toThrow(named);
});

describe("what is read again", () => {
  test.each<[string, Item | undefined, Item | undefined, boolean]>([
    ["the same", { ...content, _n }, { ...content, _n }, false],
    ["fenced by what is over", { ...content, _n }, { ...content, _n, ...fencedBy(other) }, false],
    ["other content, written in place", { ...content, _n }, { is: { S: "other" }, _n }, true],
    ["content that came again", { ...content, _n }, { ...content, _n: { B: nonceOf(8) } }, true],
    ["content that came again unaware", { ...content, _v: { N: "1" } }, content, true],
    ["an identity where there was none", content, { ...content, _n, ...fencedBy(other) }, false],
    ["a placeholder where nothing was", undefined, { _n, _x: { BOOL: true } }, false],
    ["nothing any more", { ...content, _n }, undefined, true],
  ])("and is %s", async (_what, first, now, isWritten) => {
    const store = new ScriptedStore(first);
    const seen = await store.items.read(at);
    store.put(now);
    expect(await store.items.readAgain([{ at, seen }])).toEqual(isWritten ? [0] : []);
  });
});
