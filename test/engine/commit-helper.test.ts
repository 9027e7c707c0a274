/** docs/protocol.md §8, Over nothing: what a reader that helps puts, and over what. */
import { expect, test } from "vitest";
import { retentionDefault } from "../../core/history.ts";
import type { ClientPorts, InstallRequest } from "../../core/ports.ts";
import type { TailCommit } from "../../core/tail.ts";
import type { CommittedVerdict, Item, Timestamp, TransactionId } from "../../core/types.ts";
import { CommitHelper } from "../../engine/commit-helper.ts";
import { InstalledCommits } from "../../engine/installed-commits.ts";
import { Installer } from "../../engine/installer.ts";
import type { ShardSession } from "../../engine/shard-session.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const names = { name: "rows", partitionKey: "pk" };
const key: Item = { pk: { S: "x" } };

function commit(at: number): TailCommit {
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
    payload: { kind: "inline", bytes },
  };
  return { timestamp, verdict, write: 0 };
}

/** An item at 80; the log has commits at 100 and 120. */
function helper(beforeFirstPut: (store: { version: number }) => void) {
  const store = { version: 80 };
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
    clock: { nowMs: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() },
  } as unknown as ClientPorts;
  const newest = commit(120);
  const session = {
    follower: {
      readWatermark: () => Promise.resolve({ timestamp: 90 }),
      refresh: () => Promise.resolve(),
      tail: {
        newest: 120,
        newestCommit: (_: unknown, { upTo }: { readonly upTo: number }) =>
          upTo >= 120 ? newest : undefined,
      },
    },
    installer: new Installer(ports, {
      earlier: undefined,
      retention: () => Promise.resolve(retentionDefault),
    }),
    installed: new InstalledCommits(),
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
