/** What the guard counts in its metered cloud. */
import { describe, expect, test } from "vitest";
import { encodedCounts } from "../../bench/guard/byte-counts.ts";
import { createMeteredCloud } from "../../bench/guard/metered-cloud.ts";
import {
  runScenario,
  type Scenario,
  scenarios,
  type ScenarioUsage,
} from "../../bench/guard/scenarios.ts";
import { countsOf } from "../../bench/guard/transaction-counts.ts";

function scenario(name: string): Scenario {
  const found = scenarios.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}

function perTransaction({ usage, transactions }: ScenarioUsage) {
  const { transaction, tail, oracle, replay } = usage;
  return (figure: keyof typeof tail) => ({
    transaction: transaction[figure] / transactions,
    tail: tail[figure] / transactions,
    oracle: oracle[figure] / transactions,
    replay: replay[figure] / transactions,
  });
}

describe("a scenario", () => {
  test.each(["alone, 2 items read and written", "64 at a time, 5 items written only"])(
    "counts the same twice: %s",
    async (name) => {
      const first = await runScenario(scenario(name), 7);
      const second = await runScenario(scenario(name), 7);
      expect(second).toEqual(first);
    },
  );

  test("counts by the part that calls: transaction, oracle or replay", async () => {
    const of = perTransaction(await runScenario(scenario("alone, 2 items read and written"), 1));
    expect(of("writeUnits")).toEqual({ transaction: 2, tail: 0, oracle: 1, replay: 1 });
    expect(of("records")).toEqual({ transaction: 1, tail: 0, oracle: 0, replay: 0 });
    // A batch of reads, the request, and a put for each item.
    expect(of("calls").transaction).toBe(4);
    expect(of("readUnits").transaction).toBe(2);
    expect(of("calls").tail).toBeGreaterThan(0);
  });

  test("counts nothing of oracle and replay for a snapshot", async () => {
    const usage = await runScenario(scenario("alone, snapshot of 5 items"), 1);
    const of = perTransaction(usage);
    expect(of("calls")).toMatchObject({ transaction: 1, oracle: 0, replay: 0 });
    expect(of("readUnits").transaction).toBe(5);
    expect(of("records").transaction).toBe(0);
  });

  test("counts REST as what it is: one transaction", async () => {
    const name = "alone, REST: 2 items updated in one request";
    const of = perTransaction(await runScenario(scenario(name), 1));
    expect(of("writeUnits")).toEqual({ transaction: 2, tail: 0, oracle: 1, replay: 1 });
  });

  test("that lasts until scheduled work begins is refused", async () => {
    const { cloud, usage } = await createMeteredCloud(1, []);
    await cloud.advance(60_000);
    await expect(cloud.run(usage)).rejects.toThrow("scheduled work");
  });
});

test("figures are per transaction, the median of a scenario's runs", () => {
  const part = { calls: 0, readUnits: 0, writeUnits: 0, putCalls: 0, records: 0 };
  const runOf = (calls: number, transactions: number): ScenarioUsage => ({
    scenario: scenario("alone, 2 items read and written"),
    transactions,
    usage: { transaction: { ...part, calls }, tail: part, oracle: part, replay: part },
  });
  const counts = countsOf(scenario("alone, 2 items read and written"), [
    runOf(8, 4),
    runOf(800, 8),
    runOf(32, 8),
  ]);
  expect(counts.find(({ group }) => group === "calls")?.figure).toBe(4);
});

test("counts of what is encoded are the same twice", async () => {
  expect(await encodedCounts()).toEqual(await encodedCounts());
});
