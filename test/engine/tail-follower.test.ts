/**
 * The follower's promises about refreshes and verdicts (docs/protocol.md §4), over a log in memory.
 */
import { expect, test } from "vitest";
import type { ShardId, Timestamp, Verdict } from "../../core/types.ts";
import { TailFollower } from "../../engine/log/tail-follower.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;

function follow(log: MemoryLog): TailFollower {
  return new TailFollower(followerPorts(log), { shard, hashes: sampleHashes });
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("a refresh folds every block put before it began, over any number of pages", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 10; i += 1) log.append(i);
  const follower = follow(log);
  await follower.refresh();
  expect(follower.tail.position).toBe(10);
  log.append(11);
  await follower.refresh();
  expect(follower.tail.newest).toBe(1_011);
});

test("a refresh that comes while others are under way sees what they may have missed", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  await follower.refresh();
  let open: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    open = resolve;
  });
  log.hold = () => held;
  const early = [follower.refresh(), follower.refresh()];
  await turn();
  log.append(1);
  const before = log.reads;
  const late = Array.from({ length: 20 }, () => follower.refresh());
  await turn();
  expect(log.reads).toBe(before);
  open();
  log.hold = undefined;
  await Promise.all(early);
  await Promise.all(late);
  expect(follower.tail.position).toBe(1);
  // Twenty wishes share one call.
  expect(log.reads).toBe(before + 1);
});

test("a failed refresh fails those who share it, and no later one", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  await follower.refresh();
  log.failures = 1;
  await expect(follower.refresh()).rejects.toThrow("scripted");
  log.append(1);
  await follower.refresh();
  expect(follower.tail.position).toBe(1);
});

test("blocks that expired unread make it begin again from the watermark", async () => {
  const log = new MemoryLog();
  log.append(1);
  const follower = follow(log);
  await follower.refresh();
  for (let i = 2; i <= 6; i += 1) log.append(i);
  log.expiredThrough = 4;
  log.moveWatermark(4);
  await follower.refresh();
  expect(follower.tail.floor).toBe(1_004);
  expect(follower.tail.position).toBe(6);
});

test("a block that is missing right behind the watermark is corrupt data", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 4; i += 1) log.append(i);
  log.expiredThrough = 2;
  await expect(follow(log).refresh()).rejects.toMatchObject({ code: "corrupt-data" });
});

test("the tail is kept back to the oldest read timestamp in use, and no further", async () => {
  const log = new MemoryLog();
  const follower = new TailFollower(
    followerPorts(log),
    { shard, hashes: sampleHashes },
    { watermarkMs: 0, smallEntries: 0 },
  );
  await follower.refresh();
  const user = { readTimestamp: 1_002 as Timestamp };
  follower.enter(user);
  for (let i = 1; i <= 5; i += 1) log.append(i);
  log.moveWatermark(5);
  for (let i = 0; i < 3; i += 1) {
    await follower.refresh();
    await turn();
  }
  expect(follower.tail.floor).toBe(1_002);
  follower.leave(user);
  await follower.refresh();
  expect(follower.tail.floor).toBe(1_005);
});

test("a small tail is kept, at the price of no look at the watermark", async () => {
  const log = new MemoryLog();
  const follower = new TailFollower(
    followerPorts(log),
    { shard, hashes: sampleHashes },
    { watermarkMs: 0, smallEntries: 6 },
  );
  await follower.refresh();
  const moved = async (to: number): Promise<number> => {
    log.append(to);
    log.moveWatermark(to);
    await follower.refresh();
    await turn();
    await follower.refresh();
    return follower.tail.floor;
  };
  expect([await moved(1), await moved(2), await moved(3)]).toEqual([1_000, 1_000, 1_000]);
  expect(await moved(4)).toBe(1_004);
});

test("all who wait for one id get its verdict, others go on waiting", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  const ended = new AbortController();
  const { signal } = ended;
  const got: Verdict["kind"][] = [];
  const waiting = [1, 1, 2].map((n) =>
    follower.awaitVerdict(idOf(n), signal).then(({ kind }) => got.push(kind)),
  );
  for (let i = 0; i < 10; i += 1) await turn();
  log.append(7);
  log.append(1);
  await Promise.all(waiting.slice(0, 2));
  expect(got).toEqual(["aborted", "aborted"]);
  ended.abort(new Error("enough"));
  await expect(waiting[2]).rejects.toThrow("enough");
});

test("a stale answer ends a wait; a decision already known is told at once", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  await follower.refresh();
  const { signal } = new AbortController();
  const first = follower.awaitVerdict(idOf(3), signal);
  log.put([{ id: 3, stale: true }]);
  expect((await first).kind).toBe("stale");
  const second = follower.awaitVerdict(idOf(3), signal);
  log.append(3);
  expect((await second).kind).toBe("aborted");
  const reads = log.reads;
  expect((await follower.awaitVerdict(idOf(3), signal)).kind).toBe("aborted");
  expect(log.reads).toBe(reads);
});

test("polling goes on over failures of the log, and ends when nobody waits any more", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  await follower.refresh();
  log.failures = 5;
  const { signal } = new AbortController();
  const waiting = follower.awaitVerdict(idOf(1), signal);
  for (let i = 0; i < 20; i += 1) await turn();
  log.append(1);
  await waiting;
  for (let i = 0; i < 5; i += 1) await turn();
  const reads = log.reads;
  for (let i = 0; i < 20; i += 1) await turn();
  expect(log.reads).toBe(reads);
});

