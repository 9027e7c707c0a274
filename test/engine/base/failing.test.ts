/** Handlers that fail: pauses grow, an outage parks none, and one that lasts parks all of them. */
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { Random } from "../../../core/ports.ts";
import { failedHead, restOf } from "../../../engine/base/failures.ts";
import { headItem, notFailing, toHead, type BaseHead } from "../../../engine/base/record.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const minute = 60_000;
const hour = 60 * minute;
const usual = limits.baseParkAfterMsDefault;

const running: BaseHead = {
  ...{ name: "order", version: 1, input: { NULL: true }, token: "t", steps: 1, phase: "running" },
  ...{ startedMs: 0, lastMs: 0, failures: 0, failure: undefined, result: undefined, dependsOn: [] },
};

const drawing = (drawn: number): Random => ({
  next: () => drawn,
  bytes: (length) => new Uint8Array(length),
});

/** Fails again and again, each run at once, until it is parked. */
function failures(parkAfterMs: number, drawn: number) {
  let nowMs = 1_000;
  let head = running;
  const rests: number[] = [];
  while (head.phase === "running") {
    const failed = { failure: "Error: out", isFinal: false, parkAfterMs };
    head = failedHead(head, failed, { nowMs, random: drawing(drawn) });
    if (head.phase !== "running") break;
    const rest = restOf(head) ?? NaN;
    rests.push(rest);
    nowMs += rest;
  }
  return { rests, head, tookMs: nowMs - 1_000 };
}

describe("the pauses of one that fails", () => {
  test("double from a second to five minutes, and are drawn from half of that on", () => {
    const { rests } = failures(usual, 1);
    expect(rests.slice(0, 11)).toEqual(
      [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000),
    );
    expect(failures(usual, 0).rests.slice(0, 3)).toEqual([500, 1_000, 2_000]);
    expect(failures(usual, 0).rests.at(-1)).toBe(150_000);
  });

  test.each([0, 0.5, 1])("end after parkAfterMs, and a last pause at most (%d)", (drawn) => {
    const { head, tookMs, rests } = failures(usual, drawn);
    expect(head).toMatchObject({ phase: "parked", failingSinceMs: 1_000, restMs: undefined });
    expect(tookMs).toBeGreaterThanOrEqual(usual);
    expect(tookMs).toBeLessThan(usual + limits.baseRestMsMax);
    expect(head.failures).toBe(rests.length + 1);
  });

  test("are a twelfth of a short parkAfterMs at most", () => {
    const { rests, head } = failures(1_200, 1);
    expect(Math.max(...rests)).toBe(100);
    expect(head.failures).toBeGreaterThan(limits.baseFailuresMin);
  });

  test("are ten all the same where all runners were down for long", () => {
    const before = { ...running, failures: 8, failingSinceMs: 1 };
    const failed = { failure: "Error: out", isFinal: false, parkAfterMs: usual };
    const at = { nowMs: 10 * hour, random: drawing(0) };
    const ninth = failedHead(before, failed, at);
    expect([ninth.phase, ninth.failures]).toEqual(["running", 9]);
    expect(failedHead(ninth, failed, at)).toMatchObject({ phase: "parked", failures: 10 });
    expect(failedHead(running, { ...failed, isFinal: true }, at).phase).toBe("parked");
  });

  test("are recorded; of one that goes on, and of an older record, none is", () => {
    const { failures: count, ...head } = { ...running, failures: 3, failingSinceMs: 7, restMs: 9 };
    const read = toHead(headItem("order/1", { ...head, failures: count }));
    expect(read).toMatchObject({ failures: 3, failingSinceMs: 7, restMs: 9 });
    expect(restOf(toHead(headItem("order/1", { ...head, ...notFailing })))).toBeUndefined();
    // Nobody writes a longer one, and whoever has does not keep runners away for good.
    expect(restOf({ ...running, restMs: Number.MAX_SAFE_INTEGER })).toBe(limits.baseRestMsMax);
  });
});

