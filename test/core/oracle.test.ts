import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { CorruptDataError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { outcomeCode, outcomes } from "../../core/verdict-kinds.ts";
import { Oracle } from "../../core/oracle.ts";
import { oracleBoundsDefault } from "../../core/oracle-bounds.ts";
import type {
  LogBlock,
  LogPosition,
  MakerNumber,
  SequenceNumber,
  Timestamp,
  Verdict,
} from "../../core/types.ts";
import { sampleSeed } from "../../testing/sample-hashes.ts";
import {
  appendedDrafts,
  certify,
  hash,
  id,
  newOracle,
  oracleInput,
  secondMicros,
  simpleWrite,
  startTimestamp,
  type TestRequest,
} from "./oracle-harness.ts";

const arrivalMs = startTimestamp / 1000 + 1;
const arrivalMicros = arrivalMs * 1000;
let nextSequence = 1n;

function record(requests: readonly TestRequest[], arrival = arrivalMs) {
  return { sequence: nextSequence++, arrivalMs: arrival, requests };
}

function verdicts(blocks: readonly LogBlock[]): readonly Verdict[] {
  return blocks.flatMap((block) => block.verdicts);
}

/** A commit of one key. */
function writeOf(n: number, key: number, checkedTo: number = startTimestamp): TestRequest {
  return { id: id(n), checkedTo, writes: [simpleWrite(key)] };
}

describe("timestamps", () => {
  test.each([
    ["one below the newest: one above the newest is taken", -1, 1],
    ["equal to the newest: one above is taken", 0, 1],
    ["a millisecond above the newest: the arrival is taken", 1, 1_000],
  ])("I2: an arrival %s", (_, laterMs, expected) => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 1)])]);
    expect(oracle.last).toBe(arrivalMicros);
    certify(oracle, [record([writeOf(2, 2)], arrivalMs + laterMs)]);
    expect(oracle.last - arrivalMicros).toBe(expected);
  });

  test("I2: decisions of one record rise by one; stale answers and duplicates take none", () => {
    const oracle = newOracle();
    const stale = { id: id(9), checkedTo: startTimestamp - 1 };
    const blocks = certify(oracle, [record([writeOf(1, 1), stale, writeOf(1, 1), writeOf(2, 2)])]);
    expect(verdicts(blocks)).toMatchObject([
      { kind: "committed", id: id(1), timestamp: arrivalMicros },
      { kind: "stale", id: id(9) },
      { kind: "committed", id: id(2), timestamp: arrivalMicros + 1 },
    ]);
  });
});

describe("conflicts", () => {
  test.each([
    ["one below the write's timestamp", "aborted", -1],
    ["equal to the write's timestamp", "committed", 0],
  ])("I4: a check up to %s is %s", (_, kind, offset) => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 7)])]);
    const checked = { ...writeOf(2, 8, arrivalMicros + offset), checks: [hash(5), hash(7)] };
    const [verdict] = verdicts(certify(oracle, [record([checked])]));
    expect(verdict?.kind).toBe(kind);
    if (verdict?.kind !== "aborted") return;
    expect(verdict.reason).toEqual({
      kind: "conflict",
      check: 1,
      conflictTimestamp: arrivalMicros,
    });
  });

  test("I4: names the first check in the way, and the newest commit of its key", () => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 7), writeOf(2, 8), writeOf(3, 7)])]);
    const checked = { ...writeOf(4, 1), checks: [hash(6), hash(7), hash(8)] };
    expect(verdicts(certify(oracle, [record([checked])]))).toMatchObject([
      { reason: { kind: "conflict", check: 1, conflictTimestamp: arrivalMicros + 2 } },
    ]);
  });

  test("I4: a predicate meets every write of its partition and its table", () => {
    const table = hash(900);
    const partition = hash(901);
    for (const predicate of [table, partition]) {
      const oracle = newOracle();
      const sorted = { table, partition, sortKey: Uint8Array.of(1, 2) };
      certify(oracle, [record([{ id: id(1), checkedTo: startTimestamp, writes: [sorted] }])]);
      const query = { id: id(2), checkedTo: startTimestamp, checks: [predicate] };
      expect(verdicts(certify(oracle, [record([query])]))).toMatchObject([{ kind: "aborted" }]);
    }
  });

  test("an aborted transaction's writes stand in nobody's way", () => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 7)])]);
    certify(oracle, [record([{ ...writeOf(2, 8), checks: [hash(7)] }])]);
    const checked = { ...writeOf(3, 9), checks: [hash(8)] };
    expect(verdicts(certify(oracle, [record([checked])]))).toMatchObject([{ kind: "committed" }]);
  });

  test("blind writes of one key all commit", () => {
    const blocks = certify(newOracle(), [record([writeOf(1, 7), writeOf(2, 7), writeOf(3, 7)])]);
    expect(verdicts(blocks).map(({ kind }) => kind)).toEqual([
      "committed",
      "committed",
      "committed",
    ]);
  });
});

