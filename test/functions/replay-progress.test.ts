/** Where replay's watermark may stand while something that is prepared is not decided. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { StoredBlock } from "../../core/ports.ts";
import type {
  LogBlock,
  LogPosition,
  ShardId,
  Timestamp,
  TransactionId,
  Watermark,
} from "../../core/types.ts";
import { LogProgress } from "../../functions/replay/progress.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { streams } from "../core/oracle-arbitraries.ts";
import {
  certify,
  id,
  newOracle,
  simpleWrite,
  smallBounds,
  startTimestamp,
  type TestRequest,
} from "../core/oracle-harness.ts";

const start: Watermark = {
  position: 0 as LogPosition,
  timestamp: startTimestamp,
  cursor: undefined,
};

const bounds = { ...smallBounds, blockVerdictsMax: 2 };
const logs = streams(40).map((records) => certify(newOracle(bounds), records));

/** Ids that are prepared in the blocks, and not decided behind. */
function openIn(blocks: readonly LogBlock[]): ReadonlySet<TransactionId> {
  const open = new Set<TransactionId>();
  for (const { kind, id } of blocks.flatMap(({ verdicts }) => verdicts)) {
    if (kind === "prepared") open.add(id);
    else if (kind === "committed" || kind === "aborted") open.delete(id);
  }
  return open;
}

const checkedTo = startTimestamp;
const requests: readonly TestRequest[] = [
  { id: id(1), kind: "prepare", checkedTo, writes: [simpleWrite(1)] },
  { id: id(2), kind: "prepare", checkedTo, writes: [simpleWrite(2)] },
  { id: id(2), kind: "abort", checkedTo },
  { id: id(3), checkedTo, writes: [simpleWrite(3)] },
  { id: id(1), kind: "abort", checkedTo },
];

/** How replay reads a log; counts the pages. */
function readingOf(blocks: readonly LogBlock[], pageBlocks = 3) {
  const stored: readonly StoredBlock[] = blocks.map((block) => ({
    position: block.position,
    bytes: encodeLogBlock(block, sampleHashes),
  }));
  const reading = {
    pages: 0,
    shard: "shardId-0" as ShardId,
    hashes: sampleHashes,
    call: {},
    log: {
      readAfter: (_: ShardId, after: LogPosition) => {
        reading.pages += 1;
        const behind = stored.filter(({ position }) => position > after);
        const page = behind.slice(0, pageBlocks);
        return Promise.resolve({ blocks: page, complete: page.length === behind.length });
      },
    },
  };
  return reading;
}

async function follow(progress: LogProgress, blocks: readonly LogBlock[]): Promise<LogProgress> {
  const reading = readingOf(blocks);
  for (const block of blocks.slice(progress.place.position)) {
    await progress.learnOpen(block, reading);
    progress.fold(block);
  }
  return progress;
}

function idsOf(progress: LogProgress): readonly TransactionId[] {
  return Array.from(progress.open.all(), ({ prepared }) => prepared.id);
}

describe("what a block votes down", () => {
  const [block] = certify(newOracle(bounds), [
    { sequence: 10n ** 20n, arrivalMs: startTimestamp / 1_000, requests: requests.slice(0, 1) },
  ]);
  const [prepared] = block?.verdicts ?? [];
  if (block === undefined || prepared?.kind !== "prepared") throw new Error("it is prepared");
  const at = (n: number): Timestamp => (prepared.timestamp + n) as Timestamp;
  const own = { id: prepared.id, writes: prepared.writes };
  const payload = { kind: "prepared", position: block.position } as const;
  const voteFor = { kind: "committed", ...own, timestamp: at(1), payload } as const;
  const reason = { kind: "probed" } as const;
  const against = { kind: "aborted", id: own.id, timestamp: at(2), reason } as const;

  test.each<[string, LogBlock["verdicts"], LogBlock["verdicts"], number]>([
    ["what was prepared before it", [prepared], [against], 1],
    ["what it has prepared itself", [], [prepared, against], 1],
    ["nothing that a vote before has committed", [], [prepared, voteFor, against], 0],
    ["nothing that was open and it commits first", [prepared], [voteFor, against], 0],
    ["a thing once", [prepared], [against, { ...against, timestamp: at(3) }], 1],
    ["nothing that was never prepared", [], [against], 0],
  ])("is %s", (_, before, verdicts, count) => {
    const progress = new LogProgress(start);
    progress.fold({ ...block, verdicts: before });
    const found = progress.votedDownBy({ ...block, verdicts });
    const expected = { prepared, through: against.timestamp };
    expect(found).toEqual(Array.from({ length: count }, () => expected));
  });
});

