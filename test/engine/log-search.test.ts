/** Search below what a tail holds, against the whole log (docs/protocol.md §6, outcome). */
import fc from "fast-check";
import { expect, test } from "vitest";
import { SnapshotTooOldError } from "../../core/errors.ts";
import type { LogPosition, ShardId, Timestamp } from "../../core/types.ts";
import { blocksAbove } from "../../engine/log/log-search.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { MemoryLog } from "./memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;

async function found(log: MemoryLog, above: number, through: number): Promise<number[]> {
  const positions: number[] = [];
  const range = {
    above: above as Timestamp,
    through: through as LogPosition,
    hashes: sampleHashes,
    call: {},
  };
  for await (const block of blocksAbove(log.port, shard, range)) positions.push(block.position);
  return positions;
}

test("I3: gives every block that may hold a later decision, without a gap", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 30 }),
      fc.nat({ max: 60 }),
      fc.nat({ max: 30 }),
      fc.nat({ max: 30 }),
      async (counts, offset, cut, expired) => {
        const log = new MemoryLog();
        let id = 0;
        for (const count of counts) {
          log.append(
            ...Array.from({ length: count }, () => {
              id += 1;
              return id;
            }),
          );
        }
        const through = Math.max(0, counts.length - cut);
        log.expiredThrough = Math.min(expired, counts.length);
        const above = 1_000 + offset;
        const wanted = log.blocks.filter(
          (stored) =>
            stored.position <= through &&
            decodeBlock(stored, sampleHashes).throughTimestamp > above,
        );
        const lost = wanted.some(({ position }) => position <= log.expiredThrough);
        try {
          const positions = await found(log, above, through);
          expect(lost).toBe(false);
          for (const { position } of wanted) expect(positions).toContain(position);
          expect(positions).toEqual(positions.map((_, i) => (positions[0] ?? 0) + i));
        } catch (error) {
          if (!(error instanceof SnapshotTooOldError)) throw error;
          expect(log.expiredThrough).toBeGreaterThan(0);
        }
      },
    ),
  );
});

test("says that the log does not reach back when every block in question has expired", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 4; i += 1) log.append(i);
  log.expiredThrough = 4;
  await expect(found(log, 1_002, 4)).rejects.toBeInstanceOf(SnapshotTooOldError);
});

test("reads few blocks of a long log", async () => {
  const log = new MemoryLog();
  for (let i = 1; i <= 500; i += 1) log.append(i);
  let looks = 0;
  const { port } = log;
  const counting = {
    ...port,
    readAt: (...request: Parameters<typeof port.readAt>) => {
      looks += 1;
      return port.readAt(...request);
    },
  };
  const range = {
    above: 1_498 as Timestamp,
    through: 500 as LogPosition,
    hashes: sampleHashes,
    call: {},
  };
  const positions: number[] = [];
  for await (const block of blocksAbove(counting, shard, range)) positions.push(block.position);
  expect(positions).toEqual([499, 500]);
  expect(looks).toBeLessThan(12);
});

test("a block that does not decode is corrupt data", () => {
  expect(() =>
    decodeBlock({ position: 1 as LogPosition, bytes: Uint8Array.of(1, 2) }, sampleHashes),
  ).toThrow(expect.objectContaining({ code: "corrupt-data" }));
});
