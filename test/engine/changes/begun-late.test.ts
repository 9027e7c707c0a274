/** Feeds of processes that know an old map or an old registry when they begin. */
import { describe, expect, test } from "vitest";
import { createTables } from "../../../aws/create-tables.ts";
import { registerTables } from "../../../aws/register-tables.ts";
import { registeredTable } from "../../../testing/deployment-options.ts";
import { defineTable } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { accounts, bankTables, ids, move, openAccounts, ways } from "../sharded/bank.ts";
import { take } from "./feed.ts";

let cloud: TestCloud;

async function putEach(name: string, amount: number): Promise<void> {
  const client = cloud.createClient(name);
  for (const id of ids) {
    await client.transact((tx) => {
      tx.put(accounts, { id, amount });
      return Promise.resolve();
    });
  }
}

describe.each(ways)("a process with an old map, by %s", (_, way) => {
  test("is given what lies in a shard that was split off before its position", async () => {
    cloud = await createTestCloud({ ...way, tables: bankTables, maySplit: true });
    const seen: unknown[] = [];
    await cloud.run(async () => {
      // It knows of one shard, and sleeps.
      const early = cloud.createClient("early");
      await openAccounts(early);
      await cloud.splitShard(0);
      const mover = cloud.createClient("mover");
      await move(mover, [ids[0] ?? "", ids[1] ?? ""]);
      const [, second] = await take(cloud.createClient("first reader"), 2, { from: "oldest" });
      await putEach("writer", 20);
      const first = second?.position ?? "";
      await early.consume({ name: "all", first, until: "caught-up" }, (change) => {
        for (const { key } of change.of(accounts)) seen.push(key["id"]);
        return Promise.resolve();
      });
    });
    expect([...seen].sort()).toEqual([...ids].sort());
  });

  test("waits for no log that had ended before its position", async () => {
    cloud = await createTestCloud({ ...way, tables: bankTables, shards: 2, maySplit: true });
    await cloud.run(async () => {
      const early = cloud.createClient("early");
      await openAccounts(early);
      await cloud.joinShards(1);
      await putEach("before", 20);
      const before = await take(cloud.createClient("first reader"), 13, { from: "oldest" });
      const first = before.at(-1)?.position ?? "";
      const ended = cloud.deployment.portsOf(cloud.world.startProcess("inspector of logs"), {
        calm: true,
      });
      const blocksOf = async (): Promise<number> =>
        (await ended.log.readAfter("shard-001" as never, 0 as never)).blocks.length;
      const blocks = await blocksOf();
      const seen: unknown[] = [];
      const stop = new AbortController();
      const consuming = early.consume({ name: "all", first, signal: stop.signal }, (change) => {
        for (const { key } of change.of(accounts)) seen.push(key["id"]);
        return Promise.resolve();
      });
      await putEach("after", 30);
      await cloud.clock.sleep(20_000);
      stop.abort(new Error("enough"));
      await consuming;
      expect([...seen].sort()).toEqual([...ids].sort());
      // Nobody needs a request in a log that has ended to bring it up.
      expect(await blocksOf()).toBe(blocks);
    });
  });
});

test("a table that was registered while a feed of all tables runs is in it", async () => {
  const late = defineTable<{ readonly text: string }, { readonly id: string }>("late", {
    key: "id",
  });
  cloud = await createTestCloud({ tables: bankTables });
  const seen: unknown[] = [];
  await cloud.run(async () => {
    const stop = new AbortController();
    const consuming = cloud
      .createClient("consumer")
      .consume({ name: "all", first: "oldest", signal: stop.signal }, (change) => {
        for (const { table, key } of change.rows) seen.push([table, key["id"]]);
        return Promise.resolve();
      });
    await cloud.clock.sleep(5_000);
    const { world, deployment } = cloud;
    const operator = world.startProcess("registrar", { exact: true });
    const aws = { handles: world.handles(operator, { calm: true }), clock: operator.clock };
    const added = testTable("late", { partitionKey: "id" });
    await createTables(aws, [added]);
    await registerTables({ ...aws, deployment: deployment.options.deployment }, [
      registeredTable(added),
    ]);
    const writer = cloud.createClient("writer");
    for (let n = 0; n < 3; n += 1) {
      await writer.transact((tx) => {
        tx.put(late, { id: `row-${n}`, text: "t" });
        return Promise.resolve();
      });
      await cloud.clock.sleep(60_000);
    }
    stop.abort(new Error("enough"));
    await consuming;
  });
  expect(seen).toEqual([0, 1, 2].map((n) => ["late", `row-${n}`]));
});
