/** A shard is split while its clients are at work, by every way that commits go. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { splitShard } from "../../../aws/split-shard.ts";
import type { ShardNumber } from "../../../core/types.ts";
import { checkShardedHistory } from "../../../testing/checker/check-sharded.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  bankTables,
  diesAfter,
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
const hashesOf = (id: string) =>
  cloud.deployment.hashes.item({ name: "accounts", partitionKey: "id" }, { id: { S: id } });
let owner: ReturnType<TestCloud["startProcess"]> | undefined;

describe.each(ways)("one shard becomes four, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({
      ...way,
      tables: bankTables,
      recordHistory: true,
      maySplit: true,
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
      const splits = async (): Promise<void> => {
        await cloud.clock.sleep(150);
        expect(await cloud.splitShard(0)).toBe(1);
        await cloud.clock.sleep(150);
        expect(await cloud.splitShard(1)).toBe(2);
        expect(await cloud.splitShard(0)).toBe(3);
      };
      const reads = sumsSeen(cloud, { times: 15, pauseMs: 60 });
      await Promise.all([moveAround(cloud, 30), splits()]);
      sums = await reads;
      const late = ids.map((id, n) =>
        move(cloud.createClient(`late ${id}`), [id, ids[(n + 5) % ids.length] ?? ""]),
      );
      await Promise.all(late);
    });
    expect(await cloud.settled()).toBe(true);
    expect(new Set(sums)).toEqual(new Set([wholeAmount]));
    expect(storedTotal(cloud)).toBe(wholeAmount);
    expect(cloud.deployment.logs.size).toBe(4);
  });
});

describe.each(ways)("a split, by %s", (_, way) => {
  let split: () => Promise<number>;
  beforeEach(async () => {
    cloud = await createTestCloud({
      ...way,
      tables: bankTables,
      recordHistory: true,
      maySplit: true,
    });
    split = () => cloud.splitShard(0);
    await cloud.run(() => openAccounts(cloud.createClient("set-up")));
  });

  afterEach(() => {
    const { findings } = checkShardedHistory(cloud.history(), { strict: true });
    expect(findings).toEqual([]);
  });

  /** Of the accounts, those that the split has moved, and those that it has not. */
  async function parted(): Promise<{ readonly moved: string[]; readonly kept: string[] }> {
    const { control } = cloud.deployment.clientPortsOf(cloud.world.startProcess("looking"));
    const map = await control.shardMap();
    const at = (id: string) => map?.at(hashesOf(id).partition).number;
    return {
      moved: ids.filter((id) => at(id) === 1),
      kept: ids.filter((id) => at(id) === 0),
    };
  }

  test("is not noticed by a transaction that has one attempt, and is under way", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      let runs = 0;
      const { result: sum, receipt } = await client.transact({ attemptsMax: 1 }, async (tx) => {
        runs += 1;
        const before = await tx.batchGet(accounts, ids);
        if (runs === 1) await split();
        for (const row of before) if (row !== undefined) tx.put(accounts, { ...row, amount: 11 });
        return before.reduce((all, row) => all + (row?.amount ?? 0), 0);
      });
      expect(sum).toBe(wholeAmount);
      expect([runs, receipt.attempts]).toEqual([2, 1]);
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
          await split();
          const { moved } = await parted();
          await writer.transact((other) => {
            for (const id of moved) other.put(accounts, { id, amount: 20 });
            return Promise.resolve();
          });
        }
        for (const row of rows)
          if (row !== undefined) tx.put(accounts, { ...row, amount: row.amount + 1 });
      });
      const { moved, kept } = await parted();
      expect(moved.length * kept.length).toBeGreaterThan(0);
      const sum = await writer.snapshot((s) => total(s.scan(accounts)));
      expect(sum).toBe(21 * moved.length + 11 * kept.length);
    });
  });

  test("is learnt by a client that has slept through it, and through what replay did", async () => {
    await cloud.run(async () => {
      const early = cloud.createClient("early");
      expect(await early.snapshot((s) => s.get(accounts, "account-0"))).toMatchObject({
        amount: 10,
      });
      await split();
      const { moved } = await parted();
      const writer = cloud.createClient("writer");
      for (const amount of [20, 30]) {
        await writer.transact((tx) => {
          for (const id of ids) tx.put(accounts, { id, amount });
          return Promise.resolve();
        });
      }
      await cloud.clock.sleep(3 * 60_000);
      const late = cloud.createClient("late");
      for (const client of [early, late]) {
        for (const id of [moved[0] ?? "", "account-0"]) {
          expect(await client.snapshot((s) => s.get(accounts, id))).toMatchObject({ amount: 30 });
        }
        await move(client, [moved[0] ?? "", moved[1] ?? ""]);
        await move(client, [moved[1] ?? "", moved[0] ?? ""]);
      }
    });
  });

  test("leaves the past of a moment as it was", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      const { receipt } = await client.transact(async (tx) => {
        const row = await tx.get(accounts, "account-3");
        tx.put(accounts, { id: "account-3", amount: row?.amount ?? 0 });
      });
      const asOf = receipt.commitTimestamp ?? 0;
      await split();
      for (let i = 0; i < 6; i += 1) await move(client, [ids[i] ?? "", ids[i + 6] ?? ""]);
      const rows = await client.snapshot({ asOf }, async (s) => {
        const amounts: number[] = [];
        for await (const { amount } of s.scan(accounts)) amounts.push(amount);
        return amounts;
      });
      expect(rows).toEqual(ids.map(() => 10));
    });
  });

  test("leaves ids known that were decided before it, and after it", async () => {
    await cloud.run(async () => {
      const [client, asking] = [cloud.createClient("a"), cloud.createClient("b")];
      const receipts = [await moved(client, 0), await moved(client, 1)];
      await split();
      receipts.push(await moved(client, 2), await moved(client, 3));
      for (const { transactionId } of receipts) {
        expect(await asking.outcome(transactionId ?? "")).toBe("committed");
      }
    });
  });

  async function moved(client: ReturnType<TestCloud["createClient"]>, n: number) {
    const { receipt } = await client.transact(async (tx) => {
      for (const id of ids.slice(n, n + 4)) {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, amount: (row?.amount ?? 0) + n });
      }
    });
    return receipt;
  }

  test("is ended by replay where its operator died once the fork stood in the log", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      const operator = cloud.world.startProcess("operator", { exact: true });
      const ports = cloud.deployment.portsOf(operator, { calm: true });
      const dies = () => Promise.reject(new Error("died"));
      const control = { ...ports.control, enterFork: dies };
      const { kinesis } = cloud.world.handles(operator, { calm: true });
      const carrier = cloud.deployment.hasStream
        ? { kinesis, stream: cloud.deployment.stream }
        : undefined;
      const parts = { ...ports, control, carrier };
      await expect(splitShard(parts, { shard: 0 as ShardNumber })).rejects.toThrow("died");
      for (let i = 0; i < 6; i += 1) await move(client, [ids[i] ?? "", ids[i + 6] ?? ""]);
      await cloud.clock.sleep(2 * 60_000);
      expect((await ports.control.shardMap())?.entries).toHaveLength(2);
      const sum = await cloud.createClient("late").snapshot((s) => total(s.scan(accounts)));
      expect(sum).toBe(wholeAmount);
    });
  });
});

