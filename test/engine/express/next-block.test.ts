import { expect, test } from "vitest";
import type { LogPosition, ShardId } from "../../../core/types.ts";
import { awaitNextBlock } from "../../../engine/express/next-block.ts";
import { VirtualClock } from "../../embedded/fixtures/memory-stream.ts";

const shard = "shard-0" as ShardId;
const getMs = 5;

/** A tail at position 3 of a log that goes on at `comesMs`, and whose reads take five ms. */
function scene({ comesMs = Infinity, failing = false } = {}) {
  const clock = new VirtualClock();
  const beganMs = clock.monotonicMs();
  const nowMs = (): number => clock.monotonicMs() - beganMs;
  const asked: number[] = [];
  const follower = {
    tail: { position: 3 },
    consumption: { readUnits: 0, writeUnits: 0, calls: 0 },
    adopted: [] as number[],
    adopt({ position }: { readonly position: number }) {
      this.adopted.push(nowMs());
      if (position === this.tail.position + 1) this.tail.position = position;
    },
  };
  const readAt = async (_: ShardId, position: LogPosition) => {
    asked.push(position);
    const isThere = nowMs() >= comesMs;
    await clock.sleep(getMs);
    if (failing) throw new Error("throttled");
    return isThere ? { position, bytes: new Uint8Array() } : undefined;
  };
  const parts = { ports: { clock, log: { readAt } }, shard, follower };
  const waited = awaitNextBlock(parts as unknown as Parameters<typeof awaitNextBlock>[0], {
    ...{ forMs: 20, everyMs: 2 },
  });
  return { clock, nowMs, asked, follower, waited };
}

test("adopts the block as soon as one of its looks has seen it, and goes on", async () => {
  const { nowMs, asked, follower, waited } = scene({ comesMs: 7 });
  await waited;
  expect(nowMs()).toBe(8 + getMs);
  expect(follower.tail.position).toBe(4);
  expect(new Set(asked)).toEqual(new Set([4]));
});

test("goes on when its time is over; a look that is late still brings its block", async () => {
  const { clock, nowMs, follower, waited } = scene({ comesMs: 18 });
  await waited;
  expect(nowMs()).toBe(20);
  expect(follower.tail.position).toBe(3);
  await clock.sleep(getMs);
  expect(follower.tail.position).toBe(4);
});

test("what cannot be read is no block; it asks for no more at once than it may", async () => {
  const { nowMs, asked, follower, waited } = scene({ failing: true });
  await waited;
  expect(nowMs()).toBe(20);
  expect(follower.adopted).toEqual([]);
  expect(asked).toHaveLength(10);
});

test("does not wait for what another reader has folded meanwhile", async () => {
  const { nowMs, follower, waited } = scene();
  follower.tail.position = 4;
  await waited;
  expect(nowMs()).toBeLessThanOrEqual(2);
});
