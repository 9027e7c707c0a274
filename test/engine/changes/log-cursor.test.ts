/** One log of a feed: what follows has expired, or is missing. */
import { expect, test } from "vitest";
import { CorruptDataError, SnapshotTooOldError } from "../../../core/errors.ts";
import type { KeyHash, LogPosition, ShardId, ShardNumber, Timestamp } from "../../../core/types.ts";
import { LogCursor } from "../../../engine/changes/log-cursor.ts";
import { TailFollower } from "../../../engine/log/tail-follower.ts";
import type { ShardSession } from "../../../engine/shard-session.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { followerPorts, idOf, MemoryLog } from "../memory-log.ts";

const shard = "shard" as ShardId;
const dayMs = 24 * 3_600_000;

/** A cursor that has read the two blocks that there are. */
async function cursorAtTwo() {
  const log = new MemoryLog();
  log.append(1);
  log.append(2);
  const ports = followerPorts(log);
  const follower = new TailFollower(ports, { shard, hashes: sampleHashes });
  await follower.refresh();
  const session = { shard, hashes: sampleHashes, follower } as unknown as ShardSession;
  const own = { position: 0 as LogPosition, timestamp: 1_000 as Timestamp };
  const at = { after: 1_000 as Timestamp, own, call: {} };
  const cursor = await LogCursor.begin(ports, session, at);
  expect(await cursor.readPage({})).toBe(true);
  expect(cursor.position).toBe(2);
  return { log, cursor, clock: ports.clock };
}

test("who has slept for days, and misses blocks, is told that they have expired", async () => {
  const { log, cursor, clock } = await cursorAtTwo();
  for (const n of [3, 4, 5]) log.append(n);
  log.expiredThrough = 4;
  await clock.sleep(9 * dayMs);
  await expect(cursor.readPage({})).rejects.toThrow(SnapshotTooOldError);
});

test("who has slept until all has expired is told so, though nothing stands there", async () => {
  const { log, cursor, clock } = await cursorAtTwo();
  log.append(3);
  log.moveWatermark(3);
  log.expiredThrough = 3;
  await clock.sleep(9 * dayMs);
  await expect(cursor.readPage({})).rejects.toThrow(SnapshotTooOldError);
});

test("who has slept beside a quiet log has missed nothing", async () => {
  const { log, cursor, clock } = await cursorAtTwo();
  log.moveWatermark(2);
  log.expiredThrough = 2;
  await clock.sleep(9 * dayMs);
  expect(await cursor.readPage({})).toBe(true);
  log.append(3);
  expect(await cursor.readPage({})).toBe(true);
  expect(cursor.position).toBe(3);
});

test("a block that is missing and cannot have expired is damage", async () => {
  const { log, cursor, clock } = await cursorAtTwo();
  for (const n of [3, 4]) log.append(n);
  log.expiredThrough = 3;
  await clock.sleep(7 * dayMs);
  await expect(cursor.readPage({})).rejects.toThrow(CorruptDataError);
});

test.each([
  ["and the block that has decided it is there", []],
  ["and the block that has decided it has expired before its own", [2]],
])("what a later header names as open holds nothing up once it is decided, %s", async (_, gone) => {
  const log = new MemoryLog();
  const from = 1_000 as Timestamp;
  const parts = [0, 1].map((number) => ({ shard: number as ShardNumber, from }));
  const payload = { kind: "inline", bytes: new Uint8Array(1) } as const;
  log.putDecided([
    (timestamp) => ({
      ...{ kind: "prepared", id: idOf(1), timestamp, checks: [5n as KeyHash], writes: [] },
      ...{ payload, parts },
    }),
  ]);
  log.oldestOpen = 1 as LogPosition;
  for (const n of [1, 3, 4]) log.append(n);
  for (const position of gone) log.blocks.splice(position - 1, 1);
  const tail = { position: 4, newest: 1_004 };
  const session = { shard, hashes: sampleHashes, follower: { tail } } as unknown as ShardSession;
  const own = { position: 0 as LogPosition, timestamp: 1_000 as Timestamp };
  const at = { after: 1_003 as Timestamp, own, call: {} };
  const cursor = await LogCursor.begin(followerPorts(log), session, at);
  expect(cursor.position).toBe(3);
  expect(await cursor.readPage({})).toBe(true);
  expect(cursor.completeTo).toBe(1_004);
});