describe("the watermark", () => {
  test("I7: stands below what is open, and right below it", async () => {
    await fc.assert(
      fc.asyncProperty(logs, async (log) => {
        const progress = new LogProgress(start);
        for (const [i, block] of log.entries()) {
          progress.fold(block);
          const { passable = progress.watermark } = progress;
          progress.advanced(passable);
          const open = openIn(log.slice(0, i + 1));
          const isOpenIn = ({ verdicts }: LogBlock): boolean =>
            verdicts.some(({ kind, id }) => kind === "prepared" && open.has(id));
          expect(log.slice(0, passable.position).some(isOpenIn)).toBe(false);
          const next = log[passable.position];
          if (passable.position <= i) expect(next !== undefined && isOpenIn(next)).toBe(true);
          expect(passable.timestamp).toBe(
            log[passable.position - 1]?.throughTimestamp ?? start.timestamp,
          );
          expect(passable.cursor).toEqual(log[passable.position - 1]?.cursor);
        }
        await Promise.resolve();
      }),
      { numRuns: 300 },
    );
  });

  test("whoever begins there comes to know the same, where the log still holds it", async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(), async (log, read) => {
        const first = await follow(new LogProgress(start), log.slice(0, read % (log.length + 1)));
        const whole = await follow(new LogProgress(start), log);
        const other = await follow(new LogProgress(first.passable ?? start), log);
        expect(idsOf(other)).toEqual(idsOf(whole));
        expect((other.passable ?? other.watermark).position).toBe(
          (whole.passable ?? whole.watermark).position,
        );
      }),
      { numRuns: 300 },
    );
  });

  // A is prepared in block 1 and B in 2; B is voted down in 3, A in 5.
  test.each([
    ["nothing", undefined, 1],
    ["B's vote", 3, 0],
    ["A", 1, 0],
  ])("what begins in between knows what it has to clean up: %s is missing", async (_, gone, n) => {
    const log = certify(newOracle({ ...bounds, blockVerdictsMax: 1 }), [
      { sequence: 10n ** 20n, arrivalMs: startTimestamp / 1_000, requests },
    ]);
    expect(log.map(({ oldestOpen }) => oldestOpen)).toEqual([undefined, 1, 1, 1, 1]);
    const [, , , behind, last] = log;
    if (behind === undefined || last === undefined) throw new Error("the log has five blocks");
    const { position, throughTimestamp: timestamp, cursor } = behind;
    const progress = new LogProgress({ position, timestamp, cursor });
    await progress.learnOpen(last, readingOf(log.filter((each) => each.position !== gone)));
    expect(progress.votedDownBy(last)).toHaveLength(n);
    progress.fold(last);
    expect(progress.passable?.position).toBe(5);
  });

  test("a block that names one far back costs a bounded number of pages", async () => {
    const blocks = Array.from({ length: 1_000 }, (_, i) => emptyBlock(i + 1));
    const at = { ...start, position: 999 as LogPosition };
    const reading = readingOf(blocks);
    const lie = { oldestOpen: 1 as LogPosition, position: 1_000 as LogPosition };
    await new LogProgress(at).learnOpen(lie, reading);
    expect(reading.pages).toBe(limits.openPagesMax);
  });
});

describe("what a process remembers", () => {
  test.each([
    ["stands where it left it", 2, true],
    ["was moved on by another, not as far as it knows", 3, true],
    ["was moved beyond what it knows", 5, false],
    ["lies below: it is another log's", 1, false],
  ] as const)("is worth something while the watermark %s", (_, position, goesOn) => {
    const progress = new LogProgress({ ...start, position: 2 as LogPosition });
    for (const n of [3, 4]) progress.fold(emptyBlock(n));
    const watermark = { ...start, position: position as LogPosition };
    expect(progress.goesOnFrom(watermark)).toBe(goesOn);
    if (goesOn) expect(progress.watermark).toBe(watermark);
  });

  test("never takes the watermark back below where another has moved it", () => {
    const progress = new LogProgress(start);
    const timestamp = (startTimestamp + 1) as Timestamp;
    const payload = { kind: "spilled", chunks: 1, byteLength: 1, digest: new Uint8Array(32) };
    progress.fold({
      ...emptyBlock(1),
      verdicts: [
        { kind: "prepared", id: id(1), timestamp, checks: [], writes: [], payload } as never,
      ],
    });
    progress.fold(emptyBlock(2));
    expect(progress.passable).toBeUndefined();
    progress.goesOnFrom({ ...start, position: 2 as LogPosition });
    expect(progress.passable).toBeUndefined();
  });
});

function emptyBlock(position: number): LogBlock {
  return {
    position: position as LogPosition,
    previousTimestamp: startTimestamp,
    throughTimestamp: startTimestamp,
    cursor: undefined,
    arrivalMs: 0,
    rejectedRecords: 0,
    verdicts: [],
  };
}
