/** Whether anything was committed under a hash since somebody began to watch it. */
import { describe, expect, test } from "vitest";
import { TailWatches } from "../../core/tail-watches.ts";
import type { KeyHash, WriteHashes } from "../../core/types.ts";

const hash = (name: string): KeyHash => BigInt(`0x${Buffer.from(name).toString("hex")}`) as KeyHash;
const written: WriteHashes = {
  ...{ table: hash("t"), partition: hash("p"), key: hash("k") },
  sortKey: undefined,
};

describe("a watch", () => {
  test.each(["t", "p", "k"])("changes with a commit under %s", (name) => {
    const watches = new TailWatches();
    const watch = watches.watch(hash(name));
    expect(watch.isChanged).toBe(false);
    watches.noteCommit(written);
    expect(watch.isChanged).toBe(true);
  });

  test("does not change with others, and stays changed", () => {
    const watches = new TailWatches();
    const other = watches.watch(hash("q"));
    const first = watches.watch(hash("p"));
    watches.noteCommit(written);
    const second = watches.watch(hash("p"));
    expect([other.isChanged, first.isChanged, second.isChanged]).toEqual([false, true, false]);
  });

  test("of one hash is one", () => {
    const watches = new TailWatches();
    expect(watches.watch(hash("p"))).toBe(watches.watch(hash("p")));
  });

  test("changes when nothing is known any more, or nobody watches", () => {
    const watches = new TailWatches();
    const [one, two, three] = ["t", "p", "k"].map((name) => watches.watch(hash(name)));
    watches.end(hash("t"));
    expect([one?.isChanged, two?.isChanged]).toEqual([true, false]);
    watches.noteAll();
    expect([two?.isChanged, three?.isChanged]).toEqual([true, true]);
  });
});
