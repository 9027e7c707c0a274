/** Two processes begin a BASE transaction of one id at the same time. */
import { expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { entriesPerTransfer, openAccounts, tables, transferOf } from "./transfers.ts";

test("with different inputs: all of its steps are of one input, whoever makes them", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const seen: string[] = [];
  let through = 0;
  const spell = defineBase("spell", async (base, word: string) => {
    await base.step("first", () => Promise.resolve(word));
    through += 1;
    // Who is first has begun it; the others are to come by before it goes on.
    await cloud.clock.sleep(through === 1 ? 1_000 : 10);
    await base.step("second", () => {
      seen.push(word);
      return Promise.resolve(word);
    });
    return word;
  });
  await cloud.run(async () => {
    const clients = ["one", "two", "three"].map((name) => cloud.createClient(name));
    const [first] = clients;
    if (first === undefined) throw new Error("no client");
    await openAccounts(first);
    const words = ["one", "two", "three"];
    const begun = await Promise.all(
      clients.map((client, i) => client.base(spell, words[i] ?? "", { id: "1" })),
    );
    const results = await Promise.all(begun.map(({ accepted }) => accepted.result()));
    expect(new Set(results).size).toBe(1);
    // A body may run more than once, but none of another input.
    expect(new Set(seen)).toEqual(new Set(results));
    expect(begun.filter(({ isNew }) => isNew)).toHaveLength(1);
  });
});

test("with one input: both go on, and each step is made once", async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  const transfer = transferOf(cloud, () => 10);
  await cloud.run(async () => {
    const clients = ["one", "two"].map((name) => cloud.createClient(name));
    const [first] = clients;
    if (first === undefined) throw new Error("no client");
    await openAccounts(first);
    const begun = await Promise.all(
      clients.map((client) => client.base(transfer, { from: "a", to: "b" }, { id: "1" })),
    );
    for (const { accepted } of begun) expect(await accepted.result()).toEqual({ left: 99 });
  });
  expect(await cloud.settled()).toBe(true);
  expect([...entriesPerTransfer(cloud)]).toEqual([["1", 2]]);
});
