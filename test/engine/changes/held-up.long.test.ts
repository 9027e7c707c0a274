/** Feeds whose logs have parts open for long, are half expired, or begin in the middle. */
import { expect, test } from "vitest";
import type { EngineEvent } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, bankTables, ids } from "../sharded/bank.ts";
import { take } from "./feed.ts";

let cloud: TestCloud;

/** A transaction over several shards whose client dies once all its parts are prepared. */
async function leaveOpen(): Promise<void> {
  await new Promise<void>((ended) => {
    const victim = cloud.startProcess("victim", {
      onEvent: (event: EngineEvent) => {
        if (event.kind === "certified") victim.crash();
      },
    });
    victim.onCrash(ended);
    void victim.client.transact((tx) => {
      for (const id of ids) tx.put(accounts, { id, amount: 1 });
      return Promise.resolve();
    });
  });
}

test("a part that is open while a thousand others commit ends no feed", async () => {
  cloud = await createTestCloud({ commit: "stream", tables: bankTables, shards: 2 });
  let seen = 0;
  const count = 1_400;
  await cloud.run(async () => {
    const client = cloud.createClient("writer", { chaining: false });
    await leaveOpen();
    for (let n = 0; n < count; n += 200) {
      await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          client.transact((tx) => {
            tx.put(accounts, { id: `other-${n + i}`, amount: 1 });
            return Promise.resolve();
          }),
        ),
      );
    }
    await cloud.clock.sleep(60_000);
    const stop = new AbortController();
    const consuming = cloud
      .createClient("consumer")
      .consume({ name: "all", first: "oldest", signal: stop.signal }, () => {
        seen += 1;
        return Promise.resolve();
      });
    await cloud.clock.sleep(10 * 60_000);
    stop.abort(new Error("enough"));
    await consuming;
  });
  expect(seen).toBe(count + 1);
}, 120_000);

test("`oldest` is one at which also logs can be read that have ended", async () => {
  cloud = await createTestCloud({ commit: "express", tables: bankTables, shards: 2 });
  const hour = 3_600_000;
  const writer = () => cloud.createClient("writer");
  const map = await cloud.run(() => {
    const inspector = cloud.world.startProcess("inspector of maps");
    return cloud.deployment.clientPortsOf(inspector).control.shardMap();
  });
  expect(map?.entries).toHaveLength(2);
  const put = (of: readonly string[]): Promise<void> =>
    cloud.run(async () => {
      const client = writer();
      for (const id of of) {
        await client.transact((tx) => {
          tx.put(accounts, { id, amount: 1 });
          return Promise.resolve();
        });
      }
    });
  // Both shards, then for days the upper one alone.
  await put(ids);
  const upper = await cloud.run(async () => {
    const found: string[] = [];
    const ports = cloud.deployment.portsOf(cloud.world.startProcess("looks"), { calm: true });
    const end = async (): Promise<number> =>
      (await ports.log.readAfter("shard-001" as never, 0 as never)).blocks.length;
    for (const id of ids) {
      const before = await end();
      await writer().transact((tx) => {
        tx.put(accounts, { id, amount: 2 });
        return Promise.resolve();
      });
      if ((await end()) > before) found.push(id);
    }
    return found;
  });
  expect(upper.length).toBeGreaterThan(0);
  for (let hours = 0; hours < 9 * 24; hours += 12) {
    await cloud.advance(12 * hour);
    await put(upper.slice(0, 1));
  }
  await cloud.run(async () => {
    expect(await cloud.joinShards(1)).toBe(0);
  });
  await cloud.run(async () => {
    const [first] = await take(cloud.createClient("reader"), 1, { from: "oldest" });
    expect(first?.rows).toHaveLength(1);
  });
}, 120_000);
