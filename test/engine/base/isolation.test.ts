/** Salt isolation: what others see of BASE transactions, and when. */
import { beforeEach, describe, expect, test } from "vitest";
import { BaseOpenError, defineBase, defineTable, UnavailableError } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import { baseWays } from "./ways.ts";

const accounts = defineTable<{ readonly amount: number }, { readonly id: string }>("accounts", {
  key: "id",
});
const entries = defineTable<
  { readonly amount: number },
  { readonly account: string; readonly at: string },
  "account"
>("entries", { key: ["account", "at"] });
const tables = [
  testTable("accounts", { partitionKey: "id", history: true, base: true }),
  testTable("entries", { partitionKey: "account", sortKey: "at", history: true, base: true }),
];

type Transfer = { readonly from: string; readonly to: string; readonly pauseMs: number };

let cloud: TestCloud;

/** Takes from one account, waits, and gives to the other one. */
function transferOf() {
  return defineBase("transfer", async (base, { from, to, pauseMs }: Transfer) => {
    const left = await base.step("take", async (tx) => {
      const row = await tx.update(accounts, from, (row) => ({
        id: from,
        amount: (row?.amount ?? 0) - 1,
      }));
      tx.put(entries, { account: from, at: base.id }, { amount: -1 });
      return row?.amount ?? null;
    });
    await cloud.clock.sleep(pauseMs);
    await base.step("give", async (tx) => {
      await tx.update(accounts, to, (row) => ({ id: to, amount: (row?.amount ?? 0) + 1 }));
      tx.put(entries, { account: to, at: base.id }, { amount: 1 });
      return null;
    });
    return { left };
  });
}

async function open(): Promise<void> {
  await cloud.createClient("set-up").transact((tx) => {
    for (const id of ["a", "b"]) tx.put(accounts, { id, amount: 10 });
    return Promise.resolve();
  });
}

