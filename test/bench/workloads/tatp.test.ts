/**
 * TATP on a model: its kinds come and fail as often as the specification says, and its keys hold.
 */
import { beforeAll, describe, expect, test } from "vitest";
import * as tatpModule from "../../../bench/workloads/tatp.ts";
import { MemoryDatabase, runOperations, type Tally } from "./memory-database.ts";

const { tatp, tatpExpectedSuccess, tatpMix } = tatpModule;
const workload = tatp({ subscribers: 200 });
const loaded = new MemoryDatabase(workload);

function violationsOf(database: MemoryDatabase): Promise<readonly string[]> {
  return workload.violations!(database.transaction());
}

describe("TATP", () => {
  const count = 10_000;
  let database: MemoryDatabase;
  let tallies: Map<string, Tally>;
  beforeAll(async () => {
    database = loaded.copy();
    tallies = await runOperations({ workload, database }, { count, seed: "run" });
  });

  test("begins and ends with its keys intact", async () => {
    expect(await violationsOf(loaded)).toEqual([]);
    expect(await violationsOf(database)).toEqual([]);
  });

  test.each(Object.entries(tatpMix))("%s comes in %d %% of cases", (name, weight) => {
    const { committed, rolledBack } = tallies.get(name)!;
    expect(Math.abs(((committed + rolledBack) / count) * 100 - weight)).toBeLessThan(2);
  });

  // The rare kinds change what they ask about, and few of them are drawn: only the bounds of chance
  // are wide.
  test.each(Object.entries(tatpExpectedSuccess))("%s succeeds in some %d %%", (name, share) => {
    const { committed, rolledBack } = tallies.get(name)!;
    const success = (committed / (committed + rolledBack)) * 100;
    expect(Math.abs(success - share)).toBeLessThan(share === 100 ? 0.001 : 12);
  });

  test("is the same again from the same seed, and another from another", async () => {
    const runFrom = async (seed: string): Promise<unknown> => {
      const again = loaded.copy();
      await runOperations({ workload, database: again }, { count: 300, seed });
      return again.contents();
    };
    const first = await runFrom("same");
    expect(await runFrom("same")).toEqual(first);
    expect(await runFrom("other")).not.toEqual(first);
  });

  test("four in five of its transactions only read", () => {
    const reading = Object.entries(tatpMix).filter(([name]) => name.startsWith("get-"));
    expect(reading.reduce((sum, [, weight]) => sum + weight, 0)).toBe(80);
  });

  test("is refused without subscribers", () => {
    expect(() => tatp({ subscribers: 0 })).toThrow(RangeError);
  });

  test.each<[string, (database: MemoryDatabase) => void]>([
    ["is missing", (damaged) => damaged.delete(tatpModule.subscribers, { subscriber: 7 })],
    [
      "does not lead to it",
      (damaged) => damaged.delete(tatpModule.subscriberNumbers, { number: "000000000000007" }),
    ],
    [
      "without a facility",
      (damaged) => {
        for (const { slot } of damaged.query(tatpModule.forwardings, { partition: 7 })) {
          damaged.delete(tatpModule.forwardings, { subscriber: 7, slot: Number(slot) });
        }
        damaged.delete(tatpModule.facilities, { subscriber: 7, type: 3 });
        damaged.put(tatpModule.forwardings, {
          ...{ subscriber: 7, slot: 308, endTime: 9, forwardedTo: "1" },
        });
      },
    ],
  ])("notices: subscriber %s", async (complaint, damage) => {
    const damaged = loaded.copy();
    damage(damaged);
    const violations = await violationsOf(damaged);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain("ubscriber 7");
    expect(violations[0]).toContain(complaint);
  });
});
