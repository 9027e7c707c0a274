/** Many that have ended wait for one that goes on: what it costs to look whether it still does. */
import { expect, test } from "vitest";
import { defineBase, type Client } from "../../../sdk/index.ts";
import { waitsForOpen } from "../../../engine/base/release.ts";
import type { ShownHead } from "../../../engine/base/record.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { clientWith } from "./own-ports.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

/** For runners that release what others have made. */
const nobody = defineBase("nobody", () => Promise.resolve());

/** Looks at the log: each transaction takes one. */
type Looks = { readonly runner: number; readonly waiting: number };

function counting(): { readonly client: Client; readonly looks: () => number } {
  let looks = 0;
  const { client } = clientWith(cloud, ({ log, ...ports }) => ({
    ...ports,
    log: {
      ...log,
      readAfter: (...args) => {
        looks += 1;
        return log.readAfter(...args);
      },
    },
  }));
  return { client, looks: () => looks };
}

/** One that goes on, and so many that have overwritten what it has written, one another's too. */
async function behindOne(count: number, pauseMs: number): Promise<void> {
  const holds = defineBase("holds", async (base, _: null) => {
    await base.step("write", async (tx) => tx.put(accounts, { id: "a", amount: 0 }));
    await cloud.clock.sleep(pauseMs);
  });
  const behind = defineBase("behind", async (base, amount: number) => {
    await base.step("write", async (tx) => tx.put(accounts, { id: "a", amount }));
  });
  const client = cloud.createClient("client");
  await openAccounts(client);
  await client.base(holds, null, { id: "open" });
  for (let n = 1; n <= count; n += 1) await client.base(behind, n, { id: n.toString() });
}

async function costs(count: number): Promise<Looks> {
  cloud = await createTestCloud({ commit: "express", tables });
  return cloud.run(() => costsNow(count));
}

async function costsNow(count: number): Promise<Looks> {
  await behindOne(count, 60_000);
  // Whoever was at them waits no longer, and leaves them to others.
  await cloud.clock.sleep(20_000);
  const runner = counting();
  const stop = new AbortController();
  const running = runner.client.baseRunner({
    ...{ handlers: [nobody], takeOverMs: 1_000, pollMs: 200, signal: stop.signal },
  });
  const waiting = counting();
  const seen = waiting.client.transact((tx) => tx.get(accounts, "a"));
  await cloud.clock.sleep(5_000);
  const counted = { runner: runner.looks(), waiting: waiting.looks() };
  stop.abort(new Error("enough"));
  await running;
  await seen.catch(() => undefined);
  await cloud.clock.sleep(60_000);
  await cloud.createClient("last").baseRunner({ handlers: [nobody], until: "caught-up" });
  const row = await cloud.createClient("reader").transact((tx) => tx.get(accounts, "a"));
  expect(row.result?.amount).toBe(count);
  expect(await cloud.createClient("lister").openBases()).toEqual([]);
  return counted;
}

test("transactions for each of them is not what it takes", async () => {
  const few = await costs(4);
  const many = await costs(16);
  expect(many.runner).toBeLessThan(few.runner + 20);
  expect(many.waiting).toBeLessThan(few.waiting + 20);
});

test("who waits for what is open is found by what all of them say, at whatever distance", () => {
  const head = (phase: ShownHead["phase"], ...dependsOn: readonly string[]) => ({
    phase,
    dependsOn,
  });
  const heads = new Map([
    ["open", head("running")],
    ["next", head("ended", "open")],
    ["far", head("ended", "next", "gone")],
    ["cycle", head("ended", "other")],
    ["other", head("ended", "cycle", "gone")],
    ["behind parked", head("ended", "cycle", "parked")],
    ["alone", head("ended")],
  ]);
  const waits = Array.from(heads.keys()).filter((base) =>
    waitsForOpen(base, { heads, parked: new Set(["parked"]) }),
  );
  expect(waits).toEqual(["open", "next", "far", "behind parked"]);
});
