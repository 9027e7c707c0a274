/** A commit's life: made, started once, over. */
import { expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { ShardId, Timestamp } from "../../core/types.ts";
import { CommitUnderWay } from "../../engine/committing/commit-under-way.ts";
import { ShardSession } from "../../engine/shard-session.ts";
import { WriteBuffer } from "../../engine/attempts/write-buffer.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";

function newCommit(log: MemoryLog): CommitUnderWay {
  const ports = followerPorts(log);
  const session = new ShardSession(
    ports,
    { shard: "shardId-000000000000" as ShardId, hashes: sampleHashes },
    {
      registry: registryOf([]),
      onHelped: () => undefined,
    },
  );
  const services = { ports, session, freshMs: 100, emit: undefined, background: new Set<never>() };
  return new CommitUnderWay(services, {
    id: idOf(1),
    proof: new Uint8Array(16),
    isolation: "serializable",
    reads: new TransactionReads(1_000 as Timestamp),
    writes: new WriteBuffer(sampleHashes),
  });
}

test("asks for nothing before it is started, and is followed only then", async () => {
  const log = new MemoryLog();
  const commit = newCommit(log);
  expect(() => commit.decided).toThrow(InvariantViolation);
  const { signal } = new AbortController();
  await expect(commit.follow(0, signal)).rejects.toThrow(InvariantViolation);
  expect(log.reads).toBe(0);
  expect(commit.isOver).toBe(false);
});

test("starts once, and is over when it is given up or has ended", async () => {
  const log = new MemoryLog();
  log.hold = () => new Promise(setImmediate);
  const commit = newCommit(log);
  commit.start();
  expect(() => {
    commit.start();
  }).toThrow(InvariantViolation);
  expect(commit.isOver).toBe(false);
  commit.giveUp(new Error("nobody waits"));
  expect(commit.isOver).toBe(true);
  await commit.decided;
  expect(commit.verdict).toEqual({ kind: "not-committed" });
  expect(await commit.installed).toBe(false);
});
