/** Replay votes against what nobody decides: when, by which way, and what the log makes of it. */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { PutRecordResult, StreamRecord } from "../../core/ports.ts";
import { streamEnd } from "../../core/cursor.ts";
import { Tail } from "../../core/tail.ts";
import type {
  LogPosition,
  MakerNumber,
  StreamCursor,
  Timestamp,
  Watermark,
} from "../../core/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { LogProgress } from "../../functions/replay/progress.ts";
import { voteDown } from "../../functions/replay/vote-down.ts";
import { encodeLogBlock } from "../../schemas/log-block-encoding.ts";
import { countingObservability } from "../../testing/counting-observability.ts";
import { sampleHashes, sampleRandom } from "../../testing/sample-hashes.ts";
import { id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import { MemoryLog } from "./memory-log.ts";
import { arrivalMs, record, request, shard } from "./oracle-batches.ts";

const ample = { remainingMs: () => 60_000 };
const start: Watermark = {
  position: 0 as LogPosition,
  timestamp: startTimestamp,
  cursor: undefined,
};
const preparedMs = arrivalMs + 1;

type Stand = {
  readonly log: MemoryLog;
  progress: LogProgress;
  readonly put: Uint8Array[];
  readonly counts: Map<string, number>;
  nowMs: number;
  answer: PutRecordResult | Error;
  run(how?: { readonly isAtEnd?: boolean; readonly streamless?: boolean }): Promise<void>;
};

/** A log whose first block prepares transactions, and whose second one came `quietMs` later. */
async function standing(opened: number, quietMs: number): Promise<Stand> {
  const log = new MemoryLog(startTimestamp);
  const service = createOracleService(log.ports());
  const prepares = Array.from({ length: opened }, (_, i) =>
    request(i + 1, `k${i.toString()}`, { kind: "prepare" }),
  );
  await service.handle({ shard, records: [record(1, prepares)] }, ample);
  const later = { ...record(2, [request(90_000, "later")]), arrivalMs: preparedMs + quietMs };
  await service.handle({ shard, records: [later] }, ample);
  const progress = new LogProgress(start);
  for (const block of log.decoded()) progress.fold(block);
  const put: Uint8Array[] = [];
  const counts = new Map<string, number>();
  const observability = countingObservability(counts, () => undefined);
  const stand: Stand = {
    ...{ log, progress, put, counts, nowMs: preparedMs + quietMs },
    answer: { kind: "stored", sequenceNumber: sequenceText(1n) },
    run: async ({ isAtEnd = true, streamless = false } = {}) => {
      const { clock } = log.ports();
      await voteDown({
        ports: {
          clock: { ...clock, nowMs: () => stand.nowMs, monotonicMs: () => stand.nowMs },
          random: { ...sampleRandom, next: () => 0 },
          stream: {
            put: (_, records) => {
              const { answer } = stand;
              if (answer instanceof Error) return Promise.reject(answer);
              put.push(...records);
              return Promise.resolve(records.map(() => answer));
            },
            read: () => Promise.resolve({ kind: "trimmed" }),
          },
          log: log.ports().log as never,
        },
        ...{ observability, shard, hashes: sampleHashes, call: {} },
        progress: stand.progress,
        settleParts: () => Promise.reject(new Error("nothing here is a part")),
        streamless: () => Promise.resolve(streamless),
        endReadMs: isAtEnd ? stand.nowMs : undefined,
      });
    },
  };
  return stand;
}

/** The oracle takes what was put, and replay goes on to the log's end. */
async function decide({ log, put, progress }: Stand): Promise<void> {
  const records = put.map((data, i): StreamRecord => ({
    sequenceNumber: sequenceText(10n ** 20n + 100n + BigInt(i)),
    arrivalMs: preparedMs,
    data,
  }));
  await createOracleService(log.ports()).handle({ shard, records }, ample);
  followOn(log, progress);
}

function followOn(log: MemoryLog, progress: LogProgress): void {
  for (const block of log.decoded().slice(progress.place.position)) progress.fold(block);
}

const boundMs = limits.openMicrosMax / 1_000;
const byClockMs = limits.openByClockMsMax;

describe("what has been open for too long", () => {
  test.each([
    ["one below the log's time", boundMs - 1, 0, true, 0],
    ["the log's time", boundMs, 0, true, 1],
    ["the log's time, though the log goes on", boundMs, 0, false, 1],
    ["one below the clock's, in a quiet log", 0, byClockMs - 1, true, 0],
    ["the clock's, in a quiet log", 0, byClockMs, true, 1],
    ["the clock's, though the log goes on", 0, byClockMs, false, 0],
  ])("is voted down: %s", async (_, quietMs, clockMs, isAtEnd, votes) => {
    const stand = await standing(1, quietMs);
    stand.nowMs = preparedMs + clockMs;
    await stand.run({ isAtEnd });
    expect(stand.put).toHaveLength(votes);
    expect(stand.counts.get("VotedDown") ?? 0).toBe(votes);
  });

  test("I7: is passed once the log has decided it, by records of the stream", async () => {
    const stand = await standing(3, 2 * boundMs);
    expect(stand.progress.passable).toBeUndefined();
    await stand.run();
    expect(stand.put).toHaveLength(1);
    await decide(stand);
    const verdicts = stand.log.decoded().at(-1)?.verdicts ?? [];
    expect(verdicts).toMatchObject(
      [1, 2, 3].map((n) => ({ kind: "aborted", id: id(n), reason: { kind: "probed" } })),
    );
    expect(stand.progress.passable?.position).toBe(stand.log.blocks.length);
  });

  test("is voted down once, until the vote had time to arrive", async () => {
    const stand = await standing(1, boundMs);
    await stand.run();
    stand.nowMs += limits.voteAgainMs - 1;
    await stand.run();
    expect(stand.put).toHaveLength(1);
    stand.nowMs += 1;
    await stand.run();
    expect(stand.put).toHaveLength(2);
    // Two votes, one decision.
    await decide(stand);
    expect(stand.log.decoded().flatMap(({ verdicts }) => verdicts)).toHaveLength(1 + 1 + 1);
  });

  test("is voted down in bounded numbers, oldest first", async () => {
    const stand = await standing(limits.votesDownMax + 5, 2 * boundMs);
    await stand.run();
    await decide(stand);
    expect(stand.progress.open.size).toBe(5);
    expect(stand.counts.get("VotedDown")).toBe(limits.votesDownMax);
  });

  test.each([
    ["throttles", { kind: "throttled" } as const],
    ["refuses", new StoreError("rejected", "access denied")],
    ["does not answer", new StoreError("unavailable", "no answer")],
  ])("stays where the stream %s, and the run ends well", async (_, answer) => {
    const stand = await standing(1, boundMs);
    stand.answer = answer;
    await stand.run();
    expect(stand.progress.open.size).toBe(1);
  });
});

describe("where there is no stream", () => {
  const cursors: readonly (readonly [string, StreamCursor | undefined])[] = [
    ["there never was one", undefined],
    ["it was closed", streamEnd],
  ];

  /** As `standing`, of blocks by clients. */
  async function tablesAlone(cursor: StreamCursor | undefined): Promise<Stand> {
    const stand = await standing(2, 2 * boundMs);
    const { log } = stand;
    const blocks = log.decoded().map((block) => ({
      ...block,
      cursor,
      maker: { number: 7 as MakerNumber, installed: [] },
      verdicts: block.verdicts.map((verdict) =>
        verdict.kind === "prepared" || verdict.kind === "committed"
          ? { ...verdict, payload: { kind: "inline" as const, bytes: new Uint8Array(9) } }
          : verdict,
      ),
    }));
    log.blocks.splice(0, log.blocks.length);
    for (const block of blocks) {
      const bytes = encodeLogBlock(block, sampleHashes);
      log.blocks.push({ position: block.position, bytes });
    }
    stand.progress = new LogProgress({ ...start, cursor });
    followOn(log, stand.progress);
    return stand;
  }

  test.each(cursors)("is voted down by a block that all may fold: %s", async (_, cursor) => {
    const stand = await tablesAlone(cursor);
    const { log, counts } = stand;
    const { progress } = stand;
    const end = log.decoded().at(-1)?.throughTimestamp ?? (0 as Timestamp);
    await stand.run({ streamless: true });
    expect(stand.put).toEqual([]);
    const tail = new Tail({ position: 0 as LogPosition, timestamp: startTimestamp });
    for (const block of log.decoded()) tail.fold(block);
    expect(tail.open.size).toBe(0);
    // It is dated by the log alone.
    expect(tail.newest).toBe(end + 2);
    expect(log.decoded().at(-1)).toMatchObject({ oldestOpen: 1, cursor });
    expect(log.decoded().at(-1)?.maker?.number).not.toBe(0);
    expect(counts.get("VotedDown")).toBe(2);
    followOn(log, progress);
    expect(progress.passable?.position).toBe(3);
  });

  test("waits where another's block has come, or the log goes on", async () => {
    const stand = await tablesAlone(undefined);
    const { log, counts } = stand;
    await stand.run({ streamless: true, isAtEnd: false });
    expect(log.blocks).toHaveLength(2);
    const other = { ...log.blocks[1], position: 3 as LogPosition } as (typeof log.blocks)[number];
    log.blocks.push(other);
    stand.nowMs += limits.voteAgainMs;
    await stand.run({ streamless: true });
    expect(log.blocks).toEqual([log.blocks[0], log.blocks[1], other]);
    expect(counts.get("VotedDown") ?? 0).toBe(0);
  });
});
