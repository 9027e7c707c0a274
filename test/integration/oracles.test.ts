/**
 * Oracles that overlap, repeat, freeze and meet hostile records (docs/protocol.md §3; I1 to I3,
 * I9): what they leave in the log is what one oracle would have.
 */
import { isDecision } from "../../core/decision.ts";
import { afterEach, describe, expect, test } from "vitest";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { createOracleService, type OracleReport } from "../../functions/oracle/service.ts";
import type { ShardBatch } from "../../functions/shared/kinesis-event.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import type {
  CommitRequest,
  LogBlock,
  LogPosition,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import {
  startLocalDeployment,
  type Interpose,
  type LocalDeployment,
} from "../harness/local-deployment.ts";
import { until } from "./fragile.ts";
import { increment, key, number, numberOf, putAll, readOne } from "./support.ts";

let deployment: LocalDeployment | undefined;

afterEach(async () => {
  await deployment?.stop();
  deployment = undefined;
});

async function begin(oracle?: Interpose): Promise<{
  readonly running: LocalDeployment;
  readonly table: TableDescription;
  readonly engines: readonly Engine[];
}> {
  const running = await startLocalDeployment(oracle === undefined ? {} : { oracle });
  deployment = running;
  const table = await running.stores.createTable("plain");
  return { running, table, engines: [running.openEngine(), running.openEngine()] };
}

async function readLog({ stores }: LocalDeployment): Promise<LogBlock[]> {
  const blocks: LogBlock[] = [];
  for (;;) {
    const after = (blocks.at(-1)?.position ?? 0) as LogPosition;
    const page = await stores.ports.log.readAfter(stores.shard, after);
    blocks.push(...page.blocks.map((each) => decodeBlock(each, stores.hashes)));
    if (page.complete) return blocks;
  }
}

/** I1, I2, I3 on the blocks as they stand; returns the ids committed. */
function judgeLog(blocks: readonly LogBlock[]): Set<TransactionId> {
  let last = blocks[0]?.previousTimestamp ?? 0;
  const decided = new Set<TransactionId>();
  const committed = new Set<TransactionId>();
  blocks.forEach((block, i) => {
    expect(block.position).toBe(i + 1);
    expect(block.previousTimestamp).toBe(last);
    for (const verdict of block.verdicts) {
      if (!isDecision(verdict)) continue;
      expect(verdict.timestamp).toBeGreaterThan(last);
      last = verdict.timestamp;
      expect(decided.has(verdict.id)).toBe(false);
      decided.add(verdict.id);
      if (verdict.kind === "committed") committed.add(verdict.id);
    }
    expect(block.throughTimestamp).toBeGreaterThanOrEqual(last);
    last = block.throughTimestamp;
  });
  return committed;
}

/**
 * Increments shared counters from both engines; every acknowledged one must be there afterwards.
 */
async function workload(
  { table, engines }: Awaited<ReturnType<typeof begin>>,
  rounds: number,
): Promise<Set<TransactionId>> {
  const acknowledged = new Set<TransactionId>();
  const counters = ["x", "y", "z"].map((name) => key(`counter-${name}`));
  await Promise.all(
    engines.map(async (engine, e) => {
      for (let i = 0; i < rounds; i += 1) {
        await Promise.all(
          counters.map(async (counter, c) => {
            if ((i + c + e) % 4 === 3) return;
            const { receipt } = await engine.transact({ attemptsMax: 200 }, (tx) =>
              increment(tx, table, counter),
            );
            if (receipt.transactionId !== undefined) acknowledged.add(receipt.transactionId);
          }),
        );
      }
    }),
  );
  const reader = engines[0];
  if (reader === undefined) throw new Error("no engine");
  const counts = await Promise.all(counters.map((counter) => readOne(reader, table, counter)));
  expect(counts.reduce((sum, item) => sum + numberOf(item), 0)).toBe(acknowledged.size);
  return acknowledged;
}

