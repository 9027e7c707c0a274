/**
 * How replay keeps out of the way of clients that install their own commits: it does not look at
 * what they say they have installed, and leaves fresh commits to them for a while (docs/protocol.md
 * §8, docs/adr/0010).
 */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Ports } from "../../core/ports.ts";
import type { Item, TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { recordsAt } from "../harness/local-stores.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import { fragileEngine } from "../integration/fragile.ts";
import { key, number, numberOf, openDynamoDb } from "../integration/support.ts";
import { certify, certifyingEngine, recordsFrom, runReplay } from "./replay-runs.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let kept: TableDescription;
let client: Engine;

beforeAll(async () => {
  ({ deployment, plain: table, kept } = await startWithoutReplay());
  client = certifyingEngine(deployment.stores);
});
afterAll(() => deployment.stop());

/** Commits what its client never installs. */
async function left(name: string, n: number): Promise<void> {
  await certify(client, { of: table, writes: [{ ...key(name), n: number(n) }] });
}

async function stored(of: TableDescription, each: Item): Promise<number> {
  const { item } = await deployment.stores.ports.items.get(of, each);
  return numberOf(item);
}

test("I7: looks at what somebody else says is installed, and counts the lie", async () => {
  const { stores } = deployment;
  await left("forged-0", 1);
  const [from] = await recordsFrom(stores, 1);
  if (from === undefined) throw new Error("no record");
  const { at } = await certify(client, { of: table, writes: [{ ...key("forged"), n: number(1) }] });
  const liar = stores.openPorts();
  const request = encodeCommitRequest({
    kind: "abort",
    id: makeTransactionId(at, liar.random.bytes(9)),
    isolation: "serializable",
    checkedTo: at,
    checks: [],
    payload: { kind: "none" },
  });
  const reports = [at, at + 1].map((timestamp) => ({
    timestamp: timestamp as Timestamp,
    proof: liar.random.bytes(9),
  }));
  await liar.stream.put(stores.shard, [
    encodeCommitRecord(stores.hashes.fingerprint, [request], reports),
  ]);
  const records = await recordsAt(stores, { shard: stores.shard, from: from.sequenceNumber });
  const counted = new Map<string, number>();
  await runReplay(stores, {
    records,
    observability: {
      ...silentObservability,
      metrics: {
        ...silentObservability.metrics,
        count: (name, value) => counted.set(name, (counted.get(name) ?? 0) + value),
      },
    },
  });
  expect(await stored(table, key("forged"))).toBe(1);
  expect(counted.get("ForgedInstallReports")).toBe(1);
});

test("I7: skips what a client says it has installed, and looks at everything else", async () => {
  const { stores } = deployment;
  await left("told-0", 1);
  const [from] = await recordsFrom(stores, 1);
  if (from === undefined) throw new Error("no record");
  const installing = deployment.openEngine();
  const put = (of: TableDescription, name: string, n: number): Promise<unknown> =>
    installing.transact({}, (tx) => {
      tx.put(of.name, { ...key(name), n: number(n) });
      return Promise.resolve();
    });
  await put(table, "told-1", 1);
  await put(kept, "told-2", 1);
  await left("untold", 1);
  // Superseded, but reported by nobody: so the item is looked at, whatever is said of later writes.
  await left("told-1", 2);
  await put(table, "told-1", 3);
  await put(table, "last", 1);
  const { shard } = stores;
  const records = await recordsAt(stores, { shard, from: from.sequenceNumber, recordsMax: 100 });
  const looked: string[] = [];
  const { items } = stores.ports;
  await runReplay(deployment.stores, {
    records,
    ports: {
      items: {
        ...items,
        versions(keys, options) {
          looked.push(
            ...keys.map(({ key: { pk } }) => (pk !== undefined && "S" in pk ? pk.S : "")),
          );
          return items.versions(keys, options);
        },
      },
    },
  });
  expect([...new Set(looked)].sort()).toEqual(["last", "told-0", "told-1", "untold"]);
  expect(await stored(table, key("untold"))).toBe(1);
  expect(await stored(table, key("told-1"))).toBe(3);
});

test("leaves what a plain writer put in the place of a version that was read", async () => {
  const { stores } = deployment;
  const client = deployment.openEngine();
  const raise = (each: string): Promise<unknown> =>
    client.transact({}, async (tx) => {
      const item = await tx.get(table.name, key(each));
      tx.put(table.name, { ...key(each), n: number(item === undefined ? 1 : numberOf(item) + 1) });
    });
  const put = (name: string): Promise<unknown> =>
    openDynamoDb(stores).send(
      new PutItemCommand({ TableName: table.name, Item: { pk: { S: name }, n: { N: "9" } } }),
    );
  await raise("read");
  await raise("read");
  await raise("made");
  await put("read");
  await put("made");
  await runReplay(stores, {});
  expect(await stored(table, key("read"))).toBe(9);
  // Nothing says that the item was not there before: a commit comes first.
  expect(await stored(table, key("made"))).toBe(1);
});

test("leaves to a commit's own client what that is about to install, for a while", async () => {
  const { stores } = deployment;
  const { items } = stores.ports;
  const began = Date.now();
  const slow = fragileEngine(stores, {
    items: () => ({
      async install(...request) {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return items.install(...request);
      },
    }),
  }).engine;
  const { receipt } = await slow.transact({ ack: "certified" }, (tx) => {
    tx.put(table.name, { ...key("owned"), n: number(1) });
    return Promise.resolve();
  });
  let installs = 0;
  const counting: Partial<Ports> = {
    items: {
      ...items,
      install(...request) {
        installs += 1;
        return items.install(...request);
      },
    },
  };
  const { watermark: reached } = await runReplay(deployment.stores, {
    ports: counting,
    ownInstallMs: 3_000,
  });
  expect(reached.timestamp).toBeGreaterThanOrEqual(receipt.commitTimestamp ?? Infinity);
  expect(installs).toBe(0);
  expect(Date.now() - began).toBeGreaterThan(300);
  await left("left", 1);
  await runReplay(deployment.stores, { ports: counting, ownInstallMs: 100 });
  expect(installs).toBe(1);
});
