/**
 * An oracle that is asked to settle a part looks at the other logs of its transaction. Whatever
 * those say, and whoever has written there: the batch goes on.
 */
import { beforeEach, expect, test } from "vitest";
import { KeyHasher } from "../../core/key-hash.ts";
import type { ControlStore } from "../../core/ports.ts";
import { ShardMap } from "../../core/shard-map.ts";
import type {
  CommitRequest,
  LogBlock,
  LogPosition,
  Part,
  ShardId,
  ShardNumber,
  Timestamp,
  TransactionId,
  Verdict,
} from "../../core/types.ts";
import { createOracleService, type OracleService } from "../../functions/oracle/service.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";
import { id, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";
import { arrivalMs, keyHashOf, record, request, shard, verdictsOf } from "./oracle-batches.ts";

const otherShard = "shard-001" as ShardId;
let leftMs = 60_000;
/** What each look at the other log takes. */
let lookMs = 0;
const budget = { remainingMs: () => leftMs };
const [own, other, third] = [0, 1, 2] as [ShardNumber, ShardNumber, ShardNumber];
const otherHashes = new KeyHashes(new KeyHasher(sampleHashSecret, other));
const from = startTimestamp;
const part = id(1);

let log: MemoryLog;
const soon = 3 as ShardNumber;
let otherLog: MemoryLog;
let service: OracleService;

beforeEach(() => {
  [leftMs, lookMs] = [60_000, 0];
  log = new MemoryLog(startTimestamp);
  otherLog = new MemoryLog(startTimestamp);
  const [ports, others] = [log.ports(), otherLog.ports()];
  const logOf = (of: ShardId) => {
    if (of !== otherShard) return ports.log;
    leftMs -= lookMs;
    return others.log;
  };
  const control: Pick<ControlStore, "shardMap" | "shardNumbers" | "keyHasher"> = {
    // The last one is about to be split off.
    shardNumbers: () => Promise.resolve([own, other, third, soon]),
    // All that the tests write lies in the first one.
    shardMap: () =>
      Promise.resolve(
        new ShardMap([
          { number: own, id: shard, from: 0 },
          { number: other, id: otherShard, from: 2 ** 32 - 2 },
          { number: third, id: "shard-002" as ShardId, from: 2 ** 32 - 1 },
        ]),
      ),
    keyHasher: (of) =>
      Promise.resolve(new KeyHasher(sampleHashSecret, of === otherShard ? other : own)),
  };
  service = createOracleService({
    ...ports,
    control: { ...ports.control, ...control },
    log: {
      append: (of, ...rest) => logOf(of).append(of, ...rest),
      readBackward: (of, ...rest) => logOf(of).readBackward(of, ...rest),
      readAfter: (of, ...rest) => logOf(of).readAfter(of, ...rest),
      readAt: (of, ...rest) => logOf(of).readAt(of, ...rest),
      readSpilled: (...given) => ports.log.readSpilled(...given),
    },
  });
});

function prepare(parts: readonly Part[]): CommitRequest {
  const none = { payload: { kind: "none" } } as const;
  return request(1, "a", { kind: "prepare", parts, checks: [keyHashOf("x")], ...none });
}

const settle = request(1, "a", { kind: "settle", payload: { kind: "none" } });

const bothParts: readonly Part[] = [
  { shard: own, from },
  { shard: other, from },
];

async function deliver(sequence: number, requests: readonly CommitRequest[]): Promise<void> {
  await service.handle({ shard, records: [record(sequence, requests)] }, budget);
}

function decisionsOn(of: TransactionId): readonly Verdict[] {
  return verdictsOf(log).filter((verdict) => verdict.id === of);
}

/** In the other log, as its own oracle has put it there. */
function otherHolds(...verdicts: readonly Verdict[]): void {
  const block: LogBlock = {
    position: 1 as LogPosition,
    previousTimestamp: startTimestamp,
    throughTimestamp: (from + 9) as Timestamp,
    cursor: undefined,
    arrivalMs,
    rejectedRecords: 0,
    verdicts,
  };
  otherLog.blocks.push({ position: block.position, bytes: encodeLogBlock(block, otherHashes) });
}

test("of many that are to be settled some are, and the batch goes on", async () => {
  const numbers = [1, 2, 3, 4, 5, 6];
  const prepareOf = (n: number): CommitRequest => ({ ...prepare(bothParts), id: id(n) });
  const settleOf = (n: number): CommitRequest => ({ ...settle, id: id(n) });
  await deliver(1, numbers.map(prepareOf));
  const isDecided = (n: number): boolean =>
    decisionsOn(id(n)).some(({ kind }) => kind !== "prepared");
  otherHolds(
    ...numbers.map((n): Verdict => {
      const timestamp = (from + n) as Timestamp;
      return { kind: "prepared", id: id(n), timestamp, ...nothing() };
    }),
  );
  const decided: number[] = [];
  for (let sequence = 2; sequence <= 4; sequence += 1) {
    [leftMs, lookMs] = [3_000, 150];
    await deliver(sequence, [...numbers.map(settleOf), request(10 + sequence, "b")]);
    expect(decisionsOn(id(10 + sequence))).toMatchObject([{ kind: "committed" }]);
    decided.push(numbers.filter(isDecided).length);
  }
  expect(decided).toEqual([2, 4, 6]);
});

test("another log that is damaged holds up nobody here", async () => {
  await deliver(1, [prepare(bothParts)]);
  otherLog.blocks.push({ position: 1 as LogPosition, bytes: new Uint8Array(40) });
  await deliver(2, [settle, request(2, "b")]);
  expect(decisionsOn(id(2))).toMatchObject([{ kind: "committed" }]);
  expect(decisionsOn(part)).toMatchObject([{ kind: "prepared" }]);
});

test("a part whose other log does not reach back so far holds up nobody", async () => {
  otherHolds({ kind: "prepared", id: id(7), timestamp: (from + 5) as Timestamp, ...nothing() });
  await deliver(1, [
    prepare([
      { shard: own, from },
      { shard: other, from: 1 as Timestamp },
    ]),
  ]);
  await deliver(2, [settle, request(2, "b")]);
  expect(decisionsOn(id(2))).toMatchObject([{ kind: "committed" }]);
});

test("what its client had another log enter below this part counts here at the part", async () => {
  await deliver(1, [prepare(bothParts)]);
  const [prepared] = decisionsOn(part);
  const at = (prepared?.kind === "prepared" ? prepared.timestamp : 0) as Timestamp;
  otherHolds(
    { kind: "prepared", id: part, timestamp: (from + 1) as Timestamp, ...nothing() },
    {
      ...{ kind: "committed", id: part, timestamp: (from + 1) as Timestamp, writes: [] },
      ...{ placed: (from + 2) as Timestamp },
      payload: { kind: "prepared", position: 1 as LogPosition },
    },
  );
  await deliver(2, [settle, request(2, "b")]);
  expect(decisionsOn(id(2))).toMatchObject([{ kind: "committed" }]);
  expect(decisionsOn(part)).toMatchObject([
    { kind: "prepared", timestamp: at },
    { kind: "committed", timestamp: at },
  ]);
});

test.each([
  ["a shard that is not there", [own, 5]],
  ["others only", [other, third]],
])("a part of %s is refused: it would bar for good", async (_, named) => {
  const parts = named.map((number): Part => ({ shard: number as ShardNumber, from }));
  await deliver(1, [prepare(parts), request(2, "x", { checkedTo: from })]);
  expect(decisionsOn(part)).toMatchObject([{ kind: "aborted", reason: { kind: "elsewhere" } }]);
  expect(decisionsOn(id(2))).toMatchObject([{ kind: "committed" }]);
});

/** A part of two that writes nothing. */
function nothing() {
  return { checks: [], writes: [], parts: bothParts, payload: { kind: "none" } } as const;
}

test("a part of a shard that is about to be split off is not refused", async () => {
  const parts = [own, soon].map((number): Part => ({ shard: number, from }));
  await deliver(1, [prepare(parts), request(2, "x", { checkedTo: from })]);
  expect(decisionsOn(part)).toMatchObject([{ kind: "prepared" }]);
});