const manners: [string, () => Interpose][] = [
  [
    "called twice with each batch",
    () => async (batch, invoke) => {
      await invoke(batch);
      return invoke(batch);
    },
  ],
  [
    "called twice at once with each batch",
    () => async (batch, invoke) => {
      const both = await Promise.allSettled([invoke(batch), invoke(batch)]);
      for (const end of both) if (end.status === "rejected") throw end.reason;
      return undefined;
    },
  ],
  [
    "handed each batch cut in two, the second half first delivered with the first again",
    () => async (batch, invoke) => {
      const half = Math.ceil(batch.records.length / 2);
      await invoke({ ...batch, records: batch.records.slice(0, half) });
      await invoke(batch);
      return invoke({ ...batch, records: batch.records.slice(half) });
    },
  ],
  [
    "failing after the fact every other time, so that whole batches come again",
    () => {
      let calls = 0;
      return async (batch, invoke) => {
        await invoke(batch);
        calls += 1;
        if (calls % 2 === 1) throw new Error("the answer was lost");
        return undefined;
      };
    },
  ],
  [
    "handed the last three batches again with each new one",
    () => {
      const earlier: ShardBatch[] = [];
      return async (batch, invoke) => {
        for (const old of earlier.slice(-3)) await invoke(old);
        earlier.push(batch);
        const records = [...earlier.slice(-3).flatMap((each) => each.records)];
        return invoke({ ...batch, records });
      };
    },
  ],
];

