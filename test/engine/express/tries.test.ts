/** What the choice of the way hears of how tries end (engine/express/commit-policy.ts). */
import { afterEach, expect, test, vi } from "vitest";
import { CommitPolicy } from "../../../engine/express/commit-policy.ts";
import type { BodyTransaction } from "../../../engine/types.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { countersTable } from "../increments.ts";
import { keyOf, numberIn, startCounting } from "./counting-engine.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

async function increment(tx: BodyTransaction): Promise<void> {
  const n = numberIn(await tx.get("counters", keyOf("a"))) + 1;
  tx.put("counters", { ...keyOf("a"), n: { N: n.toString() } });
}

async function scene() {
  const ended = vi.spyOn(CommitPolicy.prototype, "ended");
  const cloud = await createTestCloud({ tables: [countersTable] });
  const conflicts = (): readonly boolean[] => ended.mock.calls.map(([end]) => end.isConflict);
  return { cloud, conflicts, engine: startCounting(cloud, "one") };
}

test("nothing of what only reads: it commits nothing, and would dilute conflicts", async () => {
  const { cloud, conflicts, engine } = await scene();
  await cloud.run(async () => {
    await engine.transact({}, increment);
    for (let n = 0; n < 5; n += 1) {
      await engine.snapshot({}, (snapshot) => snapshot.get("counters", keyOf("a")));
      await engine.transact({}, (tx) => tx.get("counters", keyOf("a")));
    }
  });
  expect(conflicts()).toEqual([false]);
});

test("each conflict with another process, and the commit in the end", async () => {
  const { cloud, conflicts, engine } = await scene();
  const other = startCounting(cloud, "other");
  await cloud.run(async () => {
    let tries = 0;
    await engine.transact({}, async (tx) => {
      await increment(tx);
      if ((tries += 1) > 2) return;
      await other.transact({}, increment);
    });
  });
  // The other one's commit, and what it makes of the try that is under way; twice.
  expect(conflicts()).toEqual([false, true, false, true, false]);
});

test("nothing of a body that fails by itself", async () => {
  const { cloud, conflicts, engine } = await scene();
  await cloud.run(async () => {
    const failing = engine.transact({}, () => Promise.reject(new Error("the body's own")));
    await expect(failing).rejects.toThrow("the body's own");
  });
  expect(conflicts()).toEqual([]);
});
