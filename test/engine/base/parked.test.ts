/** Parked ones: nobody looks at them again and again, and one that gets through ends. */
import { beforeEach, expect, test } from "vitest";
import { defineBase, type BaseTrouble } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "stream", tables });
}, 30_000);

const caughtUp = { takeOverMs: 100, pollMs: 50, until: "caught-up" } as const;

test("a runner does not read the records of those that are parked", async () => {
  let isMended = false;
  const broken = defineBase("broken", { parkAfterMs: 300 }, async (base, id: string) => {
    if (!isMended) throw new TypeError("not yet");
    await base.step("put", async (tx) => tx.put(accounts, { id, amount: 1 }));
    return id;
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    for (const id of ["a", "b"]) await client.requestBase(broken, id, { id });
    await client.baseRunner({ handlers: [broken], ...caughtUp });
    await cloud.clock.sleep(60_000);
    const read: string[] = [];
    const told: BaseTrouble[] = [];
    const { client: runner } = clientWith(
      cloud,
      ({ items, ...ports }) => ({
        ...ports,
        items: {
          ...items,
          batchGet: (keys, ...rest) => {
            for (const { key } of keys) read.push(JSON.stringify(key["pk"]));
            return items.batchGet(keys, ...rest);
          },
        },
      }),
      "stream",
    );
    const onTrouble = (trouble: BaseTrouble): number => told.push(trouble);
    await runner.baseRunner({ handlers: [broken], ...caughtUp, onTrouble });
    expect(told.map(({ kind, id }) => `${kind} ${id}`).sort()).toEqual(["parked a", "parked b"]);
    expect(read).toEqual([]);

    isMended = true;
    expect(await client.baseOf(broken, "a").resume()).toBe(true);
    expect(await client.baseOf(broken, "b").cancel()).toBe(true);
    await runner.baseRunner({ handlers: [broken], ...caughtUp });
    expect(await client.baseOf(broken, "a").result()).toBe("a");
    expect(await client.openBases()).toEqual([]);
  });
});

test("one that ends while it is parked is released by a runner", async () => {
  const put = (pauseMs: number, isBroken = false) =>
    defineBase("put", { parkAfterMs: 300 }, async (base, amount: number) => {
      await base.step("put", async (tx) => tx.put(accounts, { id: "a", amount }));
      if (isBroken) throw new TypeError("not here");
      await cloud.clock.sleep(pauseMs);
      return amount;
    });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.base(put(60_000), 1, { id: "first" });
    const slow = cloud.startProcess("slow");
    await slow.client.base(put(20_000), 2, { id: "second" });
    const broken = { ...put(0, true), name: "put" };
    const runner = cloud.createClient("runner");
    const stop = new AbortController();
    const over = runner.baseRunner({
      ...{ handlers: [broken], takeOverMs: 500, pollMs: 100, signal: stop.signal },
    });
    await cloud.clock.sleep(15_000);
    expect((await client.baseOf(put(0), "second").status())?.phase).toBe("parked");
    stop.abort();
    await over;
    await cloud.clock.sleep(10_000);
    expect((await client.baseOf(put(0), "second").status())?.phase).toBe("ended");
    slow.crash();
    await cloud.clock.sleep(60_000);
    await runner.baseRunner({ handlers: [put(0)], ...caughtUp });
    expect(await client.openBases()).toEqual([]);
    expect(await client.snapshot((s) => s.get(accounts, "a"))).toMatchObject({ amount: 2 });
  });
});
