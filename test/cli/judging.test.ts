/** What the command line makes of what it has read: findings, hot keys, faults of an audit. */
import { describe, expect, test } from "vitest";
import { chainFaults, decisionFaults, installFaults, wholeFaults } from "../../inspection/audit.ts";
import { skewFinding } from "../../inspection/checks.ts";
import { contentionIn } from "../../inspection/contention.ts";
import { findingsOf } from "../../inspection/findings.ts";
import type { ReadBlock } from "../../inspection/log-reading.ts";
import type { ShardState } from "../../inspection/shard-state.ts";
import { oldestAgeMs, tallied, transactionsIn } from "../../inspection/tally.ts";
import { fits, versionFindings } from "../../cli/package-checks.ts";
import { conflictsLines } from "../../cli/views/conflicts.ts";
import { statusLines } from "../../cli/views/status.ts";
import { plainStyles } from "../../cli/shell/styles.ts";
import { provisioningNumber } from "../../core/block-order.ts";
import { encodePayload } from "../../schemas/payload.ts";
import type {
  CommittedVerdict,
  Decision,
  KeyHash,
  LogBlock,
  LogPosition,
  ShardNumber,
  TableDescription,
  Timestamp,
  TransactionId,
  Verdict,
  WriteHashes,
} from "../../core/types.ts";

const at = (ms: number): Timestamp => (ms * 1_000) as Timestamp;
const idOf = (n: number): TransactionId => n.toString(16).padStart(32, "0") as TransactionId;
const writeOf = (key: number): WriteHashes => ({
  table: 1n as KeyHash,
  partition: BigInt(key) as KeyHash,
  key: BigInt(key) as KeyHash,
  sortKey: undefined,
});

function committed(id: number, ms: number, keys: readonly number[]): CommittedVerdict {
  const payload = { kind: "inline", bytes: new Uint8Array(0) } as const;
  const writes = keys.map(writeOf);
  return { kind: "committed", id: idOf(id), timestamp: at(ms), writes, payload };
}

function conflict(id: number, ms: number, winnerMs: number): Verdict {
  const reason = { kind: "conflict", check: 0, conflictTimestamp: at(winnerMs) } as const;
  return { kind: "aborted", id: idOf(id), timestamp: at(ms), reason };
}

function blockOf(
  position: number,
  [fromMs, toMs]: readonly [number, number],
  verdicts: readonly Verdict[] = [],
  more: Partial<LogBlock> = {},
): ReadBlock {
  const block: LogBlock = {
    position: position as LogPosition,
    previousTimestamp: at(fromMs),
    throughTimestamp: at(toMs),
    cursor: undefined,
    arrivalMs: toMs,
    rejectedRecords: 0,
    verdicts,
    ...more,
  };
  return { position: block.position, bytes: 100, block, fault: undefined };
}

function provisioned(position: number, ms: number, verdicts: readonly Verdict[] = []): ReadBlock {
  const maker = { number: provisioningNumber, installed: [] };
  return blockOf(position, [ms, ms], verdicts, { maker });
}

describe("a tally", () => {
  const part = { ...committed(3, 30, [1]), placed: at(31) };
  const blocks = [
    blockOf(3, [20, 31], [part, conflict(4, 32, 20)], {
      maker: { number: 7 as never, installed: [] },
    }),
    blockOf(2, [10, 20], [committed(2, 20, [1]), { kind: "stale", id: idOf(5) }]),
    blockOf(1, [5, 10], [committed(1, 10, [1])]),
  ];

  test("counts what lies within the time, by way and reason", () => {
    const tally = tallied(blocks, { sinceMs: 20, nowMs: 120 });
    expect(tally).toMatchObject({
      ...{ spanMs: 100, blocks: 2, bytes: 200, byOracle: 1, byClients: 1, makers: 1, stale: 1 },
      committed: { stream: 1, express: 0, vote: 0, part: 1 },
    });
    expect([...tally.aborted.values()]).toEqual(["conflict"]);
  });

  test("is of less time where it does not reach back, but for a log that began within it", () => {
    expect(tallied(blocks.slice(0, 2), { sinceMs: 0, nowMs: 120 }).spanMs).toBe(100);
    expect(tallied(blocks, { sinceMs: 0, nowMs: 120 }).spanMs).toBe(120);
    expect(tallied([], { sinceMs: 20, nowMs: 120 }).spanMs).toBe(100);
  });

  test("of a block of provisioning's neither verdict nor maker counts", () => {
    const reason = { kind: "probed" } as const;
    const verdict: Verdict = { kind: "aborted", id: idOf(9), timestamp: at(30), reason };
    const tally = tallied([provisioned(4, 30, [verdict]), ...blocks.slice(1)], {
      ...{ sinceMs: 20, nowMs: 120 },
    });
    expect(tally).toMatchObject({ blocks: 2, byOracle: 1, byClients: 0, makers: 0 });
    expect(tally.aborted.size).toBe(0);
  });

  test("what waits is as old as its first block that is dated; provisioning's is not", () => {
    expect(oldestAgeMs([blockOf(1, [5, 10]), blockOf(2, [10, 20])], 100)).toBe(90);
    expect(oldestAgeMs([provisioned(1, 10), blockOf(2, [10, 20])], 100)).toBe(80);
    expect(oldestAgeMs([provisioned(1, 10)], 100)).toBe(0);
    expect(oldestAgeMs([], 100)).toBe(0);
  });

  test("a transaction over several shards counts once", () => {
    const tally = tallied(blocks, { sinceMs: 0, nowMs: 120 });
    expect(transactionsIn([tally, tally])).toBe(5);
  });
});

