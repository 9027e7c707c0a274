/** When a runner goes on with what another process has left, whatever the two clocks say. */
import { expect, test } from "vitest";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

const hourMs = 3_600_000;

test.each([
  ["ahead of all others", hourMs, 0],
  ["an hour ahead of the runner's, which is late", 0, -hourMs],
])("who has left it had a clock %s", async (_, offsetMs, runnerMs) => {
  const cloud = await createTestCloud({ commit: "express", tables });
  let runs = 0;
  const two = defineBase("two", async (base) => {
    runs += 1;
    await base.step("one", async (tx) => tx.put(accounts, { id: "a", amount: 1 }));
    await cloud.clock.sleep(3_000);
    await base.step("two", async (tx) => tx.put(accounts, { id: "b", amount: 1 }));
    return "made";
  });
  await cloud.run(async () => {
    await openAccounts(cloud.createClient("set-up"));
    const first = cloud.startProcess("first", { clockOffsetMs: offsetMs });
    const runner = cloud.createClient("runner", { clockOffsetMs: runnerMs });
    const stop = new AbortController();
    const options = { handlers: [two], takeOverMs: 5_000, pollMs: 1_000, signal: stop.signal };
    const running = runner.baseRunner(options);
    // Who is at it is left alone.
    const { accepted } = await first.client.base(two, undefined, { id: "1" });
    expect(await accepted.result()).toBe("made");
    expect(runs).toBe(1);
    await first.client.base(two, undefined, { id: "2" });
    first.crash();
    await cloud.clock.sleep(20_000);
    expect(await runner.baseOf(two, "2").status()).toMatchObject({ phase: "ended", steps: 2 });
    expect(runs).toBe(3);
    stop.abort();
    await running;
  });
});