describe("an id that is sent again with a check that nobody has made", () => {
  const aheadOfLog = 2 ** 50;
  const againMs = arrivalMs + 5_000;

  test.each([
    ["ahead of the log, twice", aheadOfLog, aheadOfLog, "aborted"],
    ["ahead of the log, then within it", aheadOfLog, arrivalMicros, "committed"],
    ["honestly, then ahead of the log", startTimestamp, aheadOfLog, "aborted"],
    ["honestly, then within the log", startTimestamp, arrivalMicros, "committed"],
  ])("%s, is decided again by an oracle that remembers less: others fold that", (...row) => {
    const [, checkedTo, checkedToAgain, kind] = row;
    const warm = newOracle();
    const [first] = certify(warm, [record([writeOf(9, 9, checkedTo)])]);
    if (first === undefined) throw new Error("the id is decided");
    const { position, throughTimestamp: timestamp, cursor } = first;
    // Its rebuild was cut above that decision.
    const cold = new Oracle({ position, timestamp, cursor }, sampleSeed);
    const [again] = certify(cold, [record([writeOf(9, 9, checkedToAgain)], againMs)]);
    if (again === undefined) throw new Error("the id is decided again");
    expect(again.verdicts).toMatchObject([{ kind, id: id(9) }]);
    warm.fold(again);
    const rebuilt = newOracle();
    for (const block of [first, again]) rebuilt.fold(block);
    const { last } = warm;
    for (const oracle of [warm, cold, rebuilt]) {
      const requestOf = (n: number) => writeOf(n, n, last);
      // Remembered until its later decision leaves; then all judge it alike.
      const kept = certify(oracle, [record([requestOf(9), requestOf(1)], againMs + 9_999)]);
      expect(verdicts(kept)).toMatchObject([{ kind: "committed", id: id(1) }]);
      const left = certify(oracle, [record([requestOf(2), requestOf(9)], againMs + 10_000)]);
      expect(verdicts(left)).toMatchObject([{ id: id(2) }, { kind: "committed", id: id(9) }]);
    }
  });
});

