/** Handlers, and bodies of steps, that never settle: they hold nobody up for good. */
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineBase, type BaseSteps, type BaseTrouble } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

const caughtUp = { takeOverMs: 100, pollMs: 1_000, until: "caught-up" } as const;
const silentMsMax = 60_000;
const never = (): Promise<never> => new Promise(() => undefined);

/** Its second step is made in the second run; the first one is at `hang`. */
function hanging(hang: (base: BaseSteps) => Promise<unknown>, silentMs = silentMsMax) {
  const runs = new Map<string, number>();
  const handler = async (base: BaseSteps, id: string): Promise<string> => {
    runs.set(base.id, (runs.get(base.id) ?? 0) + 1);
    await base.step("one", async (tx) => tx.put(accounts, { id, amount: 1 }));
    if (runs.get(base.id) === 1) await hang(base);
    await base.step("two", async (tx) => {
      const row = await tx.get(accounts, id);
      tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
    });
    return id;
  };
  return defineBase("hanging", { silentMsMax: silentMs }, handler);
}

describe.each([
  ["a handler", never, "outside of its steps"],
  ["the body of a step", (base: BaseSteps) => base.step("two", never), 'in its step "two"'],
])("%s that never settles", (_, hang, where) => {
  test("is over after its limit, told of, and taken up by another run here", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient("client");
      await openAccounts(client);
      const definition = hanging(hang);
      // As many as one process runs at once: with no bound it would run none any more.
      const ids = Array.from({ length: limits.baseRunsMax + 1 }, (__, n) => n.toString());
      for (const id of ids) await client.requestBase(definition, id, { id });
      const told: BaseTrouble[] = [];
      const onTrouble = (trouble: BaseTrouble): number => told.push(trouble);
      const beganMs = cloud.clock.monotonicMs();
      await client.baseRunner({ handlers: [definition], ...caughtUp, onTrouble });
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(5 * silentMsMax);
      for (const id of ids) expect(await client.baseOf(definition, id).result()).toBe(id);
      const failed = told.filter(({ kind }) => kind === "handler-failed");
      expect(new Set(failed.map(({ id }) => id))).toEqual(new Set(ids));
      expect(failed[0]?.cause).toMatchObject({ name: "HandlerSilentError" });
      expect((failed[0]?.cause as Error).message).toContain(where);
      expect((failed[0]?.cause as Error).message).toContain("silentMsMax");
    });
    expect(await cloud.settled()).toBe(true);
    expect(cloud.rows(accounts).find(({ id }) => id === "0")?.amount).toBe(2);
  });
});

test("what comes of a silent run later changes nothing", async () => {
  let wake = (): void => undefined;
  const woken = new Promise<void>((resolve) => (wake = resolve));
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const definition = hanging(() => woken);
    const { accepted } = await client.base(definition, "a", { id: "1" });
    await cloud.clock.sleep(silentMsMax + 1_000);
    expect(await accepted.status()).toMatchObject({ phase: "running", failures: 1, steps: 1 });
    wake();
    await cloud.clock.sleep(1_000);
    expect(await accepted.status()).toMatchObject({ phase: "running", steps: 1 });
    await client.baseRunner({ handlers: [definition], ...caughtUp });
    expect(await accepted.result()).toBe("a");
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(accounts).find(({ id }) => id === "a")?.amount).toBe(2);
});

test("one that makes a step now and then is not silent, however long it takes", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const slow = defineBase("slow", { silentMsMax }, async (base, _: null) => {
      for (let n = 0; n < 5; n += 1) {
        await base.step("step", () => Promise.resolve(null));
        await cloud.clock.sleep(silentMsMax - 5_000);
      }
    });
    const { accepted } = await client.base(slow, null, { id: "1" });
    await accepted.result({ deadlineMs: 600_000 });
    expect(await accepted.status()).toMatchObject({ failures: 0, steps: 5 });
  });
});

test("one whose stores refuse its step for longer is not silent, and goes on", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const waits = defineBase("waits", { silentMsMax }, async (base, id: string) => {
      await base.step("one", async (tx) => tx.put(accounts, { id, amount: 1 }));
      cloud.refuseCalls("dynamodb", 3 * silentMsMax);
      await base.step("two", async (tx) => {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, amount: (row?.amount ?? 0) + 1 });
      });
    });
    const { accepted } = await client.base(waits, "a", { id: "1" });
    await cloud.clock.sleep(4 * silentMsMax);
    await accepted.result();
    expect(await accepted.status()).toMatchObject({ failures: 0, steps: 2 });
  });
  expect(await cloud.settled()).toBe(true);
  expect(cloud.rows(accounts).find(({ id }) => id === "a")?.amount).toBe(2);
});
