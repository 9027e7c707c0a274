/** What `outcome` may still do once the log no longer reaches back (docs/protocol.md §6). */
import { expect, test } from "vitest";
import { SnapshotTooOldError } from "../../core/errors.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import { settleOutcome } from "../../engine/outcome.ts";
import { ShardSession } from "../../engine/shard-session.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;

test("sends nothing again for an id that expired blocks may decide", async () => {
  const log = new MemoryLog();
  log.append(1);
  let puts = 0;
  const put: ClientPorts["stream"]["put"] = (_, records) => {
    puts += 1;
    for (let id = 2; id <= 6; id += 1) log.append(id);
    log.expiredThrough = 4;
    log.moveWatermark(4);
    return Promise.resolve(records.map(() => ({ kind: "unknown", cause: "lost" })));
  };
  const random = { next: () => 0, bytes: (count: number) => new Uint8Array(count) };
  const ports = { ...followerPorts(log), random, stream: { put } } as unknown as ClientPorts;
  const session = new ShardSession(
    ports,
    { shard, hashes: sampleHashes },
    { registry: registryOf([]), onHelped: () => undefined },
  );
  const { signal } = new AbortController();
  const asked = { id: idOf(2), signal, call: {}, onSent: () => undefined };
  await session.follower.refresh();
  await expect(settleOutcome(ports, session, asked)).rejects.toBeInstanceOf(SnapshotTooOldError);
  expect(puts).toBe(1);
});