describe("requests that are not certified", () => {
  test.each([
    ["equal to the newest timestamp is certified", 0, "committed"],
    ["one above the newest timestamp aborts as checked-ahead", 1, "aborted"],
  ])("a check %s", (_, above, kind) => {
    const [verdict] = verdicts(
      certify(newOracle(), [record([writeOf(1, 1, startTimestamp + above)])]),
    );
    expect(verdict?.kind).toBe(kind);
    if (verdict?.kind === "aborted") expect(verdict.reason).toEqual({ kind: "checked-ahead" });
  });

  test.each([
    ["one below the floor is stale", -1, "stale"],
    ["equal to the floor is certified", 0, "committed"],
    ["one above the floor is certified", 1, "committed"],
  ])("a check %s", (_, offset, kind) => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 1)])]);
    certify(oracle, [record([writeOf(2, 2)], arrivalMs + 10_000)]);
    expect(oracle.floor).toBe(arrivalMicros);
    const [verdict] = verdicts(
      certify(oracle, [record([writeOf(3, 3, oracle.floor + offset)], arrivalMs + 10_000)]),
    );
    expect(verdict?.kind).toBe(kind);
  });

  test("the floor follows decisions, so that an idle stream makes nothing stale", () => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 1)])]);
    const checkedTo = oracle.last;
    const hourLater = record([writeOf(2, 2, checkedTo)], arrivalMs + 3_600_000);
    expect(verdicts(certify(oracle, [hourLater]))).toMatchObject([{ kind: "committed" }]);
  });

  test.each([
    ["one microsecond inside the window is a duplicate", -1, undefined],
    ["at the edge of the window is stale", 0, "stale"],
  ])("I3: a copy of a decided request %s", (_, offset, kind) => {
    const bounds = { ...oracleBoundsDefault, windowMicros: 10 * secondMicros + 1_000 };
    const oracle = newOracle({ ...bounds, windowMicros: 10 * secondMicros - offset });
    certify(oracle, [record([writeOf(1, 1)])]);
    certify(oracle, [record([writeOf(2, 2)], arrivalMs + 10_000)]);
    const [verdict] = verdicts(certify(oracle, [record([writeOf(1, 1)], arrivalMs + 10_000)]));
    expect(verdict?.kind).toBe(kind);
  });

  test("a probe aborts an undecided id, and its request then is a duplicate", () => {
    const probe: TestRequest = { id: id(1), kind: "abort", checkedTo: startTimestamp };
    const blocks = certify(newOracle(), [record([probe, writeOf(1, 1)])]);
    expect(verdicts(blocks)).toMatchObject([{ kind: "aborted", reason: { kind: "probed" } }]);
  });

  test("a probe of a decided id changes nothing", () => {
    const probe: TestRequest = { id: id(1), kind: "abort", checkedTo: startTimestamp };
    const blocks = certify(newOracle(), [record([writeOf(1, 1), probe])]);
    expect(verdicts(blocks)).toMatchObject([{ kind: "committed" }]);
  });

  test.each(["unreadable", "too-large"] as const)("aborts when a payload is %s", (spilled) => {
    const reason = { kind: spilled === "unreadable" ? "payload-unreadable" : spilled };
    const blocks = certify(newOracle(), [record([{ ...writeOf(1, 1), spilled }])]);
    expect(verdicts(blocks)).toMatchObject([{ kind: "aborted", reason }]);
  });

  test("commits the writes of a spilled payload, at its place in the log table", () => {
    const oracle = newOracle();
    const blocks = certify(oracle, [record([{ ...writeOf(1, 7), spilled: "read" }])]);
    expect(verdicts(blocks)).toMatchObject([
      { kind: "committed", payload: { kind: "spilled" }, writes: [{ key: hash(7) }] },
    ]);
    const checked = { ...writeOf(2, 8), checks: [hash(7)] };
    expect(verdicts(certify(oracle, [record([checked])]))).toMatchObject([{ kind: "aborted" }]);
  });

  test.each([
    ["at the limit commits", limits.transactionKeysMax, "committed"],
    ["one above aborts as too large", limits.transactionKeysMax + 1, "aborted"],
  ])("a number of keys %s", (_, keys, kind) => {
    const writes = Array.from({ length: keys - 1 }, (__, key) => simpleWrite(key));
    const request = { id: id(1), checkedTo: startTimestamp, writes, checks: [hash(-1)] };
    const [verdict] = verdicts(certify(newOracle(), [record([request])]));
    expect(verdict?.kind).toBe(kind);
    if (verdict?.kind === "aborted") expect(verdict.reason).toEqual({ kind: "too-large" });
  });

  test("too many keys are told before a table that is not known (§3, rules 5 and 6)", () => {
    const writes = Array.from({ length: limits.transactionKeysMax + 1 }, (_, key) =>
      simpleWrite(key),
    );
    const request = { ...writeOf(1, 1), writes, tableFault: "unknown" } as const;
    expect(verdicts(certify(newOracle(), [record([request])]))).toMatchObject([
      { kind: "aborted", reason: { kind: "too-large" } },
    ]);
  });
});

