/**
 * What a reader that helps puts of a log that begins behind a fork (docs/protocol.md §7, Deletes):
 * nothing that the other shard's replay has installed, as its reaper may have taken that away.
 */
import { expect, test } from "vitest";
import { KeyHasher } from "../../core/key-hash.ts";
import { retentionDefault } from "../../core/history.ts";
import type { ClientPorts, InstallRequest } from "../../core/ports.ts";
import { ShardMap } from "../../core/shard-map.ts";
import type { TailCommit } from "../../core/tail.ts";
import type {
  CommittedVerdict,
  Item,
  LogBlock,
  LogPosition,
  ShardId,
  ShardNumber,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { CommitHelper } from "../../engine/installing/commit-helper.ts";
import { InstalledCommits } from "../../engine/installing/installed-commits.ts";
import { Installer } from "../../engine/installing/installer.ts";
import type { ShardSession } from "../../engine/shard-session.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes, sampleHashSecret } from "../../testing/sample-hashes.ts";
import { encodeLogBlock } from "../schemas/encode-log-block.ts";

const [first, child] = [0, 1] as unknown as readonly [ShardNumber, ShardNumber];
/** The fork stands in block 9, which ends at 140. */
const fork = { position: 9 as LogPosition, end: 140 as Timestamp };
const map = new ShardMap([{ number: first, id: "first" as ShardId, from: 0 }]).forkedBy(
  { shard: child, from: 2 ** 31 },
  { of: first, at: fork.position },
);
const names = { name: "rows", partitionKey: "pk" };
const rows: TableDescription = {
  ...{ name: "rows", partitionKey: { name: "pk", type: "S" } },
  ...{ history: true, access: "transactional" },
};
const key: Item = { pk: { S: "x" } };

function commit(at: number, placed?: number): TailCommit {
  const timestamp = at as Timestamp;
  const bytes = encodePayload({
    tables: [{ ...names, history: true }],
    writes: [{ table: 0, key, item: { ...key, n: { N: at.toString() } } }],
  });
  const verdict: CommittedVerdict = {
    ...{ kind: "committed", id: at.toString(16).padStart(32, "0") as TransactionId, timestamp },
    ...(placed === undefined ? {} : { placed: placed as Timestamp }),
    ...{ writes: [sampleHashes.item(names, key)], payload: { kind: "inline", bytes } },
  };
  return {
    timestamp,
    ...(placed === undefined ? {} : { placed: placed as Timestamp }),
    verdict,
    write: 0,
  };
}

const forkBlock: LogBlock = {
  ...{ position: fork.position, previousTimestamp: 130 as Timestamp, throughTimestamp: fork.end },
  ...{ cursor: undefined, arrivalMs: 0, rejectedRecords: 0 },
  verdicts: [
    {
      ...{ kind: "aborted", id: "0".repeat(32) as TransactionId, timestamp: fork.end },
      reason: { kind: "probed" },
    },
  ],
};

type Place = readonly [position: number, timestamp: number];

/** Nothing is stored: what was deleted is reaped. The new log's watermark is below the fork. */
function helperWith({ own, other }: { readonly own: Place; readonly other: Place }) {
  const puts: number[] = [];
  const looked: string[] = [];
  const watermark = ([position, timestamp]: Place) => ({ position, timestamp, cursor: undefined });
  const hashes = new KeyHashes(new KeyHasher(sampleHashSecret), {
    ...{ shard: child, lineage: map.lineageOf(child) },
  });
  let stored = 0;
  const ports = {
    items: {
      get: () => Promise.resolve({ item: undefined, version: stored, tombstone: false }),
      install: ({ version }: InstallRequest) => {
        puts.push(version);
        stored = version;
        return Promise.resolve("installed");
      },
    },
    versions: { save: () => Promise.resolve() },
    control: {
      idempotencyTable: { ...rows, name: "control" },
      shardMap: () => Promise.resolve(map),
      readWatermark: (shard: ShardId) => {
        looked.push(shard);
        return Promise.resolve(watermark(other));
      },
    },
    log: {
      readAt: () => Promise.resolve({ position: fork.position, bytes: encodeLogBlock(forkBlock) }),
    },
    clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() },
    random: { next: () => 0.5 },
  } as unknown as ClientPorts;
  const session = {
    ...{ shard: "shard-001", hashes, installed: new InstalledCommits() },
    follower: { readWatermark: () => Promise.resolve(watermark(own)) },
    installer: new Installer(ports, {
      ...{ earlier: undefined, retention: () => Promise.resolve(retentionDefault) },
    }),
    registry: registryOf([rows]),
  } as unknown as ShardSession;
  return { puts, looked, helper: new CommitHelper(ports, session, () => undefined) };
}

test("nothing that the other shard's watermark has passed", async () => {
  const { puts, looked, helper } = helperWith({ own: [3, 90], other: [6, 120] });
  await helper.finish([commit(110)]);
  expect(puts).toEqual([]);
  expect(looked).toEqual(["first"]);
});

test("what neither of the two watermarks has passed", async () => {
  const { puts, helper } = helperWith({ own: [3, 90], other: [6, 105] });
  await helper.finish([commit(110)]);
  expect(puts).toEqual([110]);
});

test("what stands behind the fork, however far the other shard has come", async () => {
  const { puts, helper } = helperWith({ own: [3, 90], other: [20, 300] });
  await helper.finish([commit(150)]);
  expect(puts).toEqual([150]);
});

test("what was open at the fork and counts below it: each shard installs its own", async () => {
  const { puts, helper } = helperWith({ own: [3, 90], other: [20, 300] });
  await helper.finish([commit(135, 150)]);
  expect(puts).toEqual([135]);
});

test("nobody asks for the other watermark once its own has come to the fork", async () => {
  const { puts, looked, helper } = helperWith({ own: [9, 140], other: [6, 120] });
  await helper.finish([commit(150)]);
  expect([puts, looked]).toEqual([[150], []]);
});
