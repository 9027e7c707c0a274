/** Many BASE transactions at once, or one after the other: all that is accepted ends. */
import { beforeEach, expect, test, vi } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

/** Small, so that a few are many. */
vi.mock("../../../core/limits.ts", async (original) => ({
  ...(await original<typeof limits>()),
  ...{ baseRunsMax: 2, baseDependenciesMax: 6, baseHoldersMax: 6 },
  ...{ baseLaterDependenciesMax: 20, baseLaterHoldersMax: 20, baseReleasedTogetherMax: 20 },
}));

type Client = ReturnType<TestCloud["createClient"]>;

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

/** Adds one to each item, in a step of its own, with pauses between. */
function addTo(pauseMs: number) {
  return defineBase("add", async (base, ids: readonly string[]) => {
    for (const [n, id] of ids.entries()) {
      if (n > 0) await cloud.clock.sleep(pauseMs);
      await base.step(id, async (tx) => {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
        return null;
      });
    }
  });
}

async function untilReleased(client: Client, seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n += 1) {
    if ((await client.openBases()).length === 0) return;
    await cloud.clock.sleep(1_000);
  }
  expect(await client.openBases()).toEqual([]);
}

test("a runner takes over one for which any number of its own wait", async () => {
  await cloud.run(async () => {
    const process = cloud.startProcess("first");
    await openAccounts(process.client);
    await process.client.base(addTo(100_000), ["a", "b"], { id: "first" });
    process.crash();
    const client = cloud.createClient("runner");
    for (let n = 0; n < limits.baseRunsMax + 3; n += 1) {
      await client.base(addTo(0), ["a"], { id: n.toString() });
    }
    await cloud.clock.sleep(2_000);
    expect((await client.openBases()).length).toBe(limits.baseRunsMax + 4);
    await client.baseRunner({
      ...{ handlers: [addTo(0)], takeOverMs: 1_000, pollMs: 200, until: "caught-up" },
    });
    await untilReleased(client, 20);
  });
});

test("one depends on any number, one after the other", async () => {
  const rounds = limits.baseDependenciesMax + 5;
  const long = defineBase("long", async (base, _: null) => {
    for (let n = 0; n < rounds; n += 1) {
      await cloud.clock.sleep(400);
      await base.step(n.toString(), async (tx) => {
        return (await tx.get(accounts, `met-${n.toString()}`))?.amount ?? null;
      });
    }
  });
  const brief = defineBase("brief", async (base, id: string) => {
    await base.step("write", (tx) => {
      tx.put(accounts, { id, amount: 1 });
      return Promise.resolve(null);
    });
    await cloud.clock.sleep(500);
  });
  await cloud.run(async () => {
    const [client, other] = [cloud.createClient("client"), cloud.createClient("other")];
    await openAccounts(client);
    const begun = client.base(long, null, { id: "1" });
    for (let n = 0; n < rounds + 10; n += 1) {
      await other.base(brief, `met-${n.toString()}`, { id: n.toString() });
      await cloud.clock.sleep(380);
    }
    const { accepted } = await begun;
    await cloud.clock.sleep(3_000);
    expect(await accepted.status()).toMatchObject({ steps: rounds, phase: "ended" });
    await untilReleased(client, 20);
  });
});

test("more than one item takes come from both sides, and are released together", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const add = addTo(3_000);
    for (let n = 0; n < limits.baseHoldersMax; n += 1) {
      const [one, two] = [`${n.toString()}-1`, `${n.toString()}-2`];
      await Promise.all([
        client.base(add, ["a", "b"], { id: one }),
        client.base(add, ["b", "a"], { id: two }),
      ]);
    }
    await cloud.clock.sleep(5_000);
    await untilReleased(client, 20);
  });
  expect(await cloud.settled()).toBe(true);
});
