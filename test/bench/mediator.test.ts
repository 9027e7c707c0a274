/** Mediator's mix, and the curve that is drawn from its runs. */
import { describe, expect, test } from "vitest";
import { benchRandom } from "../../bench/harness/random.ts";
import { equilibria } from "../../bench/mediator/equilibrium.ts";
import { makeWorkload } from "../../bench/workloads/catalogue.ts";
import { mediator, mediatorName, type MediatorMix } from "../../bench/workloads/mediator.ts";
import { MemoryDatabase } from "./workloads/memory-database.ts";

/** What so many operations of a mix do, on a database that refuses what none may ask. */
async function played(mix: MediatorMix, count: number) {
  const workload = mediator(mix);
  const database = new MemoryDatabase(workload);
  const random = benchRandom(7, 0);
  const found = { native: 0, reads: 0, accesses: 0, sizes: new Set<number>() };
  for (let n = 0; n < count; n += 1) {
    const operation = workload.next(random, 0);
    const counted = { reads: 0, writes: 0 };
    await database.run({
      ...operation,
      body: (tx) =>
        operation.body({
          ...tx,
          get: (table, key) => {
            counted.reads += 1;
            return tx.get(table, key);
          },
          batchGet: (table, keys) => {
            counted.reads += keys.length;
            return tx.batchGet(table, keys);
          },
          put: (table, item) => {
            counted.writes += 1;
            tx.put(table, item);
          },
        }),
    });
    const size = counted.reads + counted.writes;
    if (operation.native === true) found.native += 1;
    else found.sizes.add(size);
    expect(operation.readOnly).toBe(counted.writes === 0);
    expect(operation.native === true ? size : 1).toBe(1);
    found.reads += counted.reads;
    found.accesses += size;
  }
  return found;
}

describe("Mediator's mix", () => {
  test("has the shares and sizes of its name", async () => {
    const mix = { accessesMax: 4, readShare: 0.75, nativeShare: 0.25 };
    const { native, reads, accesses, sizes } = await played(mix, 2_000);
    expect(native / 2_000).toBeCloseTo(0.25, 1);
    expect(reads / accesses).toBeCloseTo(0.75, 1);
    expect([...sizes].sort()).toEqual([1, 2, 3, 4]);
  });

  test("of natives alone has no transaction, of none no native", async () => {
    const all = await played({ accessesMax: 20, readShare: 0, nativeShare: 1 }, 100);
    expect(all).toEqual({ native: 100, reads: 0, accesses: 100, sizes: new Set() });
    const none = await played({ accessesMax: 20, readShare: 1, nativeShare: 0 }, 100);
    expect(none.native).toBe(0);
    expect(none.reads).toBe(none.accesses);
  });

  test("is found by its name", async () => {
    for (const aside of [false, true]) {
      const mix = { accessesMax: 20, readShare: 0.05, nativeShare: 0.9, aside };
      expect((await makeWorkload(mediatorName(mix))).name).toBe(mediatorName(mix));
    }
    const wrong = ["mediator-u0-0-0", "mediator-u4-1.5-0", "mediator-u4-0.5", "mediator-u4-a-0"];
    for (const name of wrong) await expect(makeWorkload(name)).rejects.toThrow(RangeError);
  });
});

describe("the equilibrium", () => {
  const row = (ratios: Readonly<Record<number, number>>) =>
    Object.entries(ratios).map(([nativeShare, ratio]) => ({
      ...{ readShare: 0.5, nativeShare: Number(nativeShare), ratio },
    }));

  test.each<[string, Readonly<Record<number, number>>, number | undefined]>([
    ["lies between two that are measured", { 0: 0.5, 0.4: 0.8, 0.6: 1.2 }, 0.5],
    ["is the last crossing", { 0: 1.1, 0.5: 0.9, 1: 1.1 }, 0.75],
    ["is the first share where all are above", { 0: 1.2, 0.5: 1.3 }, 0],
    ["is nowhere where the last is below", { 0: 0.4, 1: 0.9 }, undefined],
  ])("%s", (_what, ratios, share) => {
    const [found] = equilibria(row(ratios));
    if (share === undefined) expect(found?.nativeShare).toBe(undefined);
    else expect(found?.nativeShare).toBeCloseTo(share, 6);
  });
});