test("what was open when its shard was split is settled in both", async () => {
  cloud = await createTestCloud({
    ...{ tables: bankTables, commit: "express", shards: 2, recordHistory: true },
  });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    await diesAfter(cloud, 25, (client) =>
      Promise.all([0, 2, 4].map((n) => move(client, [ids[n] ?? "", ids[n + 1] ?? ""]))),
    );
    expect(await cloud.splitShard(0)).toBe(2);
    expect(await cloud.splitShard(1)).toBe(3);
    const other = cloud.createClient("other");
    await Promise.all(ids.slice(0, 6).map((id, n) => move(other, [id, ids[n + 6] ?? ""])));
    const sum = await other.snapshot({ attemptsMax: 200 }, (s) => total(s.scan(accounts)));
    expect(sum).toBe(wholeAmount);
  });
  expect(await cloud.settled()).toBe(true);
  const { findings } = checkShardedHistory(cloud.history(), { strict: true });
  expect(findings).toEqual([]);
});

test.each([
  ["the new log", [0, 1]],
  ["the logs that were split off the new one meanwhile", [0, 1, 2, 3]],
])("what was open at the fork is entered in %s before it is installed", async (_, splits) => {
  // By the stream parts are placed at different times: one log stands below what they count at.
  cloud = await createTestCloud({ tables: bankTables, commit: "stream", shards: 2 });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    // All of its parts are placed, and none is entered yet.
    const frozen = new Promise<void>((resolve) => {
      owner = cloud.startProcess("owner", {
        onEvent: ({ kind }) => {
          if (kind !== "certified") return;
          owner?.freeze();
          resolve();
        },
      });
    });
    const putting = owner?.client.transact((tx) => {
      for (const id of ids) tx.put(accounts, { id, amount: 20 });
      return Promise.resolve();
    });
    await frozen;
    for (const shard of splits) await cloud.splitShard(shard);
    owner?.thaw();
    await putting;
    // One attempt: nothing that it meets in the tables is unknown to the logs.
    const reader = cloud.createClient("reader");
    const sum = await reader.snapshot({ attemptsMax: 1 }, (s) => total(s.scan(accounts)));
    expect(sum).toBe(2 * wholeAmount);
  });
});