describe("blocks", () => {
  test("I1: follow each other densely, and cut a record between two of its requests", () => {
    const oracle = newOracle({ ...oracleBoundsDefault, blockVerdictsMax: 2 });
    const one = record([1, 2, 3, 4, 5].map((n) => writeOf(n, n)));
    const blocks = certify(oracle, [one]);
    expect(blocks.map((block) => block.position)).toEqual([1, 2, 3]);
    expect(blocks.map((block) => block.cursor?.requestsDone)).toEqual([2, 4, "all"]);
    expect(blocks[1]?.previousTimestamp).toBe(blocks[0]?.throughTimestamp);
  });

  test("stay within their bytes", () => {
    const blockBytesMax = 1_000;
    const oracle = newOracle({ ...oracleBoundsDefault, blockBytesMax });
    const blocks = certify(oracle, [record(Array.from({ length: 200 }, (_, n) => writeOf(n, n)))]);
    expect(verdicts(blocks)).toHaveLength(200);
    expect(blocks.length).toBeGreaterThan(8);
  });

  test("are cut by the work that they take: checks and duplicates are no verdicts", () => {
    const bounds = { ...oracleBoundsDefault, blockStepsMax: 10 };
    const steps = ({ checks = [], writes = [] }: TestRequest): number =>
      1 + checks.length + writes.length;
    const checksOf = (count: number) => Array.from({ length: count }, (_, n) => hash(900 + n));
    const heavy = { ...writeOf(50, 50), checks: checksOf(40) };
    const spilled = { ...writeOf(51, 51), spilled: "read" as const, checks: checksOf(7) };
    const light = Array.from({ length: 9 }, (_, n) => ({ id: id(n), checkedTo: startTimestamp }));
    const copies = Array.from({ length: 24 }, () => writeOf(50, 50));
    const requests = [heavy, ...light, heavy, ...copies, spilled, ...light];
    const oracle = newOracle(bounds);
    const input = oracleInput([record(requests)]);
    let done = 0;
    for (const draft of appendedDrafts(oracle, input)) {
      const through = draft.cursor?.requestsDone;
      const reached = typeof through === "number" ? through : requests.length;
      const taken = requests.slice(done, reached).reduce((sum, one) => sum + steps(one), 0);
      expect(taken <= bounds.blockStepsMax || reached === done + 1).toBe(true);
      done = reached;
    }
    expect(done).toBe(requests.length);
    expect(oracle.figures().decidedIds).toBe(11);
  });

  test("leave sort keys out where a commit would not fit with them", () => {
    const writes = Array.from({ length: 9_000 }, (_, n) => ({
      table: hash(1),
      partition: hash(2),
      sortKey: new Uint8Array(64).fill(n >> 8).fill(n & 255, 32),
    }));
    const request = { id: id(1), checkedTo: startTimestamp, writes };
    const [verdict] = verdicts(certify(newOracle(), [record([request])]));
    expect(verdict?.kind).toBe("committed");
    if (verdict?.kind !== "committed") return;
    expect(verdict.writes).toHaveLength(9_000);
    expect(verdict.writes[0]).toMatchObject({ partition: hash(2), sortKey: undefined });
  });

  test("carry no verdict when only the cursor moved", () => {
    const oracle = newOracle();
    const rejected = { ...record([]), rejected: true };
    const blocks = certify(oracle, [rejected]);
    expect(blocks).toMatchObject([
      { verdicts: [], rejectedRecords: 1, throughTimestamp: startTimestamp },
    ]);
    expect(oracle.cursor?.sequenceNumber).toBe(rejected.sequence.toString());
  });

  test("are not made when the cursor has been there", () => {
    const oracle = newOracle();
    const records = [record([writeOf(1, 1)]), record([writeOf(2, 2)])];
    expect(certify(oracle, records)).toHaveLength(1);
    expect(certify(oracle, records)).toHaveLength(0);
    expect(certify(oracle, [])).toHaveLength(0);
  });

  test("I9: go on within a record where the log's cursor stands", () => {
    const bounds = { ...oracleBoundsDefault, blockVerdictsMax: 2 };
    const first = newOracle(bounds);
    const records = [record([1, 2, 3].map((n) => writeOf(n, n)))];
    const [block] = certify(first, records);
    const second = newOracle(bounds);
    if (block !== undefined) second.fold(block);
    expect(verdicts(certify(second, records))).toMatchObject([{ kind: "committed", id: id(3) }]);
  });

  test("leave what lies beyond the requests that are ready", () => {
    const oracle = newOracle();
    const input = oracleInput([record([1, 2, 3].map((n) => writeOf(n, n)))]);
    expect(oracle.next({ ...input, requestsEnd: 0 })).toBeUndefined();
    expect(oracle.next({ ...input, requestsEnd: 2 })?.cursor?.requestsDone).toBe(2);
    oracle.appended();
    expect(oracle.next({ ...input, requestsEnd: 2 })).toBeUndefined();
    expect(oracle.next(input)?.cursor?.requestsDone).toBe("all");
  });
});

describe("the bound of the index", () => {
  test("what leaves the window leaves the index", () => {
    const oracle = newOracle();
    certify(oracle, [record(Array.from({ length: 500 }, (_, n) => writeOf(n, n)))]);
    expect(oracle.figures()).toMatchObject({ indexLive: 501, decidedIds: 500 });
    certify(oracle, [record([writeOf(999, 999, oracle.last)], arrivalMs + 11_000)]);
    expect(oracle.figures()).toMatchObject({ indexLive: 2, decidedIds: 1 });
  });

  test("raises the floor: more is stale, and no conflict is missed", () => {
    // Room for four commits of one write each.
    const oracle = newOracle({ ...oracleBoundsDefault, indexEntriesMax: 28 });
    certify(oracle, [record([1, 2, 3, 4, 5].map((n) => writeOf(n, n)))]);
    expect(oracle.floor).toBe(arrivalMicros);
    const checks = [hash(1)];
    const old = { ...writeOf(7, 7, arrivalMicros - 1), checks };
    const young = { ...writeOf(8, 8, oracle.floor), checks: [hash(3)] };
    expect(verdicts(certify(oracle, [record([old, young])]))).toMatchObject([
      { kind: "stale" },
      { kind: "aborted", reason: { kind: "conflict" } },
    ]);
  });
});

