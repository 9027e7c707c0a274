/** Commits of one item without the log, step by step (docs/adr/0014-native-operations.md). */
import { describe, expect, test } from "vitest";
import { contentOf } from "../../../core/item-content.ts";
import { fenceBytesOf } from "../../../core/item-identity.ts";
import * as limits from "../../../core/limits.ts";
import type { Attempted } from "../../../core/mixed-items-port.ts";
import type { Item } from "../../../core/types.ts";
import { at, idOf, key, loseAnswer, loseCall, nonceOf, ScriptedStore } from "./scripted-store.ts";

const other = idOf("2");
const fence = { _f: { B: fenceBytesOf(other) } };
const _n = { B: nonceOf(7) };
const content = { is: { S: "here" }, count: { N: "1" } };
const item = { ...key, is: { S: "new" }, added: { N: "2" } };

async function commit(
  store: ScriptedStore,
  next: Item | undefined,
  between?: () => void,
): Promise<{ readonly kind: string }> {
  const read = await store.items.read(at);
  store.calls.length = 0;
  between?.();
  return store.items.commitLocally({ at, read, item: next });
}

describe("a commit of one item that was read", () => {
  test.each<[string, Item | undefined, readonly string[]]>([
    ["with a nonce", { ...content, _n }, ["write"]],
    ["with a version", { ...content, _v: { N: "4" } }, ["write"]],
    ["with a garbage fence", { ...content, _n, ...fence }, ["write"]],
    ["that was absent", undefined, ["write"]],
    ["that is a placeholder", { _n, _x: { BOOL: true }, ...fence }, ["write"]],
    ["without an identity", content, ["stamp", "write"]],
  ])("%s is that many calls, and leaves the item and a nonce", async (_what, first, calls) => {
    const store = new ScriptedStore(first);
    expect(await commit(store, item)).toEqual({ kind: "committed" });
    expect(store.called).toEqual(calls);
    expect(store.item).toEqual({ ...item, _n: { B: nonceOf(100 + calls.length) } });
  });

  test("that deletes stamps first, and leaves nothing", async () => {
    const store = new ScriptedStore({ ...content, _n });
    expect(await commit(store, undefined)).toEqual({ kind: "committed" });
    expect(store.called).toEqual(["stamp", "write"]);
    expect(store.item).toBe(undefined);
  });

  test.each<[string, Item | undefined]>([
    [
      "an unaware update that keeps the identity (local-by-identity)",
      { ...content, count: { N: "2" }, _n },
    ],
    ["an unaware put", { ...content, count: { N: "2" } }],
    ["an attribute that is added too", { ...content, added: { N: "7" }, _n }],
    ["a delete", undefined],
  ])("is refused by %s", async (_what, now) => {
    for (const next of [item, undefined]) {
      for (const first of [{ ...content, _n }, content]) {
        const store = new ScriptedStore(first);
        const result = await commit(store, next, () => {
          store.put(now);
        });
        expect(result).toEqual({ kind: "changed" });
        expect(contentOf(store.item, at.table)).toEqual(
          contentOf(now && { ...now, ...key }, at.table),
        );
      }
    }
  });

  test("keeps what an unaware update has added, which no condition can name", async () => {
    const store = new ScriptedStore({ ...content, _n });
    const result = await commit(store, item, () => {
      store.put({ ...content, native: { S: "kept" }, _n });
    });
    expect(result).toEqual({ kind: "committed" });
    expect(store.item).toMatchObject({ ...item, native: { S: "kept" } });
    const deleted = new ScriptedStore({ ...content, _n });
    const refused = await commit(deleted, undefined, () => {
      deleted.put({ ...content, native: { S: "kept" }, _n });
    });
    expect(refused).toEqual({ kind: "changed" });
    expect(deleted.item).toMatchObject({ native: { S: "kept" } });
  });

  test("is refused where the store does not compare what is there: prepare and vote", async () => {
    const store = new ScriptedStore({ ...content, _n });
    const read = await store.items.read(at);
    store.script.push(() => ({ kind: "refused", shown: store.item }));
    expect(await store.items.commitLocally({ at, read, item })).toEqual({ kind: "refer" });
  });

  test.each([
    [limits.localAttributesMax, "committed"],
    [limits.localAttributesMax + 1, "refer"],
  ])("of %i attributes is %s", async (count, kind) => {
    const attributes = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`a${i}`, { N: `${i}` }]),
    );
    const store = new ScriptedStore({ ...attributes, _n });
    expect(await commit(store, { ...attributes, ...key, a0: { S: "" } })).toEqual({ kind });
    expect(store.called.length).toBe(kind === "committed" ? 1 : 0);
  });
});

