/** Transactions over several shards, by every way that commits go. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  CommitUnknownError,
  defineTable,
  TransactionClosedError,
  type EngineEvent,
} from "../../../sdk/index.ts";
import type { TransactionId } from "../../../core/types.ts";
import { checkShardedHistory } from "../../../testing/checker/check-sharded.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  bankTables,
  diesAfter,
  endsOfTheDead,
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

describe.each(ways)("four shards, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({
      ...{ ...way, shards: 4, recordHistory: true },
      tables: bankTables,
    });
  });

  afterEach(() => {
    const { findings } = checkShardedHistory(cloud.history(), { strict: true });
    expect(findings).toEqual([]);
  });

  /** In one transaction, over all shards most likely. */
  async function open(client: ReturnType<TestCloud["createClient"]>): Promise<number> {
    await openAccounts(client);
    const { receipt: told } = await client.transact(async (tx) => {
      const first = await tx.get(accounts, "account-0");
      tx.put(accounts, { id: "account-0", amount: first?.amount ?? 0 });
    });
    return told.commitTimestamp ?? 0;
  }

  test("money that is moved across shards is neither lost nor made, at any moment", async () => {
    let sums: readonly number[] = [];
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const reads = sumsSeen(cloud, { times: 10, pauseMs: 40 });
      await moveAround(cloud, 15);
      sums = await reads;
    });
    await cloud.settled();
    expect(new Set(sums)).toEqual(new Set([wholeAmount]));
    expect(storedTotal(cloud)).toBe(wholeAmount);
  });

  test("the past is one moment in all shards", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      const at = await open(client);
      for (let i = 0; i < 6; i += 1) await move(client, [ids[i] ?? "", ids[i + 6] ?? ""]);
      const then = await client.snapshot({ asOf: at }, async (s) => {
        const rows: number[] = [];
        for await (const { amount } of s.scan(accounts)) rows.push(amount);
        return rows;
      });
      expect(then).toEqual(ids.map(() => 10));
    });
  });

  test("a client that dies between its parts and their outcome holds up nobody", async () => {
    await cloud.run(async () => {
      const setUp = cloud.createClient("set-up");
      await open(setUp);
      await diesAfter(cloud, 25, (client) =>
        Promise.all([0, 2, 4].map((n) => move(client, [ids[n] ?? "", ids[n + 1] ?? ""]))),
      );
      const other = cloud.createClient("other");
      await Promise.all(ids.slice(0, 6).map((id, n) => move(other, [id, ids[n + 6] ?? ""])));
      const sum = await other.snapshot({ attemptsMax: 200 }, (s) => total(s.scan(accounts)));
      expect(sum).toBe(wholeAmount);
    });
    await cloud.settled();
    await cloud.advance(3 * 60_000);
    await cloud.settled();
    expect(storedTotal(cloud)).toBe(wholeAmount);
  });

  test("replay settles and installs what died clients left open and nobody meets", async () => {
    const dyingAtMs = Array.from({ length: 12 }, (_, n) => 5 * (n + 1));
    const ends = await endsOfTheDead(cloud, dyingAtMs);
    expect(ends).toEqual(new Set(["aborted", "committed"]));
  });

  test("an idempotency key does the work once, in whichever shard its entry lies", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await open(client);
      const pair = ["account-1", "account-2"] as const;
      for (let i = 0; i < 3; i += 1) await move(client, pair, { idempotencyKey: "once" });
      const [payer, payee] = await client.snapshot((s) => s.batchGet(accounts, [...pair]));
      expect([payer?.amount, payee?.amount]).toEqual([9, 11]);
    });
  });

  test("the outcome of an id is had, and stands", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await open(client);
      const { receipt } = await client.transact(async (tx) => {
        const [one, two] = await tx.batchGet(accounts, ["account-3", "account-8"]);
        tx.put(accounts, { id: "account-3", amount: (one?.amount ?? 0) + 1 });
        tx.put(accounts, { id: "account-8", amount: (two?.amount ?? 0) - 1 });
      });
      const id = receipt.transactionId;
      expect(id).toBeDefined();
      if (id !== undefined) expect(await client.outcome(id)).toBe("committed");
    });
  });

  test("what only reads several shards asks no oracle", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await open(client);
      const { receipt } = await client.transact((tx) => tx.batchGet(accounts, ids));
      expect(receipt.transactionId).toBeUndefined();
    });
  });
});

