/**
 * What ends a run of a request before its first step, and refuses nothing: it may yet be begun. And
 * what is no trouble of a runner.
 */
import { beforeEach, expect, test } from "vitest";
import { defineBase, type Client } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith, refusedCall } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "stream", tables });
}, 30_000);

/** Its role lacks the right to read single items of the table, as long as that is so. */
function whoMayReadAccounts(mayRead: () => boolean): Client {
  const { client } = clientWith(
    cloud,
    ({ items, ...ports }) => ({
      ...ports,
      items: {
        ...items,
        get: (table, ...rest) =>
          table.name === "accounts" && !mayRead() ? refusedCall() : items.get(table, ...rest),
      },
    }),
    "stream",
  );
  return client;
}

const caughtUp = { takeOverMs: 100, pollMs: 50, until: "caught-up" } as const;
const take = (pauseMs = 0) =>
  defineBase("take", { parkAfterMs: 300 }, async (base, amount: number) => {
    await base.step("take", async (tx) => {
      await cloud.clock.sleep(pauseMs);
      const row = await tx.get(accounts, "a");
      tx.put(accounts, { id: "a", amount: (row?.amount ?? 0) - amount });
    });
    return amount;
  });

test.each([
  ["a time limit", new DOMException("timed out", "TimeoutError")],
  ["an error of the caller's own", new Error("the user has left")],
])("who begins it himself gives up, by %s", async (_, reason) => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { requested } = await client.requestBase(take(), 1, { id: "1" });
    const giveUp = new AbortController();
    const begun = client.base(take(1_000), 1, { id: "1", signal: giveUp.signal });
    begun.catch(() => undefined);
    await cloud.clock.sleep(500);
    giveUp.abort(reason);
    await expect(begun).rejects.toThrow(reason.message);
    await cloud.clock.sleep(2_000);
    expect(await requested.status()).toMatchObject({ phase: "requested", steps: 0 });
    await client.baseRunner({ handlers: [take()], ...caughtUp });
    expect(await requested.result()).toBe(1);
  });
});

test("a runner lacks a right: it is parked, and goes on once that is given", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { requested } = await client.requestBase(take(), 1, { id: "1" });
    await cloud.clock.sleep(60_000);
    const runner = whoMayReadAccounts(() => false);
    await runner.baseRunner({ handlers: [take()], ...caughtUp });
    expect(await requested.status()).toMatchObject({
      ...{ phase: "parked", steps: 0, failures: 10, refusal: undefined },
      failure: expect.stringContaining("AccessDeniedException") as string,
    });
    expect(await requested.resume()).toBe(true);
    await client.baseRunner({ handlers: [take()], ...caughtUp });
    expect(await requested.result()).toBe(1);
  });
});

test("a runner lacks a right that a later step needs: no step has failed by that", async () => {
  let mayRead = false;
  const two = defineBase("two", async (base) => {
    await base.step("begin", async (tx) => tx.put(accounts, { id: "b", amount: 1 }));
    const read = base.step("read", async (tx) => (await tx.get(accounts, "a"))?.amount ?? null);
    return read.catch(() => "made good");
  });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const client = whoMayReadAccounts(() => mayRead);
    await cloud.clock.sleep(60_000);
    const { accepted } = await client.base(two, undefined, { id: "1" });
    await cloud.clock.sleep(5_000);
    expect(await accepted.status()).toMatchObject({ phase: "running", steps: 1, failures: 1 });
    mayRead = true;
    await client.baseRunner({ handlers: [two], ...caughtUp });
    expect(await accepted.result()).toBe(100);
  });
});

test("one that is refused, cancelled, or begun by another runner is no trouble", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const told: unknown[] = [];
    const stop = new AbortController();
    const refuses = defineBase("refuse", async (base, _: number) => {
      await base.step("take", () => Promise.reject(new RangeError("not that much")));
    });
    const over = ["one", "two", "three"].map((name) =>
      cloud.createClient(name).baseRunner({
        ...{ handlers: [take(300), refuses], takeOverMs: 100, pollMs: 50, signal: stop.signal },
        onTrouble: (trouble) => told.push(trouble),
      }),
    );
    const refused = await client.requestBase(refuses, 1, { id: "1" });
    const taken = await client.requestBase(take(300), 1, { id: "1" });
    const cancelled = await client.requestBase(take(300), 1, { id: "2" });
    await cloud.clock.sleep(200);
    expect(await cancelled.requested.cancel()).toBe(true);
    expect(await taken.requested.result()).toBe(1);
    await cloud.clock.sleep(5_000);
    expect((await refused.requested.status())?.phase).toBe("refused");
    stop.abort();
    await Promise.all(over);
    expect(told).toEqual([]);
  });
});