describe("by runners", () => {
  let cloud: TestCloud;
  /** When its handler has run, by the monotonic clock. */
  let runsMs: number[];
  let isOut: boolean;

  beforeEach(async () => {
    cloud = await createTestCloud({ commit: "express", tables });
    [runsMs, isOut] = [[], true];
  }, 30_000);

  const order = () =>
    defineBase("order", async (base, id: string) => {
      await base.step("take", async (tx) => tx.put(accounts, { id, amount: 1 }));
      runsMs.push(cloud.clock.monotonicMs());
      if (isOut) throw new TypeError("fetch failed");
      await base.step("bill", async (tx) => tx.put(accounts, { id: `${id} bill`, amount: 1 }));
      return id;
    });

  test("an outage of 50 minutes parks nothing, and its end is found soon", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(order(), "a", { id: "1" });
      const beganMs = cloud.clock.monotonicMs();
      const stop = new AbortController();
      const options = { handlers: [order()], pollMs: 5_000, signal: stop.signal };
      const over = client.baseRunner(options);
      await cloud.clock.sleep(50 * minute);
      const status = await accepted.status();
      expect(status).toMatchObject({ phase: "running", failure: "TypeError: fetch failed" });
      expect(status?.retryAtMs).toBeGreaterThan(cloud.clock.nowMs() - minute);
      expect(cloud.clock.nowMs() - (status?.failingSinceMs ?? 0)).toBeGreaterThan(49 * minute);
      expect(runsMs.length).toBeLessThan(40);
      isOut = false;
      expect(await accepted.result({ deadlineMs: 6 * minute })).toBe("a");
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(56 * minute);
      stop.abort();
      await over;
      const done = await accepted.status();
      expect(done).toMatchObject({ failures: 0, failingSinceMs: undefined, retryAtMs: undefined });
    });
  });

  test("another runner goes by the recorded pause, and does not begin anew", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.base(order(), "a", { id: "1" });
      const first = cloud.startProcess("first");
      void first.client.baseRunner({ handlers: [order()], pollMs: 5_000 });
      await cloud.clock.sleep(10 * minute);
      first.crash();
      const [before, last = 0] = [runsMs.length, runsMs.at(-1)];
      const second = cloud.createClient("second");
      const stop = new AbortController();
      const options = { handlers: [order()], pollMs: 5_000, signal: stop.signal };
      const over = second.baseRunner(options);
      await cloud.clock.sleep(10 * minute);
      stop.abort();
      await over;
      const [next = 0] = runsMs.slice(before);
      expect(next - last).toBeGreaterThan(100_000);
      expect(runsMs.length - before).toBeLessThan(7);
    });
  });

  test("one that has failed is tried again long before it would be taken over", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(order(), "a", { id: "1" });
      isOut = false;
      const options = { handlers: [order()], pollMs: 100, takeOverMs: 10 * minute } as const;
      await client.baseRunner({ ...options, until: "caught-up" });
      expect(await accepted.result()).toBe("a");
      expect((runsMs[1] ?? 0) - (runsMs[0] ?? 0)).toBeLessThan(3_000);
    });
  });

  test("a runner that died in a retry is taken over after takeOverMs", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.base(order(), "a", { id: "1" });
      await cloud.clock.sleep(2_000);
      const hangs = defineBase("order", () => new Promise<string>(() => undefined));
      const first = cloud.startProcess("first");
      void first.client.baseRunner({ handlers: [hangs] });
      await cloud.clock.sleep(2_000);
      first.crash();
      isOut = false;
      const fromMs = cloud.clock.monotonicMs();
      const second = cloud.createClient("second");
      await second.baseRunner({ handlers: [order()], takeOverMs: 20_000, until: "caught-up" });
      expect(await second.baseOf(order(), "1").result()).toBe("a");
      const tookMs = (runsMs.at(-1) ?? 0) - fromMs;
      expect(tookMs).toBeGreaterThan(15_000);
      expect(tookMs).toBeLessThan(25_000);
    });
  });

  test("who runs until it has caught up does not stay for what rests for minutes", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      await client.base(order(), "a", { id: "1" });
      await cloud.clock.sleep(1_000);
      const fromMs = cloud.clock.monotonicMs();
      await client.baseRunner({ handlers: [order()], until: "caught-up" });
      const stayedMs = cloud.clock.monotonicMs() - fromMs;
      expect(stayedMs).toBeLessThan(3 * minute);
      expect((await client.baseOf(order(), "1").status())?.phase).toBe("running");
    });
  });

  test("after an hour it is parked", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const { accepted } = await client.base(order(), "a", { id: "1" });
      const stop = new AbortController();
      const options = { handlers: [order()], pollMs: 5_000, signal: stop.signal };
      const over = client.baseRunner(options);
      await cloud.clock.sleep(59 * minute);
      expect((await accepted.status())?.phase).toBe("running");
      await cloud.clock.sleep(7 * minute);
      expect(await accepted.status()).toMatchObject({ phase: "parked", retryAtMs: undefined });
      stop.abort();
      await over;
    });
  });
});