describe("findings of a shard", () => {
  const nowMs = 1_000_000;
  const well: ShardState = {
    log: { shard: "s", number: 0 as ShardNumber } as unknown as ShardState["log"],
    end: {
      position: 5 as LogPosition,
      timestamp: at(nowMs),
      cursor: { requestsDone: "all" } as never,
    },
    watermark: { position: 5 as LogPosition, timestamp: at(nowMs) },
    waiting: { blocks: 0, oldestMs: 0 },
    tally: tallied([], { sinceMs: nowMs - 60_000, nowMs }),
    open: [],
    openIsPartial: false,
    fault: undefined,
    deadLetters: 0,
    undecided: { records: 0, oldestMs: 0 },
    reapedMs: nowMs - 1_000,
  };
  const openFor = (ms: number) => [
    { id: idOf(1), since: at(nowMs - ms), position: 1 as LogPosition, writes: 1, parts: 1 },
  ];
  const levels = (state: Partial<ShardState>, streamless = false) => {
    const found = findingsOf([{ ...well, ...state }], { nowMs, streamless });
    return Object.fromEntries(found.map(({ about, level }) => [about, level]));
  };
  const fine = {
    log: "fine",
    installs: "fine",
    oracle: "fine",
    open: "fine",
    "dead letters": "fine",
    reaper: "fine",
  };

  test.each([
    [{}, {}],
    [{ fault: "does not decode" }, { log: "bad" }],
    [{ watermark: undefined }, { log: "bad" }],
    [{ watermark: { position: 6 as LogPosition, timestamp: at(1) } }, { log: "bad" }],
    [{ waiting: { blocks: 1, oldestMs: 9_999 } }, {}],
    [{ waiting: { blocks: 1, oldestMs: 10_000 } }, { installs: "warning" }],
    [{ waiting: { blocks: 1, oldestMs: 60_000 } }, { installs: "bad" }],
    [{ undecided: { records: 1, oldestMs: 9_999 } }, {}],
    [{ undecided: { records: 1, oldestMs: 10_000 } }, { oracle: "bad" }],
    [{ undecided: "denied" as const }, { oracle: "unknown" }],
    [{ undecided: undefined }, { oracle: "unknown" }],
    [{ open: openFor(59_999) }, {}],
    [{ open: openFor(60_000) }, { open: "warning" }],
    [{ openIsPartial: true }, { open: "unknown" }],
    [{ deadLetters: 1 }, { "dead letters": "bad" }],
    [{ deadLetters: "denied" as const }, { "dead letters": "unknown" }],
    [{ reapedMs: undefined }, { reaper: "unknown" }],
    [{ reapedMs: "denied" as const }, { reaper: "unknown" }],
    [{ reapedMs: nowMs - 30 * 60_000 }, { reaper: "warning" }],
  ] as const)("%j: %j", (state, expected) => {
    expect(levels(state)).toEqual({ ...fine, ...expected });
  });

  test("without a stream nobody asks for an oracle", () => {
    expect(levels({}, true)).not.toHaveProperty("oracle");
  });

  test("status tells of what is open, with its age", () => {
    const shards = [{ ...well, open: openFor(5_000) }];
    const text = statusLines(
      {
        ...{ deployment: "shop", place: "in eu-west-1", nowMs, windowMs: 60_000, shards },
        ...{ streamless: false, tables: { all: 1, mixed: 0, moving: 1 } },
        feeds: undefined,
        bases: undefined,
        findings: findingsOf(shards, { nowMs, streamless: false }),
      },
      plainStyles,
    ).join("\n");
    expect(text).toMatch(
      /^shop in eu-west-1: healthy\n1 table \(1 on its way\), 1 shard, a stream/,
    );
    expect(text).toMatch(/open transaction +for +writes +shards\n0{31}1 +5\.0 s +1 +1/);
  });
});