describe("a fence that bars", () => {
  const stamp = { kind: "nonce", nonce: _n.B } as const;

  test("is settled before a blind one writes (local-blind-over-fence)", async () => {
    for (const next of [item, undefined]) {
      const store = new ScriptedStore({ ...content, _n, ...fence });
      store.fates.set(other, { kind: "open" });
      store.settling.set(other, () => {
        expect(store.item).toEqual({ ...key, ...content, _n, ...fence });
      });
      const result = await store.items.commitLocally({ at, read: undefined, item: next });
      expect(result).toEqual({ kind: "committed" });
      expect(store.settled).toEqual([other]);
      expect(store.item).toEqual(next && { ...next, _n: { B: nonceOf(102) } });
    }
  });

  test("is settled before one that has read: what it installs is a change", async () => {
    const store = new ScriptedStore({ ...content, _n });
    store.fates.set(other, { kind: "committed", stamp });
    store.settling.set(other, () => {
      store.put({ is: { S: "installed" }, _v: { N: "9" } });
    });
    const result = await commit(store, item, () => {
      store.put({ ...content, _n, ...fence });
    });
    expect(result).toEqual({ kind: "changed" });
    expect(store.settled).toEqual([other]);
    expect(store.item).toMatchObject({ is: { S: "installed" } });
  });
});

describe("a write whose answer is lost", () => {
  test("and that has happened is found, without another one", async () => {
    for (const first of [undefined, { ...content, _n }, content]) {
      const store = new ScriptedStore(first);
      if (first === content) store.script.push(undefined);
      store.script.push(loseAnswer);
      expect(await commit(store, item)).toEqual({ kind: "committed" });
      expect(store.item).toMatchObject(item);
      expect(store.called.filter((name) => name === "write").length).toBe(1);
    }
  });

  test("and that has not happened cannot happen any more once another one has", async () => {
    const store = new ScriptedStore({ ...content, _n });
    const late: (() => void)[] = [];
    store.script.push(loseCall(late));
    expect(await commit(store, item)).toEqual({ kind: "committed" });
    expect(store.called).toEqual(["write", "stamp", "write"]);
    const { item: left } = store;
    for (const copy of late) copy();
    expect(store.item).toEqual(left);
  });

  test("and that was barred from coming ends as changed where the content has", async () => {
    const store = new ScriptedStore({ ...content, _n });
    const late: (() => void)[] = [];
    const changed = { ...content, count: { N: "5" } };
    store.script.push((call) => {
      store.put({ ...changed, _n });
      return loseCall(late)(call);
    });
    expect(await commit(store, item)).toEqual({ kind: "changed" });
    // The old content is back, under the identity that the lost call has never seen.
    store.put({ ...store.item, count: { N: "1" } });
    for (const copy of late) copy();
    expect(store.item).toMatchObject(content);
  });

  test("of what had no identity to hold it is unknown, and not made again", async () => {
    for (const first of [undefined, "blind"] as const) {
      const store = new ScriptedStore();
      store.script.push(loseCall());
      const result =
        first === "blind"
          ? await store.items.commitLocally({ at, read: undefined, item })
          : await commit(store, item);
      expect(result).toMatchObject({ kind: "unknown", cause: "lost" });
      expect(store.called).toEqual(["write", "read"]);
    }
  });

  test("and that somebody has written over, or not, is unknown", async () => {
    const store = new ScriptedStore({ ...content, _n });
    store.script.push((call): Attempted => {
      const answer = loseAnswer(call);
      store.put({ ...content, _n: { B: nonceOf(9) } });
      return answer;
    });
    expect(await commit(store, item)).toMatchObject({ kind: "unknown" });
  });

  test.each(["an item that was read", "nothing, unseen"])(
    "because its caller was told to stop is unknown, and no abort: %s",
    async (what) => {
      const store = new ScriptedStore({ ...content, _n });
      const read = what === "nothing, unseen" ? undefined : await store.items.read(at);
      const giveUp = new AbortController();
      store.script.push((call) => {
        giveUp.abort(new Error("the deadline has passed"));
        return loseAnswer(call);
      });
      const { signal } = giveUp;
      const result = await store.items.commitLocally({ at, read, item }, { signal });
      expect(result.kind).not.toBe("changed");
      expect(["unknown", "committed"]).toContain(result.kind);
      expect(store.item).toMatchObject(item);
    },
  );

  test("stays unknown when what asks about it fails", async () => {
    const store = new ScriptedStore({ ...content, _n });
    store.script.push(loseCall(), () => {
      throw new Error("aborted");
    });
    expect(await commit(store, item)).toMatchObject({ kind: "unknown" });
  });
});
