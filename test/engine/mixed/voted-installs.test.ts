/**
 * Who installs a commit by vote, its own client or one that helps: what goes to a mixed table goes
 * by its stamp, and what goes to another table beside it by its version.
 */
import { describe, expect, test } from "vitest";
import { retentionDefault } from "../../../core/history.ts";
import type { StampedInstall } from "../../../core/mixed-items-port.ts";
import type { ClientPorts, InstallRequest } from "../../../core/ports.ts";
import type {
  CommittedVerdict,
  Item,
  Payload,
  Stamp,
  TableDescription,
  Timestamp,
  TransactionId,
  Version,
} from "../../../core/types.ts";
import { CommitHelper } from "../../../engine/installing/commit-helper.ts";
import { InstalledCommits } from "../../../engine/installing/installed-commits.ts";
import { Installer, type InstallPorts } from "../../../engine/installing/installer.ts";
import type { ShardSession } from "../../../engine/shard-session.ts";
import { encodePayload } from "../../../schemas/payload.ts";
import { registryOf } from "../../../testing/registry-view.ts";
import { sampleHashes } from "../../../testing/sample-hashes.ts";
import { idOf, nonceOf } from "./scripted-store.ts";

const partitionKey = { name: "pk", type: "S" } as const;
const carts: TableDescription = { name: "carts", partitionKey, history: false, access: "mixed" };
const rows: TableDescription = { ...carts, name: "rows", access: "transactional" };
const cartNames = { name: "carts", partitionKey: "pk" };
const id: TransactionId = idOf("7");
const timestamp = 120 as Timestamp;

function key(pk: string): Item {
  return { pk: { S: pk } };
}

const payload: Payload = {
  tables: [
    { ...cartNames, history: false, isMixed: true },
    { name: "rows", partitionKey: "pk", history: false },
  ],
  writes: [
    { table: 0, key: key("a"), item: { ...key("a"), n: { N: "1" } } },
    { table: 1, key: key("x"), item: key("x") },
    { table: 0, key: key("b"), item: undefined },
  ],
};
const stamps: readonly Stamp[] = [
  { kind: "nonce", nonce: nonceOf(1) },
  { kind: "version", version: 80 as Version },
];

function verdictWith(votes: readonly Stamp[] | undefined): CommittedVerdict {
  return {
    ...{ kind: "committed", id, timestamp },
    writes: payload.writes.map((write) => sampleHashes.item(cartNames, write.key)),
    payload: { kind: "inline", bytes: encodePayload(payload) },
    ...(votes === undefined ? {} : { stamps: votes }),
  };
}

function scene() {
  const voted: StampedInstall[] = [];
  const plain: InstallRequest[] = [];
  const looks: string[] = [];
  const watermark = { timestamp: 90 };
  const ports = {
    items: {
      get: ({ name }: TableDescription) => {
        looks.push(name);
        return Promise.resolve({ item: undefined, version: 80, tombstone: false });
      },
      install: (request: InstallRequest) => {
        plain.push(request);
        return Promise.resolve("installed");
      },
    },
    mixed: {
      install: (request: StampedInstall) => {
        voted.push(request);
        return Promise.resolve("superseded");
      },
    },
    control: { idempotencyTable: { ...rows, name: "control" } },
    clock: {
      ...{ nowMs: () => 0, monotonicMs: () => 0 },
      sleep: () => {
        watermark.timestamp = timestamp;
        return Promise.resolve();
      },
    },
    random: { next: () => 0.5 },
  };
  const installer = new Installer(ports as unknown as InstallPorts, {
    earlier: undefined,
    retention: () => Promise.resolve(retentionDefault),
  });
  const session = {
    follower: { readWatermark: () => Promise.resolve(watermark) },
    installer,
    hashes: sampleHashes,
    installed: new InstalledCommits(),
    registry: registryOf([carts, rows]),
  } as unknown as ShardSession;
  const helper = new CommitHelper(ports as unknown as ClientPorts, session, () => undefined);
  const finish = (verdict: CommittedVerdict, writes: readonly number[]) =>
    helper.finish(writes.map((write) => ({ timestamp, verdict, write })));
  return { voted, plain, looks, installer, finish };
}

const common = { table: cartNames, id, version: timestamp };
const first = { ...common, key: key("a"), item: payload.writes[0]?.item, stamp: stamps[0] };
const second = { ...common, key: key("b"), item: undefined, stamp: stamps[1] };

test("its own client goes by the stamps in their order, and by the version elsewhere", async () => {
  const { voted, plain, installer } = scene();
  const verdict = verdictWith(stamps);
  await installer.install({ verdict, payload, signBeforeMs: 1_000, isOwn: true });
  expect(voted).toEqual([first, second]);
  expect(plain).toMatchObject([{ table: "rows", version: timestamp, expects: "below" }]);
});

describe("one that helps", () => {
  test("looks at no version where the stamp says it all", async () => {
    const { voted, plain, looks, finish } = scene();
    const verdict = verdictWith(stamps);
    await finish(verdict, [2, 1]);
    expect(voted).toEqual([second]);
    expect(plain).toMatchObject([{ table: "rows", version: timestamp, expects: 80 }]);
    expect(looks).toEqual(["rows"]);
  });

  test.each([
    ["no vote", undefined],
    ["a vote that says less than it writes", stamps.slice(0, 1)],
  ])("leaves what has %s to replay, which makes a dead letter of it", async (_, votes) => {
    const { voted, plain, finish } = scene();
    await finish(verdictWith(votes), [2]);
    expect({ voted, plain }).toEqual({ voted: [], plain: [] });
  });
});
