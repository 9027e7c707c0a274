/** Shards are joined while their clients are at work, by every way that commits go. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { closeShard } from "../../../aws/join-shard.ts";
import type { ShardNumber } from "../../../core/types.ts";
import { InvalidRequestError } from "../../../sdk/index.ts";
import { checkShardedHistory } from "../../../testing/checker/check-sharded.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  bankTables,
  ids,
  move,
  moveAround,
  openAccounts,
  storedTotal,
  sumsSeen,
  total,
  ways,
  wholeAmount,
} from "./bank.ts";

let cloud: TestCloud;

async function mapNow() {
  const inspector = cloud.world.startProcess("inspector of maps");
  const map = await cloud.deployment.clientPortsOf(inspector).control.shardMap();
  if (map === undefined) throw new Error("a deployment has shards");
  return map;
}

describe.each(ways)("four shards become one, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({
      ...way,
      tables: bankTables,
      shards: 4,
      recordHistory: true,
    });
  });

  afterEach(() => {
    const { findings } = checkShardedHistory(cloud.history(), { strict: true });
    expect(findings).toEqual([]);
  });

  test("money that is moved meanwhile is neither lost nor made, at any moment", async () => {
    let sums: readonly number[] = [];
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const joins = async (): Promise<void> => {
        await cloud.clock.sleep(150);
        expect(await cloud.joinShards(2)).toBe(1);
        await cloud.clock.sleep(150);
        expect(await cloud.joinShards(3)).toBe(1);
        expect(await cloud.joinShards(1)).toBe(0);
      };
      const reads = sumsSeen(cloud, { times: 15, pauseMs: 60 });
      await Promise.all([moveAround(cloud, 30), joins()]);
      sums = await reads;
      const late = ids.map((id, n) =>
        move(cloud.createClient(`late ${id}`), [id, ids[(n + 5) % ids.length] ?? ""]),
      );
      await Promise.all(late);
      expect((await mapNow()).entries).toHaveLength(1);
    });
    expect(await cloud.settled()).toBe(true);
    expect(new Set(sums)).toEqual(new Set([wholeAmount]));
    expect(storedTotal(cloud)).toBe(wholeAmount);
  });
});

describe.each(ways)("a join, by %s", (_, way) => {
  let join: () => Promise<number>;
  beforeEach(async () => {
    cloud = await createTestCloud({
      ...way,
      tables: bankTables,
      shards: 2,
      recordHistory: true,
    });
    join = () => cloud.joinShards(1);
    await cloud.run(() => openAccounts(cloud.createClient("set-up")));
  });

  afterEach(() => {
    const { findings } = checkShardedHistory(cloud.history(), { strict: true });
    expect(findings).toEqual([]);
  });

  test("is not noticed by a transaction that has one attempt, and is under way", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      let runs = 0;
      const { result: sum, receipt } = await client.transact({ attemptsMax: 1 }, async (tx) => {
        runs += 1;
        const before = await tx.batchGet(accounts, ids);
        if (runs === 1) await join();
        for (const row of before) if (row !== undefined) tx.put(accounts, { ...row, amount: 11 });
        return before.reduce((all, row) => all + (row?.amount ?? 0), 0);
      });
      expect(sum).toBe(wholeAmount);
      expect(runs).toBeGreaterThan(1);
      expect(receipt.attempts).toBe(1);
      const now = await client.snapshot((s) => total(s.scan(accounts)));
      expect(now).toBe(132);
    });
  });

  test("hides nothing that is written behind it from who has read before it", async () => {
    await cloud.run(async () => {
      const [reader, writer] = [cloud.createClient("reader"), cloud.createClient("writer")];
      let runs = 0;
      await reader.transact(async (tx) => {
        runs += 1;
        const rows = await tx.batchGet(accounts, ids);
        if (runs === 1) {
          await join();
          await writer.transact((other) => {
            for (const id of ids.slice(0, 6)) other.put(accounts, { id, amount: 20 });
            return Promise.resolve();
          });
        }
        for (const row of rows)
          if (row !== undefined) tx.put(accounts, { ...row, amount: row.amount + 1 });
      });
      const sum = await writer.snapshot((s) => total(s.scan(accounts)));
      expect(sum).toBe(21 * 6 + 11 * 6);
    });
  });

  test("is learnt by a client that has slept through it, and through what replay did", async () => {
    await cloud.run(async () => {
      const early = cloud.createClient("early");
      expect(await early.snapshot((s) => total(s.scan(accounts)))).toBe(wholeAmount);
      await join();
      const writer = cloud.createClient("writer");
      for (const amount of [20, 30]) {
        await writer.transact((tx) => {
          for (const id of ids) tx.put(accounts, { id, amount });
          return Promise.resolve();
        });
      }
      await cloud.clock.sleep(3 * 60_000);
      for (const client of [early, cloud.createClient("late")]) {
        for (const id of ids) {
          expect(await client.snapshot((s) => s.get(accounts, id))).toMatchObject({ amount: 30 });
        }
        await move(client, [ids[0] ?? "", ids[7] ?? ""]);
        await move(client, [ids[7] ?? "", ids[0] ?? ""]);
      }
    });
  });

  test("leaves the past of a moment as it was", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      const { receipt } = await client.transact((tx) => {
        for (const id of ids) tx.put(accounts, { id, amount: 10 });
        return Promise.resolve();
      });
      const asOf = receipt.commitTimestamp ?? 0;
      await join();
      for (let i = 0; i < 6; i += 1) await move(client, [ids[i] ?? "", ids[i + 6] ?? ""]);
      for (const reader of [client, cloud.createClient("late")]) {
        const rows = await reader.snapshot({ asOf }, async (s) => {
          const amounts: number[] = [];
          for await (const { amount } of s.scan(accounts)) amounts.push(amount);
          return amounts;
        });
        expect(rows).toEqual(ids.map(() => 10));
      }
    });
  });

  test("leaves ids and idempotency keys known that were before it", async () => {
    await cloud.run(async () => {
      const [client, asking] = [cloud.createClient("a"), cloud.createClient("b")];
      const pay = (key: string) =>
        client.transact({ idempotencyKey: key }, async (tx) => {
          for (const id of ids.slice(0, 4)) {
            const row = await tx.get(accounts, id);
            tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
          }
        });
      const keys = ["a", "b", "c", "d"];
      const before = await Promise.all(keys.map(pay));
      await join();
      const after = await Promise.all([...keys, "e"].map(pay));
      expect(after.map(({ receipt }) => receipt.replayed)).toEqual([true, true, true, true, false]);
      for (const { receipt } of [...before, ...after]) {
        expect(await asking.outcome(receipt.transactionId ?? "")).toBe("committed");
      }
    });
  });

  test("goes on by itself where its operator died once the log was closing", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await move(client, [ids[0] ?? "", ids[6] ?? ""]);
      const operator = cloud.world.startProcess("operator", { exact: true });
      await closeShard(cloud.deployment.portsOf(operator, { calm: true }), {
        shard: 1 as ShardNumber,
      });
      // Reads go on meanwhile, by who knew of the shard and who did not.
      for (const reader of [client, cloud.createClient("other")]) {
        const seen = await reader.snapshot({ attemptsMax: 1 }, (s) => total(s.scan(accounts)));
        expect(seen).toBe(wholeAmount);
      }
      const moves = ids
        .slice(0, 6)
        .map((id, n) => move(cloud.createClient(`waiting ${id}`), [id, ids[n + 6] ?? ""]));
      await Promise.all(moves);
      expect((await mapNow()).ended).toMatchObject([{ number: 1, ended: { heir: 0 } }]);
      const sum = await cloud.createClient("late").snapshot((s) => total(s.scan(accounts)));
      expect(sum).toBe(wholeAmount);
    });
  });

  test("may be followed by a split of the same range, and by another join", async () => {
    await cloud.run(async () => {
      const early = cloud.createClient("early");
      await move(early, [ids[0] ?? "", ids[6] ?? ""]);
      await join();
      expect(await cloud.splitShard(0)).toBe(2);
      await move(cloud.createClient("writer"), [ids[1] ?? "", ids[7] ?? ""]);
      expect(await cloud.joinShards(2)).toBe(0);
      for (const client of [early, cloud.createClient("late")]) {
        expect(await client.snapshot((s) => total(s.scan(accounts)))).toBe(wholeAmount);
        await Promise.all(ids.slice(0, 6).map((id, n) => move(client, [id, ids[n + 6] ?? ""])));
      }
    });
    expect(await cloud.settled()).toBe(true);
    expect(storedTotal(cloud)).toBe(wholeAmount);
  });
});

test("what cannot be joined is refused, and said how it can be", async () => {
  cloud = await createTestCloud({ tables: bankTables, shards: 3 });
  await cloud.run(async () => {
    const refused = async (join: Promise<number>, why: string): Promise<void> => {
      await expect(join).rejects.toBeInstanceOf(InvalidRequestError);
      await expect(join).rejects.toThrow(why);
    };
    await refused(cloud.joinShards(7), "the deployment has no shard 7");
    await refused(cloud.joinShards(0), "join shard 1, which is the next one above");
    await refused(cloud.joinShards(2, { into: 0 }), "shard 2 is joined to shard 1");
    expect(await cloud.joinShards(2, { into: 1 })).toBe(1);
    // Again: it was done.
    expect(await cloud.joinShards(2)).toBe(1);
    await refused(cloud.splitShard(2), "the deployment has no shard 2");
    expect(await cloud.joinShards(1)).toBe(0);
    await refused(cloud.joinShards(0), "the deployment has no other one");
  });
});