test("the bound counts ids as they weigh: probes alone leave room for a quarter as many", () => {
  const oracle = newOracle({ ...oracleBoundsDefault, indexEntriesMax: 40 });
  const probes = Array.from({ length: 30 }, (_, n) => ({
    ...writeOf(n, n),
    kind: "abort" as const,
    writes: [],
  }));
  certify(oracle, [record(probes)]);
  expect(oracle.figures()).toMatchObject({ decidedIds: 10 });
});

describe("folding", () => {
  const block: LogBlock = {
    position: 1 as LogBlock["position"],
    previousTimestamp: startTimestamp,
    throughTimestamp: startTimestamp,
    cursor: undefined,
    arrivalMs: 0,
    rejectedRecords: 0,
    verdicts: [],
  };
  test("I1: refuses a position that is not the next", () => {
    expect(() => {
      newOracle().fold({ ...block, position: 2 as LogBlock["position"] });
    }).toThrow(InvariantViolation);
  });

  const cursorAt = (sequence: string): LogBlock["cursor"] => ({
    sequenceNumber: sequence as SequenceNumber,
    requestsDone: "all",
  });
  test.each<[string, Partial<LogBlock>]>([
    ["I2: a block that begins elsewhere in time", { previousTimestamp: 5 as Timestamp }],
    ["I9: a cursor that goes back", { cursor: cursorAt("8") }],
  ])("refuses %s, and names the block", (_, change) => {
    const oracle = newOracle();
    oracle.fold({ ...block, cursor: cursorAt("9") });
    const next = { ...block, position: 2 as LogBlock["position"], cursor: cursorAt("9") };
    expect(() => {
      oracle.fold({ ...next, ...change });
    }).toThrow(/block 2 .*(not continue the log|moves the stream's cursor back)/);
    oracle.fold(next);
    expect(oracle.position).toBe(2);
  });
});

test("outcomes stand in the order of their codes", () => {
  expect(outcomes.map((outcome) => outcomeCode[outcome])).toEqual([...outcomes.keys()]);
});

describe("a client's block", () => {
  /** Behind the oracle's last one, with one commit of the key. */
  function clientsBlock(oracle: ReturnType<typeof newOracle>, key: number): LogBlock {
    const timestamp = (oracle.last + 1) as Timestamp;
    const { table, partition } = simpleWrite(key);
    return {
      position: (oracle.position + 1) as LogPosition,
      previousTimestamp: oracle.last,
      throughTimestamp: timestamp,
      cursor: oracle.cursor,
      arrivalMs,
      rejectedRecords: 0,
      maker: { number: 0xab as MakerNumber, installed: [] },
      verdicts: [
        {
          kind: "committed",
          id: id(77),
          timestamp,
          writes: [{ table, partition, key: partition, sortKey: undefined }],
          payload: { kind: "inline", bytes: new Uint8Array() },
        },
      ],
    };
  }

  test("I4: counts like an oracle's, and the stream goes on behind the cursor", () => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 1)])]);
    const { cursor, last } = oracle;
    oracle.fold(clientsBlock(oracle, 7));
    expect(oracle.cursor).toEqual(cursor);
    const reader = { ...writeOf(2, 8, last), checks: [hash(7)] };
    expect(verdicts(certify(oracle, [record([reader])]))).toMatchObject([
      { kind: "aborted", reason: { kind: "conflict", conflictTimestamp: last + 1 } },
    ]);
  });

  test.each<[string, (cursor: LogBlock["cursor"]) => LogBlock["cursor"]]>([
    ["moves the cursor on", () => ({ ...oracleCursor(999_999), requestsDone: "all" })],
    ["ends within a record", () => ({ ...oracleCursor(999_999), requestsDone: 1 })],
  ])("I9: is refused if it %s, and nothing has happened", (_, move) => {
    const oracle = newOracle();
    certify(oracle, [record([writeOf(1, 1)])]);
    const good = clientsBlock(oracle, 7);
    expect(() => {
      oracle.fold({ ...good, cursor: move(good.cursor) });
    }).toThrow(CorruptDataError);
    expect(() => {
      oracle.fold({ ...good, cursor: move(good.cursor) });
    }).toThrow(/^I9: block 2 of the log, made by client 000000ab, moves the stream's cursor/);
    oracle.fold(good);
    expect(oracle.last).toBe(good.throughTimestamp);
  });
});

function oracleCursor(sequence: number) {
  return { sequenceNumber: sequence.toString() as SequenceNumber };
}
