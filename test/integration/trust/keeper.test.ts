/**
 * A client that keeps house, with exactly the rights that the Terraform module has for it: it gets
 * everything done, uses each right, and says so where one is missing.
 */
import { DeleteTableCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, test } from "vitest";
import { keyNamesOf } from "../../../core/attributes.ts";
import type { TableDescription } from "../../../core/types.ts";
import { createEngine } from "../../../engine/engine.ts";
import type { EngineEvent } from "../../../engine/types.ts";
import { createClient, defineTable } from "../../../sdk/index.ts";
import { startCallRecorder, type RecordedCall } from "../../deploy/call-recorder.ts";
import { allows, readGrants, unused, type Grant } from "../../deploy/grants.ts";
import { certify, certifyingEngine, runReplay } from "../../functions/replay-runs.ts";
import { startLocalStores, type LocalStores } from "../../harness/local-stores.ts";
import { MixedLog } from "../../harness/mixed-log.ts";
import { storedN } from "../fragile.ts";
import { key, number, openDynamoDb, putAll, textCodec } from "../support.ts";
import { roles } from "./roles.ts";

const { keepHouse } = readGrants();
const hourMs = 3_600_000;

type House = {
  readonly stores: LocalStores;
  readonly plain: TableDescription;
  readonly mixed: TableDescription;
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Tables alone, in which a keeper finds work of every kind. */
async function untidyHouse(): Promise<House> {
  const stores = await startLocalStores({ stream: false });
  closing.push(() => stores.stop());
  const plain = await stores.createTable("plain");
  const kept = await stores.createTable("kept", { history: true });
  const doomed = await stores.createTable("doomed");
  const mixed = await stores.createTable("mixed", { access: "mixed" });
  await leaveFence(stores, mixed, "queued");
  await leaveTombstone(stores, plain);
  const honest = createEngine(stores.openPorts());
  await putAll(honest, kept, [{ ...key("kept"), n: number(1) }]);
  await putAll(honest, plain, [{ ...key("dropped"), n: number(1) }]);
  await honest.close();
  const dying = certifyingEngine(stores);
  await certify(dying, {
    of: plain,
    writes: [{ ...key("left"), n: number(1) }],
    deletes: [key("dropped")],
  });
  await certify(dying, { of: kept, writes: [{ ...key("kept"), n: number(2) }] });
  await certify(dying, { of: doomed, writes: [key("lost")] });
  const once = { ack: "certified", idempotencyKey: "once" } as const;
  await dying.transact(
    once,
    (tx) => {
      tx.put(plain.name, { ...key("once"), n: number(1) });
      return Promise.resolve("true");
    },
    textCodec,
  );
  const dynamodb = openDynamoDb(stores);
  await dynamodb.send(new DeleteTableCommand({ TableName: doomed.name }));
  dynamodb.destroy();
  await leaveFence(stores, mixed, "left");
  return { stores, plain, mixed };
}

/** Of a transaction that is aborted. Replay finds it, or if it has run since, the reaper. */
async function leaveFence(
  stores: LocalStores,
  table: TableDescription,
  name: string,
): Promise<void> {
  const log = new MixedLog(stores);
  const prepared = await log.prepare([{ table, key: key(name), item: key(name) }]);
  await log.fence(prepared);
  await log.abort(prepared);
}

/** One that replay has queued, and whose grace has passed by a sample that says so. */
async function leaveTombstone(stores: LocalStores, of: TableDescription): Promise<void> {
  const engine = createEngine(stores.openPorts());
  await putAll(engine, of, [{ ...key("gone"), n: number(1) }]);
  await engine.transact({}, (tx) => {
    tx.delete(of.name, key("gone"));
    return Promise.resolve();
  });
  await engine.close();
  const { watermark } = await runReplay(stores, {});
  const sample = { observedMs: Date.now() - 2 * hourMs, timestamp: watermark.timestamp };
  await stores.ports.control.saveWatermarkSamples(stores.shard, [sample]);
}

type Kept = {
  /** Of the client's first turn. */
  readonly events: readonly EngineEvent[];
  readonly calls: readonly RecordedCall[];
};

async function keepHouseWith(
  grants: readonly Grant[],
  { stores, plain, mixed }: House,
): Promise<Kept> {
  const { endpoint, names } = { endpoint: stores.servers.endpoint, names: stores.ports.names };
  const gate = await startCallRecorder(endpoint, names, {
    mixed: [mixed.name],
    permits: (call) => grants.some((grant) => allows(grant, call)),
  });
  closing.push(() => gate.stop());
  const { region, credentials } = stores.clientOptions;
  const events: EngineEvent[] = [];
  const turnEnded = new Promise<void>((ended) => {
    const client = createClient({
      ...{ deployment: stores.deployment, region, credentials },
      endpoints: { dynamodb: gate.url, kinesis: gate.url },
      housekeeping: true,
      onEvent: (event) => {
        events.push(event);
        const { kind } = event;
        if (kind === "house-kept" || kind === "housekeeping-failed") ended();
      },
    });
    closing.push(() => client.close());
    const table = defineTable<{ n: number }, { pk: string }>(plain.name, { key: "pk" });
    void client.snapshot((tx) => tx.get(table, "nothing")).catch(() => undefined);
  });
  await turnEnded;
  const ofHouse = ({ kind }: EngineEvent) => kind.startsWith("house");
  return { events: events.filter(ofHouse), calls: gate.calls() };
}

/** Each right of the policy by itself: one action under one pattern of keys. */
const singleRights: readonly Grant[] = keepHouse.flatMap((grant) =>
  grant.actions.flatMap((action) =>
    (grant.leadingKeys ?? [undefined]).map((pattern) => ({
      ...{ sid: grant.sid, on: grant.on, actions: [action] },
      ...(pattern === undefined ? {} : { leadingKeys: [pattern] }),
    })),
  ),
);

const nameOf = ({ actions, on, leadingKeys = [] }: Grant): string =>
  [...actions, "on", on, ...leadingKeys].join(" ");

const failuresIn = ({ events }: Kept): string[] =>
  events.flatMap((event) => (event.kind === "housekeeping-failed" ? [String(event.cause)] : []));

test("the policy lets a client do all the work, and nothing that is not needed", async () => {
  const house = await untidyHouse();
  const { stores, plain, mixed } = house;
  const kept = await keepHouseWith(roles["a client that keeps house"], house);
  // What can never be installed is told, and holds up nothing.
  expect(failuresIn(kept)).toEqual([expect.stringMatching(/never be installed/)]);
  expect(await storedN(stores, plain, key("left"))).toBe(1);
  expect(await storedN(stores, plain, key("once"))).toBe(1);
  const { control, mixed: items } = stores.ports;
  const left = { table: keyNamesOf(mixed), key: key("left") };
  expect(await items.read(left)).toBeUndefined();
  expect(await control.queuedFences(stores.shard)).toMatchObject([{ keys: [key("left")] }]);
  expect(unused(keepHouse, kept.calls)).toEqual([]);
});

test.each(singleRights.map((right) => [nameOf(right), right] as const))(
  "without %s a turn fails, and the client says so",
  async (name, _right) => {
    const others = singleRights.filter((right) => nameOf(right) !== name);
    const granted = [...roles["an express client"], ...others];
    const failures = failuresIn(await keepHouseWith(granted, await untidyHouse()));
    expect(failures.join("\n")).toMatch(/not authorized to perform/);
  },
);