describe("hot keys", () => {
  const log = { number: 0 as ShardNumber } as unknown as ShardState["log"];
  const found = (verdicts: readonly Verdict[]) =>
    contentionIn([{ log, blocks: [blockOf(1, [0, 100], verdicts)] }]);

  test("a winner of one key has won there, one of several perhaps; the hottest comes first", () => {
    const { keys, ...counts } = found([
      committed(1, 10, [7]),
      committed(2, 20, [8, 9]),
      committed(3, 30, [9]),
      conflict(4, 40, 10),
      conflict(5, 41, 20),
      conflict(6, 42, 5),
    ]);
    expect(counts).toEqual({ commits: 3, conflicts: 3, waits: 0, untold: 1 });
    expect(
      keys.map(({ key, commits, lost, lostPerhaps }) => [key, commits, lost, lostPerhaps]),
    ).toEqual([
      [7n, 1, 1, 0],
      [9n, 2, 0, 1],
      [8n, 1, 0, 1],
    ]);
  });

  test("runs in vain are told by the payloads at hand, but for one that is damaged", () => {
    const table = { name: "rows", partitionKey: "id", history: false };
    const bytesOf = (earlierAttempts?: number) =>
      encodePayload({
        tables: [table],
        writes: [{ table: 0, key: { id: { S: "a" } }, item: undefined }],
        ...(earlierAttempts === undefined ? {} : { earlierAttempts }),
      });
    const by = (id: number, bytes: Uint8Array): CommittedVerdict => ({
      ...committed(id, id, [7]),
      payload: { kind: "inline", bytes },
    });
    const elsewhere: CommittedVerdict = {
      ...committed(9, 9, [7, 8]),
      payload: { kind: "spilled", chunks: 1, byteLength: 1, digest: new Uint8Array(32) },
    };
    const verdicts = [by(1, bytesOf()), by(2, bytesOf(3)), by(3, bytesOf(2)), elsewhere];
    const { keys } = found([...verdicts, by(4, Uint8Array.of(0, 0))]);
    expect(keys.map(({ key, commits, retries }) => [key, commits, retries])).toEqual([
      [7n, 5, { known: 3, runs: 5, most: 3 }],
      [8n, 1, { known: 0, runs: 0, most: 0 }],
    ]);
    const view = { commits: 5, conflicts: 0, waits: 0, untold: 0, sinceMs: 60_000 };
    const named = keys.map((hot) => ({ hot, table: "rows", key: undefined }));
    const lines = conflictsLines({ ...view, keys: named }, plainStyles);
    expect(lines.slice(-2).map((line) => line.split(/ {2,}/u).slice(2, -1))).toEqual([
      ["5", "–", "–", "≥ 5", "–"],
      ["1", "–", "–", "?", "–"],
    ]);
  });

  test("a wait is at what the open transaction writes; conflicts name a part by its place", () => {
    const prepared: Verdict = {
      ...{ kind: "prepared", id: idOf(1), timestamp: at(5), checks: [], writes: [writeOf(7)] },
      payload: { kind: "inline", bytes: new Uint8Array(0) },
    };
    const part = {
      ...committed(1, 5, [7]),
      placed: at(9),
      payload: { kind: "prepared", position: 1 },
    };
    const { keys, waits, untold } = found([
      prepared,
      { kind: "busy", id: idOf(2), inTheWay: idOf(1) },
      { kind: "busy", id: idOf(2), inTheWay: idOf(3) },
      part as CommittedVerdict,
      conflict(4, 40, 9),
    ]);
    expect([waits, untold]).toEqual([2, 1]);
    expect(keys).toMatchObject([{ key: 7n, commits: 1, lost: 1, waited: 1, told: prepared }]);
  });
});

