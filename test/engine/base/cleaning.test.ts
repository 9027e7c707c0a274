/** Who cleans up after a BASE transaction, and falls asleep at it. */
import { DeleteItemCommand, ScanCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const recordsTable = "tidemark-test-base";
const runner = { takeOverMs: 500, pollMs: 500, until: "caught-up" } as const;

type Row = Readonly<Record<string, AttributeValue>>;

async function records(cloud: TestCloud): Promise<readonly Row[]> {
  return (await cloud.dynamodb.send(new ScanCommand({ TableName: recordsTable }))).Items ?? [];
}

/** What will have expired one day the store has dropped. */
async function dropExpired(cloud: TestCloud): Promise<void> {
  for (const { pk, sk, expiresAt } of await records(cloud)) {
    if (pk === undefined || sk === undefined || expiresAt === undefined) continue;
    const Key = { pk, sk };
    await cloud.dynamodb.send(new DeleteItemCommand({ TableName: recordsTable, Key }));
  }
}

test.each(["begun", "requested"])(
  "whoever was asleep takes away nothing of one whose id was %s anew",
  async (how) => {
    const cloud = await createTestCloud({ commit: "express", tables });
    const hold = (pauseMs: number) =>
      defineBase("hold", async (base, amount: number) => {
        await base.step("hold", async (tx) => tx.put(accounts, { id: "a", amount }));
        await cloud.clock.sleep(pauseMs);
        await base.step("end", () => Promise.resolve(null));
        return amount;
      });
    await cloud.run(async () => {
      const other = cloud.createClient("other");
      await openAccounts(other);
      for (let atMs = 0; atMs < 80; atMs += 8) {
        const id = atMs.toString();
        const sleeper = cloud.startProcess("sleeper");
        await sleeper.client.snapshot((s) => s.get(accounts, "e"));
        await sleeper.client.base(hold(500), 1, { id });
        await cloud.clock.sleep(515 + atMs);
        sleeper.freeze(undefined, "stand");
        await cloud.clock.sleep(1_000);
        await other.baseRunner({ handlers: [hold(0)], ...runner });
        await cloud.clock.sleep(120_000);
        await dropExpired(cloud);
        const late = cloud.createClient("late");
        if (how === "begun") await late.base(hold(10_000), 2, { id });
        else await late.requestBase(hold(0), 2, { id });
        sleeper.thaw();
        await cloud.clock.sleep(5_000);
        const seen = await other.snapshot((s) => s.get(accounts, "a"));
        expect([atMs, seen?.amount]).not.toEqual([atMs, 2]);
        const own = (await records(cloud)).filter(({ pk }) =>
          [`base#hold/${id}`, `state#hold/${id}`].includes(pk?.S ?? ""),
        );
        expect(own.length).toBeGreaterThan(0);
        for (const row of own) expect(row).not.toHaveProperty("expiresAt");
        sleeper.crash();
        await other.baseRunner({ handlers: [hold(0)], ...runner });
        expect(await other.baseOf(hold(0), id).result()).toBe(2);
      }
    });
  },
  60_000,
);
