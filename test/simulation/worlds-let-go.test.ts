/**
 * A run's world is let go when the run is over, whatever its processes were doing as they crashed:
 * else a sweep grows with each of its seeds.
 */
import { expect, test } from "vitest";
import type { CommitPreference } from "../../engine/types.ts";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/test-cloud.ts";
import { testTable } from "../../testing/test-tables.ts";
import { keptOf } from "../harness/garbage.ts";

const items = defineTable<{ readonly n: number }, { readonly id: string }>("items", { key: "id" });

/** Clients crash at one moment after another of their first commit. */
async function worldOfCrashes(commit: CommitPreference): Promise<WeakRef<object>> {
  const cloud = await createTestCloud({ tables: [testTable("items", { partitionKey: "id" })] });
  await cloud.run(async () => {
    for (let afterMs = 0; afterMs < 60; afterMs += 1) {
      const name = `client-${afterMs.toString()}`;
      const process = cloud.startProcess(name, { commit });
      void process.client.transact((tx) => {
        tx.put(items, name, { n: 1 });
        return Promise.resolve();
      });
      await cloud.world.time.sleep(afterMs);
      process.crash();
    }
  });
  return new WeakRef(cloud.world);
}

test.each<CommitPreference>(["stream", "express"])(
  "nothing is left of a world in which clients crashed as they committed by %s",
  async (commit) => {
    expect(await keptOf([await worldOfCrashes(commit)])).toBe(0);
  },
);