describe("faults of an audit", () => {
  const number = 2 as ShardNumber;

  test.each([
    ["none", [blockOf(3, [20, 30]), blockOf(2, [10, 20])], []],
    ["a gap", [blockOf(4, [20, 30]), blockOf(2, [10, 20])], [/I1: block 4 follows on block 2/]],
    ["another beginning", [blockOf(3, [21, 30]), blockOf(2, [10, 20])], [/I2: block 3 does not/]],
    [
      "no block",
      [{ ...blockOf(3, [0, 0]), block: undefined, fault: "no magic" }, blockOf(2, [10, 20])],
      [/shard 2: no magic/],
    ],
  ] as const)("a chain of blocks with %s", (_, blocks, expected) => {
    const faults = chainFaults({ number }, blocks);
    expect(faults).toHaveLength(expected.length);
    for (const [index, each] of expected.entries()) expect(faults[index]).toMatch(each);
  });

  test("an id that is decided twice", () => {
    expect(decisionFaults({ number }, [{ id: idOf(1) }, { id: idOf(2) }])).toEqual([]);
    expect(decisionFaults({ number }, [{ id: idOf(1) }, { id: idOf(1) }])).toHaveLength(1);
  });

  test("a transaction that its logs do not agree about", () => {
    const log = { number };
    const part = (ms: number): Decision => ({ ...committed(1, ms, [1]), placed: at(50) });
    const aborted: Decision = {
      ...{ kind: "aborted", id: idOf(1), timestamp: at(9), reason: { kind: "probed" } },
    };
    const faults = (a: Decision, b: Decision) =>
      wholeFaults([
        { log, decisions: [a] },
        { log, decisions: [b] },
      ]);
    expect(faults(part(10), part(10))).toEqual([]);
    expect(faults(part(10), part(11))).toEqual([expect.stringMatching(/at two timestamps/)]);
    expect(faults(aborted, part(10))).toEqual([expect.stringMatching(/aborted in another/)]);
    expect(faults(aborted, aborted)).toEqual([]);
  });

  const table = { name: "t" } as TableDescription;
  const key = { id: { S: "a" } };
  const wrote = (item: typeof key | undefined) => ({
    ...{ table, key, item, version: at(10), id: idOf(1) },
  });
  const stored = (ms: number, item: typeof key | undefined, tombstone = false) => ({
    ...{ version: at(ms), item, tombstone },
  });

  test.each([
    ["it stands", wrote(key), stored(10, key), undefined],
    ["a newer one stands", wrote(key), stored(11, key), undefined],
    ["an older one stands", wrote(key), stored(9, key), /I7: t "a": transaction 0{31}1 wrote it/],
    ["it is gone", wrote(key), stored(0, undefined), /stored is no commit's/],
    ["a delete's tombstone is gone", wrote(undefined), stored(0, undefined), undefined],
    ["an older tombstone stands", wrote(undefined), stored(9, undefined, true), /I7/],
    ["what was deleted stands", wrote(undefined), stored(9, key), /I7/],
    ["one from beyond the log", wrote(key), stored(101, key), /lies above everything in the logs/],
  ] as const)("an item: %s", (_, expected, found, fault) => {
    const faults = installFaults(expected, found, at(100));
    if (fault === undefined) expect(faults).toEqual([]);
    else expect(faults).toEqual([expect.stringMatching(fault)]);
  });
});

describe("versions", () => {
  test.each([
    ["3.600.0", "^3.600.0", true],
    ["3.599.9", "^3.600.0", false],
    ["3.600.1", "^3.600.0", true],
    ["3.1162.0", "^3.600.0", true],
    ["4.0.0", "^3.600.0", false],
    ["3.600.0-beta", "^3.600.1", false],
  ])("%s within %s: %s", (version, range, expected) => {
    expect(fits(version, range)).toBe(expected);
  });

  test("what is missing, wrong or old is bad, with what to install", () => {
    const peer = (name: string, version: string | undefined, isOptional = false) => ({
      ...{ name, range: "^3.0.0", version, isOptional },
    });
    const peers = [
      peer("a", "3.1.0"),
      peer("b", undefined),
      peer("c", undefined, true),
      peer("d", "2.0.0"),
    ];
    expect(versionFindings(peers, { node: "18.1.0", own: "0.1.0" })).toMatchObject([
      { level: "fine", text: "tidemark 0.1.0, Node 18.1.0, a 3.1.0, d 2.0.0" },
      { level: "bad", text: "Node 18.1.0 is too old" },
      { level: "bad", text: "not installed: b", remedy: "npm install b" },
      { level: "bad", text: "d is 2.0.0, and must be ^3.0.0" },
      { level: "unknown", text: expect.stringMatching(/tidemark start.*: c/) as string },
    ]);
  });
});

describe("the clock", () => {
  const dated = (offMs: number, roundTripMs = 0) => ({
    ...{ atMs: 10_000_000 + offMs, dateMs: 10_000_000, sentMs: 0, receivedMs: roundTripMs },
  });

  test.each([
    [undefined, "unknown", /no answer is dated/],
    [dated(0), "fine", /within two seconds/],
    [dated(2_999), "fine", /within/],
    [dated(3_000), "warning", /2\.0 s ahead of/],
    [dated(3_500, 600), "fine", /within/],
    [dated(-2_000), "warning", /2\.0 s behind/],
    [dated(-1_999), "fine", /within/],
    [dated(241_000), "bad", /4 min ahead of/],
  ] as const)("%j is %s", (answer, level, text) => {
    const finding = skewFinding(answer);
    expect([finding.level, finding.text]).toEqual([level, expect.stringMatching(text)]);
  });
});