describe.each(baseWays)("a BASE transaction that is open, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
  });

  test("is answered early, and its result can be had later", async () => {
    await cloud.run(async () => {
      await open();
      const client = cloud.createClient("client");
      const transfer = transferOf();
      const began = cloud.clock.monotonicMs();
      const { accepted, isNew } = await client.base(
        transfer,
        { from: "a", to: "b", pauseMs: 5_000 },
        { id: "t1" },
      );
      expect(isNew).toBe(true);
      expect(cloud.clock.monotonicMs() - began).toBeLessThan(2_000);
      expect(await accepted.status()).toMatchObject({ phase: "running", steps: 1 });
      expect(await accepted.result()).toEqual({ left: 9 });
      const again = await client.base(
        transfer,
        { from: "a", to: "b", pauseMs: 5_000 },
        { id: "t1" },
      );
      expect([again.isNew, again.isSame]).toEqual([false, true]);
      const other = await client.base(transfer, { from: "b", to: "a", pauseMs: 0 }, { id: "t1" });
      expect([other.isNew, other.isSame]).toEqual([false, false]);
    });
    expect(cloud.rows(accounts).map(({ id, amount }) => [id, amount])).toEqual(
      expect.arrayContaining([
        ["a", 9],
        ["b", 11],
      ]),
    );
  });

  test("is not seen by who reads, who waits for nobody", async () => {
    await cloud.run(async () => {
      await open();
      const client = cloud.createClient("client");
      const reader = cloud.createClient("reader");
      const { accepted } = await client.base(
        transferOf(),
        { from: "a", to: "b", pauseMs: 3_000 },
        { id: "t1" },
      );
      const began = cloud.clock.monotonicMs();
      const seen = await reader.snapshot(async (s) => [
        (await s.get(accounts, "a"))?.amount,
        (await s.batchGet(accounts, ["a", "b"])).map((row) => row?.amount),
        await s.query(entries, { where: { account: "a" } }).all(),
      ]);
      expect(seen).toEqual([10, [10, 10], []]);
      expect(cloud.clock.monotonicMs() - began).toBeLessThan(2_000);
      await accepted.result();
      await cloud.clock.sleep(2_000);
      const after = await reader.snapshot(async (s) => [
        (await s.batchGet(accounts, ["a", "b"])).map((row) => row?.amount),
        (await s.query(entries, { where: { account: "a" } }).all()).length,
      ]);
      expect(after).toEqual([[9, 11], 1]);
    });
  });

  test("holds up who would read and write, until it has ended", async () => {
    await cloud.run(async () => {
      await open();
      const client = cloud.createClient("client");
      const { accepted } = await client.base(
        transferOf(),
        { from: "a", to: "b", pauseMs: 3_000 },
        { id: "t1" },
      );
      const other = cloud.createClient("other");
      const sum = await other.transact(async (tx) => {
        const [a, b] = await tx.batchGet(accounts, ["a", "b"]);
        tx.put(accounts, { id: "a", amount: (a?.amount ?? 0) + 100 });
        return (a?.amount ?? 0) + (b?.amount ?? 0);
      });
      expect(sum.result).toBe(20);
      expect(sum.receipt.attempts).toBeLessThan(10);
      expect(await accepted.status()).toMatchObject({ phase: "ended", isReleased: true });
    });
  });

  test("is not seen either where it has written an item in several steps", async () => {
    const twice = defineBase("twice", async (base, _: null) => {
      for (const amount of [1, 2]) {
        await base.step("write", (tx) => {
          tx.put(accounts, { id: "a", amount });
          return Promise.resolve(null);
        });
        await cloud.clock.sleep(1_500);
      }
    });
    await cloud.run(async () => {
      await open();
      const { accepted } = await cloud.createClient("client").base(twice, null, { id: "1" });
      const reader = cloud.createClient("reader");
      for (let n = 0; n < 8; n += 1) {
        const { steps, phase } = (await accepted.status()) ?? {};
        if (phase === "ended") break;
        expect((await reader.snapshot((s) => s.get(accounts, "a")))?.amount).toBe(10);
        if (n > 5) expect(steps).toBe(2);
        await cloud.clock.sleep(300);
      }
      await accepted.result();
      expect((await reader.snapshot((s) => s.get(accounts, "a")))?.amount).toBe(2);
    });
  });

  test("keeps what it has only read, by key or by partition, as it was", async () => {
    const look = defineBase("look", async (base, by: "key" | "partition") => {
      const first = await base.step("look", async (tx) => {
        if (by === "key") return (await tx.get(accounts, "b"))?.amount ?? 0;
        return (await tx.query(entries, { where: { account: "b" } }).all()).length;
      });
      await cloud.clock.sleep(2_000);
      const second = await base.step("look again", async (tx) => {
        if (by === "key") return (await tx.get(accounts, "b"))?.amount ?? 0;
        return (await tx.query(entries, { where: { account: "b" } }).all()).length;
      });
      return { first, second };
    });
    await cloud.run(async () => {
      await open();
      const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
      for (const by of ["key", "partition"] as const) {
        const { accepted } = await client.base(look, by, { id: by });
        const began = cloud.clock.monotonicMs();
        // Who only reads meets nothing.
        expect((await other.transact((tx) => tx.get(accounts, "b"))).result?.amount).toBe(10);
        expect(cloud.clock.monotonicMs() - began).toBeLessThan(1_000);
        await other.transact((tx) => {
          if (by === "key") tx.put(accounts, { id: "b", amount: 77 });
          else tx.put(entries, { account: "b", at: "new", amount: 1 });
          return Promise.resolve();
        });
        expect(cloud.clock.monotonicMs() - began).toBeGreaterThan(1_000);
        const { first, second } = await accepted.result();
        expect(second).toBe(first);
        await other.transact((tx) => {
          tx.put(accounts, { id: "b", amount: 10 });
          return Promise.resolve();
        });
      }
    });
  });

  test("lets who has waited for long through before the next ones begin", async () => {
    await cloud.run(async () => {
      await open();
      let isOver = false;
      let begun = 0;
      // One holds the account all the time, and often several.
      const workers = ["one", "two", "three"].map(async (name, n) => {
        const client = cloud.createClient(name);
        await cloud.clock.sleep(n * 150);
        while (!isOver) {
          const id = `${name}-${(begun += 1).toString()}`;
          const move = { from: "a", to: "b", pauseMs: 400 };
          // The next one begins before this one has ended.
          await client.base(transferOf(), move, { id });
          await cloud.clock.sleep(300);
        }
      });
      const waiter = cloud.createClient("waiter");
      await cloud.clock.sleep(500);
      const written = waiter.transact({ deadlineMs: 10_000 }, async (tx) => {
        await tx.update(accounts, "a", (row) => ({ id: "a", amount: (row?.amount ?? 0) + 1_000 }));
        return null;
      });
      await written.finally(() => {
        isOver = true;
      });
      await Promise.all(workers);
      expect(begun).toBeGreaterThan(3);
    });
  });

  test("is named to who has waited up to his deadline", async () => {
    await cloud.run(async () => {
      await open();
      const client = cloud.createClient("client");
      await client.base(transferOf(), { from: "a", to: "b", pauseMs: 20_000 }, { id: "t1" });
      const other = cloud.createClient("other");
      const blind = other.transact({ deadlineMs: 2_000 }, (tx) => {
        tx.put(accounts, { id: "a", amount: 0 });
        return Promise.resolve();
      });
      const error = await blind.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(BaseOpenError);
      expect((error as BaseOpenError).open).toMatchObject({ base: "transfer/t1", steps: 1 });
    });
  });

  test("holds back who writes over it, and who goes by it after a failed step", async () => {
    const over = defineBase("over", async (base, kind: "blind" | "fails") => {
      await base.step("begin", (tx) => {
        tx.put(accounts, { id: kind, amount: 1 });
        return Promise.resolve(null);
      });
      if (kind === "blind") {
        await base.step("write", (tx) => {
          tx.put(accounts, { id: "a", amount: 50 });
          return Promise.resolve(null);
        });
        return;
      }
      const seen = await base
        .step("look", async (tx) => {
          throw new RangeError(String((await tx.get(accounts, "a"))?.amount));
        })
        .catch((error: unknown) => (error as Error).message);
      await base.step("note", (tx) => {
        tx.put(accounts, { id: "note", amount: Number(seen) });
        return Promise.resolve(null);
      });
    });
    await cloud.run(async () => {
      await open();
      const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
      const slow = await client.base(
        transferOf(),
        { from: "a", to: "b", pauseMs: 6_000 },
        { id: "slow" },
      );
      const failing = await other.base(over, "fails", { id: "1" });
      await cloud.clock.sleep(1_000);
      const blind = await other.base(over, "blind", { id: "2" });
      await cloud.clock.sleep(1_500);
      const reader = cloud.createClient("reader");
      const read = async (): Promise<readonly (number | undefined)[]> =>
        reader.snapshot(async (s) =>
          (await s.batchGet(accounts, ["a", "note", "fails", "blind"])).map((row) => row?.amount),
        );
      for (const { accepted } of [failing, blind]) {
        expect(await accepted.status()).toMatchObject({ phase: "ended", isReleased: false });
      }
      expect(await read()).toEqual([10, undefined, undefined, undefined]);
      await Promise.all([slow, failing, blind].map(({ accepted }) => accepted.result()));
      expect(await read()).toEqual([50, 9, 1, 1]);
    });
  });

  test("is seen by steps of others, which then are released after it", async () => {
    await cloud.run(async () => {
      await open();
      const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
      const slow = await client.base(
        transferOf(),
        { from: "a", to: "b", pauseMs: 4_000 },
        { id: "slow" },
      );
      const quick = await other.base(
        transferOf(),
        { from: "a", to: "b", pauseMs: 0 },
        { id: "quick" },
      );
      await cloud.clock.sleep(1_000);
      expect(await quick.accepted.status()).toMatchObject({ phase: "ended", isReleased: false });
      // Who is told it would not find it yet.
      const early = quick.accepted.result({ deadlineMs: 500 });
      await expect(early).rejects.toBeInstanceOf(UnavailableError);
      const reader = cloud.createClient("reader");
      const amounts = async (): Promise<readonly (number | undefined)[]> =>
        reader.snapshot(async (s) =>
          (await s.batchGet(accounts, ["a", "b"])).map((row) => row?.amount),
        );
      expect(await amounts()).toEqual([10, 10]);
      expect(await quick.accepted.result()).toEqual({ left: 8 });
      expect(await slow.accepted.result()).toEqual({ left: 9 });
      expect(await amounts()).toEqual([8, 12]);
      await cloud.clock.sleep(1_000);
      expect(await reader.openBases()).toEqual([]);
    });
  });
});
