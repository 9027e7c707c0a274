/**
 * Replay beside transactions that are prepared and not decided, on real stores: the watermark waits
 * below them, commits do not, and what nobody decides is voted down (docs/protocol.md §8).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Clock, Ports } from "../../core/ports.ts";
import type {
  Item,
  LogBlock,
  LogPosition,
  MakerNumber,
  TableDescription,
  Timestamp,
  Verdict,
} from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { Engine } from "../../engine/types.ts";
import { keepHouse } from "../../functions/housekeeping/service.ts";
import { createReplayService, type ReplayService } from "../../functions/replay/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { startLocalStores, type LocalStores } from "../harness/local-stores.ts";
import {
  logOf,
  preparing,
  putRequest,
  sendRequest,
  verdictOn,
  voterAt,
  voterPayload,
  type SentRequest,
  type Voter,
} from "../harness/voters.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import { key, number, numberOf, readOne } from "../integration/support.ts";
import { certify, certifyingEngine } from "./replay-runs.ts";

const budget = { remainingMs: () => 30_000 };

function keyOf({ pk }: Item): Item {
  return pk === undefined ? {} : { pk };
}

/** A clock that runs ahead. */
function ahead(clock: Clock, byMs: number): Clock {
  return {
    nowMs: () => clock.nowMs() + byMs,
    monotonicMs: () => clock.monotonicMs(),
    sleep: (...call) => clock.sleep(...call),
  };
}

function serviceOf(
  stores: LocalStores,
  clockAheadMs = 0,
): { readonly service: ReplayService; readonly looks: () => number; readonly ports: Ports } {
  const real = stores.openPorts();
  let looks = 0;
  const items: Ports["items"] = Object.assign(Object.create(real.items) as Ports["items"], {
    versions: (...call: Parameters<Ports["items"]["versions"]>) => {
      looks += call[0].length;
      return real.items.versions(...call);
    },
  });
  const ports = { ...real, items, clock: ahead(real.clock, clockAheadMs) };
  const service = createReplayService(ports, silentObservability, {
    patienceMs: 0,
    ownInstallMs: 0,
  });
  return { service, looks: () => looks, ports };
}

