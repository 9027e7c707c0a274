/**
 * Replay on real stores: it installs what certified transactions left, whatever fails, repeats or
 * overlaps, and its watermark never claims more than is installed (docs/protocol.md §8; I6, I7,
 * I9).
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DeleteTableCommand, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { DeadLetter, Ports, StreamRead, StreamRecord } from "../../core/ports.ts";
import { compareSequenceNumbers } from "../../core/sequence-number.ts";
import type {
  Item,
  SequenceNumber,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import type { Engine } from "../../engine/types.ts";
import type { ReplayResult } from "../../functions/replay/service.ts";
import type { LocalDeployment } from "../harness/local-deployment.ts";
import { startWithoutReplay } from "../harness/without-replay.ts";
import {
  certify,
  certifyingEngine,
  recordsFrom,
  runReplay,
  type ReplayRun,
} from "./replay-runs.ts";
import {
  failureOf,
  key,
  number,
  numberOf,
  openDynamoDb,
  putAll,
  readOne,
  text,
} from "../integration/support.ts";

const retentionMs = limits.streamRetentionMsMax;

let deployment: LocalDeployment;
let table: TableDescription;
let kept: TableDescription;
let client: Engine;

beforeAll(async () => {
  ({ deployment, plain: table, kept } = await startWithoutReplay());
  client = certifyingEngine(deployment.stores);
});
afterEach(async () => {
  // Each test begins with everything installed.
  await replay();
});
afterAll(() => deployment.stop());

function replay(run: ReplayRun = {}): Promise<ReplayResult> {
  return runReplay(deployment.stores, run);
}

function commit(
  of: TableDescription,
  writes: readonly Item[],
  deletes: readonly Item[] = [],
): Promise<{ id: TransactionId; at: Timestamp }> {
  return certify(client, { of, writes, deletes });
}

async function stored(of: TableDescription, each: Item): Promise<number> {
  const { item } = await deployment.stores.ports.items.get(of, each);
  return numberOf(item);
}

/** Of the log's last decision. */
async function newestRecord(): Promise<SequenceNumber> {
  const { ports, shard, hashes } = deployment.stores;
  const [block] = await ports.log.readBackward(shard, { blocksMax: 1 });
  const cursor = block === undefined ? undefined : decodeBlock(block, hashes).cursor;
  if (cursor === undefined) throw new Error("the log has no cursor");
  return cursor.sequenceNumber;
}

async function watermark(): Promise<Timestamp> {
  const { ports, shard } = deployment.stores;
  return (await ports.control.readWatermark(shard))?.timestamp ?? (0 as Timestamp);
}

