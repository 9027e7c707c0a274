/**
 * What is recorded of BASE transactions is a registered table's, and the oracle cannot tell who
 * commits to it: a producer says of an open one that it is over (docs/operations.md, Who can do
 * what). Nothing is done about it; REST cannot (test/functions/api-base.integration.test.ts).
 */
import { expect, test } from "vitest";
import type { Item } from "../../core/types.ts";
import { releasedItem } from "../../engine/base/release.ts";
import { ChangesExpiredError, defineBase } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";
import { accounts, openAccounts, tables } from "../engine/base/transfers.ts";
import { blindCommit, produce, putOf, sealedAt } from "./producer.ts";

type Client = ReturnType<TestCloud["createClient"]>;

async function forge(cloud: TestCloud, client: Client, item: Item): Promise<void> {
  const { receipt } = await client.transact((tx) => {
    tx.put(accounts, { id: "newest", amount: 0 });
    return Promise.resolve();
  });
  const checkedTo = receipt.commitTimestamp ?? 0;
  const { id } = sealedAt(checkedTo);
  const keys = { partitionKey: "pk", sortKey: "sk" };
  const records = { name: "tidemark-test-base", ...keys, history: true };
  produce(cloud, [blindCommit(id, checkedTo, putOf(records, ["pk", "sk"], item))]);
  await cloud.clock.sleep(5_000);
}

test("a producer releases what is open, and others see half of it", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables });
  const two = defineBase("two", async (base, _: null) => {
    await base.step("take", async (tx) => tx.put(accounts, { id: "a", amount: 50 }));
    await cloud.clock.sleep(60_000);
    await base.step("give", async (tx) => tx.put(accounts, { id: "b", amount: 150 }));
  });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await client.base(two, null, { id: "1" });
    const amountOf = (id: string) => client.snapshot((s) => s.get(accounts, id));
    expect(await amountOf("a")).toMatchObject({ amount: 100 });
    await forge(cloud, client, releasedItem({ base: "two/1", phase: "ended", dependsOn: [] }));
    expect(await amountOf("a")).toMatchObject({ amount: 50 });
    expect(await amountOf("b")).toMatchObject({ amount: 100 });
  });
});

test("a release of what never was ends a feed, which an operator moves behind it", async () => {
  const cloud = await createTestCloud({ commit: "stream", tables });
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    await forge(cloud, client, releasedItem({ base: "no/1", phase: "ended", dependsOn: [] }));
    const read = async (): Promise<unknown> => {
      const given: unknown[] = [];
      for await (const change of client.changes({ from: "oldest" })) given.push(change);
      return given;
    };
    await expect(read()).rejects.toThrow(ChangesExpiredError);
  });
});