test("of two shards that are split at once, none is given the other's watermark", async () => {
  cloud = await createTestCloud({ tables: bankTables, shards: 2, commit: "express" });
  await cloud.run(async () => {
    const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
    const operator = cloud.world.startProcess("operator", { exact: true });
    const ports = cloud.deployment.portsOf(operator, { calm: true });
    const { kinesis } = cloud.world.handles(operator, { calm: true });
    const parts = { ...ports, carrier: { kinesis, stream: cloud.deployment.stream } };
    const [longer, shorter] = [0 as ShardNumber, 1 as ShardNumber];
    const idIn = async (shard: number): Promise<string> => {
      const map = await ports.control.shardMap();
      return ids.find((id) => map?.at(hashesOf(id).partition).number === shard) ?? "";
    };
    const put = (by: typeof client, id: string, amount: number): Promise<unknown> =>
      by.transact((tx) => {
        tx.put(accounts, { id, amount });
        return Promise.resolve();
      });
    const elsewhere = await idIn(longer);
    for (let amount = 0; amount < 20; amount += 1) await put(client, elsewhere, amount);
    await cloud.clock.sleep(2 * 60_000);
    let id = "";
    const prepareFork: typeof ports.control.prepareFork = async (...late) => {
      expect(await splitShard(parts, { shard: shorter })).toMatchObject({ shard: 2 });
      id = await idIn(2);
      await put(client, id, 10);
      return ports.control.prepareFork(...late);
    };
    const control = { ...ports.control, prepareFork };
    const late = splitShard({ ...parts, control }, { shard: longer });
    await expect(late).rejects.toThrow("another split was begun");
    // Whoever follows the new log already, and whoever begins now, go by one order of its blocks.
    let runs = 0;
    await client.transact(async (tx) => {
      const row = await tx.get(accounts, id);
      runs += 1;
      if (runs === 1) await put(other, id, 20);
      tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
    });
    expect(await other.snapshot((s) => s.get(accounts, id))).toMatchObject({ amount: 21 });
  });
  expect(await cloud.settled()).toBe(true);
});
