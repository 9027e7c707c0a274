/** Shards are split and joined under transactions over mixed tables, and native operations. */
import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { tidemarkNative } from "../../../native/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  diesAfter,
  ids,
  move,
  moveAround,
  openAccounts,
  total,
  ways,
  wholeAmount,
} from "./bank.ts";

let cloud: TestCloud;

const tables = [testTable("accounts", { partitionKey: "id", access: "mixed" })];
const patient = { attemptsMax: 200, deadlineMs: 60_000 };

function sumStored(): number {
  return cloud.rows(accounts).reduce((sum, { amount }) => sum + amount, 0);
}

/** Adds one to accounts, one call each, until told to stop. */
function addingNatively(app: ReturnType<TestCloud["startProcess"]>, pauseMs: number) {
  let added = 0;
  let isOver = false;
  const adding = async (): Promise<void> => {
    for (let i = 0; !isOver; i += 1) {
      await cloud.clock.sleep(pauseMs);
      await app.dynamodb.send(
        new UpdateItemCommand({
          ...{ TableName: "accounts", Key: { id: { S: ids[(i * 5) % ids.length] ?? "" } } },
          UpdateExpression: "ADD amount :one",
          ExpressionAttributeValues: { ":one": { N: "1" } },
        }),
      );
      added += 1;
    }
  };
  const running = adding();
  return {
    stop: async (): Promise<number> => {
      isOver = true;
      await running;
      return added;
    },
  };
}

describe.each(ways)("mixed tables, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables, maySplit: true });
  });

  async function readSums(times: number): Promise<readonly number[]> {
    const reader = cloud.createClient("reader");
    const sums: number[] = [];
    for (let i = 0; i < times; i += 1) {
      await cloud.clock.sleep(100);
      const { result } = await reader.transact(patient, (tx) => total(tx.scan(accounts)));
      sums.push(result);
    }
    return sums;
  }

  test("one shard becomes four, and two of them again, under transfers", async () => {
    let sums: readonly number[] = [];
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const changes = async (): Promise<void> => {
        await cloud.clock.sleep(150);
        expect(await cloud.splitShard(0)).toBe(1);
        await cloud.clock.sleep(150);
        expect(await cloud.splitShard(1)).toBe(2);
        expect(await cloud.splitShard(0)).toBe(3);
        await cloud.clock.sleep(150);
        await cloud.joinShards(3);
        await cloud.joinShards(2);
      };
      const [read] = await Promise.all([readSums(8), moveAround(cloud, 12), changes()]);
      sums = read;
    });
    expect(await cloud.settled()).toBe(true);
    expect(new Set(sums)).toEqual(new Set([wholeAmount]));
    expect(sumStored()).toBe(wholeAmount);
  });

  test("of native counts and of transfers none is lost beside splits and a join", async () => {
    let added = 0;
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const app = cloud.startProcess("app");
      app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
      const natives = addingNatively(app, 17);
      const changes = async (): Promise<void> => {
        await cloud.clock.sleep(90);
        await cloud.splitShard(0);
        await cloud.splitShard(0);
        await cloud.clock.sleep(120);
        await cloud.joinShards(2);
      };
      await Promise.all([moveAround(cloud, 10), changes()]);
      added = await natives.stop();
    });
    expect(await cloud.settled()).toBe(true);
    expect(added).toBeGreaterThan(5);
    expect(sumStored()).toBe(wholeAmount + added);
  });

  test("what dead clients leave at a split ends, wherever its items lie by then", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const app = cloud.startProcess("app");
      app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
      for (let round = 0; round < 3; round += 1) {
        const deaths = ids
          .slice(0, 6)
          .map((id, n) =>
            diesAfter(cloud, 8 + 9 * n, (client) => move(client, [id, ids[n + 6] ?? ""])),
          );
        const split = cloud.clock.sleep(15 + 10 * round).then(() => cloud.splitShard(round));
        await Promise.all([...deaths, split]);
        const natives = addingNatively(app, 5);
        const other = cloud.createClient("other");
        await Promise.all(ids.slice(0, 6).map((id, n) => move(other, [id, ids[n + 6] ?? ""])));
        await natives.stop();
      }
    });
    await cloud.settled();
    await cloud.advance(120_000);
    expect(await cloud.settled()).toBe(true);
    await cloud.run(async () => {
      const before = sumStored();
      const { result } = await cloud
        .createClient("reader")
        .transact(patient, (tx) => total(tx.scan(accounts)));
      expect(result).toBe(before);
    });
  });
});
