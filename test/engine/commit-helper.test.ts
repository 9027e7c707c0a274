/**
 * What a reader that helps puts, and over what (docs/protocol.md §8, Over nothing); and what it
 * makes of a payload that is gone.
 */
import { describe, expect, test } from "vitest";
import { StoreError, UnavailableError } from "../../core/errors.ts";
import { retentionDefault } from "../../core/history.ts";
import type { ClientPorts, InstallRequest } from "../../core/ports.ts";
import type { TailCommit, UpTo } from "../../core/tail.ts";
import type {
  CommittedVerdict,
  Item,
  PayloadLocation,
  SequenceNumber,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { CommitHelper } from "../../engine/installing/commit-helper.ts";
import { InstalledCommits } from "../../engine/installing/installed-commits.ts";
import { Installer } from "../../engine/installing/installer.ts";
import type { ShardSession } from "../../engine/shard-session.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const names = { name: "rows", partitionKey: "pk" };
const rows: TableDescription = {
  name: "rows",
  partitionKey: { name: "pk", type: "S" },
  history: false,
  access: "transactional",
};
const key: Item = { pk: { S: "x" } };

function commit(at: number, payload?: PayloadLocation): TailCommit {
  const timestamp = at as Timestamp;
  const bytes = encodePayload({
    tables: [{ ...names, history: false }],
    writes: [{ table: 0, key, item: { ...key, n: { N: at.toString() } } }],
  });
  const verdict: CommittedVerdict = {
    kind: "committed",
    id: at.toString(16).padStart(32, "0") as TransactionId,
    timestamp,
    writes: [sampleHashes.item(names, key)],
    payload: payload ?? { kind: "inline", bytes },
  };
  return { timestamp, verdict, write: 0 };
}

type Setting = {
  /** Of the commit at 120. */
  readonly newest?: PayloadLocation;
  /** As each read of it finds it; the last one stays. */
  readonly watermarks?: readonly number[];
  readonly version?: number;
};

/** An item at 80; the log has commits at 100 and 120. No payload is left outside of it. */
function helper(
  beforeFirstPut: (store: { version: number }) => void,
  { newest: at120, watermarks = [90], version: stored = 80 }: Setting = {},
) {
  const store = { version: stored };
  const left = [...watermarks];
  let elapsedMs = 0;
  const sleep = (ms: number): Promise<void> => {
    elapsedMs += ms;
    return Promise.resolve();
  };
  const puts: [version: number, over: InstallRequest["expects"]][] = [];
  const ports = {
    items: {
      get: () => Promise.resolve({ item: undefined, version: store.version, tombstone: false }),
      install: ({ version, expects }: InstallRequest) => {
        if (puts.length === 0) beforeFirstPut(store);
        puts.push([version, expects]);
        const fits = typeof expects === "number" ? store.version === expects : true;
        if (!fits || store.version >= version) return Promise.resolve("superseded");
        store.version = version;
        return Promise.resolve("installed");
      },
    },
    control: { idempotencyTable: { ...rows, name: "control" } },
    stream: { read: () => Promise.resolve({ kind: "unseen", complete: true }) },
    log: { readSpilled: () => Promise.resolve(undefined) },
    clock: { nowMs: () => 0, monotonicMs: () => elapsedMs, sleep },
    random: { next: () => 0.5 },
  } as unknown as ClientPorts;
  const newest = commit(120, at120);
  const session = {
    hashes: sampleHashes,
    follower: {
      readWatermark: () => Promise.resolve({ timestamp: left.length > 1 ? left.shift() : left[0] }),
      refresh: () => Promise.resolve(),
      tail: {
        newest: 120,
        newestCommit: (_: unknown, { upTo }: { readonly upTo: UpTo }) =>
          upTo.at >= 120 ? newest : undefined,
      },
    },
    installer: new Installer(ports, {
      earlier: undefined,
      retention: () => Promise.resolve(retentionDefault),
    }),
    installed: new InstalledCommits(),
    registry: registryOf([rows]),
  } as unknown as ShardSession;
  return { puts, store, helper: new CommitHelper(ports, session, () => undefined) };
}

test("over the version that it has seen", async () => {
  const { puts, helper: under } = helper(() => undefined);
  await under.finish([commit(100)]);
  expect(puts).toEqual([[100, 80]]);
});

test("the newest write, where the item was taken away since it was seen", async () => {
  const { puts, helper: under } = helper((store) => (store.version = 0));
  await under.finish([commit(100)]);
  expect(puts).toEqual([
    [100, 80],
    [120, "below"],
  ]);
});

test("nothing, where its own client was faster", async () => {
  const { puts, store, helper: under } = helper((given) => (given.version = 100));
  await under.finish([commit(100)]);
  expect({ puts, store }).toEqual({ puts: [[100, 80]], store: { version: 100 } });
});

describe.each<[string, PayloadLocation, typeof StoreError | typeof UnavailableError]>([
  [
    "a record of a stream that is gone",
    { kind: "stream", sequenceNumber: "7" as SequenceNumber, requestIndex: 0 },
    StoreError,
  ],
  [
    "chunks that have expired",
    { kind: "spilled", chunks: 1, byteLength: 1, digest: new Uint8Array(32) },
    UnavailableError,
  ],
])("a payload in %s", (_, gone, refusal) => {
  test("is not missed, once another one has installed it", async () => {
    const { puts, helper: under } = helper(() => undefined, { watermarks: [90, 100] });
    await under.finish([commit(100, gone)]);
    expect(puts).toEqual([]);
  });

  test("does not keep the reader from what else it has to do", async () => {
    const { puts, helper: under } = helper(() => undefined, { watermarks: [90, 100] });
    await under.finish([commit(100, gone), commit(110)]);
    expect(puts).toEqual([[110, 80]]);
  });

  test("is not missed where it was to be put in place of an older one", async () => {
    const setting = { newest: gone, watermarks: [90, 120], version: 0 };
    const { puts, helper: under } = helper(() => undefined, setting);
    await under.finish([commit(100)]);
    expect(puts).toEqual([]);
  });

  test("is an error while the log still owes it", async () => {
    const { helper: under } = helper(() => undefined, { watermarks: [90, 99] });
    await expect(under.finish([commit(100, gone)])).rejects.toThrow(refusal);
  });
});
