/** Installs in timestamp order on tables with history, over scripted stores: who waits for whom. */
import { expect, test } from "vitest";
import { retentionDefault } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type { InstallRequest } from "../../core/ports.ts";
import type { TailCommit } from "../../core/tail.ts";
import type {
  CommittedVerdict,
  Item,
  Payload,
  SequenceNumber,
  Timestamp,
  TransactionId,
  Version,
} from "../../core/types.ts";
import {
  Installer,
  type InstallJob,
  type InstallPorts,
} from "../../engine/installing/installer.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const names = { name: "rows", partitionKey: "pk" };

function job(pk: string, timestamp: number): InstallJob {
  const key: Item = { pk: { S: pk } };
  const payload: Payload = {
    tables: [{ ...names, history: true }],
    writes: [{ table: 0, key, item: key }],
  };
  const verdict: CommittedVerdict = {
    kind: "committed",
    id: timestamp.toString(16).padStart(32, "0") as TransactionId,
    timestamp: timestamp as Timestamp,
    writes: [sampleHashes.item(names, key)],
    payload: { kind: "stream", sequenceNumber: "1" as SequenceNumber, requestIndex: 0 },
  };
  return { verdict, payload, signBeforeMs: Number.MAX_SAFE_INTEGER, isOwn: false };
}

/** A store of versions only, without a pause between tries. */
function scriptedPorts(versions: Map<string, number>) {
  const stored = (key: Item): number => versions.get(JSON.stringify(key)) ?? 0;
  const ports = {
    items: {
      get: (_: unknown, key: Item) => {
        const version = stored(key) as Version;
        return Promise.resolve({ item: undefined, version, tombstone: false });
      },
      install: ({ key, version, expects }: InstallRequest) => {
        if (stored(key) !== expects) return Promise.resolve("superseded" as const);
        versions.set(JSON.stringify(key), version);
        return Promise.resolve("installed" as const);
      },
    },
    versions: { save: () => Promise.resolve() },
    clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() },
    random: { next: () => 0, bytes: (length: number) => new Uint8Array(length) },
  };
  return ports as unknown as InstallPorts;
}

test("more installs than places get on although each waits for an earlier commit", async () => {
  const versions = new Map<string, number>();
  const count = limits.installConcurrencyMax + 6;
  const pks = Array.from({ length: count }, (_, i) => `k${i.toString()}`);
  // Their owners have crashed: nobody but these installers will install them.
  const earlier = new Map(
    pks.map((pk) => {
      const left = job(pk, 5);
      return [left.verdict.writes[0]?.key, left] as const;
    }),
  );
  const installer: Installer = new Installer(scriptedPorts(versions), {
    retention: () => Promise.resolve(retentionDefault),
    earlier: {
      installedThrough: () => 0 as Timestamp,
      oldest: (key, { above, below }) => {
        const left = earlier.get(key);
        if (left === undefined || above >= 5 || below <= 5) return undefined;
        return { timestamp: 5 as Timestamp, verdict: left.verdict, write: 0 };
      },
      finish: async ({ verdict }: TailCommit) => {
        const left = earlier.get(verdict.writes[0]?.key);
        if (left !== undefined) await installer.install(left);
      },
    },
  });
  await Promise.all(pks.map((pk) => installer.install(job(pk, 10))));
  expect([...versions.values()]).toEqual(pks.map(() => 10));
});
