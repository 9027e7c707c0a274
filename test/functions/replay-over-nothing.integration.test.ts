/**
 * Where replay finds nothing, a newer commit may have stood, been reported by its client, and been
 * taken away by a plain writer: the older one must not come after it (docs/protocol.md §8, Over
 * nothing).
 */
import { DeleteItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Ports, StreamRecord } from "../../core/ports.ts";
import type { Item, TableDescription } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { recordsAt } from "../harness/local-stores.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import { key, number, numberOf, openDynamoDb, text } from "../integration/support.ts";
import { certify, certifyingEngine, recordsFrom, runReplay } from "./replay-runs.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let dying: Engine;
let installing: Engine;

beforeAll(async () => {
  ({ deployment, plain: table } = await startWithoutReplay());
  dying = certifyingEngine(deployment.stores);
  installing = deployment.openEngine();
});
afterEach(async () => {
  await runReplay(deployment.stores, {});
});
afterAll(() => deployment.stop());

async function stored(name: string): Promise<number | undefined> {
  const { item } = await deployment.stores.ports.items.get(table, key(name));
  return item === undefined ? undefined : numberOf(item);
}

/** Committed by a client that dies at once. */
const left = (name: string, n: number, more: Item = {}): Promise<unknown> =>
  certify(dying, { of: table, writes: [{ ...key(name), n: number(n), ...more }] });

const put = (name: string, n: number, more: Item = {}): Promise<unknown> =>
  installing.transact({}, (tx) => {
    tx.put(table.name, { ...key(name), n: number(n), ...more });
    return Promise.resolve();
  });

const raise = (name: string): Promise<unknown> =>
  installing.transact({}, async (tx) => {
    const item = await tx.get(table.name, key(name));
    tx.put(table.name, { ...key(name), n: number(numberOf(item) + 20) });
  });

const remove = (name: string): Promise<unknown> =>
  installing.transact({}, (tx) => {
    tx.delete(table.name, key(name));
    return Promise.resolve();
  });

const plainDelete = (name: string): Promise<unknown> =>
  openDynamoDb(deployment.stores).send(
    new DeleteItemCommand({ TableName: table.name, Key: { pk: { S: name } } }),
  );

const plainPut = (name: string, n: number): Promise<unknown> =>
  openDynamoDb(deployment.stores).send(
    new PutItemCommand({ TableName: table.name, Item: { pk: { S: name }, n: { N: String(n) } } }),
  );

type Batches = { readonly early: readonly StreamRecord[]; readonly late: readonly StreamRecord[] };

/** The records of what is done first and then, as two batches; the late one has all reports. */
async function batchesOf(
  first: () => Promise<unknown>,
  then: () => Promise<unknown>,
): Promise<Batches> {
  const { stores } = deployment;
  await left("begin", 1);
  const [from] = await recordsFrom(stores, 1);
  if (from === undefined) throw new Error("no record");
  const read = (): Promise<readonly StreamRecord[]> =>
    recordsAt(stores, { shard: stores.shard, from: from.sequenceNumber, recordsMax: 100 });
  await first();
  const early = await read();
  await then();
  await put("last", 1);
  const late = (await read()).slice(early.length);
  expect(late.length).toBeGreaterThan(0);
  return { early, late };
}

async function replayBoth({ early, late }: Batches, ports: Partial<Ports> = {}): Promise<void> {
  await runReplay(deployment.stores, { records: early, ports });
  await runReplay(deployment.stores, { records: late, ports });
}

test("an overwritten commit of a dead client does not come back after a plain delete", async () => {
  const batches = await batchesOf(
    () => left("deleted", 100),
    async () => {
      await put("deleted", 120);
      expect(await stored("deleted")).toBe(120);
      await plainDelete("deleted");
    },
  );
  await runReplay(deployment.stores, { records: batches.early });
  expect(await stored("deleted")).toBe(120);
  await runReplay(deployment.stores, { records: batches.late });
  expect(await stored("deleted")).toBe(120);
});

test("nor a reported one, over the plain put that replaced its successor", async () => {
  const batches = await batchesOf(
    () => put("replaced", 100),
    async () => {
      await raise("replaced");
      expect(await stored("replaced")).toBe(120);
      await plainPut("replaced", 9);
    },
  );
  await replayBoth(batches);
  // The successor saw a version, so that what stands without one has been put since.
  expect(await stored("replaced")).toBe(9);
});

test("nor one that a later commit deleted, whose tombstone was taken away", async () => {
  const batches = await batchesOf(
    () => left("removed", 100),
    async () => {
      await remove("removed");
      await plainDelete("removed");
    },
  );
  await replayBoth(batches);
  expect(await stored("removed")).toBeUndefined();
});

test("nor one whose successor's payload is spilled", async () => {
  const large = { large: text("x".repeat(300_000)) };
  const batches = await batchesOf(
    () => left("spilled", 100),
    async () => {
      await installing.transact({}, (tx) => {
        tx.put(table.name, { ...key("spilled"), n: number(120), ...large });
        tx.put(table.name, { ...key("beside"), n: number(1), ...large });
        return Promise.resolve();
      });
      await plainDelete("spilled");
    },
  );
  await replayBoth(batches);
  expect(await stored("spilled")).toBe(120);
});

test("nor within one batch, where the bytes of a chunk lie between the two commits", async () => {
  const large = { large: text("x".repeat(390_000)) };
  const fillers = Math.ceil(limits.replayChunkBytes / 390_000);
  const { early, late } = await batchesOf(
    () =>
      certify(dying, {
        of: table,
        writes: [
          { ...key("chunked"), n: number(100) },
          ...Array.from({ length: fillers }, (_, i) => ({
            ...key(`filler-${String(i)}`),
            ...large,
          })),
        ],
      }),
    async () => {
      await put("chunked", 120);
      await plainDelete("chunked");
    },
  );
  await runReplay(deployment.stores, { records: [...early, ...late] });
  expect(await stored("chunked")).toBe(120);
});

test("new items cost one look at the log for all, and none where all is installed", async () => {
  const { stores } = deployment;
  const { log } = stores.ports;
  const calls: string[] = [];
  const counting: Partial<Ports> = {
    log: {
      ...log,
      readAfter: (...args) => {
        calls.push("readAfter");
        return log.readAfter(...args);
      },
      readAt: (...args) => {
        calls.push("readAt");
        return log.readAt(...args);
      },
    },
  };
  for (const i of [1, 2, 3]) await left(`new-${String(i)}`, i);
  await runReplay(stores, { ports: counting });
  expect(calls).toEqual(["readAfter", "readAfter"]);
  expect(await stored("new-3")).toBe(3);
  calls.length = 0;
  await put("old", 1);
  await runReplay(stores, { ports: counting });
  expect(calls).toEqual(["readAfter"]);
});