test("an aborted wait rejects with the signal's reason and leaves nothing behind", async () => {
  const log = new MemoryLog();
  const follower = follow(log);
  await follower.refresh();
  const ended = new AbortController();
  const waiting = follower.awaitVerdict(idOf(1), ended.signal);
  ended.abort(new Error("left"));
  await expect(waiting).rejects.toThrow("left");
  await expect(follower.awaitVerdict(idOf(1), ended.signal)).rejects.toThrow("left");
  log.append(1);
  await follower.refresh();
  expect(follower.tail.decision(idOf(1))?.kind).toBe("aborted");
});

test("waitInstalled ends when its time is up", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 3; i += 1) log.append(i);
  const follower = new TailFollower(followerPorts(log), { shard, hashes: sampleHashes });
  await follower.refresh();
  expect(await follower.waitInstalled(1_003 as Timestamp, { waitMs: 100 })).toBe(false);
});

test("waitInstalled ends when the watermark has come", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 3; i += 1) log.append(i);
  const follower = new TailFollower(followerPorts(log), { shard, hashes: sampleHashes });
  await follower.refresh();
  const waiting = follower.waitInstalled(1_003 as Timestamp, { waitMs: 1e9 });
  for (let i = 0; i < 5; i += 1) await turn();
  log.moveWatermark(3);
  expect(await waiting).toBe(true);
});

test("waitInstalled loses its time once, while replay stands still", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 3; i += 1) log.append(i);
  const ports = followerPorts(log);
  const follower = new TailFollower(ports, { shard, hashes: sampleHashes });
  await follower.refresh();
  const waited = async (number: number): Promise<[boolean, boolean]> => {
    const beganMs = ports.clock.monotonicMs();
    const found = await follower.waitInstalled((1_000 + number) as Timestamp, { waitMs: 100 });
    return [found, ports.clock.monotonicMs() - beganMs >= 100];
  };
  expect(await waited(2)).toEqual([false, true]);
  expect(await waited(3)).toEqual([false, false]);
  log.moveWatermark(1);
  expect(await waited(2)).toEqual([false, false]);
  log.moveWatermark(2);
  await follower.readWatermark();
  expect(await waited(3)).toEqual([false, true]);
  log.moveWatermark(3);
  expect(await waited(3)).toEqual([true, false]);
});

test("a tail of too many entries reads on when replay has installed some of them", async () => {
  const log = new MemoryLog();
  log.pageBlocksMax = 3;
  const entriesMax = 12;
  const follower = new TailFollower(
    followerPorts(log),
    { shard, hashes: sampleHashes },
    { entriesMax },
  );
  // A block with one verdict each: two entries.
  for (let i = 1; i <= 30; i += 1) log.append(i);
  const refused: unknown = await follower.refresh().catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "unavailable", retryable: true });
  expect((refused as Error).message).toContain("tailEntriesMax of 12");
  // What it has is whole, and at most a page above the limit.
  expect(follower.tail.position).toBe(6);
  log.moveWatermark(3);
  await expect(follower.refresh()).rejects.toMatchObject({ code: "unavailable" });
  expect(follower.tail).toMatchObject({ position: 9, floor: 1_003, entries: 12 });
  // Replay has overtaken it.
  log.moveWatermark(28);
  await follower.refresh();
  expect(follower.tail).toMatchObject({ position: 30, floor: 1_028, entries: 4 });
});

test("a tail of too many entries lets go of what is installed, whoever reads there", async () => {
  const log = new MemoryLog();
  const follower = new TailFollower(
    followerPorts(log),
    { shard, hashes: sampleHashes },
    { entriesMax: 12 },
  );
  await follower.refresh();
  follower.enter({ readTimestamp: follower.tail.newest });
  for (let i = 1; i <= 5; i += 1) log.append(i);
  log.moveWatermark(4);
  await follower.refresh();
  await follower.readWatermark();
  await follower.refresh();
  expect(follower.tail.floor).toBe(1_000);
  for (let i = 6; i <= 8; i += 1) log.append(i);
  await follower.refresh();
  log.append(9);
  await follower.refresh();
  expect(follower.tail).toMatchObject({ position: 9, floor: 1_004 });
});

test("refreshes side by side make room, and each sees what it promises", async () => {
  const log = new MemoryLog();
  const follower = new TailFollower(
    followerPorts(log),
    { shard, hashes: sampleHashes },
    { entriesMax: 6 },
  );
  for (let i = 1; i <= 40; i += 1) {
    log.append(2 * i - 1);
    log.append(2 * i);
    if (i % 4 === 0) log.moveWatermark(2 * i - 1);
    const all = await Promise.allSettled([follower.refresh(), follower.refresh()]);
    for (const each of all) {
      if (each.status === "fulfilled") expect(follower.tail.position).toBe(2 * i);
      else expect(each.reason).toMatchObject({ code: "unavailable" });
    }
    expect(follower.tail.entries).toBeLessThanOrEqual(6 + 2 * 2 * log.pageBlocksMax);
  }
  log.moveWatermark(80);
  await follower.refresh();
  expect(follower.tail.position).toBe(80);
});
