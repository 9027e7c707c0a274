/**
 * A reader at an old timestamp meets a row that was deleted, whose tombstone should stand still or
 * is rightly gone, and which was never put again. In runs under faults rows are put again all the
 * time, and the newer version says that there is something to look up; here nothing says so. One
 * step after another, by the right time, on rows that nobody else uses:
 *
 *   no history      plain row, put by a process that dies         replay puts it
 *                   early is deleted ── its tombstone is reaped
 *   history is on   early, just before: refused
 *                   two processes that know of it, and do not, die; replay goes on
 *   history holds   ten rows are deleted, in the time between two visits of the reaper
 *                   each a minute before its retention ends: it stood
 *                   each as late as a slow reader may ask and go on: it stood
 *                   ── tombstones are reaped
 *                   each once more: refused
 *
 * What is shown is judged against the log (judges/past-reads.ts).
 */
import { SnapshotTooOldError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import type { CalmStage } from "../calm-stage.ts";
import { numbered } from "./key-spaces.ts";
import { WorkloadFinding, type Client } from "./workload.ts";

const edges = defineTable<{ readonly by: string }, { readonly row: string }>("edges", {
  key: "row",
});
export const edgesTable = testTable("edges", { partitionKey: "row" });

const minuteMs = 60_000;
/** Two visits of the reaper: one sees that the watermark has passed, one believes it. */
const visitsMs = 11 * minuteMs;
const retentionMs = 2 * limits.historyRetentionMsMin;
/** A tombstone without history is gone by then, and the moment of its delete is kept still. */
const reapedMs = retentionMs - minuteMs;
/** Spread over the time between two visits, one of them lies just before one. */
const kept = numbered("kept", 10);
const betweenMs = 0.5 * minuteMs;
const mixed = numbered("mixed", 24);
const lingerMs = limits.transactionAgeMsMax - 10_000;

export async function lookAtEdges(stage: CalmStage): Promise<void> {
  const { operator } = stage;
  const writer = stage.client("edge writer");
  await operator.retainHistory(retentionMs);
  await installPlainRow(stage, writer);
  await put(writer, ["early", ...mixed]);
  const earlyMs = await remove(writer, "early");
  await stage.sleepUntil(earlyMs + reapedMs);
  await switchOn(stage, writer, earlyMs);
  await stage.sleepUntil(operator.nowMs + limits.historyChangeMs);
  await put(writer, kept);
  const deleted: { readonly row: string; readonly atMs: number }[] = [];
  for (const row of kept) {
    deleted.push({ row, atMs: await remove(writer, row) });
    await stage.sleepUntil(operator.nowMs + betweenMs);
  }
  const clockOffsetMs = -limits.clientClockErrorMsMax;
  const slow = stage.client("slow edge reader", { clockOffsetMs });
  const exact = stage.client("edge reader");
  await Promise.all(
    deleted.map(async ({ row, atMs }) => {
      await stage.sleepUntil(atMs + retentionMs - minuteMs);
      await look(exact, [row], justBefore(atMs));
      await stage.sleepUntil(atMs + retentionMs - clockOffsetMs - 1_000);
      await look(slow, [row], justBefore(atMs), () => stage.cloud.clock.sleep(lingerMs));
    }),
  );
  await stage.sleepUntil(operator.nowMs + limits.readerMarginMs + visitsMs);
  for (const { row, atMs } of deleted) await look(exact, [row], justBefore(atMs));
}

/** Nobody else can tell whether a commit that has read nothing comes before a plain write. */
async function installPlainRow(stage: CalmStage, reader: Client): Promise<void> {
  stage.cloud.seed(edges, [{ row: "plain", by: "a plain writer" }]);
  const { client, died } = stage.dying("plain row's writer");
  void put(client, ["plain"]);
  await died;
  await stage.cloud.settled();
  const row = await reader.snapshot((snapshot) => snapshot.get(edges, "plain"));
  if (row?.by === "put") return;
  throw new WorkloadFinding(`plain is by ${row?.by ?? "nobody"}, where a commit has put it`);
}

/**
 * Of two commits in one stretch of replay, only the later one's client knows of the history. The
 * oracle has just looked at the registry, and takes the earlier one as it knows the table.
 */
async function switchOn(stage: CalmStage, writer: Client, earlyMs: number): Promise<void> {
  const { cloud, operator } = stage;
  const former = stage.dying("writer without history");
  await former.client.snapshot((snapshot) => snapshot.get(edges, "early"));
  await put(writer, mixed);
  await cloud.settled();
  cloud.pauseReplay();
  await operator.setHistory("edges", true);
  void put(former.client, mixed);
  await former.died;
  const between = Math.floor(operator.nowMs * 1000);
  const latter = stage.dying("writer with history");
  void put(latter.client, mixed);
  await latter.died;
  cloud.resumeReplay();
  await cloud.settled();
  const reader = stage.client("reader of a new history");
  await look(reader, mixed, between);
  await look(reader, ["early"], justBefore(earlyMs));
}

async function put(client: Client, rows: readonly string[]): Promise<void> {
  await client.transact((tx) => {
    for (const row of rows) tx.put(edges, { row, by: "put" });
    return Promise.resolve();
  });
}

/** @returns its commit's time. */
async function remove(client: Client, row: string): Promise<number> {
  const { receipt } = await client.transact((tx) => {
    tx.delete(edges, row);
    return Promise.resolve();
  });
  return (receipt.commitTimestamp ?? 0) / 1000;
}

/** In microseconds. */
function justBefore(ms: number): number {
  return Math.round(ms * 1000) - 1;
}

async function look(
  client: Client,
  rows: readonly string[],
  asOf: number,
  begun?: () => Promise<void>,
): Promise<void> {
  const options = { asOf, attemptsMax: 1, deadlineMs: minuteMs };
  try {
    await client.snapshot(options, async (snapshot) => {
      await begun?.();
      await snapshot.batchGet(
        edges,
        rows.map((row) => ({ row })),
      );
    });
  } catch (error) {
    if (!(error instanceof SnapshotTooOldError)) throw error;
  }
}
