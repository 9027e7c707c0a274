/** Pages of mixed tables, read again before a transaction ends. */
import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { Item, KeyHash } from "../../../core/types.ts";
import { MixedReadSet, type SeenPage } from "../../../engine/mixed/mixed-read-set.ts";
import { changedRead } from "../../../engine/mixed/read-again.ts";
import { ScriptedStore } from "./scripted-store.ts";

const table = {
  name: "rows",
  partitionKey: { name: "pk", type: "S" },
  history: false,
  access: "mixed",
} as const;
const { items } = new ScriptedStore(undefined);

/** A scan of one row, whose next read comes back with `now` once it is let go. */
function page(was: Item, now: Item, read: () => Promise<void> = async () => {}): SeenPage {
  const [key, content] = [{ pk: was["pk"]! }, was];
  return {
    source: {
      request: { kind: "scan", table },
      hash: 1n as KeyHash,
      predicate: { table: "rows", on: "table", key: undefined },
      read: async () => {
        await read();
        return { rows: [now], lastKey: undefined };
      },
    },
    rows: [{ key, content: withoutNonce(content), identity: identityOf(was) }],
    isLast: true,
  };
}

const nonce = (n: number) => ({ B: new Uint8Array(16).fill(n) });
const row = (n: number): Item => ({ pk: { S: "a" }, n: { N: `${n}` }, _n: nonce(n) });

function identityOf({ _n }: Item) {
  return { kind: "nonce", nonce: (_n as { readonly B: Uint8Array }).B } as const;
}

function withoutNonce({ _n, ...content }: Item): Item {
  return content;
}

function setOf(...pages: SeenPage[]): MixedReadSet {
  const set = new MixedReadSet();
  for (const each of pages) set.addPage(each);
  return set;
}

test("a row that is as it was read is no conflict; one that came again is", async () => {
  expect(await changedRead(items, setOf(page(row(1), row(1))), {})).toBe(undefined);
  const cameAgain = { ...row(1), _n: nonce(9) };
  const read = { table: "rows", on: "table", key: undefined };
  expect(await changedRead(items, setOf(page(row(1), cameAgain)), {})).toEqual(read);
  expect(await changedRead(items, setOf(page(row(1), row(2))), {})).toEqual(read);
});

test("so many pages are read at once, and no more", async () => {
  let [reading, most] = [0, 0];
  const slowly = async () => {
    reading += 1;
    most = Math.max(most, reading);
    await new Promise((resolve) => setTimeout(resolve, 1));
    reading -= 1;
  };
  const pages = Array.from({ length: 40 }, () => page(row(1), row(1), slowly));
  expect(await changedRead(items, setOf(...pages), {})).toBe(undefined);
  expect(most).toBe(limits.pagesAgainAtOnceMax);
});

test("of a page behind a crowd of placeholders each call looks at twice as many rows", async () => {
  const placeholders = 2_000;
  const looked: number[] = [];
  const seen = page(row(1), row(1));
  const source: SeenPage["source"] = {
    ...seen.source,
    read: ({ startKey, limit = 0 }) => {
      const from = Number(startKey?.["pk"] && "N" in startKey["pk"] ? startKey["pk"].N : 0);
      looked.push(limit);
      const isThere = from + limit > placeholders;
      const hidden = { pk: { S: "h" }, _n: nonce(3), _f: nonce(3), _x: { BOOL: true } } as const;
      return Promise.resolve({
        rows: isThere ? [row(1)] : [hidden],
        lastKey: { pk: { N: (from + limit).toString() } },
      });
    },
  };
  const set = setOf({ ...seen, source, isLast: false });
  expect(await changedRead(items, set, {})).toBe(undefined);
  expect(looked.length).toBeLessThan(10);
  expect(Math.max(...looked)).toBeLessThanOrEqual(limits.rowsBehindHiddenMax);
});
