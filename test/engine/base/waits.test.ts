/** Who waits for a BASE transaction, who does not, and what is left of one. */
import { DeleteItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import { BaseOpenError, defineBase, type EngineEvent } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

/** Writes the items in its first step, and goes on for so long. */
function holds(pauseMs: number) {
  return defineBase("holds", async (base, ids: readonly string[]) => {
    await base.step("write", (tx) => {
      for (const id of ids) tx.put(accounts, { id, amount: 0 });
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(pauseMs);
  });
}

describe("who reads the past, at which one was open,", () => {
  test("is told at once what cannot be had, and has the rest", async () => {
    await cloud.run(async () => {
      const [client, reader] = [cloud.createClient("client"), cloud.createClient("reader")];
      await openAccounts(client);
      const { accepted } = await client.base(holds(2_000), ["a"], { id: "1" });
      await cloud.clock.sleep(1_000);
      const moment = new Date(cloud.clock.nowMs());
      await accepted.result();
      await cloud.clock.sleep(5_000);
      const beganMs = cloud.clock.monotonicMs();
      const scan = reader.snapshot({ asOf: moment }, (s) => s.scan(accounts).all());
      const error = await scan.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(BaseOpenError);
      expect(error).toMatchObject({ retryable: false, open: { base: "holds/1", steps: 1 } });
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(2_000);
      const row = await reader.snapshot({ asOf: moment }, (s) => s.get(accounts, "a"));
      expect(row?.amount).toBe(100);
    });
  });
});

test("who asks whether one is released writes nothing, however often", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.base(holds(4_000), ["a"], { id: "first" });
    const behind = defineBase("behind", async (base, _: null) => {
      await base.step("write", (tx) => {
        tx.put(accounts, { id: "a", amount: 1 });
        return Promise.resolve(null);
      });
    });
    await client.base(behind, null, { id: "second" });
    await cloud.clock.sleep(1_000);
    const seen: EngineEvent[] = [];
    const asking = cloud.createClient("asking", { onEvent: (event) => seen.push(event) });
    for (let n = 0; n < 5; n += 1) {
      const [first, second] = await asking.openBases();
      expect([first?.phase, second?.phase]).toEqual(["running", "ended"]);
      expect(await asking.baseOf(behind, "second").status()).toMatchObject({ isReleased: false });
    }
    expect(seen.filter(({ kind }) => kind === "sent")).toEqual([]);
    await asking.baseOf(behind, "second").result();
  });
});

describe("who waits", () => {
  test("and gives up himself is told so, and not that his time was up", async () => {
    await cloud.run(async () => {
      const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
      await openAccounts(client);
      await client.base(holds(60_000), ["a"], { id: "1" });
      const giveUp = new AbortController();
      const waiting = other.transact({ signal: giveUp.signal }, async (tx) => {
        return (await tx.get(accounts, "a"))?.amount;
      });
      waiting.catch(() => undefined);
      await cloud.clock.sleep(3_000);
      giveUp.abort(new RangeError("given up"));
      await expect(waiting).rejects.toThrow(new RangeError("given up"));
    });
  });

  test("beside others for the same item leaves it to one at a time to reserve it", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const { accepted } = await cloud
        .createClient("client")
        .base(holds(4_000), ["a"], { id: "1" });
      const sent: EngineEvent[] = [];
      const onEvent = (event: EngineEvent): void => {
        if (event.kind === "sent") sent.push(event);
      };
      const waiting = ["one", "two", "three", "four", "five", "six"].map(async (name) => {
        await cloud.createClient(name, { onEvent }).transact((tx) => tx.get(accounts, "a"));
      });
      await cloud.clock.sleep(3_500);
      // Twice a second, and now and then two at once.
      expect(sent.length).toBeGreaterThan(3);
      expect(sent.length).toBeLessThan(20);
      await accepted.result();
      await Promise.all(waiting);
    });
  });

  test("has the item that holds him up kept free, however many others he has read", async () => {
    const others = Array.from({ length: 60 }, (_, n) => `other-${n.toString()}`);
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      let isOver = false;
      const workers = ["one", "two", "three"].map(async (name, n) => {
        const client = cloud.createClient(name);
        await cloud.clock.sleep(n * 150);
        for (let turn = 0; !isOver; turn += 1) {
          await client.base(holds(400), ["a"], { id: `${name}-${turn.toString()}` });
          await cloud.clock.sleep(300);
        }
      });
      await cloud.clock.sleep(500);
      const waiter = cloud.createClient("waiter");
      const written = waiter.transact({ deadlineMs: 20_000 }, async (tx) => {
        await tx.batchGet(accounts, others);
        await tx.get(accounts, "a");
        tx.put(accounts, { id: "a", amount: 1 });
      });
      await written.finally(() => {
        isOver = true;
      });
      await Promise.all(workers);
    });
  });
});

