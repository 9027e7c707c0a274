/**
 * Replay installs on mixed tables what was voted, over what was voted and over nothing else, on
 * real stores (docs/adr/0014-native-operations.md, Vote and install).
 */
import { DeleteItemCommand, PutItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { toSdkItem } from "../../aws/attribute-values.ts";
import { StoreError } from "../../core/errors.ts";
import type { DeadLetter, Ports } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  Item,
  TableDescription,
  Timestamp,
  Version,
} from "../../core/types.ts";
import type { ReplayResult } from "../../functions/replay/service.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import { addressOf, MixedLog, registerAs, type MixedWrite } from "../harness/mixed-log.ts";
import { openDynamoDb } from "../integration/support.ts";
import { runReplay } from "./replay-runs.ts";

let stores: LocalStores;
let carts: TableDescription;
let orders: TableDescription;
let foreign: DynamoDBClient;
let log: MixedLog;
let keys = 0;

beforeAll(async () => {
  stores = await startLocalStores({ stream: false });
  foreign = openDynamoDb(stores);
  log = new MixedLog(stores);
  orders = await stores.createTable("orders");
});
// A table of its own for each: some change what the registry says of it.
beforeEach(async () => {
  keys += 1;
  carts = await registerAs(stores, await stores.createTable(`carts${keys}`), "mixed");
});
afterAll(async () => {
  foreign.destroy();
  await stores.stop();
});

function key(name: string): Item {
  return { pk: { S: `${name} ${keys}` } };
}

function writeOf(name: string, more: Item | undefined, table = carts): MixedWrite {
  return { table, key: key(name), item: more && { ...key(name), ...more } };
}

async function put(name: string, more: Item): Promise<void> {
  const item = toSdkItem({ ...key(name), ...more });
  await foreign.send(new PutItemCommand({ TableName: carts.name, Item: item }));
}

function stored(name: string): Promise<Item | undefined> {
  return stores.ports.mixed.read(addressOf(writeOf(name, undefined)));
}

function replay(ports: Partial<Ports> = {}): Promise<ReplayResult> {
  return runReplay(stores, { ports });
}

async function installedThrough(ports: Partial<Ports> = {}): Promise<Timestamp> {
  return (await replay(ports)).watermark.timestamp;
}

function versionOf({ timestamp }: CommittedVerdict): { readonly N: string } {
  return { N: timestamp.toString() };
}

const old = { is: { S: "old" } };
const next = { is: { S: "new" } };

test("an update, an insert and a delete, beside a write on a transactional table", async () => {
  await put("a", old);
  await put("c", { ...old, _v: { N: "5" } });
  const writes = [
    writeOf("a", next),
    writeOf("x", next, orders),
    writeOf("b", next),
    writeOf("c", undefined),
  ];
  const prepared = await log.prepare(writes);
  const stamps = [
    await log.fence(prepared, 0),
    await log.fence(prepared, 2),
    await log.fence(prepared, 3),
  ];
  const verdict = await log.commit(prepared, stamps);
  expect(await installedThrough()).toBe(verdict.timestamp);
  const _v = versionOf(verdict);
  expect(await stored("a")).toEqual({ ...key("a"), ...next, _v });
  expect(await stored("b")).toEqual({ ...key("b"), ...next, _v });
  expect(await stored("c")).toBeUndefined();
  const other = await stores.ports.items.get(orders, key("x"));
  expect(other).toMatchObject({ version: verdict.timestamp, item: { ...key("x"), ...next } });
});

describe("a native write after the fence stays", () => {
  test.each<[string, (before: Item) => Item | undefined]>([
    ["a put", () => ({ is: { S: "native" } })],
    ["a put of what was read before", (before) => ({ ...before, is: { S: "native" } })],
    ["a delete", () => undefined],
  ])("%s", async (_, change) => {
    const before = { ...old, _v: { N: "7" } };
    await put("a", before);
    const prepared = await log.prepare([writeOf("a", next), writeOf("b", next)]);
    const stamps = [await log.fence(prepared, 0), await log.fence(prepared, 1)];
    const verdict = await log.commit(prepared, stamps);
    const native = change(before);
    if (native !== undefined) await put("a", native);
    else {
      const Key = toSdkItem(key("a"));
      await foreign.send(new DeleteItemCommand({ TableName: carts.name, Key }));
    }
    expect(await installedThrough()).toBe(verdict.timestamp);
    expect(await stored("a")).toEqual(native && { ...key("a"), ...native });
    expect(await stored("b")).toMatchObject(next);
  });
});

