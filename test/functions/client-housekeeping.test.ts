/**
 * Clients that keep house where no function does, in virtual time: what one of them leaves is
 * installed, tombstones go when they are due and no earlier, and two never do the same work.
 */
import { setImmediate } from "node:timers/promises";
import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { HouseTurn } from "../../core/ports.ts";
import { housePauseMs, TurnWatch } from "../../functions/housekeeping/by-clients/turn-watch.ts";
import type { EngineEvent } from "../../engine/types.ts";
import { createTestCloud, type TestCloud, type TestClientOptions } from "../../testing/index.ts";
import { defineTable } from "../../sdk/index.ts";

const rows = defineTable<{ n: number }, { id: string }>("rows", { key: "id" });
const minuteMs = 60_000;

function cloudOf(seed: number, options: Parameters<typeof createTestCloud>[0] = {}) {
  return createTestCloud({
    ...{ seed, tables: [rows], tablesOnly: true, housekeeping: false },
    ...options,
  });
}

/** A keeper, connected, and how many turns it has ended, or not. */
async function keeperIn(cloud: TestCloud, name: string, options: TestClientOptions = {}) {
  const kept: number[] = [];
  const failed: unknown[] = [];
  const onEvent = (event: EngineEvent): void => {
    if (event.kind === "house-kept") kept.push(cloud.clock.nowMs());
    if (event.kind === "housekeeping-failed") failed.push(event.cause);
  };
  const process = cloud.startProcess(name, { housekeeping: true, onEvent, ...options });
  await cloud.run(() => process.client.snapshot((tx) => tx.get(rows, "none")));
  return { process, kept, failed };
}

async function put(cloud: TestCloud, id: string, n: number): Promise<number> {
  const app = cloud.createClient("app");
  const { receipt } = await cloud.run(() =>
    app.transact(async (tx) => {
      tx.put(rows, { id, n });
    }),
  );
  return receipt.commitTimestamp ?? Infinity;
}

function watermark(cloud: TestCloud) {
  const { deployment, world } = cloud;
  const { control } = deployment.portsOf(world.startProcess("looking", { exact: true }), {
    calm: true,
  });
  return cloud.run(async () => (await control.readWatermark(deployment.shard))?.timestamp ?? 0);
}

/** Puts a row and dies with the commit in the log and nowhere else. */
async function putAndDie(cloud: TestCloud, id: string): Promise<void> {
  const app = cloud.startProcess("dying", {
    onEvent: ({ kind }) => {
      if (kind === "certified") app.crash();
    },
  });
  const crashed = new Promise<void>((ended) => {
    app.onCrash(ended);
  });
  await cloud.run(async () => {
    void app.client.transact(async (tx) => {
      tx.put(rows, { id, n: 1 });
    });
    await crashed;
  });
}

test("what a client left is installed by another, and the watermark rises", async () => {
  const cloud = await cloudOf(1);
  const timestamp = await put(cloud, "a", 1);
  await cloud.advance(5 * minuteMs);
  expect(await watermark(cloud)).toBeLessThan(timestamp);
  await putAndDie(cloud, "left");
  expect(cloud.rows(rows)).toHaveLength(1);
  const { kept, failed } = await keeperIn(cloud, "keeper");
  await cloud.advance(minuteMs);
  expect(cloud.rows(rows)).toHaveLength(2);
  expect(await watermark(cloud)).toBeGreaterThan(timestamp);
  expect(kept.length).toBeGreaterThan(0);
  expect(failed).toEqual([]);
});

test("many installs at once are no leak that Node would warn the application of", async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on("warning", listen);
  const cloud = await cloudOf(12);
  for (let i = 0; i < 24; i += 1) await putAndDie(cloud, `left ${i.toString()}`);
  await keeperIn(cloud, "keeper");
  await cloud.advance(minuteMs);
  expect(cloud.rows(rows)).toHaveLength(24);
  // Node tells its listeners in a later turn.
  await setImmediate();
  process.off("warning", listen);
  expect(warnings).toEqual([]);
});

test("a client without the option keeps no house, nor one that is closed", async () => {
  const cloud = await cloudOf(2);
  const { process, kept } = await keeperIn(cloud, "keeper");
  await cloud.advance(minuteMs);
  await cloud.run(() => process.client.close());
  const before = kept.length;
  const timestamp = await put(cloud, "a", 1);
  await cloud.advance(10 * minuteMs);
  expect(kept).toHaveLength(before);
  expect(await watermark(cloud)).toBeLessThan(timestamp);
});