describe("an oracle", () => {
  test.each(manners)("I1, I2, I3, I9: %s decides everything once", async (_, manner) => {
    const world = await begin(manner());
    const acknowledged = await workload(world, 5);
    const committed = judgeLog(await readLog(world.running));
    for (const id of acknowledged) expect(committed.has(id)).toBe(true);
  });

  test("I1, I2, I3, I9: beside a second one on the same stream decides all once", async () => {
    const second: { service?: ReturnType<typeof createOracleService> } = {};
    const budget = { remainingMs: () => 30_000 };
    const world = await begin(async (batch, invoke) => {
      const both = await Promise.allSettled([invoke(batch), second.service?.handle(batch, budget)]);
      for (const end of both) if (end.status === "rejected") throw end.reason;
      return undefined;
    });
    const ports = world.running.stores.openPorts();
    second.service = createOracleService({ ...ports, observability: silentObservability });
    const acknowledged = await workload(world, 5);
    const committed = judgeLog(await readLog(world.running));
    for (const id of acknowledged) expect(committed.has(id)).toBe(true);
  });

  test("I9: frozen with its old state wakes up later and decides nothing anew", async () => {
    const frozen: ShardBatch[] = [];
    const world = await begin(async (batch, invoke) => {
      frozen.push(batch);
      return invoke(batch);
    });
    const { running, table, engines } = world;
    const ports = running.stores.openPorts();
    const stale = createOracleService({ ...ports, observability: silentObservability });
    const budget = { remainingMs: () => 30_000 };
    const [engine] = engines;
    if (engine === undefined) throw new Error("no engine");
    await putAll(engine, table, [{ ...key("frozen"), n: number(0) }]);
    const [first] = frozen;
    if (first === undefined) throw new Error("no batch");
    // It is warm now, and knows the log up to here.
    await stale.handle(first, budget);
    await workload(world, 3);
    const before = await readLog(running);
    const reports: OracleReport[] = [];
    for (const batch of [...frozen]) reports.push(await stale.handle(batch, budget));
    expect(reports.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(0);
    expect(await readLog(running)).toEqual(before);
  });
});

describe("a hostile record", () => {
  function requestOf(
    table: TableDescription,
    request: Partial<CommitRequest> & { readonly write?: string },
  ): CommitRequest {
    const { write = "hostile", ...rest } = request;
    const payload = encodePayload({
      tables: [{ name: table.name, partitionKey: "pk", history: false }],
      writes: [{ table: 0, key: key(write), item: { ...key(write), n: number(666) } }],
    });
    return {
      kind: "commit",
      id: makeTransactionId(
        1 as Timestamp,
        Uint8Array.from({ length: 9 }, () => Math.floor(Math.random() * 256)),
      ),
      isolation: "serializable",
      checkedTo: 0 as Timestamp,
      checks: [],
      payload: { kind: "inline", bytes: payload },
      ...rest,
    };
  }

  test("never stops the shard, is counted, and honest requests around it commit", async () => {
    const { running, table, engines } = await begin();
    const [engine] = engines;
    if (engine === undefined) throw new Error("no engine");
    await putAll(engine, table, [{ ...key("honest"), n: number(0) }]);
    const good = encodeCommitRecord(running.stores.hashes.fingerprint, [
      encodeCommitRequest(requestOf(table, {})),
    ]);
    const future = Uint8Array.from(good);
    future[2] = 200;
    const hugeCount = Uint8Array.from([...good.subarray(0, 8), 0xff, 0xff, 0xff, 0xff, 0x0f]);
    const trailing = Uint8Array.from([...good, 0]);
    const random = Array.from({ length: 20 }, (_, i) =>
      Uint8Array.from({ length: 1 + i * 13 }, (__, j) => (i * 31 + j * 17 + 7) % 256),
    );
    const torn = [4, 5, 10, 20, good.length - 1].map((end) => good.slice(0, end));
    const flipped = Array.from({ length: 30 }, (_, i) => {
      const bytes = Uint8Array.from(good);
      const at = 4 + ((i * 7) % (bytes.length - 4));
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (i % 8));
      return bytes;
    });
    const { stream } = running.stores.ports;
    const hostile = [future, hugeCount, trailing, ...random, ...torn];
    for (const bytes of hostile) await stream.put(running.stores.shard, [bytes]);
    const { receipt } = await engine.transact({}, (tx) => increment(tx, table, key("honest")));
    expect(receipt.installed).toBe(true);
    const rejected = (await readLog(running)).reduce(
      (sum, block) => sum + block.rejectedRecords,
      0,
    );
    expect(rejected).toBe(hostile.length);
    // A flipped bit may also make another valid request; whatever it is, the shard goes on.
    for (const bytes of flipped) await stream.put(running.stores.shard, [bytes]);
    await engine.transact({}, (tx) => increment(tx, table, key("honest")));
    expect(numberOf(await readOne(engine, table, key("honest")))).toBe(2);
    judgeLog(await readLog(running));
    expect(running.oracle.reports).toEqual([]);
    expect(running.replay.reports.filter(({ kind }) => kind === "read-failed")).toEqual([]);
  });

  test("that claims to know the future is aborted, and moves no timestamp", async () => {
    const { running, table, engines } = await begin();
    const [engine] = engines;
    if (engine === undefined) throw new Error("no engine");
    const first = await putAll(engine, table, [key("honest")]);
    const request = requestOf(table, { checkedTo: Number.MAX_SAFE_INTEGER as Timestamp });
    const { stream } = running.stores.ports;
    await stream.put(running.stores.shard, [
      encodeCommitRecord(running.stores.hashes.fingerprint, [encodeCommitRequest(request)]),
    ]);
    const second = await putAll(engine, table, [key("honest")]);
    const verdict = (await readLog(running))
      .flatMap(({ verdicts }) => verdicts)
      .find(({ id }) => id === request.id);
    expect(verdict).toMatchObject({ kind: "aborted", reason: { kind: "checked-ahead" } });
    const tenMinutes = 600_000_000;
    expect((second.commitTimestamp ?? 0) - (first.commitTimestamp ?? 0)).toBeLessThan(tenMinutes);
    expect(await readOne(engine, table, key("hostile"))).toBeUndefined();
  });

  test.each([
    ["missing", 0],
    ["incomplete", 1],
  ])("whose spilled payload is %s is aborted, and the shard goes on", async (_, stored) => {
    const { running, table, engines } = await begin();
    const [engine] = engines;
    if (engine === undefined) throw new Error("no engine");
    const { receipt } = await engine.transact({}, (tx) => {
      tx.put(table.name, key("before"));
      return Promise.resolve();
    });
    const request = requestOf(table, {
      checkedTo: receipt.commitTimestamp ?? (0 as Timestamp),
      payload: { kind: "spilled", chunks: 2, byteLength: 500 * 1024, digest: new Uint8Array(32) },
    });
    const { log, stream } = running.stores.ports;
    if (stored > 0) await log.spill(request.id, [new Uint8Array(1024)]);
    await stream.put(running.stores.shard, [
      encodeCommitRecord(running.stores.hashes.fingerprint, [encodeCommitRequest(request)]),
    ]);
    await putAll(engine, table, [key("after")]);
    const verdict = (await readLog(running))
      .flatMap(({ verdicts }) => verdicts)
      .find(({ id }) => id === request.id);
    expect(verdict).toMatchObject({ kind: "aborted", reason: { kind: "payload-unreadable" } });
  });

  test("with writes that no store takes becomes a dead letter, which is passed", async () => {
    const { running, table, engines } = await begin();
    const [engine] = engines;
    if (engine === undefined) throw new Error("no engine");
    const { receipt } = await engine.transact({}, (tx) => {
      tx.put(table.name, key("before"));
      return Promise.resolve();
    });
    const checkedTo = receipt.commitTimestamp ?? (0 as Timestamp);
    const bad: CommitRequest["payload"][] = [
      // No such table; a key of another type; a key attribute that the table does not have.
      { tables: [{ name: "no-such-table", partitionKey: "pk", history: false }], pk: key("a") },
      { tables: [{ name: table.name, partitionKey: "pk", history: true }], pk: { pk: number(1) } },
      { tables: [{ name: table.name, partitionKey: "no", history: false }], pk: { no: number(1) } },
    ].map(({ tables, pk }) => ({
      kind: "inline",
      bytes: encodePayload({ tables, writes: [{ table: 0, key: pk, item: pk }] }),
    }));
    const requests = bad.map((payload) => requestOf(table, { checkedTo, payload }));
    await running.stores.ports.stream.put(running.stores.shard, [
      encodeCommitRecord(running.stores.hashes.fingerprint, requests.map(encodeCommitRequest)),
    ]);
    const last = await putAll(engine, table, [key("after")]);
    await until(async () => {
      const watermark = await running.stores.ports.control.readWatermark(running.stores.shard);
      return (watermark?.timestamp ?? 0) >= (last.commitTimestamp ?? 0);
    });
    expect(running.replay.reports).toEqual([]);
    expect(await readOne(engine, table, key("after"))).toEqual(key("after"));
  });
});

