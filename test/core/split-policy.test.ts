/** When a shard is split by its load, and where: each rule, and what holds for any load. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ShardRange } from "../../core/shard-map.ts";
import {
  decideSplit,
  splitPolicyBounds,
  splitPolicyOf,
  type LoadSlot,
  type ShardLoad,
  type SplitDecision,
  type SplitPolicy,
  type SplitSituation,
} from "../../core/split-policy.ts";
import type { ShardNumber } from "../../core/types.ts";

const policy = splitPolicyOf({ entriesPerSecond: 1_000, writeUnitsPerSecond: 500 });
const whole: ShardRange = { from: 0, to: 2 ** 32 };
const hashesEnd = 2 ** 32;

const number = (shard: number) => shard as ShardNumber;

function slots(...entries: readonly number[]): readonly LoadSlot[] {
  return entries.map((each) => ({ entries: each, writeUnits: each / 100 }));
}

const steady = (entries: number) => slots(entries, entries, entries, entries, entries);

function spread(count: number, { from, to }: ShardRange = whole): readonly number[] {
  return Array.from(
    { length: count },
    (_, i) => from + Math.floor(((i + 0.5) * (to - from)) / count),
  );
}

function load(shard: number, how: Partial<ShardLoad> = {}): ShardLoad {
  return {
    ...{ shard: number(shard), range: whole, slots: steady(100), lagMs: 0, hashes: spread(200) },
    ...how,
  };
}

function situation(
  shards: readonly ShardLoad[],
  how: Partial<SplitSituation> = {},
): SplitSituation {
  const rest = { shardCount: shards.length, isUnderWay: false, sinceChangeMs: Infinity };
  return { shards, ...rest, ...how };
}

function decide(shards: readonly ShardLoad[], how: Partial<SplitSituation> = {}): SplitDecision {
  return decideSplit(policy, situation(shards, how));
}

const calm = { kind: "rest", because: "calm" } as const;

describe("when a shard is split", () => {
  test("not while there is nothing to do, and not by what there is too little of", () => {
    expect(decide([])).toEqual(calm);
    expect(decide([load(0, { slots: [] })])).toEqual(calm);
    expect(decide([load(0), load(1)])).toEqual(calm);
  });

  test.each([
    ["just so much", steady(1_000), true],
    ["a little less", steady(999), false],
    ["more, but for a part of the window", slots(5_000, 5_000, 699, 5_000, 5_000), false],
    ["more, and once somewhat less", slots(1_200, 1_200, 700, 1_200, 1_200), true],
    ["a burst", slots(0, 0, 0, 0, 50_000), false],
    ["a load that has just ended", slots(5_000, 5_000, 5_000, 5_000, 0), false],
  ])("by entries a second: %s", (_, each, isTooMuch) => {
    const decision = decide([load(0, { slots: each })]);
    expect(decision.kind).toBe(isTooMuch ? "split" : "rest");
    if (isTooMuch) expect(decision).toMatchObject({ because: "entries", shard: 0 });
  });

  test("by write units of its log, however few transactions make them", () => {
    const large = Array.from({ length: 5 }, () => ({ entries: 3, writeUnits: 500 }));
    expect(decide([load(0, { slots: large })])).toMatchObject({
      ...{ kind: "split", because: "write-units" },
    });
  });

  test("by replay's lag, where there is half of what is too much", () => {
    const lagMs = policy.lagSeconds * 1_000;
    expect(decide([load(0, { slots: steady(500), lagMs })])).toMatchObject({
      ...{ kind: "split", because: "lag" },
    });
    expect(decide([load(0, { slots: steady(500), lagMs: lagMs - 1 })])).toEqual(calm);
    // It is ill, and not busy.
    expect(decide([load(0, { slots: steady(499), lagMs })])).toEqual(calm);
  });

  test("the busiest one, whatever the order in which they come", () => {
    const shards = [1_500, 3_000, 2_000].map((each, i) => load(i, { slots: steady(each) }));
    for (const order of [shards, shards.toReversed()]) {
      expect(decide(order)).toMatchObject({ kind: "split", shard: 1 });
    }
    const alike = [load(7, { slots: steady(2_000) }), load(3, { slots: steady(2_000) })];
    expect(decide(alike)).toMatchObject({ kind: "split", shard: 3 });
  });

  test("not while another split or join is under way, cooling down, or with enough of them", () => {
    const busy = [load(0, { slots: steady(2_000) })];
    const shard = number(0);
    const rest = (because: string) => ({ kind: "rest", because, shard });
    expect(decide(busy, { isUnderWay: true })).toEqual(rest("under-way"));
    const coolMs = policy.coolDownSeconds * 1_000;
    expect(decide(busy, { sinceChangeMs: coolMs - 1 })).toEqual(rest("cooling-down"));
    expect(decide(busy, { sinceChangeMs: coolMs }).kind).toBe("split");
    expect(decide(busy, { shardCount: policy.shardsMax })).toEqual(rest("shards-max"));
    expect(decide(busy, { shardCount: policy.shardsMax - 1 }).kind).toBe("split");
    // Who is calm says nothing of that.
    expect(decide([load(0)], { isUnderWay: true })).toEqual(calm);
  });
});

describe("where it is split", () => {
  const busy = steady(5_000);
  const placeOf = (how: Partial<ShardLoad>) => decide([load(0, { slots: busy, ...how })]);

  test("between the partitions that were written, with half of the writes on each side", () => {
    // All of the load in the lowest 1/16 of the range.
    const hot = spread(1_000, { from: 0, to: 2 ** 28 });
    const decision = placeOf({ hashes: hot });
    expect(decision).toMatchObject({ kind: "split", movedShare: 0.5 });
    if (decision.kind !== "split") throw new Error("it is split");
    expect(decision.at).toBeGreaterThan(hot[499] ?? 0);
    expect(decision.at).toBeLessThanOrEqual(hot[500] ?? 0);
  });

  test("in the middle of its range where too little was seen", () => {
    const range = { from: 2 ** 31, to: 2 ** 32 };
    for (const hashes of [[], spread(limits.splitHashesMin - 1, range), spread(500)]) {
      const seen = hashes.filter((hash) => hash >= range.from);
      const decision = placeOf({ range, hashes });
      if (seen.length < limits.splitHashesMin) {
        expect(decision).toMatchObject({ at: 3 * 2 ** 30, movedShare: undefined });
      } else expect(decision).toMatchObject({ movedShare: 0.5 });
    }
  });

  test("what lies in other shards says nothing of it", () => {
    const range = { from: 2 ** 31, to: 2 ** 32 };
    const hashes = [...spread(10_000, { from: 0, to: 2 ** 31 }), ...spread(100, range)];
    expect(placeOf({ range, hashes })).toMatchObject({ movedShare: 0.5 });
  });

  test("beside a busy partition, if the rest is worth it; else nowhere", () => {
    const partition = 3e9;
    const many = (share: number) => [
      ...Array.from({ length: share * 10 }, () => partition),
      ...spread((100 - share) * 10, { from: 0, to: 2e9 }),
    ];
    const beside = placeOf({ hashes: many(70) });
    expect(beside).toMatchObject({ kind: "split", movedShare: 0.7 });
    if (beside.kind !== "split") throw new Error("it is split");
    expect(beside.at).toBeGreaterThan(2e9 - 1e7);
    expect(beside.at).toBeLessThanOrEqual(partition);
    const alone = { kind: "rest", because: "indivisible", shard: number(0) };
    expect(placeOf({ hashes: many(81) })).toEqual(alone);
    expect(placeOf({ hashes: Array.from({ length: 500 }, () => partition) })).toEqual(alone);
  });

  test("a range that is too small is left as it is", () => {
    const to = 2 * limits.splitPartHashesMin;
    expect(placeOf({ range: { from: 0, to }, hashes: [] })).toMatchObject({ at: to / 2 });
    const small = { from: 0, to: to - 1 };
    for (const hashes of [[], spread(500, small)]) {
      expect(placeOf({ range: small, hashes })).toMatchObject({ because: "indivisible" });
    }
  });

  test("one that cannot be relieved does not keep the next busiest from it", () => {
    const shards = [
      load(0, { slots: steady(9_000), hashes: Array.from({ length: 500 }, () => 7) }),
      load(1, { slots: steady(1_100) }),
    ];
    expect(decide(shards)).toMatchObject({ kind: "split", shard: 1 });
  });
});

describe("for any load", () => {
  const hash = fc.oneof(
    fc.integer({ min: 0, max: hashesEnd - 1 }),
    // Neighbours, and one again and again.
    fc.integer({ min: 1_000_000, max: 1_000_040 }),
  );
  const anyLoad = fc
    .record({
      bounds: fc.tuple(fc.integer({ min: 0, max: hashesEnd - 2 }), fc.nat(hashesEnd)),
      entries: fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 5, maxLength: 5 }),
      lagMs: fc.nat(200_000),
      hashes: fc.array(hash, { maxLength: 300 }),
    })
    .map(({ bounds: [from, width], entries, lagMs, hashes }) => {
      const range = { from, to: Math.min(hashesEnd, from + 1 + width) };
      return { range, slots: slots(...entries), lagMs, hashes };
    });
  const anySituation = fc
    .record({
      loads: fc.array(anyLoad, { maxLength: 6 }),
      shardCount: fc.integer({ min: 1, max: 20 }),
      isUnderWay: fc.boolean(),
      sinceChangeMs: fc.nat(2_000_000),
    })
    .map(({ loads, ...rest }) =>
      situation(
        loads.map((each, i) => load(i, each)),
        rest,
      ),
    );

  test("a split leaves both parts enough, of a shard that was busy for the whole window", () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        const decision = decideSplit(policy, given);
        if (decision.kind !== "split") return;
        const { shard, at, movedShare } = decision;
        const split = given.shards[shard];
        if (split === undefined) throw new Error("it is one of them");
        const { from, to } = split.range;
        expect(at - from).toBeGreaterThanOrEqual(limits.splitPartHashesMin);
        expect(to - at).toBeGreaterThanOrEqual(limits.splitPartHashesMin);
        const own = split.hashes.filter((each) => from <= each && each < to);
        const moved = own.filter((each) => each >= at).length;
        if (movedShare === undefined) expect(own.length).toBeLessThan(limits.splitHashesMin);
        else {
          expect(moved / own.length).toBeCloseTo(movedShare, 10);
          expect(Math.min(moved, own.length - moved) / own.length).toBeGreaterThanOrEqual(
            limits.splitPartShareMin,
          );
        }
        const least = Math.min(...split.slots.map(({ entries }) => entries));
        expect(least).toBeGreaterThanOrEqual((policy.entriesPerSecond / 2) * limits.splitKeepShare);
        expect([given.isUnderWay, given.shardCount < policy.shardsMax]).toEqual([false, true]);
        expect(given.sinceChangeMs).toBeGreaterThanOrEqual(policy.coolDownSeconds * 1_000);
      }),
      { numRuns: 2_000 },
    );
  });

  test("the order in which shards and hashes come decides nothing", () => {
    fc.assert(
      fc.property(anySituation, (given) => {
        const shards = given.shards.toReversed();
        const turned = shards.map((each) => ({ ...each, hashes: each.hashes.toReversed() }));
        const decision = decideSplit(policy, given);
        expect(decideSplit(policy, { ...given, shards: turned })).toEqual(decision);
      }),
    );
  });

  test("a steady load is parted until each shard bears its own, and no further", () => {
    const partitions = fc.array(fc.nat(hashesEnd - 1), { minLength: 100, maxLength: 400 });
    fc.assert(
      fc.property(partitions, fc.integer({ min: 100, max: 20_000 }), (written, entries) => {
        const { shards, splits } = settled(policy, written, entries);
        expect(shards.length).toBeLessThanOrEqual(policy.shardsMax);
        // By halves, or nearly: no more of them than each having a fifth of what is too much.
        expect(splits).toBeLessThanOrEqual((5 * entries) / policy.entriesPerSecond);
        if (entries < policy.entriesPerSecond) expect(splits).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

/** Splits as decided, one after the other, under a load that all partitions share. */
function settled(
  by: SplitPolicy,
  written: readonly number[],
  entries: number,
): { readonly shards: readonly ShardRange[]; readonly splits: number } {
  let shards: readonly ShardRange[] = [whole];
  for (let splits = 0; ; splits += 1) {
    const loads = shards.map((range, i) => {
      const hashes = written.filter((each) => range.from <= each && each < range.to);
      const share = hashes.length / written.length;
      return load(i, { range, hashes, slots: steady(entries * share) });
    });
    const decision = decideSplit(by, situation(loads));
    if (decision.kind === "rest") return { shards, splits };
    const { from, to } = shards[decision.shard] ?? whole;
    const parts = [
      { from, to: decision.at },
      { from: decision.at, to },
    ];
    shards = [...shards.slice(0, decision.shard), ...parts, ...shards.slice(decision.shard + 1)];
  }
}

