/** Items that are kept free for who waits long: whose they are, by whose clock, and until when. */
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../../core/limits.ts";
import type { Clock } from "../../../core/ports.ts";
import { Patience, SeenReservations } from "../../../engine/base/reservations.ts";
import { defineBase } from "../../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { accounts, openAccounts, tables } from "./transfers.ts";

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ commit: "express", tables });
}, 30_000);

/** Writes an item in its first step, and goes on for so long. */
function holds(name: string, pauseMs: number) {
  return defineBase(name, async (base, id: string) => {
    await base.step("write", async (tx) => tx.put(accounts, { id, amount: 0 }));
    await cloud.clock.sleep(pauseMs);
  });
}

/** Who has reserved it, in the row of its lock. */
async function reservers(): Promise<readonly unknown[]> {
  const { Items = [] } = await cloud.dynamodb.send(
    new ScanCommand({ TableName: "tidemark-test-base", ConsistentRead: true }),
  );
  return Items.flatMap(({ reservedBy }) => (reservedBy?.S === undefined ? [] : [reservedBy.S]));
}

/** When the first step of a newcomer to "a" was committed, after one who waits has begun. */
async function newcomerAfterMs(
  waiterClockMs: number,
  isDead: boolean,
  holdsMs = 4_000,
): Promise<number> {
  return cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(holds("holds", holdsMs), "a", { id: "1" });
    const waiter = cloud.startProcess("waiter", { clockOffsetMs: waiterClockMs });
    const waiting = waiter.client.transact({ deadlineMs: 60_000 }, (tx) => tx.get(accounts, "a"));
    waiting.catch(() => undefined);
    await cloud.clock.sleep(1_500);
    if (isDead) waiter.crash();
    const beganMs = cloud.clock.monotonicMs();
    await cloud.createClient("newcomer").base(holds("newcomer", 0), "a", { id: "2" });
    const tookMs = cloud.clock.monotonicMs() - beganMs;
    await accepted.result({ deadlineMs: 60_000 });
    if (!isDead) await waiting;
    return tookMs;
  });
}

describe.each([
  ["right", 0],
  ["a minute slow", -60_000],
  ["a minute fast", 60_000],
])("a reservation by a clock that is %s", (_, offsetMs) => {
  test("bars a newcomer as long as it is renewed", async () => {
    expect(await newcomerAfterMs(offsetMs, false)).toBeGreaterThan(2_000);
  });

  test("bars nobody for longer than it lasts once who waits is dead", async () => {
    expect(await newcomerAfterMs(offsetMs, true)).toBeLessThan(limits.baseReserveMs + 1_000);
  });
});

test("one that is renewed for long bars a newcomer for its patience alone", async () => {
  const tookMs = await newcomerAfterMs(0, false, 30_000);
  expect(tookMs).toBeGreaterThan(limits.baseStepPatienceMs - 1_000);
  expect(tookMs).toBeLessThan(limits.baseStepPatienceMs + 5_000);
});

test("one that waits with a slow clock leaves to another what that has reserved", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(holds("holds", 6_000), "a", { id: "1" });
    const first = cloud.createClient("first").transact((tx) => tx.get(accounts, "a"));
    await cloud.clock.sleep(1_000);
    const before = await reservers();
    expect(before).toHaveLength(1);
    const slow = cloud.startProcess("slow", { clockOffsetMs: -60_000 });
    const second = slow.client.transact((tx) => tx.get(accounts, "a"));
    for (let n = 0; n < 15; n += 1) {
      await cloud.clock.sleep(200);
      expect(await reservers()).toEqual(before);
    }
    await accepted.result();
    await Promise.all([first, second]);
  });
});

test("who writes past one that waits leaves the item reserved for him", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    await openAccounts(client);
    const { accepted } = await client.base(holds("holds", 5_000), "a", { id: "1" });
    const waiting = cloud.createClient("waiter").transact(async (tx) => {
      await tx.get(accounts, "b");
      await tx.get(accounts, "a");
      tx.put(accounts, { id: "b", amount: 2 });
    });
    await cloud.clock.sleep(1_000);
    const before = await reservers();
    expect(before).toHaveLength(2);
    await cloud.createClient("other").transact((tx) => {
      tx.put(accounts, { id: "b", amount: 1 });
      return Promise.resolve();
    });
    expect(await reservers()).toEqual(before);
    await accepted.result();
    await waiting;
    // His own he has taken back with what he has written; "a" he has only read.
    await cloud.clock.sleep(1_000);
    expect((await reservers()).length).toBeLessThan(2);
  });
});

describe("by a clock of one's own", () => {
  const place = { partition: "p", sort: "s" };
  const clocks = (): { clock: Clock; wall: (ms: number) => void; pass: (ms: number) => void } => {
    let [wallMs, monotonicMs] = [1_000_000_000, 0];
    return {
      clock: {
        nowMs: () => wallMs,
        monotonicMs: () => monotonicMs,
      } as unknown as Clock,
      wall: (ms) => (wallMs = ms),
      pass: (ms) => (monotonicMs += ms),
    };
  };
  const marginMs = 2 * limits.clientClockErrorMsMax;

  test.each([
    ["too old by a margin", -marginMs - 1, false],
    ["as old as two clocks may be apart", -marginMs, true],
    ["as new as that", limits.baseReserveMs + marginMs, true],
    ["newer than any clock can say", limits.baseReserveMs + marginMs + 1, false],
  ])("a moment %s", (_, apartMs, stands) => {
    const { clock } = clocks();
    const untilMs = clock.nowMs() + apartMs;
    expect(new SeenReservations(clock).stands(place, { by: "x", untilMs })).toBe(stands);
  });

  test("one is over when it stood unchanged; renewed, or another's, it stands anew", () => {
    const { clock, pass } = clocks();
    const seen = new SeenReservations(clock);
    const one = { by: "x", untilMs: clock.nowMs() };
    expect(seen.stands(place, one)).toBe(true);
    pass(limits.baseReserveMs - 1);
    expect(seen.stands(place, one)).toBe(true);
    pass(1);
    expect(seen.stands(place, one)).toBe(false);
    expect(seen.stands(place, { ...one, untilMs: one.untilMs + 1 })).toBe(true);
    pass(limits.baseReserveMs);
    expect(seen.stands(place, { by: "y", untilMs: one.untilMs + 1 })).toBe(true);
    expect(seen.stands({ ...place, sort: "t" }, one)).toBe(true);
    expect(seen.stands(place, { by: "", untilMs: 0 })).toBe(false);
  });

  test("a step waits for each that reserves anew, and for all of them within a bound", () => {
    const { clock, pass } = clocks();
    const patience = new Patience(clock);
    expect(patience.waitsFor("x")).toBe(true);
    pass(limits.baseStepPatienceMs);
    expect(patience.waitsFor("x")).toBe(false);
    expect(patience.waitsFor("y")).toBe(true);
    pass(limits.baseStepPatienceInAllMs - limits.baseStepPatienceMs - 1);
    expect(patience.waitsFor("z")).toBe(true);
    pass(1);
    expect(patience.waitsFor("z")).toBe(false);
  });
});
