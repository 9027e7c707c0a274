/** Handlers that catch what they should not, or take another way: nothing is made up for them. */
import { beforeEach, describe, expect, test } from "vitest";
import { defineBase, StepFailedError, type BaseSteps } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

function has(id: string): boolean {
  return cloud.rows(accounts).some((row) => row.id === id);
}

function noted(base: BaseSteps, name: string): Promise<string> {
  return base.step(name, (tx) => {
    tx.put(accounts, { id: `${base.id}-${name}`, amount: 0 });
    return Promise.resolve(name);
  });
}

const quickly = { takeOverMs: 100, pollMs: 100, until: "caught-up" } as const;

describe("a handler that catches everything", () => {
  test("compensates for nothing where its way is another one", async () => {
    let second = "bill";
    let runs = 0;
    const order = defineBase("order", async (base, _: null) => {
      runs += 1;
      await noted(base, "reserve");
      try {
        await noted(base, second);
      } catch {
        await noted(base, "give back").catch(() => undefined);
        return "given back";
      }
      if (runs === 1) await cloud.clock.sleep(1_000_000);
      return "billed";
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      const { accepted } = await process.client.base(order, null, { id: "1" });
      await cloud.clock.sleep(1_000);
      expect((await accepted.status())?.steps).toBe(2);
      process.crash();
      second = "invoice";
      const runner = cloud.createClient("runner");
      await runner.baseRunner({ ...quickly, handlers: [order] });
      const status = await runner.baseOf(order, "1").status();
      expect(status).toMatchObject({ phase: "parked", steps: 2 });
      await cloud.settled();
      expect(has("1-give back")).toBe(false);
      second = "bill";
      await runner.baseOf(order, "1").resume();
      await runner.baseRunner({ ...quickly, handlers: [order] });
      expect(await runner.baseOf(order, "1").result()).toBe("billed");
    });
  });

  test("ends nothing where its client is closed", async () => {
    const order = defineBase("order", async (base, _: null) => {
      await noted(base, "reserve");
      await cloud.clock.sleep(2_000);
      try {
        await noted(base, "bill");
      } catch {
        return "not billed";
      }
      return "billed";
    });
    await cloud.run(async () => {
      const client = cloud.createClient("first");
      await openAccounts(client);
      await client.base(order, null, { id: "1" });
      await client.close();
      const runner = cloud.createClient("runner");
      await cloud.clock.sleep(500);
      await runner.baseRunner({ ...quickly, handlers: [order] });
      expect(await runner.baseOf(order, "1").result()).toBe("billed");
    });
  });

  test("goes no further where it begins two steps at once", async () => {
    const both = defineBase("both", async (base, _: null) => {
      await noted(base, "one");
      const ends = await Promise.allSettled([noted(base, "two"), noted(base, "three")]);
      return ends.map(({ status }) => status).join(" ");
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(both, null, { id: "1" });
      await cloud.clock.sleep(1_000);
      expect(await accepted.status()).toMatchObject({ phase: "running", failures: 1 });
      expect((await accepted.status())?.failure).toMatch(/while another one was under way/);
    });
  });
});

describe("a handler that goes by the world outside", () => {
  test.each(["more", "fewer"])("is told of where it takes %s steps than it did", async (which) => {
    const counts = which === "more" ? [1, 2] : [4, 2];
    let runs = 0;
    const counted = defineBase("counted", async (base, _: null) => {
      const [own = 0] = counts.slice(runs);
      runs += 1;
      const isSecond = runs === 2;
      for (let n = 1; n <= own; n += 1) {
        await noted(base, n.toString());
        // The second one sleeps while the first one goes on to its end, or further.
        if (isSecond && n === Math.min(...counts)) await cloud.clock.sleep(2_500);
        if (!isSecond) await cloud.clock.sleep(n < 3 ? 600 : 3_000);
      }
      return own;
    });
    await cloud.run(async () => {
      const [first, second] = [cloud.createClient("first"), cloud.createClient("second")];
      await openAccounts(first);
      const { accepted } = await first.base(counted, null, { id: "1" });
      await cloud.clock.sleep(200);
      const seen: string[] = [];
      const stop = new AbortController();
      const running = second.baseRunner({
        ...{ handlers: [counted], takeOverMs: 100, pollMs: 100, signal: stop.signal },
        onTrouble: ({ kind }) => seen.push(kind),
      });
      await cloud.clock.sleep(9_000);
      expect(runs).toBe(2);
      expect(await accepted.status()).toMatchObject({ phase: "ended", steps: counts[0] });
      expect(seen[0]).toBe("handler-failed");
      stop.abort();
      await running;
    });
  });
});

describe("what is recorded", () => {
  test("is the time at which all began, also before the first step", async () => {
    const times: string[] = [];
    const timed = defineBase("timed", async (base, _: null) => {
      times.push(base.now().toISOString());
      await noted(base, "one");
      if (times.length === 1) await cloud.clock.sleep(1_000_000);
    });
    await cloud.run(async () => {
      const process = cloud.startProcess("first");
      await openAccounts(process.client);
      await process.client.base(timed, null, { id: "1" });
      process.crash();
      await cloud.clock.sleep(10_000);
      const runner = cloud.createClient("runner");
      await runner.baseRunner({ ...quickly, handlers: [timed] });
    });
    expect(times).toHaveLength(2);
    expect(times[1]).toBe(times[0]);
  });

  test("is an error of any size, of a step and of a handler", async () => {
    const large = "large ".repeat(100_000);
    let told: unknown;
    let runs = 0;
    const failing = defineBase("failing", async (base, _: null) => {
      runs += 1;
      await noted(base, "one");
      await base
        .step("two", () => Promise.reject(new RangeError(`${large}\ud800`)))
        .catch((error: unknown) => {
          told = error;
        });
      if (runs <= 2) throw new Error(large);
      return "through";
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(failing, null, { id: "1" });
      await cloud.clock.sleep(500);
      expect(await accepted.status()).toMatchObject({ steps: 2, failures: 1 });
      await client.baseRunner({ ...quickly, handlers: [failing] });
      expect(await accepted.result()).toBe("through");
      expect(told).toBeInstanceOf(StepFailedError);
    });
  });

  test("is a later step that writes more than a commit takes, as a failed one", async () => {
    const huge = defineBase("huge", async (base, _: null) => {
      await noted(base, "one");
      const failed = await base
        .step("two", (tx) => {
          for (let n = 0; n < 4_000; n += 1) {
            tx.put(accounts, { id: `huge-${n.toString()}`, amount: n });
          }
          return Promise.resolve("made");
        })
        .catch((error: unknown) => (error as Error).name);
      await noted(base, "three");
      return failed;
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(huge, null, { id: "1" });
      expect(await accepted.result()).toBe("TransactionTooLargeError");
      await cloud.settled();
      expect(has("huge-1")).toBe(false);
      expect(has("1-three")).toBe(true);
    });
  });

  test("is a step that writes and reads thousands", async () => {
    const ids = Array.from({ length: 1_500 }, (_, n) => `many-${n.toString()}`);
    const many = defineBase("many", async (base, _: null) => {
      await base.step("writes", (tx) => {
        for (const id of ids) tx.put(accounts, { id, amount: 1 });
        return Promise.resolve(null);
      });
      const read = await base.step("reads", async (tx) => {
        return (await tx.batchGet(accounts, ids)).filter((row) => row !== undefined).length;
      });
      return read;
    });
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(many, null, { id: "x".repeat(256) });
      expect(await accepted.result({ deadlineMs: 100_000 })).toBe(1_500);
    });
  });
});
