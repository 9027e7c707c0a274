/**
 * The stream is switched under faults: deleted and made anew, or the same one closed and opened.
 * Each transaction leaves a row of its own, which stands exactly if it was committed.
 */
import { expect, test } from "vitest";
import { TransactionError, defineTable } from "../../../sdk/index.ts";
import {
  checkHistory,
  createTestCloud,
  testTable,
  type TestCloud,
} from "../../../testing/index.ts";
import { counters, countersTable } from "../increments.ts";
import { sweep } from "../../harness/sweep.ts";
import { minuteMs, operatorOf } from "./stream-operator.ts";

const marks = defineTable<{ by: string }, { id: string }>("marks");
const ways = ["stream", "stream", "auto", "express", "express"] as const;
const lanes = [0, 1, 2];
const turns = 4;
/** Who has not ended by then has died. */
const deadMs = 90_000;

const faults = {
  ...{ "answer-lost": 0.01, "request-late": 0.01, "request-lost": 0.005 },
  ...{ "service-error-after-effect": 0.005, "log-throttled": 0.01, "frozen-invocation": 0.02 },
  ...{ "crash-before-call": 0.0005, "crash-after-call": 0.0005, "freeze-before-call": 0.001 },
  ...{ "suspend-at-call": 0.0005, "cold-start": 0.05, "batch-redelivered": 0.1 },
  ...{ "batch-cut": 0.05, "consumer-restart": 0.02, "consumer-overlap": 0.05 },
};

type Ends = { readonly acknowledged: Set<string>; readonly refused: Set<string> };

/** Some clients at a few counters, each replaced when it dies, until it is over. */
async function load(cloud: TestCloud, ends: Ends, isOver: () => boolean): Promise<void> {
  const mark = async (name: string, tag: string, client: ReturnType<TestCloud["createClient"]>) => {
    const id = `counter-${(tag.length % 3).toString()}`;
    try {
      await client.transact({ deadlineMs: 20_000 }, async (tx) => {
        const row = await tx.get(counters, id);
        tx.put(counters, { id, n: (row?.n ?? 0) + 1 });
        tx.put(marks, { id: tag, by: name });
      });
      ends.acknowledged.add(tag);
    } catch (error) {
      if (error instanceof TransactionError && error.outcome === "aborted") ends.refused.add(tag);
    }
  };
  await Promise.all(
    ways.map(async (commit, i) => {
      for (let generation = 0; !isOver(); generation += 1) {
        const name = `${commit}-${i.toString()}-${generation.toString()}`;
        const client = cloud.createClient(name, { commit });
        for (let round = 0, isAlive = true; isAlive && !isOver(); round += 1) {
          const all = lanes.map((lane) =>
            mark(name, `${name}/${"r".repeat(round)}/${lane.toString()}`, client),
          );
          isAlive = await Promise.race([
            Promise.all(all).then(() => true),
            cloud.clock.sleep(deadMs).then(() => false),
          ]);
          await cloud.clock.sleep(30);
        }
      }
    }),
  );
}

async function switchInTurns(cloud: TestCloud, seed: number): Promise<void> {
  const provision = operatorOf(cloud);
  let isOn = seed % 3 !== 0;
  for (let turn = 0; turn < turns; turn += 1) {
    await cloud.clock.sleep(3_000);
    if (seed % 2 === 0 || !isOn) {
      isOn = !isOn;
      await cloud.deployment.switchStream(isOn);
    } else {
      await provision("closing");
      await cloud.clock.sleep((turn * 700) % 3_000);
      await provision(true);
    }
  }
  await cloud.clock.sleep(3_000);
}

test.each(sweep([30, 144], [30, 54, 144, 155, 236]))(
  "what was acknowledged stands, and no more: seed %i",
  async (seed) => {
    const history = seed % 4 === 0;
    const cloud = await createTestCloud({
      ...{ seed, faults, recordHistory: true, tablesOnly: seed % 3 === 0 },
      tables: [countersTable, testTable("marks", { partitionKey: "id", history })],
    });
    const ends: Ends = { acknowledged: new Set(), refused: new Set() };
    let isOver = false;
    await cloud.run(
      async () => {
        const loading = load(cloud, ends, () => isOver);
        await switchInTurns(cloud, seed);
        isOver = true;
        await loading;
      },
      { limitMs: 600 * minuteMs },
    );
    await cloud.settled();
    const there = new Set(cloud.rows(marks).map(({ id }) => id));
    expect(ends.acknowledged.size).toBeGreaterThan(50);
    for (const tag of ends.acknowledged) expect(there.has(tag), `acknowledged ${tag}`).toBe(true);
    for (const tag of ends.refused) expect(there.has(tag), `refused ${tag}`).toBe(false);
    expect(cloud.rows(counters).reduce((sum, { n }) => sum + n, 0)).toBe(there.size);
    expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
    expect(cloud.deployment.programErrors).toEqual([]);
    expect(cloud.deployment.metrics.get("DeadLetters") ?? 0).toBe(0);
  },
);
