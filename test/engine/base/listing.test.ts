/** What is open, where strangers have asked for much: nobody waits for all of it. */
import { expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const nobody = defineBase("nobody", async (base, _: readonly null[]) => {
  await base.step("none", async (tx) => tx.put(accounts, { id: "none", amount: 0 }));
});
const failing = defineBase("failing", { parkAfterMs: 300 }, () =>
  Promise.reject(new Error("not today")),
);
const asked = 2 * limits.baseHeadsAtOnceMax + 5;

test("some at a time are read, and those that are parked first", { timeout: 30_000 }, async () => {
  const cloud = await createTestCloud({ commit: "express", tables });
  await cloud.run(async () => {
    const { client, engine } = clientWith(cloud, (ports) => ports);
    await openAccounts(client);
    for (let n = 0; n < asked; n += 1) {
      await client.requestBase(nobody, [null], { id: n.toString() });
    }
    await cloud.clock.sleep(1_000);
    await client.requestBase(failing, undefined, { id: "parked" });
    const running = { takeOverMs: 100, pollMs: 50, until: "caught-up" } as const;
    await client.baseRunner({ handlers: [failing], ...running });
    const bases = await engine.base();
    const whole = await bases.list();
    expect([whole.all, whole.bases.length]).toEqual([asked + 1, asked + 1]);
    const few = await bases.list({ lookedAtMax: 3 });
    expect(few.bases.map(({ id }) => id).sort()).toEqual(["0", "1", "parked"]);
    const inHaste = await bases.list({ lookMs: 1 });
    expect([inHaste.all, inHaste.bases.length]).toEqual([asked + 1, limits.baseHeadsAtOnceMax]);
    expect(inHaste.bases.some(({ phase }) => phase === "parked")).toBe(true);
  });
});
