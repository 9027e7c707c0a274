/**
 * Which verdicts of the log a process takes for those on its own requests: who goes first at an
 * item depends on it (engine/chaining/courtesy.ts).
 */
import { beforeEach, expect, test } from "vitest";
import type { KeyHash, ShardId, Timestamp, TransactionId, Verdict } from "../../core/types.ts";
import { Chains } from "../../engine/chaining/chains.ts";
import { ShardSession } from "../../engine/shard-session.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";

const key = 1n as KeyHash;
const ours = idOf(1);
const theirs = idOf(2);
let log: MemoryLog;
let session: ShardSession;
let chains: Chains;

beforeEach(() => {
  log = new MemoryLog();
  const ports = followerPorts(log);
  session = new ShardSession(
    ports,
    {
      shard: "shardId-000000000000" as ShardId,
      hashes: sampleHashes,
      onVerdict: (verdict) => {
        chains.fold(verdict);
      },
    },
    {
      registry: registryOf([]),
      onHelped: () => undefined,
    },
  );
  chains = new Chains(ports.clock, session.follower);
});

/** The commit, and an unknown process's request that it has beaten. */
async function commitThatBeatsAnother(id: TransactionId): Promise<void> {
  let committedAt = 0 as Timestamp;
  const commit = (timestamp: Timestamp): Verdict => {
    committedAt = timestamp;
    const writes = [{ key, partition: key, table: 9n as KeyHash, sortKey: undefined }];
    const payload = { kind: "inline", bytes: new Uint8Array() } as const;
    return { kind: "committed", id, timestamp, writes, payload };
  };
  const beaten = (timestamp: Timestamp): Verdict => {
    const reason = { kind: "conflict", check: 0, conflictTimestamp: committedAt } as const;
    return { kind: "aborted", id: idOf(3), timestamp, reason };
  };
  log.putDecided([commit, beaten]);
  await session.follower.refresh();
}

test("a commit on which its callers have given up is still the process's own", async () => {
  chains.foreignTurns.noteSent(ours);
  await commitThatBeatsAnother(ours);
  expect(chains.foreignTurns.isTaken(key)).toBe(true);
});

test("a commit whose outcome somebody here asked for may be another process's", async () => {
  const verdict = session.follower.awaitVerdict(theirs, new AbortController().signal);
  await commitThatBeatsAnother(theirs);
  expect(await verdict).toMatchObject({ kind: "committed" });
  expect(chains.foreignTurns.isTaken(key)).toBe(false);
});
