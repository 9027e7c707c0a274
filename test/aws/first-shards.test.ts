/** With which shards a deployment begins, whatever a run before has left. */
import { describe, expect, test } from "vitest";
import type { ShardEntry } from "../../aws/dynamodb-control-store.ts";
import { firstEntries } from "../../aws/first-shards.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ShardId, ShardNumber } from "../../core/types.ts";

const first = "shardId-000000000003" as ShardId;

function entriesOf(
  wanted: number | undefined,
  listed: readonly ShardEntry[] = [],
): readonly ShardEntry[] {
  return firstEntries(wanted, { listed, first });
}

describe("a deployment that is made", () => {
  test("has one shard unless more are asked for, called as what carries it", () => {
    expect(entriesOf(undefined)).toEqual([
      { shard: first, number: 0, from: 0, startingHashKey: "0" },
    ]);
  });

  test("has equal ranges, and hash keys spread over the stream", () => {
    expect(entriesOf(4).map(({ number, from }) => [number, from / 2 ** 30])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(entriesOf(4).map(({ startingHashKey }) => BigInt(startingHashKey) >> 126n)).toEqual([
      ...[0n, 1n, 2n, 3n],
    ]);
    expect(entriesOf(4).map(({ shard }) => shard)).toEqual([
      ...[first, "shard-001", "shard-002", "shard-003"],
    ]);
  });

  test.each([0, -1, 1.5, limits.shardsMax + 1])("is refused %s shards", (count) => {
    expect(() => entriesOf(count)).toThrow(InvalidRequestError);
  });

  test("may have as many as there may be", () => {
    expect(entriesOf(limits.shardsMax)).toHaveLength(limits.shardsMax);
  });
});

describe("a deployment that is there", () => {
  const listed = entriesOf(3);

  test("gets no more, whether their number is given or not", () => {
    expect(entriesOf(3, listed)).toEqual([]);
    expect(entriesOf(undefined, listed)).toEqual([]);
  });

  test.each([1, 2])("keeps what it was made with: %i is refused", (count) => {
    expect(() => entriesOf(count, listed)).toThrow(/was made with 3 shards/);
  });

  test("gets more by splits only, and is refused for none that it got by those", () => {
    const [first] = listed;
    const split = {
      ...listed[1]!,
      number: 3 as ShardNumber,
      from: 7,
      forked: { of: first!.number, at: undefined },
    };
    expect(entriesOf(4, listed)).toEqual([]);
    expect(entriesOf(3, [...listed, split])).toEqual([]);
  });
});

describe("one whose first run was cut short", () => {
  // The first shard is written last.
  const listed = entriesOf(3).slice(1);

  test("is completed by the number that the run was given", () => {
    expect(entriesOf(3, listed)).toEqual(entriesOf(3));
  });

  test.each([undefined, 1, 2, 4])("is refused %s", (count) => {
    expect(() => entriesOf(count, listed)).toThrow(/was cut short/);
  });
});
