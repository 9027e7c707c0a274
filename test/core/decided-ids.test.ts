import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DecidedIds } from "../../core/decided-ids.ts";
import type { Timestamp } from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";

const bounds = { windowMicros: 100, weightMax: 1_000 };

function at(timestamp: number): Timestamp {
  return timestamp as Timestamp;
}

function words(n: number): Uint32Array {
  // Ids that differ in the last word only, and ids that differ in the first only.
  return n % 2 === 0 ? Uint32Array.of(7, 7, 7, n) : Uint32Array.of(n, 7, 7, 7);
}

/**
 * Ids of one hash, as a client may choose them: all of them share a bucket, and fill those behind
 * it.
 */
function colliding(n: number): Uint32Array {
  return Uint32Array.of(n, 0, 0, Math.imul(n, 0x9e3779b1));
}

describe("decided ids", () => {
  test.each([
    ["ids that differ in one word", words],
    ["ids of one hash", colliding],
    [
      "ids of one hash among others",
      (n: number) => (n % 3 === 0 ? colliding(n) : words(Math.imul(n, 0x85ebca6b))),
    ],
  ])(
    "I3: remembers exactly the ids of one window and weight, the floor is the last to leave: %s",
    (_, idOf) => {
      const entry = fc.record({
        later: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 300 })),
        weight: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 400 })),
      });
      fc.assert(
        fc.property(fc.array(entry, { maxLength: 3_000 }), (entries) => {
          const ids = new DecidedIds(at(0), sampleSeed, bounds);
          let model: { n: number; timestamp: number; weight: number }[] = [];
          let floor = 0;
          let now = 0;
          for (const [n, { later, weight }] of entries.entries()) {
            now += later;
            ids.add(idOf(n), 0, at(now), weight);
            model.push({ n, timestamp: now, weight });
            const total = (): number => model.reduce((sum, one) => sum + one.weight, 0);
            while (
              (model[0]?.timestamp ?? now) <= now - bounds.windowMicros ||
              total() > bounds.weightMax
            ) {
              floor = model[0]?.timestamp ?? 0;
              model = model.slice(1);
            }
            expect(ids.floor).toBe(floor);
          }
          expect(ids.size).toBe(model.length);
          const kept = new Set(model.map(({ n }) => n));
          for (let n = 0; n < entries.length + 10; n++) {
            expect(ids.has(idOf(n), 0)).toBe(kept.has(n));
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  test("finds every id after growing, at the largest run of the ring around its end", () => {
    const ids = new DecidedIds(at(0), sampleSeed, { windowMicros: 1_500, weightMax: 1_000_000 });
    for (let n = 1; n <= 20_000; n++) ids.add(words(n), 0, at(n), 1);
    for (let n = 20_000 - 1_499; n <= 20_000; n++) expect(ids.has(words(n), 0)).toBe(true);
    expect(ids.has(words(20_000 - 1_500), 0)).toBe(false);
    expect(ids.size).toBe(1_500);
  });

  test("I3: finds all of the ids that share one bucket, and forgets each in its turn", () => {
    const ids = new DecidedIds(at(0), sampleSeed, { windowMicros: 50, weightMax: 1_000 });
    for (let now = 1; now <= 300; now++) {
      ids.add(colliding(now), 0, at(now), 1);
      for (let n = 1; n <= now + 1; n++) {
        expect(ids.has(colliding(n), 0)).toBe(n > now - 50 && n <= now);
      }
    }
  });

  test.each([
    ["one above the edge of the window stays", 101 - 1, true, 0],
    ["at the edge of the window leaves", 101, false, 1],
    ["one below the edge has left", 102, false, 1],
  ])("an id %s", (_, now, stays, floor) => {
    const ids = new DecidedIds(at(0), sampleSeed, bounds);
    ids.add(words(1), 0, at(1), 1);
    ids.add(words(2), 0, at(now), 1);
    expect(ids.has(words(1), 0)).toBe(stays);
    expect(ids.floor).toBe(floor);
  });

  test("remembers an id that is decided twice until the later decision leaves", () => {
    const ids = new DecidedIds(at(0), sampleSeed, { windowMicros: 50, weightMax: 1_000 });
    ids.add(words(1), 0, at(1), 1);
    ids.add(words(1), 0, at(20), 1);
    ids.add(words(2), 0, at(69), 1);
    expect(ids.has(words(1), 0)).toBe(true);
    ids.mark();
    ids.add(words(3), 0, at(70), 1);
    expect(ids.has(words(1), 0)).toBe(false);
    ids.undo();
    expect(ids.has(words(1), 0)).toBe(true);
  });

  test("tells apart ids that differ in one bit of 128", () => {
    const ids = new DecidedIds(at(0), sampleSeed, bounds);
    const base = Uint32Array.of(0x0123_4567, 0x89ab_cdef, 0xfedc_ba98, 0x7654_3210);
    ids.add(base, 0, at(1), 1);
    for (let bit = 0; bit < 128; bit++) {
      const other = base.slice();
      other[bit >> 5] = ((other[bit >> 5] ?? 0) ^ (1 << (bit & 31))) >>> 0;
      expect(ids.has(other, 0)).toBe(false);
    }
  });
});
