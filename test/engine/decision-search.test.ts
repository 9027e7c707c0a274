/**
 * What an id's decision is, wherever the tail begins (docs/protocol.md §6), and what it costs to
 * ask about ids that nobody has made.
 */
import { isDecision } from "../../core/decision.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SnapshotTooOldError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type {
  Decision,
  LogPosition,
  SequenceNumber,
  ShardId,
  Timestamp,
} from "../../core/types.ts";
import { ignore } from "../../engine/concurrency.ts";
import { DecisionSearch } from "../../engine/log/decision-search.ts";
import { decodeBlock } from "../../engine/log/stored-block.ts";
import { settleOutcome } from "../../engine/outcome.ts";
import { ShardSession } from "../../engine/shard-session.ts";
import { decodeCommitRecord } from "../../schemas/commit-record-reading.ts";
import { makeTransactionId } from "../../schemas/transaction-id.ts";
import { registryOf } from "../../testing/registry-view.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";

const shard = "shardId-000000000000" as ShardId;

function sessionOn(log: MemoryLog, ports: ClientPorts = followerPorts(log)): ShardSession {
  return new ShardSession(
    ports,
    { shard, hashes: sampleHashes },
    { registry: registryOf([]), onHelped: () => undefined },
  );
}

/** The watermark stands behind that block. */
function moveWatermark(log: MemoryLog, position: number): void {
  const stored = log.blocks[position - 1];
  if (stored === undefined) return;
  const { throughTimestamp: timestamp } = decodeBlock(stored, sampleHashes);
  log.watermark = { position: position as LogPosition, timestamp, cursor: undefined };
}

function firstDecision(log: MemoryLog, id: number): Decision | undefined {
  return log.blocks
    .flatMap((stored) => decodeBlock(stored, sampleHashes).verdicts)
    .filter(isDecision)
    .find((decision) => decision.id === idOf(id));
}

function unlessUnfinished(error: unknown): void {
  if (!(error instanceof UnavailableError)) throw error;
}

const step = fc.oneof(
  fc.record({ append: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }) }),
  fc.record({ watermark: fc.nat({ max: 20 }) }),
  fc.constant("refresh" as const),
  fc.constant("read on" as const),
);

test("I3: the first decision on an id stands, wherever the tail begins and moves to", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }), { maxLength: 14 }),
      fc.nat({ max: 14 }),
      fc.nat({ max: 30 }),
      fc.array(step, { maxLength: 12 }),
      async (blocks, watermark, offset, steps) => {
        const log = new MemoryLog();
        for (const ids of blocks) log.append(...ids);
        moveWatermark(log, watermark);
        const session = sessionOn(log);
        await session.follower.refresh();
        const { tail } = session.follower;
        // As the timestamp of an id, which lies below every decision on it.
        const first = firstDecision(log, 1)?.timestamp ?? Number.POSITIVE_INFINITY;
        const undecidedTo = Math.min(1_000 + offset, tail.newest, first - 1) as Timestamp;
        const search = new DecisionSearch(session, { id: idOf(1), undecidedTo });
        for (const each of [...steps, "refresh" as const]) {
          if (each === "refresh") {
            await session.follower.readWatermark();
            await session.follower.refresh();
          } else if (each === "read on") await search.fill({}, 1).catch(unlessUnfinished);
          else if ("append" in each) log.append(...each.append);
          else if (each.watermark > log.watermark.position) moveWatermark(log, each.watermark);
          const found = search.look();
          if (found === "gap" || found === undefined) continue;
          expect(found).toEqual(firstDecision(log, 1));
        }
        while (search.look() === "gap") await search.fill({}, 2).catch(unlessUnfinished);
        expect(search.look()).toEqual(firstDecision(log, 1));
      },
    ),
  );
});

describe("an id that nobody made", () => {
  const made = (n: number) => makeTransactionId(1_000 as Timestamp, new Uint8Array(9).fill(n));

  /** A log of so many pages below the tail; what is sent is decided at once. */
  function longLog(pages: number) {
    const log = new MemoryLog();
    log.pageBlocksMax = 2;
    for (let i = 1; i <= 2 * pages; i += 1) log.append(i);
    moveWatermark(log, 2 * pages);
    let sent = 0;
    const put: ClientPorts["stream"]["put"] = (_, records) => {
      for (const { id } of records.flatMap((record) => decodeCommitRecord(record))) {
        sent += 1;
        const reason = { kind: "probed" } as const;
        log.putDecided([(timestamp) => ({ kind: "aborted", id, timestamp, reason })]);
      }
      const sequenceNumber = "1" as SequenceNumber;
      return Promise.resolve(records.map(() => ({ kind: "stored", sequenceNumber })));
    };
    const random = { next: () => 0, bytes: (count: number) => new Uint8Array(count) };
    const ports = { ...followerPorts(log), random, stream: { put } } as unknown as ClientPorts;
    const session = sessionOn(log, ports);
    const { signal } = new AbortController();
    const ask = async (n: number) => {
      await session.follower.refresh();
      return settleOutcome(ports, session, {
        ...{ id: made(n), signal, call: {} },
        onSent: () => undefined,
      });
    };
    return { log, ask, clock: ports.clock, sent: () => sent };
  }

  test("costs so many pages of the log per question, and the next one goes on", async () => {
    const { log, ask, sent } = longLog(2 * limits.outcomePagesMax + 3);
    for (let i = 0; i < 2; i += 1) {
      const before = log.reads;
      const refused: unknown = await ask(7).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(UnavailableError);
      expect(refused).toMatchObject({ retryable: true, outcome: "aborted" });
      expect((refused as Error).message).toContain("outcomePagesMax");
      // And the tail's own refresh.
      expect(log.reads - before).toBe(limits.outcomePagesMax + 1);
    }
    expect(sent()).toBe(0);
    const before = log.reads;
    expect(await ask(7)).toEqual({ kind: "aborted" });
    expect(log.reads - before).toBeLessThan(8);
    expect(sent()).toBe(1);
    // Somebody asks once more: the log tells, and nothing is read below the tail.
    const again = log.reads;
    expect(await ask(7)).toEqual({ kind: "aborted" });
    expect(log.reads - again).toBeLessThanOrEqual(1);
  });

  test("has its pages read one at a time with all the others, at a slow pace", async () => {
    const { log, ask, clock } = longLog(limits.outcomePagesMax + 1);
    await ask(0).catch(ignore);
    const { reads } = log;
    let underWay = 0;
    let mostUnderWay = 0;
    log.hold = async () => {
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
    };
    const beganMs = clock.monotonicMs();
    await Promise.allSettled([1, 2, 3, 4].map((n) => ask(n)));
    const pages = 4 * limits.outcomePagesMax;
    expect(log.reads - reads).toBeGreaterThanOrEqual(pages);
    expect(log.reads - reads).toBeLessThanOrEqual(pages + 4);
    expect(clock.monotonicMs() - beganMs).toBeGreaterThanOrEqual(pages * limits.searchPageMsMin);
    // The other ones are the tail's own.
    expect(mostUnderWay).toBeLessThanOrEqual(1 + limits.tailRefreshesMax);
  });

  test("from beyond what the log keeps is refused by a look at a few blocks", async () => {
    const { log, ask } = longLog(200);
    log.expiredThrough = 390;
    await expect(ask(1)).rejects.toBeInstanceOf(SnapshotTooOldError);
    expect(log.reads).toBe(1);
  });
});
