/** A runner tells of an outage of the store: once when it has lasted, and once when it is over. */
import { beforeEach, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineBase, type BaseTrouble } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;
let told: (BaseTrouble & { readonly atMs: number })[];

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
  told = [];
}, 30_000);

const put = defineBase("put", async (base, id: string) => {
  await base.step("put", async (tx) => tx.put(accounts, { id, amount: 1 }));
  return id;
});

/** Beside a runner. */
async function beside(pollMs: number, task: () => Promise<void>): Promise<void> {
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const client = cloud.createClient("runner");
    const stop = new AbortController();
    const over = client.baseRunner({
      ...{ handlers: [put], pollMs, signal: stop.signal },
      onTrouble: (trouble) => told.push({ ...trouble, atMs: cloud.clock.nowMs() }),
    });
    await cloud.clock.sleep(5_000);
    await task();
    stop.abort();
    await over;
  });
}

test("an outage is told once, with its cause and its beginning; so is its end", async () => {
  await beside(1_000, async () => {
    const fromMs = cloud.clock.nowMs();
    const outMs = 10 * 60_000;
    cloud.refuseCalls("dynamodb", outMs);
    await cloud.clock.sleep(outMs + 60_000);
    expect(told.map(({ kind }) => kind)).toEqual(["outage", "outage-over"]);
    const [out, over] = told;
    expect(out?.cause).toMatchObject({ name: "UnavailableError" });
    expect((out?.sinceMs ?? 0) - fromMs).toBeLessThan(60_000);
    expect((out?.atMs ?? 0) - fromMs).toBeLessThan(2 * 60_000);
    expect(over).toMatchObject({ sinceMs: out?.sinceMs });
    expect((over?.atMs ?? 0) - fromMs).toBeGreaterThanOrEqual(outMs);
    // And so it goes on.
    const client = cloud.createClient("client");
    const { requested } = await client.requestBase(put, "a", { id: "1" });
    expect(await requested.result()).toBe("a");
  });
});

test("a store that comes and goes is told of no more often than outages may be", async () => {
  const lastedMs = 5 * 60_000;
  await beside(250, async () => {
    const untilMs = cloud.clock.monotonicMs() + lastedMs;
    for (let n = 0; cloud.clock.monotonicMs() < untilMs; n += 1) {
      cloud.refuseCalls("dynamodb", 1_000 * (1 + (n % 40)));
      await cloud.clock.sleep(1_000 * (2 + (n % 40)));
    }
  });
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThanOrEqual((2 * lastedMs) / limits.baseOutageMsMin);
  told.forEach(({ kind }, n) => {
    expect(kind).toBe(n % 2 === 0 ? "outage" : "outage-over");
  });
});

test("a moment without answers is nothing to tell of", async () => {
  await beside(100, async () => {
    cloud.refuseCalls("dynamodb", 2_000);
    await cloud.clock.sleep(60_000);
  });
  expect(told).toEqual([]);
});
