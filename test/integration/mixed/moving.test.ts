/** Tables on their way from one access to the other, on real stores: what each state does. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../../aws/clients.ts";
import { createDynamoDb } from "../../../aws/dynamodb.ts";
import { createDynamoDbControlStore } from "../../../aws/dynamodb-control-store.ts";
import { deploymentNames } from "../../../aws/names.ts";
import { systemClock } from "../../../aws/system.ts";
import type { AccessState } from "../../../core/table-access.ts";
import type { Item, TableDescription } from "../../../core/types.ts";
import type { TransactionEngine } from "../../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { Native } from "./native.ts";

let deployment: LocalDeployment;
let clients: AwsClients;
let native: Native;
let made = 0;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  clients = createAwsClients(deployment.stores.clientOptions);
  native = new Native(deployment.stores);
});
afterAll(async () => {
  await clients.close();
  await deployment.stop();
});

const guarded: AccessState = { access: "mixed", move: { to: "mixed", stage: "guarded" } };
const closed: AccessState = { access: "transactional", move: { to: "mixed", stage: "closed" } };
const key: Item = { pk: { S: "a" } };

async function enter(table: TableDescription, state: AccessState): Promise<void> {
  const { controlTable } = deploymentNames(deployment.stores.deployment);
  const dynamodb = createDynamoDb(clients.dynamodb);
  const control = createDynamoDbControlStore({ dynamodb, clock: systemClock, table: controlTable });
  await control.changeAccess(table.name, () => ({ ...state, mover: undefined }));
}

function newTable(): Promise<TableDescription> {
  made += 1;
  return deployment.stores.createTable(`moving-${made.toString()}`);
}

const put = (engine: TransactionEngine, { name }: TableDescription, n: number) =>
  engine.transact({}, (tx) => {
    tx.put(name, { ...key, n: { N: n.toString() } });
    return Promise.resolve();
  });

const remove = (engine: TransactionEngine, { name }: TableDescription) =>
  engine.transact({}, (tx) => {
    tx.delete(name, key);
    return Promise.resolve();
  });

test.each(["stream", "express"] as const)(
  "a transaction by %s waits while its table is closed, and commits as the table is then",
  async (commit) => {
    const table = await newTable();
    const engine = deployment.openEngine({ commit });
    await put(engine, table, 1);
    await enter(table, closed);
    let isDone = false;
    const fresh = deployment.openEngine({ commit });
    const waiting = [fresh, engine].map((each, i) =>
      put(each, table, 2 + i).then((receipt) => {
        isDone ||= i === 0;
        return receipt;
      }),
    );
    await systemClock.sleep(2_000);
    expect(isDone).toBe(false);
    await enter(table, guarded);
    const done = await Promise.all(waiting);
    // One attempt was in vain; it was over before anything was sent.
    expect(done[0]?.receipt.attempts).toBe(2);
    // By prepare and vote: with a place in the log, though it is one item.
    for (const { receipt } of done) expect(receipt.commitTimestamp).toBeDefined();
  },
  30_000,
);

test("a guarded delete keeps a late install from bringing the item back", async () => {
  const table = await newTable();
  const engine = deployment.openEngine();
  const { receipt } = await put(engine, table, 1);
  await enter(table, guarded);
  const by = deployment.openEngine();
  await remove(by, table);
  const left = await native.get(table, key);
  expect(Object.keys(left ?? {}).sort()).toEqual(["_v", "_x", "pk"]);
  // A copy of the install that was on its way all the time.
  const version = receipt.commitTimestamp;
  if (version === undefined) throw new Error("it was committed in the log");
  const late = await deployment.stores.ports.items.install({
    ...{ table: table.name, key, item: { ...key, n: { N: "1" } }, version },
    ...{ expects: "below", signBeforeMs: systemClock.nowMs() + 10_000 },
  });
  expect(late).toBe("superseded");
  const absent = await by.snapshot({}, (reader) => reader.get(table.name, key));
  expect(absent.result).toBeUndefined();
  // The reaper will have it, by its grace.
  const { shard, ports } = deployment.stores;
  await expect
    .poll(async () => {
      const queued = await ports.control.queuedTombstones(shard);
      return queued.flatMap((batch) => batch.tombstones).some((each) => each.table === table.name);
    })
    .toBe(true);
  // A row comes again over it, and goes again.
  await put(by, table, 2);
  expect(await native.get(table, key)).toMatchObject({ n: { N: "2" } });
  await remove(by, table);
  expect(await native.get(table, key)).toMatchObject({ _x: { BOOL: true } });
});

test("a mixed table's delete leaves nothing: the guard is of the way alone", async () => {
  const table = await newTable();
  await enter(table, { access: "mixed" });
  const engine = deployment.openEngine();
  await put(engine, table, 1);
  await remove(engine, table);
  expect(await native.get(table, key)).toBeUndefined();
});
