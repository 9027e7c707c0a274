/**
 * The stream is taken away and comes back while clients commit (docs/protocol.md §3, Closing the
 * stream): nothing is lost, nobody waits for it, and nobody hears of it.
 */
import { describe, expect, test } from "vitest";
import { defineTable } from "../../../sdk/index.ts";
import {
  checkHistory,
  createTestCloud,
  testTable,
  type TestCloud,
} from "../../../testing/index.ts";

const accounts = defineTable<{ cents: number; n: number }, { id: string }>("accounts");
const ids = Array.from({ length: 12 }, (_, i) => `account-${i.toString()}`);
const openingCents = 1_000;

type Load = { stop: () => Promise<void>; commits: number; longestMs: number; errors: unknown[] };

/** Transfers between accounts by one process, one after another, until it is stopped. */
function transferring(cloud: TestCloud, name: string, commit: "auto" | "express" | "stream"): Load {
  const client = cloud.createClient(name, { commit });
  let isOver = false;
  let step = name.length;
  const load: Load = { commits: 0, longestMs: 0, errors: [], stop: async () => undefined };
  const run = async (): Promise<void> => {
    while (!isOver) {
      step += 7;
      const [from = "", to = ""] = [ids[step % ids.length], ids[(step * 5 + 1) % ids.length]];
      const began = cloud.clock.monotonicMs();
      try {
        await client.transact({ deadlineMs: 30_000 }, async (tx) => {
          const [source, target] = await tx.batchGet(accounts, [from, to]);
          if (from === to || source === undefined || target === undefined) return;
          tx.put(accounts, { ...source, cents: source.cents - 1, n: source.n + 1 });
          tx.put(accounts, { ...target, cents: target.cents + 1, n: target.n + 1 });
        });
        load.commits += 1;
      } catch (error) {
        load.errors.push(error);
      }
      load.longestMs = Math.max(load.longestMs, cloud.clock.monotonicMs() - began);
      await cloud.clock.sleep(200);
    }
  };
  const running = run();
  load.stop = async () => {
    isOver = true;
    await running;
  };
  return load;
}

async function openedCloud(seed: number, tablesOnly: boolean): Promise<TestCloud> {
  const cloud = await createTestCloud({
    ...{
      seed,
      tables: [testTable(accounts, { partitionKey: "id" })],
      tablesOnly,
      recordHistory: true,
    },
  });
  await cloud.run(async () => {
    const client = cloud.createClient("opening");
    await client.transact(async (tx) => {
      for (const id of ids) tx.put(accounts, { id, cents: openingCents, n: 0 });
      return Promise.resolve();
    });
  });
  return cloud;
}

async function expectIntact(cloud: TestCloud): Promise<void> {
  await cloud.settled();
  const rows = cloud.rows(accounts);
  expect(rows).toHaveLength(ids.length);
  expect(rows.reduce((sum, { cents }) => sum + cents, 0)).toBe(ids.length * openingCents);
  expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
  expect(cloud.deployment.programErrors).toEqual([]);
  expect(cloud.deployment.metrics.get("DeadLetters") ?? 0).toBe(0);
}

const ways = ["stream", "stream", "auto", "express"] as const;

describe.each([1, 2])("seed %i", (seed) => {
  test.each([
    ["begins with a stream, which goes, comes back and goes", false],
    ["begins as tables alone, gets a stream, and gives it back", true],
  ])("a deployment that %s, loses nothing under load", async (_, tablesOnly) => {
    const cloud = await openedCloud(seed, tablesOnly);
    await cloud.run(async () => {
      const load = ways.map((way, i) => transferring(cloud, `${way}-${i.toString()}`, way));
      let isOn = !tablesOnly;
      for (let turn = 0; turn < 3; turn += 1) {
        await cloud.clock.sleep(6_000);
        const before = load.map(({ commits }) => commits);
        isOn = !isOn;
        await cloud.deployment.switchStream(isOn);
        await cloud.clock.sleep(6_000);
        // All of them go on, whatever way they were asked to go.
        load.forEach(({ commits }, i) => expect(commits).toBeGreaterThan((before[i] ?? 0) + 5));
      }
      await Promise.all(load.map(async ({ stop }) => stop()));
      for (const { errors, longestMs } of load) {
        expect(errors).toEqual([]);
        // Nobody has waited for a stream that answers no more.
        expect(longestMs).toBeLessThan(4_000);
      }
    });
    await expectIntact(cloud);
  });
});
