/** Which position is the oldest one of a feed, where stream and blocks hold payloads in turns. */
import { expect, test } from "vitest";
import type { ClientPorts } from "../../../core/ports.ts";
import type {
  CommittedVerdict,
  LogPosition,
  SequenceNumber,
  ShardId,
  ShardNumber,
  Timestamp,
  Verdict,
} from "../../../core/types.ts";
import type { Call } from "../../../engine/call.ts";
import { oldestIn } from "../../../engine/changes/change-begin.ts";
import { TailFollower } from "../../../engine/log/tail-follower.ts";
import type { Sessions } from "../../../engine/sessions.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../../schemas/commit-record.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { followerPorts, idOf, MemoryLog } from "../memory-log.ts";

const shard = "shard" as ShardId;
const bytes = Uint8Array.of(1);
const inBlock = { kind: "inline", bytes } as const;
const inStream = (n: number) =>
  ({ kind: "stream", sequenceNumber: n.toString() as SequenceNumber, requestIndex: 0 }) as const;

/** What a block holds: by a record of that number, in itself, prepared, or voted for. */
type Entry = number | "inline" | { prepare: number } | { vote: number };

/** The first block ends at 1,001, and each next one a microsecond later. */
async function oldestOf(
  entries: readonly Entry[],
  { trimmedThrough, ageMs = 0 }: { readonly trimmedThrough: number; readonly ageMs?: number },
): Promise<number> {
  const log = new MemoryLog();
  log.pageBlocksMax = 100;
  for (const [at, entry] of entries.entries()) {
    log.putDecided([(timestamp) => verdictOf(entry, at + 1, timestamp)]);
    if (typeof entry === "object")
      log.oldestOpen = "prepare" in entry ? ((at + 1) as LogPosition) : undefined;
  }
  const ports: ClientPorts = {
    ...followerPorts(log),
    stream: {
      read: (_: unknown, number: SequenceNumber) =>
        Promise.resolve(
          Number(number) <= trimmedThrough
            ? { kind: "trimmed" }
            : { kind: "found", records: [{ sequenceNumber: number, data: recordOf(number) }] },
        ),
    },
  } as unknown as ClientPorts;
  await ports.clock.sleep(ageMs);
  const follower = new TailFollower(ports, { shard, hashes: sampleHashes });
  const session = { shard, number: 0, hashes: sampleHashes, follower };
  const sessions = {
    map: { all: [{ number: 0 as ShardNumber }], get: () => ({}) },
    ...{ isOld: false, of: () => Promise.resolve({ session }) },
  } as unknown as Sessions;
  const call = { signal: new AbortController().signal, options: {} } as unknown as Call;
  return oldestIn(ports, sessions, call);
}

function verdictOf(entry: Entry, at: number, timestamp: Timestamp): Verdict {
  if (typeof entry === "object" && "prepare" in entry) {
    const payload = inStream(entry.prepare);
    return {
      kind: "prepared",
      id: idOf(entry.prepare),
      timestamp,
      checks: [],
      writes: [],
      payload,
    };
  }
  const isVote = typeof entry === "object";
  const own = entry === "inline" ? inBlock : isVote ? undefined : inStream(entry);
  const voted = isVote ? { kind: "prepared", position: entry.vote as LogPosition } : undefined;
  const id = isVote ? idOf(entry.vote) : idOf(typeof entry === "number" ? entry : 100 + at);
  const payload = (own ?? voted) as CommittedVerdict["payload"];
  const stamps = isVote ? { stamps: [] } : {};
  return { kind: "committed", id, timestamp, writes: [], payload, ...stamps };
}

/** The record of that number holds the request of that id. */
function recordOf(number: SequenceNumber): Uint8Array {
  const request = encodeCommitRequest({
    ...{ kind: "commit", id: idOf(Number(number)), isolation: "serializable", checks: [] },
    ...{ checkedTo: 1 as Timestamp, payload: { kind: "inline", bytes } },
  });
  return encodeCommitRecord(sampleHashes.fingerprint, [request]);
}

test("behind every record that is gone, though blocks before it hold their payloads", async () => {
  // The search looks at block 3 first, whose own payload is there: that of block 4 is not.
  const entries = [1, 2, "inline", 4, "inline"] as const;
  expect(await oldestOf(entries, { trimmedThrough: 4 })).toBe(1_004);
});

test("before the first record that is there", async () => {
  const entries = [1, "inline", 3, "inline", 5] as const;
  expect(await oldestOf(entries, { trimmedThrough: 1 })).toBe(1_001);
  expect(await oldestOf(entries, { trimmedThrough: 0 })).toBe(1_000);
});

test("behind a vote for what was prepared by a record that is gone", async () => {
  // Record 2 came before record 3, and is committed behind it.
  const entries = [1, { prepare: 2 }, 3, { vote: 2 }, 5] as const;
  expect(await oldestOf(entries, { trimmedThrough: 2 })).toBe(1_004);
  expect(await oldestOf(entries, { trimmedThrough: 1 })).toBe(1_001);
});

test("at the log's end, where all is so old that it may be gone at any moment", async () => {
  const ageMs = 8 * 24 * 3_600_000;
  expect(await oldestOf(["inline", "inline"], { trimmedThrough: 0, ageMs })).toBe(1_002);
});
