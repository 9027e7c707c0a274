import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CertificationIndex } from "../../core/certification-index.ts";
import { DecidedIds } from "../../core/decided-ids.ts";
import type { Timestamp } from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";

/** Leaves hashes as they are, so that they meet where a test wants them to. */
const unmixed = { id0: 0, id1: 0, mask: 0, lowFactor: 0, highFactor: 0 };

/** A draft: so many entries of so many keys, while the floor follows; undone, or left standing. */
const draft = fc.record({
  entries: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 300, max: 1_500 })),
  keys: fc.constantFrom(3, 50, 5_000),
  firstKey: fc.integer({ min: 0, max: 2_000 }),
  step: fc.constantFrom(1, 7, 3_000_000),
  undone: fc.boolean(),
});
type Draft = typeof draft extends fc.Arbitrary<infer Value> ? Value : never;
const drafts = fc.array(draft, { maxLength: 12 });

/** Few buckets, all of them over both ends of the table. */
function hashOf(key: number): readonly [number, number] {
  return key % 3 === 0 ? [0xffff_ffff, key] : [Math.imul(key, 0x9e37_79b1) >>> 0, key];
}

describe("what a draft has done is undone", () => {
  test("I4: the index knows what it would know without", () => {
    const windowMicros = 200_000_000;
    fc.assert(
      fc.property(drafts, fc.constantFrom(unmixed, sampleSeed), (all, seed) => {
        const index = new CertificationIndex(1_000 as Timestamp, seed);
        const never = new CertificationIndex(1_000 as Timestamp, seed);
        let newest = 1_000;
        let known = new Map<number, number>();
        const enter = (target: CertificationIndex, { entries, keys, firstKey, step }: Draft) => {
          const after = new Map(known);
          let now = newest;
          for (let i = 0; i < entries; i++) {
            now += step;
            const key = firstKey + (i % keys);
            target.raiseFloor(Math.max(target.floor, now - windowMicros) as Timestamp);
            target.enter(...hashOf(key), now as Timestamp);
            after.set(key, now);
          }
          return { after, now };
        };
        for (const each of all) {
          index.mark();
          const { after, now } = enter(index, each);
          if (each.undone) {
            index.undo();
            expect(index.floor).toBe(never.floor);
            expect(index.occupied).toBeGreaterThanOrEqual(index.countLive());
          } else {
            enter(never, each);
            known = after;
            newest = now;
          }
          expect(index.countLive()).toBe(never.countLive());
          const wrong: number[] = [];
          for (let key = 0; key < 7_000; key += 1 + (key % 5)) {
            const timestamp = known.get(key) ?? 0;
            const found = index.lookup(...hashOf(key));
            const live = timestamp > index.floor;
            if (live ? found !== timestamp : found > index.floor) wrong.push(key);
          }
          expect(wrong).toEqual([]);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("I4: takes back the table that rebuilds in the midst of a draft have replaced", () => {
    const index = new CertificationIndex(1_000 as Timestamp, unmixed);
    for (let i = 1; i <= 600; i++) index.enter(...hashOf(i), (1_000 + i) as Timestamp);
    index.mark();
    const before = { occupied: index.occupied, bytes: index.byteLength, live: index.countLive() };
    // Enough for several rebuilds, each to a larger table.
    for (let i = 1; i <= 20_000; i++) index.enter(...hashOf(i), (2_000 + i) as Timestamp);
    expect(index.byteLength).toBeGreaterThan(4 * before.bytes);
    index.undo();
    expect(index).toMatchObject({ occupied: before.occupied, byteLength: before.bytes });
    expect(index.countLive()).toBe(before.live);
    const found = Array.from({ length: 600 }, (_, i) => index.lookup(...hashOf(i + 1)));
    expect(found).toEqual(Array.from({ length: 600 }, (_, i) => 1_001 + i));
    expect(index.lookup(...hashOf(601))).toBe(0);
  });

  test("I3: a draft that is lost again and again leaves nothing in the way of a search", () => {
    const ids = new DecidedIds(0 as Timestamp, sampleSeed);
    for (let lost = 0; lost < 300; lost++) {
      ids.mark();
      // Each time one id more stands before the same ten.
      ids.add(Uint32Array.of(1, lost, 0, 0), 0, (lost + 1) as Timestamp, 1);
      ids.mark();
      for (let n = 0; n < 10; n++) {
        ids.add(Uint32Array.of(2, n, 0, 0), 0, (lost + 2 + n) as Timestamp, 1);
      }
      ids.undo();
    }
    expect(ids.size).toBe(300);
    expect(ids.detours).toBe(0);
  });

  test("I3: the decided ids are those that they would be without", () => {
    const entry = fc.record({
      ids: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 200, max: 1_200 })),
      step: fc.integer({ min: 1, max: 30 }),
      weight: fc.integer({ min: 1, max: 90 }),
      undone: fc.boolean(),
    });
    const idOf = (n: number): Uint32Array => Uint32Array.of(n, Math.imul(n, 0x85eb_ca6b), 7, 7);
    // Every third id begins its search at one bucket, and fills those behind it.
    const slotOf = (n: number): number => (n % 3 === 0 ? 0 : Math.imul(n, 0x9e37_79b1) >>> 0);
    const bounds = fc.record({
      windowMicros: fc.constantFrom(60, 20_000),
      weightMax: fc.constantFrom(100, 1_000_000),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 10 }), bounds, (all, limits) => {
        const ids = new DecidedIds(0 as Timestamp, sampleSeed, limits);
        const never = new DecidedIds(0 as Timestamp, sampleSeed, limits);
        let now = 0;
        let next = 0;
        for (const each of all) {
          ids.mark();
          const add = (target: DecidedIds): void => {
            for (let i = 1; i <= each.ids; i++) {
              const timestamp = (now + i * each.step) as Timestamp;
              target.add(idOf(next + i), 0, timestamp, each.weight, slotOf(next + i));
            }
          };
          add(ids);
          if (each.undone) ids.undo();
          else {
            never.mark();
            add(never);
            now += each.ids * each.step;
            // The same ids come again after an undo, as those of a batch do.
            next += each.ids;
          }
          expect([ids.size, ids.weight, ids.floor]).toEqual([
            never.size,
            never.weight,
            never.floor,
          ]);
          const wrong: number[] = [];
          for (let n = 1; n <= next + each.ids; n++) {
            const [found, expected] = [ids, never].map((one) => one.has(idOf(n), 0, slotOf(n)));
            if (found !== expected) wrong.push(n);
          }
          expect(wrong).toEqual([]);
        }
      }),
      { numRuns: 30 },
    );
  });
});