test("clients take turns: never two at once, and nobody twice while another waits", async () => {
  const cloud = await cloudOf(3);
  const keepers = [
    await keeperIn(cloud, "one"),
    await keeperIn(cloud, "two"),
    await keeperIn(cloud, "three"),
  ];
  await cloud.advance(30 * minuteMs);
  const turns = keepers
    .flatMap(({ kept }, who) => kept.map((atMs) => ({ who, atMs })))
    .sort((a, b) => a.atMs - b.atMs);
  expect(turns.length).toBeGreaterThan(60);
  for (const [at, { who, atMs }] of turns.entries()) {
    const before = turns[at - 1];
    if (before === undefined) continue;
    expect(before.who).not.toBe(who);
    // Each began a pause after the one before it: work is done once.
    expect(atMs - before.atMs).toBeGreaterThan(housePauseMs - 1_000);
  }
  for (const { kept, failed } of keepers) {
    expect(kept.length).toBeGreaterThan(turns.length / 6);
    expect(failed).toEqual([]);
  }
});

test("who dies or sleeps within its turn holds up the others for a while only", async () => {
  const cloud = await cloudOf(4);
  const first = await keeperIn(cloud, "first");
  const second = await keeperIn(cloud, "second");
  await cloud.advance(minuteMs);
  const { control } = cloud.deployment.portsOf(cloud.world.startProcess("sly", { exact: true }), {
    calm: true,
  });
  // A turn that was taken, and whose holder is heard of no more.
  await cloud.run(async () => {
    const turn = (await control.houseTurn())?.turn ?? 0;
    expect(await control.putHouseTurn({ turn: turn + 1, isOver: false }, turn)).toBe(true);
    // Nobody takes what was taken meanwhile.
    expect(await control.putHouseTurn({ turn: turn + 1, isOver: false }, turn)).toBe(false);
  });
  const before = first.kept.length + second.kept.length;
  await cloud.advance(2 * limits.houseTurnMsMax - 1_000);
  expect(first.kept.length + second.kept.length).toBe(before);
  await cloud.advance(2 * minuteMs);
  expect(first.kept.length + second.kept.length).toBeGreaterThan(before);
});

test("I6: tombstones go when they are due, and not by a client's own clock", async () => {
  const cloud = await cloudOf(5);
  // One whose clock is ahead by an hour would take each sample for an old one.
  const hourMs = 60 * minuteMs;
  const keepers = [
    await keeperIn(cloud, "right"),
    await keeperIn(cloud, "ahead", { clockOffsetMs: hourMs }),
    await keeperIn(cloud, "behind", { clockOffsetMs: -hourMs }),
  ];
  await put(cloud, "gone", 1);
  const app = cloud.createClient("app");
  await cloud.run(() =>
    app.transact(async (tx) => {
      tx.delete(rows, { id: "gone" });
    }),
  );
  const stored = () =>
    cloud.run(() =>
      cloud.dynamodb.send(new ScanCommand({ TableName: rows.name })).then(({ Count }) => Count),
    );
  await cloud.advance(limits.tombstoneGraceMs - minuteMs);
  expect(await stored()).toBe(1);
  await cloud.advance(10 * minuteMs);
  expect(await stored()).toBe(0);
  for (const { failed } of keepers) expect(failed).toEqual([]);
});

describe("a turn", () => {
  const watchOf = (luck: number) => new TurnWatch(() => luck);
  const over = (turn: number): HouseTurn => ({ turn, isOver: true });

  test("is free where there was none", () => {
    expect(watchOf(0).restMs(undefined, 5)).toBe(0);
  });

  test.each([0, 0.5, 0.999])("is taken a pause after the one before was first seen", (luck) => {
    const watch = watchOf(luck);
    const pauseMs = housePauseMs * (1 + luck / 2);
    expect(watch.restMs(over(1), 1_000)).toBe(pauseMs);
    expect(watch.restMs(over(1), 1_001)).toBe(pauseMs - 1);
    expect(watch.restMs(over(1), 1_000 + pauseMs)).toBe(0);
    expect(watch.restMs(over(2), 1_000 + pauseMs)).toBe(pauseMs);
  });

  test("of one's own is followed by another's first", () => {
    const watch = watchOf(0.999);
    watch.took(3);
    expect(watch.restMs(over(3), 0)).toBeGreaterThan(housePauseMs * 2.9);
  });

  test("that is under way is left alone for longer than its holder may work", () => {
    const underWay = { turn: 1, isOver: false };
    expect(watchOf(0).restMs(underWay, 0)).toBeGreaterThan(limits.houseTurnMsMax);
  });
});