describe("replay", () => {
  test("I7: installs puts and deletes of every table, then moves the watermark", async () => {
    const first = await commit(table, [
      { ...key("a"), n: number(1) },
      { ...key("b"), n: number(1) },
    ]);
    expect(await watermark()).toBeLessThan(first.at);
    const second = await commit(table, [{ ...key("a"), n: number(2) }], [key("b")]);
    const third = await commit(kept, [{ ...key("a"), n: number(1) }]);
    const fourth = await commit(kept, [{ ...key("a"), n: number(2) }]);
    const { watermark: reached } = await replay();
    expect(reached.timestamp).toBeGreaterThanOrEqual(fourth.at);
    expect(await watermark()).toBe(reached.timestamp);
    const { items, versions } = deployment.stores.ports;
    expect(await items.get(table, key("a"))).toMatchObject({ version: second.at });
    expect(await items.get(table, key("b"))).toMatchObject({ version: second.at, tombstone: true });
    expect(await items.get(kept, key("a"))).toMatchObject({ version: fourth.at });
    expect(await versions.find(kept.name, key("a"), third.at)).toMatchObject({
      version: third.at,
      next: fourth.at,
      item: { n: number(1) },
    });
  });

  test("I6, I7, I9: overlapping itself three times works once, and nothing goes back", async () => {
    const commits = [];
    for (let i = 1; i <= 10; i += 1) {
      commits.push(await commit(i % 2 === 0 ? table : kept, [{ ...key("c"), n: number(i) }]));
    }
    const results = await Promise.all([replay(), replay(), replay()]);
    const last = commits.at(-1)?.at ?? (0 as Timestamp);
    for (const { watermark: reached } of results) {
      expect(reached.timestamp).toBeGreaterThanOrEqual(last);
    }
    expect([await stored(table, key("c")), await stored(kept, key("c"))]).toEqual([10, 9]);
    for (const [i, { at }] of commits.entries()) {
      const engine = deployment.openEngine();
      if (i % 2 === 1) continue;
      const { result } = await engine.snapshot({ asOf: at }, (snapshot) =>
        snapshot.get(kept.name, key("c")),
      );
      expect(numberOf(result)).toBe(i + 1);
    }
  });

  test("I7, I9: failing at any call, leaves a true watermark, and goes on later", async () => {
    const { ports } = deployment.stores;
    const down = (): Promise<never> =>
      Promise.reject(new StoreError("unavailable", "scripted failure"));
    const failing: Partial<Ports>[] = [
      { items: { ...ports.items, install: down } },
      { items: { ...ports.items, versions: down } },
      { log: { ...ports.log, readAfter: down } },
      { stream: { ...ports.stream, read: down } },
      { control: { ...ports.control, advanceWatermark: down } },
      { control: { ...ports.control, queueTombstones: down } },
    ];
    const { at } = await commit(table, [{ ...key("d"), n: number(1) }], [key("e")]);
    for (const broken of failing) {
      expect(await failureOf(replay({ ports: broken }))).toBeInstanceOf(StoreError);
      expect(await watermark()).toBeLessThan(at);
    }
    await replay();
    expect(await watermark()).toBeGreaterThanOrEqual(at);
    expect(await stored(table, key("d"))).toBe(1);
  });

  test("I7: installs what is left of a chunk when some installs fail", async () => {
    const { ports } = deployment.stores;
    const names = ["f1", "f2", "f3", "f4"];
    const { at } = await commit(
      table,
      names.map((name) => ({ ...key(name), n: number(1) })),
    );
    let installs = 0;
    const flaky: Partial<Ports> = {
      items: {
        ...ports.items,
        install(...request) {
          installs += 1;
          if (installs % 2 === 0) return Promise.reject(new StoreError("throttled", "scripted"));
          return ports.items.install(...request);
        },
      },
    };
    expect(await failureOf(replay({ ports: flaky }))).toMatchObject({ fault: "throttled" });
    expect(await watermark()).toBeLessThan(at);
    await replay();
    for (const name of names) expect(await stored(table, key(name))).toBe(1);
  });

  test("I7: frozen in the middle of its work, wakes up later and moves nothing back", async () => {
    const { ports } = deployment.stores;
    const { at } = await commit(table, [{ ...key("g"), n: number(1) }]);
    let thaw: () => void = () => undefined;
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    const sleeping = replay({
      ports: {
        items: {
          ...ports.items,
          async versions(...request) {
            const versions = await ports.items.versions(...request);
            await frozen;
            return versions;
          },
        },
      },
    });
    await replay();
    const later = await commit(table, [{ ...key("g"), n: number(2) }]);
    await replay();
    const before = await watermark();
    thaw();
    await sleeping;
    expect(await watermark()).toBeGreaterThanOrEqual(before);
    expect(before).toBeGreaterThanOrEqual(later.at);
    expect(at).toBeLessThan(later.at);
    expect(await stored(table, key("g"))).toBe(2);
  });

  test("returns what the log does not cover yet, and waits for a slow oracle", async () => {
    const { at } = await commit(table, [{ ...key("h"), n: number(1) }]);
    const ahead: StreamRecord = {
      sequenceNumber: "9".repeat(56) as SequenceNumber,
      arrivalMs: Date.now(),
      data: new Uint8Array(),
    };
    const { unfinishedFrom, watermark: reached } = await replay({
      records: [ahead],
      patienceMs: 30,
    });
    expect(unfinishedFrom).toBe(ahead.sequenceNumber);
    expect(reached.timestamp).toBeGreaterThanOrEqual(at);
    await deployment.oracle.stop();
    const late = commit(table, [{ ...key("h"), n: number(2) }]);
    const record = (await recordsFrom(deployment.stores, 2)).at(-1);
    if (record === undefined) throw new Error("no record");
    const waiting = replay({ records: [record], patienceMs: 10_000 });
    await deployment.oracle.start();
    expect((await waiting).unfinishedFrom).toBeUndefined();
    await late;
    expect(await stored(table, key("h"))).toBe(2);
  });

  test("stops at the end of its batch; a scheduled run installs what no batch brings", async () => {
    const first = await commit(table, [{ ...key("batch-1"), n: number(1) }]);
    const records = await recordsFrom(deployment.stores, 1);
    const second = await commit(table, [{ ...key("batch-2"), n: number(1) }]);
    const { unfinishedFrom, watermark: reached } = await replay({ records });
    expect(unfinishedFrom).toBeUndefined();
    expect(reached.timestamp).toBeGreaterThanOrEqual(first.at);
    expect(reached.timestamp).toBeLessThan(second.at);
    expect(await watermark()).toBe(reached.timestamp);
    expect(await stored(table, key("batch-1"))).toBe(1);
    expect((await deployment.stores.ports.items.get(table, key("batch-2"))).item).toBeUndefined();
    await replay();
    expect(await watermark()).toBeGreaterThanOrEqual(second.at);
    expect(await stored(table, key("batch-2"))).toBe(1);
  });

  test("stops in time and goes on with the next call", async () => {
    for (let i = 0; i < 3; i += 1) await commit(table, [{ ...key("i"), n: number(i) }]);
    const result = await replay({ remainingMs: () => 0, patienceMs: 10_000 });
    expect(result.watermark.timestamp).toBeGreaterThan(0);
    await replay();
    expect(await stored(table, key("i"))).toBe(2);
  });
});