describe("by the stream", () => {
  let deployment: LocalDeployment;
  let stores: LocalStores;
  let table: TableDescription;
  let client: Engine;

  beforeAll(async () => {
    ({ deployment, plain: table } = await startWithoutReplay());
    ({ stores } = deployment);
    client = certifyingEngine(stores);
    await certify(client, { of: table, writes: [key("first")] });
  });
  afterAll(() => deployment.stop());
  // Each begins with everything installed.
  beforeEach(async () => {
    const { watermark } = await replay(serviceOf(stores).service);
    expect(watermark.position).toBe((await logOf(stores)).at(-1)?.position ?? 0);
  });

  function replay(service: ReplayService) {
    return service.handle({ shard: stores.shard, records: [] }, budget);
  }

  function send(request: SentRequest) {
    return sendRequest(stores, request);
  }

  function prepare(voter: Voter) {
    return send(preparing(table, voter));
  }

  async function stored(each: Item): Promise<{ version: number; n: number }> {
    const { item, version } = await stores.ports.items.get(table, each);
    return { version, n: numberOf(item) };
  }

  test("I7: commits above are installed, and looked at once; the watermark waits", async () => {
    const voter = await voterAt(stores, 1);
    const { block } = await prepare(voter);
    const { at } = await certify(client, { of: table, writes: [{ ...key("a"), n: number(1) }] });
    const warm = serviceOf(stores);
    const { watermark } = await replay(warm.service);
    expect(watermark.position).toBe(block.position - 1);
    expect(watermark.timestamp).toBe(block.previousTimestamp);
    expect(await stored(key("a"))).toEqual({ version: at, n: 1 });
    const looks = warm.looks();
    expect(looks).toBeGreaterThan(0);
    // Another minute, in the same process: nothing is new.
    await replay(warm.service);
    expect(warm.looks()).toBe(looks);
    // Another process begins at the watermark, and finds all installed.
    const cold = serviceOf(stores);
    expect((await replay(cold.service)).watermark.position).toBe(block.position - 1);
    expect(cold.looks()).toBeGreaterThan(0);
    // A record's vote: what is prepared is installed as of it.
    const { id, proof } = voter;
    const vote = await send({ id, kind: "vote", vote: { proof, stamps: [] } });
    expect(vote.verdict.kind).toBe("committed");
    const end = await replay(warm.service);
    expect(end.watermark.timestamp).toBe(vote.verdict.timestamp);
    expect(await stored(key("prepared 1"))).toEqual({ version: vote.verdict.timestamp, n: 1 });
    // The other one has not seen the watermark move until now, and goes on from there.
    expect((await replay(cold.service)).watermark).toEqual(end.watermark);
  });

  test("metrics say what has been open for longest, and which blocks are passed", async () => {
    const told: (readonly [string, number, string | undefined])[] = [];
    const tell = (...metric: (typeof told)[number]): void => void told.push(metric);
    const metrics = { count: tell, milliseconds: tell, bytes: tell };
    const ports = stores.openPorts();
    const service = createReplayService(
      ports,
      { log: silentObservability.log, metrics },
      { patienceMs: 0, ownInstallMs: 0 },
    );
    const of = (name: string) => told.filter(([each]) => each === name);
    await replay(service);
    expect(of("OldestOpen")).toEqual([]);
    const before = (await logOf(stores)).length;
    const voter = await voterAt(stores, 30);
    const { verdict } = await prepare(voter);
    const at = verdict.kind === "prepared" ? verdict.timestamp : 0;
    await certify(client, { of: table, writes: [{ ...key("c"), n: number(1) }] });
    const beganMs = ports.clock.nowMs();
    await replay(service);
    const [[, openMs, shard] = []] = of("OldestOpen");
    expect(openMs).toBeGreaterThanOrEqual(beganMs - at / 1_000);
    expect(openMs).toBeLessThanOrEqual(ports.clock.nowMs() - at / 1_000);
    expect(shard).toBe(stores.shard);
    const { id, proof } = voter;
    await send({ id, kind: "vote", vote: { proof, stamps: [] } });
    await replay(service);
    expect(of("OldestOpen")).toHaveLength(1);
    // Two runs that find the same blocks count each once.
    await replay(serviceOf(stores).service);
    const blocks = of("LogBlocks").reduce((sum, [, count]) => sum + count, 0);
    expect(blocks).toBe((await logOf(stores)).length - before);
  });

  test("I7: a process that dies between vote and watermark leaves nothing out", async () => {
    const voter = await voterAt(stores, 2);
    await prepare(voter);
    await replay(serviceOf(stores).service);
    const { id, proof } = voter;
    const { verdict } = await send({ id, kind: "vote", vote: { proof, stamps: [] } });
    const { at } = await certify(client, { of: table, writes: [{ ...key("b"), n: number(2) }] });
    const { service } = serviceOf(stores);
    expect((await replay(service)).watermark.timestamp).toBe(at);
    expect(await stored(key("prepared 2"))).toEqual({ version: verdict.timestamp, n: 2 });
  });

  test("who begins where the watermark waits takes no queued tombstone away", async () => {
    const [first, second] = [key("deleted first"), key("deleted later")];
    await certify(client, { of: table, writes: [first, second] });
    await certify(client, { of: table, writes: [], deletes: [first] });
    const voter = await voterAt(stores, 6);
    const { block } = await prepare(voter);
    await certify(client, { of: table, writes: [], deletes: [second] });
    const { watermark } = await replay(serviceOf(stores).service);
    expect(watermark.position).toBe(block.position - 1);
    // It knows of the second one only, in a stretch that ends at the same block.
    await replay(serviceOf(stores).service);
    const queued = await stores.ports.control.queuedTombstones(stores.shard);
    const keys = queued.flatMap(({ tombstones }) => tombstones.map((each) => each.key));
    expect(keys).toEqual(expect.arrayContaining([first, second]));
    const { id, proof } = voter;
    await send({ id, kind: "vote", vote: { proof, stamps: [] } });
  });

  test("a vote with stamps, where no table is mixed, stops nobody", async () => {
    const voter = await voterAt(stores, 5);
    await prepare(voter);
    const { id, proof } = voter;
    const stamps = [{ kind: "nonce", nonce: new Uint8Array(16) }] as const;
    const { verdict } = await send({ id, kind: "vote", vote: { proof, stamps } });
    expect(verdict).toMatchObject({ kind: "committed", stamps });
    const { watermark } = await replay(serviceOf(stores).service);
    expect(watermark.timestamp).toBe(verdict.timestamp);
    expect(await stored(key("prepared 5"))).toEqual({ version: verdict.timestamp, n: 5 });
  });

  test("what nobody decides is voted down by a record, and then passed", async () => {
    const voter = await voterAt(stores, 3);
    const { block, verdict } = await prepare(voter);
    const { service } = serviceOf(stores, limits.openByClockMsMax);
    expect((await replay(service)).watermark.position).toBe(block.position - 1);
    const against = await verdictOn(stores, voter.id, { above: verdict.timestamp });
    expect(against.verdict).toMatchObject({ kind: "aborted", reason: { kind: "probed" } });
    expect((await replay(service)).watermark.position).toBe(against.block.position);
    expect(await stored(key("prepared 3"))).toEqual({ version: 0, n: 0 });
    // Its own client comes too late.
    const { id, proof } = voter;
    await putRequest(stores, { id, kind: "vote", vote: { proof, stamps: [] } });
    await certify(client, { of: table, writes: [key("later")] });
    await replay(service);
    expect(await stored(key("prepared 3"))).toEqual({ version: 0, n: 0 });
  });

  test("a batch that the log covers is not delivered again for what is open", async () => {
    await prepare(await voterAt(stores, 4));
    await certify(client, { of: table, writes: [key("c")] });
    const { ports, shard } = stores;
    const cursor = (await logOf(stores)).at(-1)?.cursor;
    if (cursor === undefined) throw new Error("the log has a cursor");
    const from = cursor.sequenceNumber;
    const read = await ports.stream.read(shard, from, { recordsMax: 10 });
    const records = read.kind === "found" ? read.records : [];
    expect(records).not.toEqual([]);
    const { service } = serviceOf(stores, limits.openByClockMsMax);
    const { unfinishedFrom } = await service.handle({ shard, records }, budget);
    expect(unfinishedFrom).toBeUndefined();
  });
});