describe("who waits for a result", () => {
  test("has it where his own handler hangs, and a runner has made the rest", async () => {
    let runs = 0;
    const hangs = defineBase("hangs", async (base, _: null) => {
      runs += 1;
      await base.step("one", () => Promise.resolve(null));
      if (runs === 1) await cloud.clock.sleep(1_000_000);
      return "made";
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(hangs, null, { id: "1" });
      const beganMs = cloud.clock.monotonicMs();
      const result = accepted.result({ deadlineMs: 600_000 });
      await cloud.clock.sleep(200);
      const runner = cloud.createClient("runner");
      const options = { takeOverMs: 100, pollMs: 100, until: "caught-up" } as const;
      await runner.baseRunner({ ...options, handlers: [hangs] });
      expect(await result).toBe("made");
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(20_000);
    });
  });
});

describe("what is left", () => {
  const table = "tidemark-test-base";

  test("of one that somebody else has released, a runner takes away", async () => {
    await cloud.run(async () => {
      const [first, last] = [cloud.startProcess("first"), cloud.startProcess("last")];
      await openAccounts(first.client);
      await first.client.base(holds(10_000), ["a"], { id: "first" });
      // Ends at once, and waits for the first one.
      await last.client.base(holds(0), ["a"], { id: "last" });
      await cloud.clock.sleep(1_000);
      last.crash();
      await cloud.clock.sleep(9_050);
      const other = cloud.createClient("other");
      await other.baseOf(holds(0), "last").result();
      first.crash();
      expect(await other.openBases()).toEqual([]);
      await cloud.clock.sleep(5_000);
      const runner = cloud.createClient("runner");
      await runner.baseRunner({
        ...{ handlers: [holds(0)], takeOverMs: 1_000, pollMs: 100, until: "caught-up" },
      });
    });
    expect(await cloud.settled()).toBe(true);
    const scan = new ScanCommand({ TableName: table });
    const { Items = [] } = await cloud.run(() => cloud.dynamodb.send(scan));
    const left = Items.filter((item) => item["_x"] === undefined);
    expect(left.filter(({ pk }) => !/^(base|state)#/.test(pk?.S ?? ""))).toEqual([]);
    expect(left.length).toBeGreaterThan(0);
    for (const item of left) expect(item).toHaveProperty("expiresAt");
  });

  test("of an id that was used before is not taken for the new one's steps", async () => {
    const made: string[] = [];
    const twice = defineBase("twice", async (base, by: string) => {
      for (const name of ["one", "two"]) {
        await base.step(name, () => {
          made.push(`${name} by ${by}`);
          return Promise.resolve(`${name} by ${by}`);
        });
        if (name === "one" && by === "new") await cloud.clock.sleep(1_000_000);
      }
      return base.step("three", () => Promise.resolve(by));
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      const { accepted } = await process.client.base(twice, "old", { id: "1" });
      await accepted.result();
      await cloud.clock.sleep(3_000);
      // The store drops expired items one by one, in any order.
      await cloud.dynamodb.send(
        new DeleteItemCommand({
          TableName: table,
          Key: { pk: { S: "base#twice/1" }, sk: { S: "-" } },
        }),
      );
      const again = await process.client.base(twice, "new", { id: "1" });
      expect(again.isNew).toBe(true);
      process.crash();
      await cloud.clock.sleep(1_000);
      const quick = defineBase("twice", async (base, by: string) => {
        const names = ["one", "two"];
        for (const name of names) {
          await base.step(name, () => {
            made.push(`${name} by ${by}`);
            return Promise.resolve(`${name} by ${by}`);
          });
        }
        return base.step("three", () => Promise.resolve(by));
      });
      const runner = cloud.createClient("runner");
      await runner.baseRunner({
        ...{ handlers: [quick], takeOverMs: 100, pollMs: 100, until: "caught-up" },
      });
      expect(await runner.baseOf(quick, "1").result()).toBe("new");
    });
    expect(made).toEqual(["one by old", "two by old", "one by new", "two by new"]);
  });
});