describe("a backlog", () => {
  test("of large payloads is installed in steps, so a crash repeats little", async () => {
    const large = { large: text("x".repeat(390_000)) };
    for (let i = 0; i < 3; i += 1) {
      const names = Array.from({ length: 12 }, (_, k) => `step-${i.toString()}-${k.toString()}`);
      await commit(
        table,
        names.map((name) => ({ ...key(name), ...large })),
      );
    }
    const { control } = deployment.stores.ports;
    const reached: Timestamp[] = [];
    await replay({
      ports: {
        control: {
          ...control,
          advanceWatermark: (shard, to, options) => {
            reached.push(to.timestamp);
            return control.advanceWatermark(shard, to, options);
          },
        },
      },
    });
    expect(reached.length).toBeGreaterThan(1);
    expect(reached).toEqual([...reached].sort((a, b) => a - b));
  });
});

describe("a write that can never be installed", () => {
  test("because its table was deleted becomes a dead letter, and the shard goes on", async () => {
    const { stores } = deployment;
    const doomed = await stores.createTable("doomed");
    client = certifyingEngine(deployment.stores);
    const { id, at } = await commit(doomed, [{ ...key("a"), n: number(1) }, key("b")]);
    const dynamodb = openDynamoDb(stores);
    await dynamodb.send(new DeleteTableCommand({ TableName: doomed.name }));
    dynamodb.destroy();
    const after = await commit(table, [{ ...key("after-doomed"), n: number(1) }]);
    const letters: DeadLetter[] = [];
    const { control } = stores.ports;
    await replay({
      ports: {
        control: {
          ...control,
          saveDeadLetter: (letter, options) => {
            letters.push(letter);
            return control.saveDeadLetter(letter, options);
          },
        },
      },
    });
    expect(letters).toHaveLength(2);
    expect(letters[0]).toMatchObject({
      id,
      timestamp: at,
      table: doomed.name,
      shard: stores.shard,
    });
    expect(await watermark()).toBeGreaterThanOrEqual(after.at);
    expect(await stored(table, key("after-doomed"))).toBe(1);
  });

  test.each(["plain", "history"] as const)(
    "because its item has a foreign version becomes one, on a %s table, and overwrites nothing",
    async (kind) => {
      const { stores } = deployment;
      const branded = await stores.createTable(`branded-${kind}`, { history: kind === "history" });
      const dynamodb = openDynamoDb(stores);
      const foreign = { pk: { S: "taken" }, _v: { S: "7.1-beta" } };
      await dynamodb.send(new PutItemCommand({ TableName: branded.name, Item: foreign }));
      client = certifyingEngine(deployment.stores);
      const { id } = await commit(branded, [
        { ...key("taken"), n: number(1) },
        { ...key("free"), n: number(2) },
      ]);
      const after = await commit(table, [{ ...key(`after-branded-${kind}`), n: number(1) }]);
      const letters: DeadLetter[] = [];
      const { control } = stores.ports;
      const saveDeadLetter: typeof control.saveDeadLetter = (letter) => {
        letters.push(letter);
        return Promise.resolve();
      };
      await replay({ ports: { control: { ...control, saveDeadLetter } } });
      expect(letters).toMatchObject([{ id, key: key("taken"), table: branded.name }]);
      expect(await watermark()).toBeGreaterThanOrEqual(after.at);
      expect(await stored(branded, key("free"))).toBe(2);
      const command = new GetItemCommand({ TableName: branded.name, Key: { pk: { S: "taken" } } });
      expect((await dynamodb.send(command)).Item).toEqual(foreign);
      dynamodb.destroy();
    },
  );

  test.each<readonly [string, StreamRead, number]>([
    ["trimmed", { kind: "trimmed" }, 0],
    ["older than any stream keeps", { kind: "unseen", complete: true }, retentionMs + 1],
  ])("because its payload is %s becomes a dead letter too", async (_, read, laterMs) => {
    const { stores } = deployment;
    const { id } = await commit(table, [{ ...key("lost"), n: number(1) }]);
    const letters: DeadLetter[] = [];
    const { clock, control, stream } = stores.ports;
    await replay({
      ports: {
        clock: { ...clock, nowMs: () => clock.nowMs() + laterMs },
        stream: { ...stream, read: () => Promise.resolve(read) },
        control: {
          ...control,
          saveDeadLetter: (letter, options) => {
            letters.push(letter);
            return control.saveDeadLetter(letter, options);
          },
        },
      },
    });
    expect(letters).toMatchObject([{ id, table: "" }]);
  });

  test.each<readonly [string, StreamRead, number]>([
    ["no page of many showed it", { kind: "unseen", complete: false }, 2 * retentionMs],
    ["the end came before it", { kind: "unseen", complete: true }, 0],
  ])("waits while its payload may be there: %s", async (_, read, laterMs) => {
    const { ports } = deployment.stores;
    const before = await commit(table, [{ ...key("before"), n: number(1) }]);
    const { at } = await commit(table, [{ ...key("waits"), n: number(1) }]);
    const { clock, control, stream } = ports;
    const hidden = await newestRecord();
    const letters: DeadLetter[] = [];
    const blind: Partial<Ports> = {
      clock: { ...clock, nowMs: () => clock.nowMs() + laterMs },
      stream: {
        ...stream,
        read: async (...given) => {
          const found = await stream.read(...given);
          if (given[1] === hidden || found.kind !== "found") return read;
          const shown = ({ sequenceNumber }: StreamRecord): boolean =>
            compareSequenceNumbers(sequenceNumber, hidden) < 0;
          return { ...found, records: found.records.filter(shown) };
        },
      },
      control: {
        ...control,
        saveDeadLetter: (letter) => {
          letters.push(letter);
          return Promise.resolve();
        },
      },
    };
    expect(await failureOf(replay({ ports: blind }))).toMatchObject({ fault: "unavailable" });
    expect(letters).toEqual([]);
    expect(await watermark()).toBeGreaterThanOrEqual(before.at);
    expect(await watermark()).toBeLessThan(at);
    await replay({});
    expect(await watermark()).toBeGreaterThanOrEqual(at);
    expect(await stored(table, key("waits"))).toBe(1);
  });

  test("because access is denied is no dead letter: replay waits for the operator", async () => {
    const { ports } = deployment.stores;
    const { at } = await commit(table, [{ ...key("denied"), n: number(1) }]);
    const denied = new StoreError("rejected", "scripted", { code: "AccessDeniedException" });
    const broken = { items: { ...ports.items, install: () => Promise.reject(denied) } };
    expect(await failureOf(replay({ ports: broken }))).toBe(denied);
    expect(await watermark()).toBeLessThan(at);
  });
});

