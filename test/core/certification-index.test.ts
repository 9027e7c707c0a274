import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { CertificationIndex } from "../../core/certification-index.ts";
import type { Timestamp } from "../../core/types.ts";

/** Leaves hashes as they are, so that a test knows which of them meet. */
const unmixed = { id0: 0, id1: 0, mask: 0, lowFactor: 0, highFactor: 0 };

function at(timestamp: number): Timestamp {
  return timestamp as Timestamp;
}

type Step =
  | { readonly kind: "enter"; readonly high: number; readonly low: number; readonly later: number }
  | { readonly kind: "raise"; readonly back: number };

/** Few distinct words, at the ends of the range, so that probing wraps and runs collide. */
const word = fc.oneof(
  fc.constantFrom(0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant("enter" as const),
      high: word,
      low: word,
      later: fc.oneof(fc.integer({ min: 0, max: 5_000 }), fc.integer({ min: 0, max: 2 ** 33 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("raise" as const),
      back: fc.integer({ min: 0, max: 20_000 }),
    }),
  },
);

describe("certification index", () => {
  test("I4: knows the newest commit of every hash above the floor, whatever was forgotten", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 400 }),
        fc.integer({ min: 0, max: 3_000 }),
        (steps, filler) => {
          const index = new CertificationIndex(at(1_000), unmixed);
          const model = new Map<string, { high: number; low: number; timestamp: number }>();
          let newest = 1_001;
          const enter = (high: number, low: number): void => {
            index.enter(high, low, at(newest));
            model.set(`${high.toString()}:${low.toString()}`, { high, low, timestamp: newest });
          };
          for (const s of steps) {
            if (s.kind === "enter") {
              newest += s.later;
              // As the oracle does: before a jump that no window spans, the floor has followed.
              if (s.later > 20_000) index.raiseFloor(at(Math.max(index.floor, newest - 20_000)));
              enter(s.high, s.low);
            } else index.raiseFloor(at(Math.max(index.floor, newest - s.back)));
          }
          // Enough to force rebuilds in the midst of live and dead entries.
          if (index.floor >= newest) newest = index.floor + 1;
          for (let i = 0; i < filler; i++) enter(Math.imul(i, 0x9e3779b1) >>> 0, i);
          const wrong = [...model.values()].filter(({ high, low, timestamp }) => {
            const found = index.lookup(high, low);
            return timestamp > index.floor ? found !== timestamp : found > timestamp;
          });
          expect(wrong).toEqual([]);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("tells apart hashes that differ in one bit of either word", () => {
    const index = new CertificationIndex(at(0), unmixed);
    index.enter(0x1234_5678, 0x9abc_def0, at(10));
    for (let bit = 0; bit < 32; bit++) {
      expect(index.lookup((0x1234_5678 ^ (1 << bit)) >>> 0, 0x9abc_def0)).toBe(0);
      expect(index.lookup(0x1234_5678, (0x9abc_def0 ^ (1 << bit)) >>> 0)).toBe(0);
    }
    expect(index.lookup(0x1234_5678, 0x9abc_def0)).toBe(10);
  });

  test("finds hashes of one home at the table's end, more than several buckets hold", () => {
    const index = new CertificationIndex(at(0), unmixed);
    for (let n = 1; n <= 40; n++) index.enter(0xffff_ffff, Math.imul(n, 0x9e3779b1) >>> 0, at(n));
    for (let n = 1; n <= 40; n++) {
      expect(index.lookup(0xffff_ffff, Math.imul(n, 0x9e3779b1) >>> 0)).toBe(n);
    }
    expect(index.lookup(0xffff_ffff, 3)).toBe(0);
    expect(index.occupied).toBe(40);
  });

  test("keeps both of two hashes that share their home slot when an earlier one dies", () => {
    const index = new CertificationIndex(at(0), unmixed);
    index.enter(5, 1, at(10));
    index.enter(5, 2, at(20));
    index.raiseFloor(at(10));
    // The slot of the dead one lies before the entry that is updated: it must not be taken for it.
    index.enter(5, 2, at(30));
    index.enter(5, 3, at(30));
    expect(index.lookup(5, 2)).toBe(30);
    expect(index.lookup(5, 3)).toBe(30);
    expect(index.occupied).toBe(2);
  });

  test("takes dead slots over, so that a steady load does not grow it", () => {
    const index = new CertificationIndex(at(0), unmixed);
    for (let i = 1; i <= 200_000; i++) {
      index.raiseFloor(at(Math.max(0, i - 500)));
      index.enter(Math.imul(i, 0x9e3779b1) >>> 0, i, at(i));
    }
    expect(index.byteLength).toBeLessThanOrEqual(2_048 * 12.8);
  });

  test("takes between 16 and 24 bytes per live key at any size above its smallest", () => {
    const index = new CertificationIndex(at(0), unmixed);
    for (let i = 1; i <= 300_000; i++) {
      index.enter(Math.imul(i, 0x9e3779b1) >>> 0, Math.imul(i, 0x85ebca6b) >>> 0, at(i));
      if (i < 1_024 || i % 997 !== 0) continue;
      expect(index.byteLength / i).toBeLessThanOrEqual(24);
      expect(index.byteLength / i).toBeGreaterThanOrEqual(16);
    }
  });

  test("goes on after an idle time longer than its slots can spell", () => {
    const index = new CertificationIndex(at(0), unmixed);
    index.enter(1, 1, at(1));
    const later = 2 ** 40;
    index.raiseFloor(at(1));
    index.enter(2, 2, at(later));
    expect(index.lookup(2, 2)).toBe(later);
    expect(index.countLive()).toBe(1);
  });

  test.each([
    ["equal to the newest", 20, true],
    ["one above the newest", 21, true],
    ["one below the newest", 19, false],
    ["at the floor", 5, false],
  ])("I2: an entry %s (%i): accepted is %s", (_, timestamp, accepted) => {
    const index = new CertificationIndex(at(5), unmixed);
    index.enter(1, 1, at(20));
    const enter = (): void => {
      index.enter(2, 2, at(timestamp));
    };
    if (accepted) expect(enter).not.toThrow();
    else expect(enter).toThrow(InvariantViolation);
  });

  test("refuses a floor that falls", () => {
    const index = new CertificationIndex(at(5), unmixed);
    expect(() => {
      index.raiseFloor(at(4));
    }).toThrow(InvariantViolation);
  });
});