test("what is installed already costs a look and no write", async () => {
  const prepared = await log.prepare([writeOf("a", next)]);
  const stamp = await log.fence(prepared);
  const { id, timestamp: version } = await log.commit(prepared, [stamp]);
  const { mixed } = stores.ports;
  const write = writeOf("a", next);
  await mixed.install({ ...addressOf(write), item: write.item, id, version, stamp });
  let installs = 0;
  const counting: Ports["mixed"] = {
    ...mixed,
    install: (...call) => {
      installs += 1;
      return mixed.install(...call);
    },
  };
  expect(await installedThrough({ mixed: counting })).toBe(version);
  expect(installs).toBe(0);
});

test("a commit without a vote becomes dead letters there, and stops nobody", async () => {
  await put("a", old);
  const letters: DeadLetter[] = [];
  const { control } = stores.ports;
  const noting = Object.assign(Object.create(control) as Ports["control"], {
    saveDeadLetter: (letter: DeadLetter) => {
      letters.push(letter);
      return control.saveDeadLetter(letter);
    },
  });
  const at = await log.commitPlainly([writeOf("a", next), writeOf("y", next, orders)]);
  expect(await installedThrough({ control: noting })).toBe(at);
  expect(letters).toMatchObject([
    { table: carts.name, key: key("a"), reason: expect.stringContaining("no vote") as string },
  ]);
  expect(await stored("a")).toEqual({ ...key("a"), ...old });
  expect(await stores.ports.items.get(orders, key("y"))).toMatchObject({ version: at });
});

describe("a table that is registered otherwise by now loses nothing, and stops nobody:", () => {
  test("what was voted is installed by its stamps on one that is transactional", async () => {
    await put("a", old);
    const prepared = await log.prepare([writeOf("a", next), writeOf("b", undefined)]);
    const stamps = [await log.fence(prepared, 0), await log.fence(prepared, 1)];
    const verdict = await log.commit(prepared, stamps);
    await registerAs(stores, carts, "transactional");
    expect(await installedThrough()).toBe(verdict.timestamp);
    expect(await stored("a")).toEqual({ ...key("a"), ...next, _v: versionOf(verdict) });
    expect(await stored("b")).toBeUndefined();
  });

  test("what was committed plainly is installed by its version on one that is mixed", async () => {
    const plain: TableDescription = { ...carts, access: "transactional" };
    const at = await log.commitPlainly([writeOf("a", next, plain)]);
    expect(await installedThrough()).toBe(at);
    expect(await stored("a")).toEqual({ ...key("a"), ...next, _v: { N: at.toString() } });
  });
});

test("one that does not let replay in holds the watermark, and no other table", async () => {
  const prepared = await log.prepare([writeOf("a", next), writeOf("z", next, orders)]);
  const stamps = [await log.fence(prepared, 0)];
  const verdict = await log.commit(prepared, stamps);
  const denied = new StoreError("rejected", "not you", { code: "AccessDeniedException" });
  const mixed = { ...stores.ports.mixed, read: () => Promise.reject(denied) };
  await expect(replay({ mixed })).rejects.toBe(denied);
  const { timestamp: version } = verdict;
  expect(await stores.ports.items.get(orders, key("z"))).toMatchObject({ version });
  expect(await installedThrough()).toBe(version);
  expect(await stored("a")).toMatchObject(next);
});

test("a table that is gone makes dead letters of what was voted", async () => {
  const gone: TableDescription = { ...carts, name: `gone-${carts.name}` };
  const prepared = await log.prepare([writeOf("a", next, gone), writeOf("a", next)]);
  const stamp = await log.fence(prepared, 1);
  const { timestamp } = await log.commit(prepared, [
    { kind: "version", version: 1 as Version },
    stamp,
  ]);
  const letters: DeadLetter[] = [];
  // It is registered, and no longer there.
  const { control } = stores.ports;
  const registered = Object.assign(Object.create(control) as Ports["control"], {
    registry: async () => {
      const known = await control.registry();
      return { ...known, tables: [...known.tables, gone] };
    },
    saveDeadLetter: (letter: DeadLetter) => {
      letters.push(letter);
      return control.saveDeadLetter(letter);
    },
  });
  expect(await installedThrough({ control: registered })).toBe(timestamp);
  expect(letters).toMatchObject([{ table: gone.name }]);
  expect(await stored("a")).toMatchObject(next);
});