describe("a spilled payload", () => {
  test("of over 512 KB is certified, installed by replay, and read whole", async () => {
    const items = Array.from({ length: 6 }, (_, i) => ({
      pk: text(`spilled-${i.toString()}`),
      n: number(i),
      large: text("ä".repeat(100_000)),
    }));
    const { at } = await commit(table, items);
    const { log } = deployment.stores.ports;
    const blocks = await log.readBackward(deployment.stores.shard, { blocksMax: 1 });
    const verdicts = blocks.flatMap(
      (block) => decodeBlock(block, deployment.stores.hashes).verdicts,
    );
    expect(verdicts.at(-1)).toMatchObject({ kind: "committed", payload: { kind: "spilled" } });
    await replay();
    expect(await watermark()).toBeGreaterThanOrEqual(at);
    for (const item of items) {
      expect(await readOne(deployment.openEngine(), table, { pk: item.pk })).toEqual(item);
    }
  });

  test("of over 512 KB is installed by its own client, and by a reader", async () => {
    const engine = deployment.openEngine();
    const large = { large: text("x".repeat(300_000)) };
    const receipt = await putAll(engine, table, [
      { ...key("own-1"), ...large },
      { ...key("own-2"), ...large },
    ]);
    expect(receipt.installed).toBe(true);
    await commit(table, [
      { ...key("own-1"), ...large, n: number(7) },
      { ...key("own-2"), ...large, n: number(7) },
    ]);
    expect(numberOf(await readOne(engine, table, key("own-1")))).toBe(7);
  });

  test("whose chunks are gone after the decision becomes a dead letter", async () => {
    const large = { large: text("x".repeat(300_000)) };
    await commit(table, [
      { ...key("gone-1"), ...large },
      { ...key("gone-2"), ...large },
    ]);
    const { log, control } = deployment.stores.ports;
    const letters: DeadLetter[] = [];
    await replay({
      ports: {
        log: { ...log, readSpilled: () => Promise.resolve(undefined) },
        control: {
          ...control,
          saveDeadLetter: (letter) => {
            letters.push(letter);
            return Promise.resolve();
          },
        },
      },
    });
    expect(letters).toHaveLength(1);
  });
});