describe("in a deployment of tables alone", () => {
  let stores: LocalStores;
  let table: TableDescription;

  beforeAll(async () => {
    stores = await startLocalStores({ stream: false });
    table = await stores.createTable("rows");
  });
  afterAll(() => stores.stop());

  type Verdicts = (at: Timestamp) => readonly Verdict[];

  /** A client's block behind the log's end. */
  async function append(verdictsAt: Verdicts, oldestOpen?: LogPosition): Promise<LogBlock> {
    const { ports, shard, hashes } = stores;
    const [last] = (await logOf(stores)).slice(-1);
    if (last === undefined) throw new Error("the log has a block");
    const timestamp = (last.throughTimestamp + 1) as Timestamp;
    const block: LogBlock = {
      position: (last.position + 1) as LogPosition,
      previousTimestamp: last.throughTimestamp,
      throughTimestamp: timestamp,
      cursor: last.cursor,
      arrivalMs: 0,
      rejectedRecords: 0,
      maker: { number: 7 as MakerNumber, installed: [] },
      ...(oldestOpen === undefined ? {} : { oldestOpen }),
      verdicts: verdictsAt(timestamp),
    };
    const bytes = encodeLogBlock(block, hashes);
    expect(await ports.log.append(shard, { position: block.position, bytes })).toBe("appended");
    return block;
  }

  function verdictOf({ id, item }: Voter): Verdicts {
    const named = { name: table.name, partitionKey: "pk" };
    const writes = [stores.hashes.item(named, keyOf(item))];
    const payload = voterPayload(table, item);
    return (timestamp) => [{ kind: "prepared", id, timestamp, checks: [], writes, payload }];
  }

  test("what nobody decides is voted down by a block, and clients go on", async () => {
    const engine = createEngine(stores.openPorts());
    await engine.transact({}, (tx) => {
      tx.put(table.name, { ...key("before"), n: number(1) });
      return Promise.resolve();
    });
    const voter = await voterAt(stores, 1);
    const block = await append(verdictOf(voter));
    const { service: replay, ports: aheadPorts } = serviceOf(stores, limits.openByClockMsMax);
    const keep = () =>
      keepHouse({ ports: aheadPorts, replay, observability: silentObservability }, budget);
    expect(await keep()).toMatchObject({
      replayed: [{ watermark: { position: block.position - 1 } }],
    });
    expect((await logOf(stores)).at(-1)).toMatchObject({
      oldestOpen: block.position,
      verdicts: [{ kind: "aborted", id: voter.id, reason: { kind: "probed" } }],
    });
    expect(await keep()).toMatchObject({
      replayed: [{ watermark: { position: block.position + 1 } }],
    });
    expect(await readOne(engine, table, key("prepared 1"))).toBeUndefined();
    await engine.transact({}, (tx) => {
      tx.put(table.name, { ...key("prepared 1"), n: number(2) });
      return Promise.resolve();
    });
    const other = createEngine(stores.openPorts());
    expect(await readOne(other, table, key("prepared 1"))).toMatchObject({ n: number(2) });
    await Promise.all([engine.close(), other.close()]);
  });

  test("I4: a block that hides what is open stops replay in front of it", async () => {
    const prepared = await append(verdictOf(await voterAt(stores, 2)));
    const aborting = async (n: number): Promise<Verdicts> => {
      const { id } = await voterAt(stores, n);
      const reason = { kind: "probed" } as const;
      return (timestamp) => [{ kind: "aborted", id, timestamp, reason }];
    };
    await append(await aborting(3), prepared.position);
    await append(await aborting(4));
    const { service } = serviceOf(stores);
    const run = service.handle({ shard: stores.shard, records: [] }, budget);
    await expect(run).rejects.toMatchObject({
      code: "corrupt-data",
      message: expect.stringContaining("names block none as the oldest") as string,
    });
    const watermark = await stores.ports.control.readWatermark(stores.shard);
    expect(watermark?.position).toBe(prepared.position - 1);
  });
});
