/** A quiet log that holds others' commits up, while no oracle runs that could bring it on. */
import { expect, test } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, bankTables as tables } from "../sharded/bank.ts";
import { take } from "./feed.ts";

test("a feed that waits for it is told that it may be tried again, and of no outcome", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables, shards: 2 });
  await cloud.run(async () => {
    const client = cloud.createClient();
    await client.transact((tx) => {
      tx.put(accounts, { id: "a", amount: 1 });
      return Promise.resolve();
    });
    cloud.pauseOracle();
    const reader = cloud.createClient("reader");
    const error: unknown = await take(reader, 1, { from: "oldest" }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "unavailable", retryable: true });
    expect(error).not.toHaveProperty("transactionId");
    cloud.resumeOracle();
    const [given] = await take(reader, 1, { from: "oldest" });
    expect(given?.rows).toHaveLength(1);
  });
});

test("a consumer that waits for it goes on once it can", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables, shards: 2 });
  await cloud.run(async () => {
    const client = cloud.createClient();
    await client.transact((tx) => {
      tx.put(accounts, { id: "a", amount: 1 });
      return Promise.resolve();
    });
    cloud.pauseOracle();
    const stop = new AbortController();
    let handled = 0;
    const consuming = cloud
      .createClient("consumer")
      .consume({ name: "all", first: "oldest", signal: stop.signal }, () => {
        handled += 1;
        return Promise.resolve();
      });
    await Promise.race([consuming, cloud.clock.sleep(90_000)]);
    cloud.resumeOracle();
    await cloud.clock.sleep(30_000);
    stop.abort();
    await consuming;
    expect(handled).toBe(1);
  });
});