describe("the policy's settings", () => {
  test("are what is usual, unless they are said", () => {
    const usual = Object.entries(splitPolicyBounds).map(([name, bounds]) => [name, bounds.default]);
    expect(splitPolicyOf()).toEqual(Object.fromEntries(usual));
    expect(splitPolicyOf({ shardsMax: 4 })).toMatchObject({ shardsMax: 4, windowSeconds: 300 });
  });

  test.each(Object.entries(splitPolicyBounds))(
    "%s is refused beyond its bounds",
    (name, bounds) => {
      const { min, max } = bounds;
      for (const wrong of [min - 1, max + 1, min + 0.5, Number.NaN, "7"]) {
        const make = () => splitPolicyOf({ [name]: wrong });
        expect(make).toThrow(InvalidRequestError);
        expect(make).toThrow(`\`${name}\` must be a whole number from ${min} to ${max}; got`);
      }
    },
  );

  test("a window longer than the cool-down, and what is no setting, are refused", () => {
    const long = () => splitPolicyOf({ windowSeconds: 600, coolDownSeconds: 599 });
    expect(long).toThrow("must be at least `windowSeconds` (600)");
    expect(() => splitPolicyOf({ shards: 3 } as Partial<SplitPolicy>)).toThrow(
      /no setting `shards` of splits; known are: entriesPerSecond, /,
    );
  });
});
