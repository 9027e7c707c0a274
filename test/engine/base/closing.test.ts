/** A client that closes while its BASE transactions are in their middle. */
import { expect, test } from "vitest";
import { createTestCloud } from "../../../testing/index.ts";
import { defineBase } from "../../../sdk/index.ts";
import { accounts, tables } from "./transfers.ts";

test("leaves a handler that waits for the world outside, and a runner goes on", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const wait = (outside: () => Promise<void>) =>
    defineBase("wait", async (base) => {
      await base.step("before", async (tx) => tx.put(accounts, { id: "before", amount: 1 }));
      await outside();
      await base.step("after", async (tx) => tx.put(accounts, { id: "after", amount: 1 }));
    });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    const forEver = wait(() => new Promise(() => undefined));
    const { accepted } = await client.base(forEver, undefined, { id: "1" });
    const result = accepted.result();
    result.catch(() => undefined);
    const beganMs = cloud.clock.nowMs();
    await client.close();
    expect(cloud.clock.nowMs() - beganMs).toBeLessThan(1_000);
    await expect(result).rejects.toThrow();

    const other = cloud.createClient("other");
    const through = wait(() => Promise.resolve());
    await other.baseRunner({ handlers: [through], takeOverMs: 100, until: "caught-up" });
    await other.baseOf(through, "1").result();
  });
  expect(await cloud.settled()).toBe(true);
  const written = cloud.rows(accounts).map(({ id }) => id);
  expect(written.toSorted()).toEqual(["after", "before"]);
});

test("is told of a result as soon as the handler has ended", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const slow = defineBase("slow", async (base) => {
    await base.step("once", async (tx) => tx.put(accounts, { id: "once", amount: 1 }));
    await cloud.clock.sleep(3_000);
    return "done";
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    const { accepted } = await client.base(slow, undefined, { id: "1" });
    await expect(accepted.result({ deadlineMs: 1_000 })).rejects.toThrow("goes on after 1000 ms");
    const given = new AbortController();
    const givenUp = accepted.result({ signal: given.signal });
    given.abort(new Error("enough"));
    await expect(givenUp).rejects.toThrow("enough");
    expect(await accepted.result()).toBe("done");
  });
});
