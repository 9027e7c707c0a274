/** Replay of a log that begins behind a fork: when it begins, and what is its own to install. */
import { expect, test } from "vitest";
import { CorruptDataError } from "../../core/errors.ts";
import { KeyHasher } from "../../core/key-hash.ts";
import type { Ports } from "../../core/ports.ts";
import { equalRanges, ShardMap, type ShardEntry } from "../../core/shard-map.ts";
import type {
  CommittedVerdict,
  KeyHash,
  LogPosition,
  ShardId,
  ShardNumber,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../../core/types.ts";
import { isPastInstalled, withinRange } from "../../functions/replay/forked-log.ts";
import type { Commit } from "../../engine/installing/payload-writes.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";

const [first, child] = [0, 1] as unknown as readonly [ShardNumber, ShardNumber];
const position = (at: number) => at as LogPosition;
const half = 2 ** 31;
const [root = 0] = equalRanges(1);
const made: ShardEntry = { number: first, id: "first" as ShardId, from: root };
const split = new ShardMap([made]).forkedBy(
  { shard: child, from: half },
  { of: first, at: position(9) },
);
const hashesOf = (number: ShardNumber) =>
  new KeyHashes(new KeyHasher(sampleHashSecret), {
    shard: number,
    lineage: split.lineageOf(number),
  });

function portsWith(map: ShardMap | undefined, parentAt: number): Pick<Ports, "control"> {
  const watermark = { position: position(parentAt), timestamp: 1 as Timestamp, cursor: undefined };
  const control = {
    shardMap: () => Promise.resolve(map),
    readWatermark: () => Promise.resolve(watermark),
  };
  return { control: control as unknown as Ports["control"] };
}

test.each([
  ["waits while the other's watermark is below the fork", 8, 3, false],
  ["begins once that stands at the fork", 9, 3, true],
  ["asks nobody once it has passed the fork itself", 0, 9, true],
])("%s", async (_, parentAt, place, begins) => {
  const log = { hashes: hashesOf(child), place: { position: position(place) } };
  expect(await isPastInstalled(portsWith(split, parentAt), log, {})).toBe(begins);
});

test("a log of the first hour has no past to wait for", async () => {
  const log = { hashes: hashesOf(first), place: { position: position(0) } };
  expect(await isPastInstalled(portsWith(undefined, 0), log, {})).toBe(true);
});

test("a past that the map does not have is damage, and says so", async () => {
  const log = { hashes: hashesOf(child), place: { position: position(3) } };
  const waits = isPastInstalled(portsWith(undefined, 0), log, {});
  await expect(waits).rejects.toBeInstanceOf(CorruptDataError);
});

/** A row in each half, prepared in one block, and committed by a later one. */
function commitOf(preparedAt: number): Commit {
  const hashes = [1, half + 1].map((high): WriteHashes => {
    const hash = (BigInt(high) << 32n) as KeyHash;
    return { table: 7n as KeyHash, partition: hash, key: hash, sortKey: undefined };
  });
  const verdict: CommittedVerdict = {
    ...{ kind: "committed", id: "0".repeat(32) as TransactionId, timestamp: 5 as Timestamp },
    ...{ placed: 6 as Timestamp, writes: hashes },
    payload: { kind: "prepared", position: position(preparedAt) },
  };
  const writes = ["low", "high"].map((id) => ({
    ...{ table: 0, key: { id: { S: id } } },
    item: { id: { S: id } },
  }));
  return {
    verdict,
    payload: { tables: [{ name: "rows", partitionKey: "id", history: false }], writes },
  };
}

test.each([
  ["the old log, entered behind the fork", first, 9, 12, ["low"]],
  ["the new log", child, 9, 12, ["high"]],
  ["the old log, entered before the fork", first, 5, 8, ["low", "high"]],
  ["the old log, prepared behind the fork", first, 11, 12, ["low", "high"]],
])("of what is open at the fork it installs its own: %s", async (_, of, preparedAt, at, kept) => {
  const own = await withinRange(
    portsWith(split, 0),
    {
      ...{ hashes: hashesOf(of), position: position(at), commit: commitOf(preparedAt) },
      place: { position: position(at - 1), ...(at > 9 ? { forkedAt: position(9) } : {}) },
    },
    {},
  );
  expect(own.payload.writes.map(({ key }) => key["id"])).toEqual(kept.map((S) => ({ S })));
  expect(own.verdict.writes).toHaveLength(kept.length);
});