describe("a late copy of a request", () => {
  test("is not decided again after the certification window, and the commit stands", async () => {
    // Moves the stream's arrival times ahead: the oracle has no other clock.
    let shiftMs = 0;
    const world = await begin((batch, invoke) =>
      invoke({
        ...batch,
        records: batch.records.map((record) => ({
          ...record,
          arrivalMs: record.arrivalMs + shiftMs,
        })),
      }),
    );
    const { running, table } = world;
    const ports = running.stores.openPorts();
    const sent: Uint8Array[] = [];
    const engine = running.openEngine({
      ports: {
        stream: {
          ...ports.stream,
          put(shard, records) {
            sent.push(...records);
            return ports.stream.put(shard, records);
          },
        },
      },
    });
    const { receipt } = await engine.transact({}, (tx) => increment(tx, table, key("copied")));
    shiftMs = 60_000;
    const [other] = world.engines;
    if (other === undefined) throw new Error("no engine");
    await putAll(other, table, [key("later-1")]);
    await putAll(other, table, [key("later-2")]);
    await ports.stream.put(running.stores.shard, sent);
    await putAll(other, table, [key("marker")]);
    const verdicts = (await readLog(running))
      .flatMap((block) => block.verdicts)
      .filter(({ id }) => id === receipt.transactionId);
    expect(verdicts.map(({ kind }) => kind)).toEqual(["committed", "stale"]);
    expect(numberOf(await readOne(other, table, key("copied")))).toBe(1);
  });

  test("a client whose check is older than the window is told 'stale', and commits", async () => {
    let shiftMs = 0;
    const world = await begin((batch, invoke) =>
      invoke({
        ...batch,
        records: batch.records.map((record) => ({
          ...record,
          arrivalMs: record.arrivalMs + shiftMs,
        })),
      }),
    );
    const { running, table, engines } = world;
    const [other] = engines;
    if (other === undefined) throw new Error("no engine");
    // Never looks at the log before it sends, so its check is as old as its beginning.
    const lazy = running.openEngine({ freshMs: 60_000 });
    await readOne(lazy, table, key("lazy"));
    const { receipt } = await lazy.transact({}, async (tx) => {
      await increment(tx, table, key("lazy"));
      if (shiftMs === 0) {
        await putAll(other, table, [key("later-0")]);
        shiftMs = 60_000;
        await putAll(other, table, [key("later-1")]);
        await putAll(other, table, [key("later-2")]);
      }
    });
    expect(receipt.attempts).toBe(1);
    const kinds = (await readLog(running))
      .flatMap((block) => block.verdicts)
      .filter(({ id }) => id === receipt.transactionId)
      .map(({ kind }) => kind);
    expect(kinds).toEqual(["stale", "committed"]);
  });
});
