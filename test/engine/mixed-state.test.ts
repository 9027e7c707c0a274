/** What is remembered of reads of mixed tables, and when it is too much. */
import { describe, expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import { TransactionTooLargeError } from "../../core/errors.ts";
import { itemWeightBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { Item, KeyHash, TableDescription } from "../../core/types.ts";
import { MixedReadSet, type SeenPage } from "../../engine/mixed/mixed-read-set.ts";
import { mixedStateOf } from "../../engine/mixed/mixed-state.ts";
import type { RememberedReads } from "../../engine/mixed/remembered-reads.ts";
import type { MixedState } from "../../engine/attempts/remembered-state.ts";
import { contentDigest } from "../../schemas/content-digest.ts";

const table: TableDescription = {
  name: "rows",
  partitionKey: { name: "pk", type: "S" },
  history: false,
  access: "mixed",
};

function setOf(contents: readonly (Item | undefined)[], pages: readonly SeenPage[] = []) {
  const set = new MixedReadSet();
  contents.forEach((content, i) => {
    const at = { table: { name: "rows", partitionKey: "pk" }, key: { pk: { S: `${i}` } } };
    const seen = { identity: { kind: "bare" }, content } as const;
    set.keys.set(`${i}`, { at, hash: BigInt(i) as KeyHash, seen });
  });
  for (const page of pages) set.addPage(page);
  return set;
}

const page = (rows: readonly Item[] = []): SeenPage => ({
  source: {
    request: { kind: "scan", table },
    hash: 1n as KeyHash,
    predicate: { table: "rows", on: "table", key: undefined },
    read: () => Promise.reject(new Error("nobody reads")),
  },
  rows: rows.map((content) => ({ key: content, content, identity: { kind: "bare" } })),
  isLast: true,
});

function remembering(state: MixedState): RememberedReads {
  return {
    size: state.keys.length + state.pages.length,
    state,
    isAsRead: () => true,
    recall: () => Promise.resolve(undefined),
  };
}

const stateOf = (set: MixedReadSet, remembered?: RememberedReads) =>
  mixedStateOf({ set, remembered }, systemDigest);

describe("what is remembered of mixed tables", () => {
  test("is nothing where nothing was read", () => {
    expect(stateOf(new MixedReadSet())).toBe(undefined);
  });

  test("has keys and pages of this call behind those of the calls before", () => {
    const content = { pk: { S: "0" }, n: { N: "1" } };
    const first = stateOf(setOf([content, undefined]));
    const digest = contentDigest(content, systemDigest);
    expect(first?.keys).toEqual([
      { table: "rows", key: { pk: { S: "0" } }, bytes: itemWeightBytes(content), digest },
      expect.objectContaining({ key: { pk: { S: "1" } }, bytes: 0 }),
    ]);
    const second = stateOf(setOf([], [page([content])]), remembering(first as MixedState));
    expect(second?.keys).toEqual(first?.keys);
    expect(second?.pages).toMatchObject([
      { request: { kind: "scan", table: "rows" }, rows: 1, isLast: true },
    ]);
  });

  /** An item that weighs so much. */
  const sized = (bytes: number): Item => {
    const empty = itemWeightBytes({ pk: { S: "" } });
    return { pk: { S: "x".repeat(bytes - empty) } };
  };

  test.each([
    [limits.recalledBytesMax, "taken"],
    [limits.recalledBytesMax + 1, "recalledBytesMax"],
  ])("with %i bytes in two calls it is %s", (bytes, expected) => {
    const half = bytes - Math.floor(bytes / 2);
    const before = stateOf(setOf([sized(half)])) as MixedState;
    const now = setOf([], [page([sized(bytes - half)])]);
    expect(refusedBy(() => stateOf(now, remembering(before)))).toBe(expected);
  });

  test.each([
    [limits.mixedPagesMax, "taken"],
    [limits.mixedPagesMax + 1, "mixedPagesMax"],
  ])("with %i pages it is %s", (count, expected) => {
    const pages = Array.from({ length: count }, () => page());
    expect(refusedBy(() => stateOf(setOf([], pages)))).toBe(expected);
  });

  test.each([
    [limits.mixedPagesBytesMax, "taken"],
    [limits.mixedPagesBytesMax + 1, "mixedPagesBytesMax"],
  ])("no more pages are read than %i bytes: %s", (bytes, expected) => {
    const half = bytes - Math.floor(bytes / 2);
    const pages = [page([sized(half)]), page([sized(bytes - half)])];
    expect(refusedBy(() => setOf([], pages))).toBe(expected);
  });
});

function refusedBy(make: () => unknown): string {
  try {
    make();
    return "taken";
  } catch (error) {
    expect(error).toBeInstanceOf(TransactionTooLargeError);
    return (error as TransactionTooLargeError).limit.name;
  }
}