test("an unknown outcome over several shards is settled", async () => {
  cloud = await createTestCloud({
    ...{ shards: 3, commit: "stream", recordHistory: true },
    tables: [testTable("accounts", { partitionKey: "id" })],
  });
  await cloud.run(async () => {
    const app = cloud.startProcess("app");
    app.nextCommitUnknown("committed");
    const put = app.client.transact({ deadlineMs: 3_000 }, (tx) => {
      for (const id of ids) tx.put(accounts, { id, amount: 1 });
      return Promise.resolve();
    });
    const error: unknown = await put.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommitUnknownError);
    const { transactionId } = error as CommitUnknownError;
    const outcome = await cloud.createClient("other").outcome(transactionId);
    const rows = await cloud.createClient("reader").snapshot((s) => s.batchGet(accounts, ids));
    expect(rows.filter((row) => row !== undefined)).toHaveLength(
      outcome === "committed" ? ids.length : 0,
    );
  });
});

const orders = defineTable<{ readonly n: number }, { readonly p: string; readonly s: string }>(
  "orders",
  { key: ["p", "s"] },
);

test.each(["express", "stream"] as const)(
  "a mixed transaction within one of four shards that its client left open has an outcome, by %s",
  async (commit) => {
    cloud = await createTestCloud({
      ...{ shards: 4, commit },
      tables: [testTable("orders", { partitionKey: "p", sortKey: "s", access: "mixed" })],
    });
    const outcomes: string[] = [];
    await cloud.run(async () => {
      for (let atMs = 10; atMs <= 200; atMs += 10) {
        let id: TransactionId | undefined;
        const onEvent = (event: EngineEvent): void => {
          if (event.kind === "sent") id ??= event.transactionId;
        };
        const app = cloud.startProcess(`app-${atMs.toString()}`, { onEvent });
        const dead = new Promise<void>((resolve) => {
          app.onCrash(resolve);
        });
        const p = `order-${atMs.toString()}`;
        const work = app.client.transact((tx) => {
          for (const s of ["a", "b"]) tx.put(orders, { p, s, n: 1 });
          return Promise.resolve();
        });
        work.catch(() => undefined);
        await cloud.clock.sleep(atMs);
        app.crash();
        await dead;
        if (id === undefined) continue;
        const other = cloud.createClient();
        const outcome = await other.outcome(id);
        outcomes.push(outcome);
        const rows = await other.snapshot((s) =>
          s.batchGet(orders, [
            { p, s: "a" },
            { p, s: "b" },
          ]),
        );
        expect(rows.filter((row) => row !== undefined)).toHaveLength(
          outcome === "committed" ? 2 : 0,
        );
      }
    });
    expect(new Set(outcomes)).toEqual(new Set(["aborted", "committed"]));
  },
);

test("who writes after the end is told so, also of one that touched no shard", async () => {
  cloud = await createTestCloud({
    shards: 4,
    tables: [testTable("accounts", { partitionKey: "id" })],
  });
  await cloud.run(async () => {
    let late: (() => void) | undefined;
    await cloud.createClient().transact((tx) => {
      late = () => {
        tx.put(accounts, { id: "account-0", amount: 1 });
      };
      return Promise.resolve();
    });
    expect(late).toThrow(TransactionClosedError);
  });
});

test.each([
  // The process asks for the shards while the body's stray writes go on.
  ["cold", ["committed", "refused"]],
  // They are known at once, and then it waits for a look at their logs.
  ["warm", ["refused"]],
] as const)(
  "a write that its body has not waited for is never lost in silence, in a %s process",
  async (temperature, ends) => {
    cloud = await createTestCloud({
      shards: 4,
      tables: [testTable("accounts", { partitionKey: "id" })],
    });
    const seen = new Set<string>();
    await cloud.run(async () => {
      const warm = cloud.createClient("warm");
      await warm.snapshot((s) => s.batchGet(accounts, ids));
      for (let afterMs = 0; afterMs < 30; afterMs += 0.5) {
        const client = temperature === "warm" ? warm : cloud.createClient(`at-${String(afterMs)}`);
        const stray = `stray-${String(afterMs)}`;
        let made: unknown;
        await client.transact((tx) => {
          for (const id of ids.slice(0, 2)) tx.put(accounts, { id, amount: afterMs });
          const late = cloud.clock.sleep(afterMs).then(() => {
            tx.put(accounts, { id: stray, amount: 1 });
          });
          late.then(
            () => (made = true),
            (error: unknown) => (made = error),
          );
          return Promise.resolve();
        });
        await cloud.clock.sleep(100);
        const row = await client.snapshot((s) => s.get(accounts, stray));
        if (row === undefined) expect(made).toBeInstanceOf(TransactionClosedError);
        else expect(made).toBe(true);
        seen.add(row === undefined ? "refused" : "committed");
      }
    });
    expect(seen).toEqual(new Set(ends));
  },
);
