/** A process that was frozen, as a function is between two calls, and then commits express. */
import { expect, test } from "vitest";
import type { EngineEvent } from "../../../engine/types.ts";
import { createTestCloud, type TestCloud, type TestProcess } from "../../../testing/index.ts";
import { counters, countersTable } from "../increments.ts";

async function increment({ client }: Pick<TestProcess, "client">, id = "a"): Promise<number> {
  const { receipt } = await client.transact(async (tx) => {
    tx.put(counters, { id, n: ((await tx.get(counters, id))?.n ?? 0) + 1 });
  });
  return (receipt.commitTimestamp ?? 0) / 1_000;
}

function sleeperOn(cloud: TestCloud) {
  const ways: string[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "sent") ways.push(event.via);
  };
  return { ...cloud.startProcess("sleeper", { commit: "auto", onEvent }), ways };
}

const clocks = ["run", "stand"] as const;

test.each(clocks)("commits at once, dated now, whatever the log did: clocks %s", async (each) => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  const sleeper = sleeperOn(cloud);
  const others = cloud.startProcess("others", { commit: "express" });
  await cloud.run(async () => {
    await increment(sleeper);
    sleeper.freeze(undefined, each);
    // More blocks than fit into a second, over ten minutes.
    for (let block = 0; block < 100; block += 1) {
      await increment(others);
      await cloud.clock.sleep(6_000);
    }
    sleeper.thaw();
    const committedMs = await increment(sleeper);
    expect(sleeper.ways).toEqual(["express", "express"]);
    expect(committedMs).toBeLessThanOrEqual(cloud.world.time.nowMs);
    expect(committedMs).toBeGreaterThan(cloud.world.time.nowMs - 2_000);
  });
  expect(cloud.rows(counters)).toEqual([{ id: "a", n: 102 }]);
});

test.each(clocks)("comes back from the stream after a calm that it slept: %s", async (each) => {
  const cloud = await createTestCloud({ tables: [countersTable] });
  const sleeper = sleeperOn(cloud);
  // Too many for turns: whoever has a choice leaves the log to the oracle.
  const crowd = Array.from({ length: 16 }, (_, n) =>
    cloud.startProcess(`other.${n.toString()}`, { commit: "express" }),
  );
  await cloud.run(async () => {
    let isBusy = true;
    const busy = crowd.map(async (other, n) => {
      while (isBusy) await increment(other, `b${n.toString()}`);
    });
    for (let tries = 0; tries < 200 && sleeper.ways.at(-1) !== "stream"; tries += 1) {
      await increment(sleeper);
    }
    expect(sleeper.ways.at(-1)).toBe("stream");
    isBusy = false;
    await Promise.all(busy);
    sleeper.freeze(60_000, each);
    await cloud.clock.sleep(60_000);
    await increment(sleeper);
    expect(sleeper.ways.at(-1)).toBe("express");
  });
});
