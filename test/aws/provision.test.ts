/** Provisioning a deployment, twice over, on real protocol servers. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  DeleteItemCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
} from "@aws-sdk/client-dynamodb";
import { adoptTables, registerTables } from "../../aws/register-tables.ts";
import { createTables } from "../../aws/create-tables.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { createAwsClients } from "../../aws/clients.ts";
import { createDynamoDb } from "../../aws/dynamodb.ts";
import { createAwsPorts } from "../../aws/ports.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { createDynamoDbControlStore } from "../../aws/dynamodb-control-store.ts";
import { deploymentNames } from "../../aws/names.ts";
import { systemClock } from "../../aws/system.ts";
import * as limits from "../../core/limits.ts";
import type { AccessState } from "../../core/table-access.ts";
import type { LogPosition, ShardId, Timestamp } from "../../core/types.ts";
import { decodeIndexes } from "../../schemas/described-indexes.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";

let stores: LocalStores;
beforeAll(async () => {
  stores = await startLocalStores({ shardCount: 2, shards: 2 });
});
afterAll(() => stores.stop());

describe("a table that native operations write, too", () => {
  const partitionKey = { name: "pk", type: "S" } as const;
  const options = () => ({ ...stores.clientOptions, deployment: stores.deployment });
  let change: ReturnType<typeof createDynamoDbControlStore>;
  const carts = { name: "carts", access: "mixed" } as const;
  const orders = { name: "orders-alone", access: "transactional" } as const;
  beforeAll(async () => {
    const clients = createAwsClients(stores.clientOptions);
    const { controlTable } = deploymentNames(stores.deployment);
    const dynamodb = createDynamoDb(clients.dynamodb);
    change = createDynamoDbControlStore({ dynamodb, clock: systemClock, table: controlTable });
    const names = [carts.name, orders.name, "never-registered"];
    await createTables(
      stores.clientOptions,
      names.map((name) => ({ name, partitionKey })),
    );
    await adoptTables(options(), [carts, orders]);
  });
  const registered = async (name: string) =>
    (await stores.ports.control.tables()).find((each) => each.name === name);

  test("is registered as mixed, and by another registration stays so", async () => {
    const stands = { ...carts, partitionKey, history: false };
    expect(await registered(carts.name)).toEqual(stands);
    expect(await adoptTables(options(), [{ name: carts.name }])).toEqual([stands]);
    expect(await adoptTables(options(), [{ ...carts, history: false }])).toEqual([stands]);
    expect(await registered(orders.name)).toMatchObject(orders);
  });

  test("is not made of one that transactions alone write, nor the other way round", async () => {
    for (const [{ name }, access] of [
      [orders, "mixed"],
      [carts, "transactional"],
    ] as const) {
      const refused = { field: "access", code: "invalid-request" };
      const before = await registered(name);
      // Of several, none is registered.
      const both = [{ name: "never-registered" }, { name, access }];
      const command = `npx tidemark move ${name} --access ${access}`;
      await expect(adoptTables(options(), both)).rejects.toMatchObject(refused);
      await expect(adoptTables(options(), both)).rejects.toThrow(command);
      const table = { name, partitionKey, history: undefined, access };
      await expect(registerTables(options(), [table])).rejects.toMatchObject(refused);
      // Another was faster: the registry's own condition.
      await expect(stores.ports.control.registerTable(table)).rejects.toMatchObject(refused);
      expect(await registered(name)).toEqual(before);
      expect(await registered("never-registered")).toBeUndefined();
    }
  });

  test("says how far it is on its way, which another registration leaves as it is", async () => {
    const { control } = stores.ports;
    const table = "carts-moved";
    await createTables(stores.clientOptions, [{ name: table, partitionKey }]);
    await adoptTables(options(), [{ name: table }]);
    const closed = { access: "transactional", move: { to: "mixed", stage: "closed" } } as const;
    const seen: unknown[] = [];
    const go = (state: AccessState, mover: string | undefined) =>
      change.changeAccess(table, (before) => {
        seen.push(before.mover);
        return { ...state, mover };
      });
    expect(await go(closed, "first")).toMatchObject(closed);
    expect(await registered(table)).toMatchObject(closed);
    expect(await adoptTables(options(), [{ name: table }])).toMatchObject([closed]);
    await expect(adoptTables(options(), [{ name: table, history: true }])).rejects.toMatchObject({
      field: "history",
    });
    await expect(adoptTables(options(), [{ name: table, access: "mixed" }])).rejects.toThrow(
      `is being moved to mixed, which a registration does not change; \`npx tidemark move ${table}`,
    );
    expect(await go({ access: "mixed" }, undefined)).toEqual({
      ...{ name: table, partitionKey, history: false, access: "mixed" },
    });
    expect(seen).toEqual([undefined, "first"]);
    const missing = change.changeAccess("never-registered", () => ({ ...closed, mover: "x" }));
    await expect(missing).rejects.toMatchObject({ field: "table" });
    await expect(missing).rejects.toThrow("npx tidemark register never-registered");
    // One that changes nothing, and one that refuses.
    const unlike = (): never => {
      throw new RangeError("stays");
    };
    await expect(change.changeAccess(table, unlike)).rejects.toThrow("stays");
    expect((await control.tables()).some(({ move }) => move !== undefined)).toBe(false);
  });

  test("has no history", async () => {
    const refused = { field: "history", code: "invalid-request" };
    const kept = { name: carts.name, history: true };
    await expect(adoptTables(options(), [kept])).rejects.toMatchObject(refused);
    await expect(adoptTables(options(), [kept])).rejects.toThrow(/native writes put nothing aside/);
    const fresh = { name: "never-registered", access: "mixed", history: true } as const;
    await expect(adoptTables(options(), [fresh])).rejects.toMatchObject(refused);
    expect(await registered("never-registered")).toBeUndefined();
  });
});

test.each(["tidemark-dev-log", "tidemark-other-control", "tidemark-a-b-versions"])(
  "%s, a table of some deployment, cannot be registered",
  async (name) => {
    const table = {
      name,
      partitionKey: { name: "pk", type: "S" },
      history: false,
      access: "transactional",
    } as const;
    const refusal = { field: "table", code: "invalid-request" };
    const options = { ...stores.clientOptions, deployment: stores.deployment };
    await expect(registerTables(options, [table])).rejects.toMatchObject(refusal);
    await expect(adoptTables(options, [{ name }])).rejects.toMatchObject(refusal);
    const { control } = stores.ports;
    await expect(control.registerTable(table)).rejects.toMatchObject(refusal);
    expect((await control.tables()).some((each) => each.name === name)).toBe(false);
  },
);

describe("provisionDeployment", () => {
  test("gives every shard its entry and a first watermark at position 0", async () => {
    expect(stores.shards).toEqual(["shardId-000000000000", "shard-001"]);
    expect(await stores.ports.control.shards()).toEqual(stores.shards);
    for (const shard of stores.shards) {
      const watermark = await stores.ports.control.readWatermark(shard);
      expect(watermark).toMatchObject({ position: 0, cursor: undefined });
      expect(watermark?.timestamp).toBeGreaterThan(1_500_000_000_000_000);
    }
  });

  test("gives every shard a range, and all the same hashes under names of their own", async () => {
    const { control } = stores.ports;
    const map = await control.shardMap();
    expect(map?.entries.map(({ id, from }) => [id, from])).toEqual([
      ["shardId-000000000000", 0],
      ["shard-001", 2 ** 31],
    ]);
    const hashers = await Promise.all(stores.shards.map((shard) => control.keyHasher(shard)));
    expect(new Set(hashers.map(({ fingerprint }) => fingerprint)).size).toBe(2);
    const tables = hashers.map((hasher) => new KeyHashes(hasher).table("orders"));
    expect(new Set(tables).size).toBe(1);
    const unknown = control.keyHasher("shardId-nowhere" as ShardId);
    await expect(unknown).rejects.toMatchObject({ fault: "unavailable" });
  });

  test("changes nothing when it runs again", async () => {
    const { control } = stores.ports;
    const moved = { position: 3 as LogPosition, timestamp: 9 as Timestamp, cursor: undefined };
    await control.advanceWatermark(stores.shard, moved);
    const entries = await control.shardEntries();
    const { fingerprint } = await control.keyHasher(stores.shard);
    const again = await provisionDeployment({
      ...stores.clientOptions,
      deployment: stores.deployment,
      shardCount: 5,
      shards: 2,
    });
    expect(again).toEqual(stores.shards);
    expect(await control.readWatermark(stores.shard)).toEqual(moved);
    const anew = stores.openPorts().control;
    expect(await anew.shardEntries()).toEqual(entries);
    expect(await anew.keyHasher(stores.shard)).toMatchObject({ fingerprint });
  });

  test("refuses fewer shards than the deployment was made with, and splits for more", async () => {
    const deployment = `${stores.deployment}-grown`;
    const options = { ...stores.clientOptions, deployment };
    await provisionDeployment({ ...options, shards: 2 });
    await expect(provisionDeployment({ ...options, shards: 1 })).rejects.toThrow(
      "was made with 2 shards",
    );
    expect(await provisionDeployment({ ...options, shards: 4 })).toHaveLength(4);
    const grown = createAwsPorts(options);
    const map = await grown.control.shardMap();
    expect(map?.entries.map(({ from }) => from)).toEqual([0, 2 ** 30, 2 ** 31, 3 * 2 ** 30]);
    await grown.close();
    // What it was made with stands in somebody's configuration still.
    expect(await provisionDeployment({ ...options, shards: 2 })).toHaveLength(4);
  });

  test("completes what was cut short, and refuses another number of shards for that", async () => {
    const deployment = `${stores.deployment}-cut`;
    const options = { ...stores.clientOptions, deployment };
    await provisionDeployment({ ...options, shards: 3 });
    const cut = createAwsPorts(options);
    const client = new DynamoDBClient({
      ...stores.clientOptions,
      endpoint: stores.servers.endpoint.dynamodb,
    });
    const Key = { pk: { S: "shards" }, sk: { S: "shardId-000000000000" } };
    await client.send(new DeleteItemCommand({ TableName: cut.names.controlTable, Key }));
    client.destroy();
    await expect(cut.control.shardMap()).rejects.toThrow("no shard has the range that begins at 0");
    const other = provisionDeployment({ ...options, shards: 2 });
    await expect(other).rejects.toMatchObject({ field: "shards" });
    expect(await provisionDeployment({ ...options, shards: 3 })).toHaveLength(3);
    await cut.close();
  });

  test.each([0, 65, 1.5])("refuses %s shards", async (shards) => {
    const options = { ...stores.clientOptions, deployment: `${stores.deployment}-odd`, shards };
    await expect(provisionDeployment(options)).rejects.toMatchObject({
      field: "shards",
      message: `a deployment has 1 to 64 shards (shardsMax); got ${shards}`,
    });
  });

  test("two runs at once agree", async () => {
    const options = { ...stores.clientOptions, deployment: `${stores.deployment}-twice` };
    const [one, other] = await Promise.all([
      provisionDeployment(options),
      provisionDeployment(options),
    ]);
    expect(one).toEqual(["shardId-000000000000"]);
    expect(other).toEqual(one);
  });

  test("asks the store to drop what has expired, and does without where it cannot", async () => {
    const expected = stores.servers.dynamoDbLocal ? "ENABLED" : "DISABLED";
    const client = new DynamoDBClient({
      ...stores.clientOptions,
      endpoint: stores.servers.endpoint.dynamodb,
    });
    const { logTable, controlTable, versionsTable } = stores.ports.names;
    for (const TableName of [logTable, controlTable, versionsTable]) {
      const output = await client.send(new DescribeTimeToLiveCommand({ TableName }));
      expect(output.TimeToLiveDescription?.TimeToLiveStatus).toBe(expected);
    }
    client.destroy();
  });

  test("refuses a deployment name that makes no table name", async () => {
    const options = { ...stores.clientOptions, deployment: "with space" };
    await expect(provisionDeployment(options)).rejects.toMatchObject({ field: "deployment" });
  });
});

describe("user tables", () => {
  test("are created once, and refused when they exist with another key", async () => {
    const name = `orders-${stores.deployment}`;
    const table = { name, partitionKey: { name: "customer", type: "S" } } as const;
    await createTables(stores.clientOptions, [table]);
    await createTables(stores.clientOptions, [table]);
    const other = { name, partitionKey: { name: "order", type: "S" } } as const;
    await expect(createTables(stores.clientOptions, [other])).rejects.toMatchObject({
      field: "table",
    });
  });

  test("enter the registry, may change their history, and keep their key", async () => {
    const { deployment } = stores;
    const options = { ...stores.clientOptions, deployment };
    const table = {
      name: `ledger-${deployment}`,
      partitionKey: { name: "account", type: "S" },
      sortKey: { name: "entry", type: "N" },
      history: false,
      access: "transactional",
    } as const;
    const find = async (): Promise<unknown> =>
      (await stores.ports.control.tables()).find(({ name }) => name === table.name);
    await expect(registerTables(options, [table])).rejects.toMatchObject({ field: "table" });
    await createTables(stores.clientOptions, [table]);
    // Registered so, whatever was committed to it could not be installed.
    const mistyped = { ...table, partitionKey: { name: "account", type: "N" } } as const;
    const told = /the key account \(S\), entry \(N\), and is defined with account \(N\), entry/;
    await expect(registerTables(options, [mistyped])).rejects.toThrow(told);
    expect(await find()).toBeUndefined();
    await registerTables(options, [table]);
    expect(await find()).toEqual(table);
    const clock = { ...systemClock, nowMs: () => 1_000_000 };
    await registerTables({ ...options, clock }, [{ ...table, history: true }]);
    const kept = {
      ...table,
      history: true,
      historySince: (1_000_000 + limits.historyChangeMs) * 1000,
    };
    expect(await find()).toEqual(kept);
    // Said again later, it is no new beginning.
    await registerTables(options, [{ ...table, history: true }]);
    expect(await find()).toEqual(kept);
    const { sortKey: _, ...withoutSortKey } = table;
    for (const changed of [
      withoutSortKey,
      mistyped,
      { ...table, sortKey: { name: "line", type: "N" } as const },
    ]) {
      await expect(registerTables(options, [changed])).rejects.toMatchObject({ field: "key" });
    }
    expect(await find()).toEqual(kept);
  });

  test("are kept for one time, which changes beside other changes, within its bounds", async () => {
    const { control } = stores.ports;
    const retention = async (): Promise<number> => (await control.registry()).retention.retentionMs;
    expect(await retention()).toBe(limits.historyRetentionMsDefault);
    const wanted = [20, 30, 40, 50].map((minutes) => minutes * 60_000);
    await Promise.all(wanted.map((retentionMs) => control.retainHistory(retentionMs)));
    expect(wanted).toContain(await retention());
    // Whatever came last: of each that was longer than the one before, what was kept counts.
    const { previousMs } = (await control.registry()).retention;
    expect(previousMs).toBe(limits.historyRetentionMsDefault);
    for (const retentionMs of [0, 1.5, limits.historyRetentionMsMin - 1, 1e300, Number.NaN]) {
      await expect(control.retainHistory(retentionMs)).rejects.toMatchObject({
        field: "historyRetentionMs",
      });
    }
  });

  test("change as of a time shortly before the put, or not in this try", async () => {
    const { deployment } = stores;
    const names = deploymentNames(deployment);
    const startMs = systemClock.nowMs();
    // Held up once, when the time is known and the put is not signed.
    const times = [startMs, startMs + limits.registryChangeSignMsMax, startMs + 20_000];
    const clock = { ...systemClock, nowMs: () => times.shift() ?? startMs + 20_000 };
    const clients = createAwsClients(stores.clientOptions);
    const dynamodb = createDynamoDb(clients.dynamodb);
    const control = createDynamoDbControlStore({ dynamodb, clock, table: names.controlTable });
    await control.retainHistory(2 * 3600_000);
    const { retention } = await control.registry();
    expect(retention).toMatchObject({ retentionMs: 2 * 3600_000, changedMs: startMs + 20_000 });
    expect(times).toEqual([]);
    // Held up at every try.
    let nowMs = startMs + 30_000;
    const slow = { ...systemClock, nowMs: () => (nowMs += limits.registryChangeSignMsMax) };
    const held = createDynamoDbControlStore({ dynamodb, clock: slow, table: names.controlTable });
    await expect(held.retainHistory(3600_000)).rejects.toMatchObject({ fault: "unavailable" });
    expect((await control.registry()).retention).toEqual(retention);
    await clients.close();
  });

  test("take the key attributes of their indexes into the registry", async () => {
    const { deployment } = stores;
    const table = {
      name: `indexed-${deployment}`,
      partitionKey: { name: "id", type: "S" },
      history: false,
      access: "transactional",
    } as const;
    const byOwner = {
      name: "by-owner",
      partitionKey: { name: "owner", type: "S" },
      sortKey: { name: "openedAt", type: "N" },
    } as const;
    await createTables(stores.clientOptions, [{ ...table, indexes: [byOwner] }]);
    await registerTables({ ...stores.clientOptions, deployment }, [table]);
    const found = (await stores.ports.control.tables()).find(({ name }) => name === table.name);
    expect(found?.indexKeys).toEqual([
      { name: "owner", type: "S", role: "partition" },
      { name: "openedAt", type: "N", role: "sort" },
    ]);
    expect(found?.indexNames).toEqual(["by-owner"]);
    const { partitionKey, sortKey } = byOwner;
    expect(decodeIndexes(found?.indexDescriptions)).toEqual([
      {
        ...{ name: "by-owner", kind: "global", partitionKey, sortKey },
        ...{ projection: "ALL", nonKeyAttributes: [] },
      },
    ]);
  });

  test("and take them anew when the table is registered again", async () => {
    const { control } = stores.ports;
    const table = {
      name: "indexed-again",
      partitionKey: { name: "id", type: "S" },
      history: undefined,
      access: undefined,
    } as const;
    for (const name of ["owner", "state"]) {
      const indexKeys = [{ name, type: "S", role: "partition" }] as const;
      const indexNames = [`by-${name}`];
      const now = await control.registerTable({ ...table, indexKeys, indexNames });
      expect(now).toMatchObject({ indexKeys, indexNames });
    }
  });
});
