/**
 * The reaper: removes tombstones once no install can resurrect what they stand for
 * (docs/protocol.md §7). An install is signed shortly after its installer learned of it and its
 * signature dies after minutes, so what counts is how long ago the watermark passed the tombstone.
 * No clock in the log says that; the reaper samples the watermark on every run, and believes only
 * samples that are older than the grace.
 *
 * I6 holds by the condition of each removal: exactly this tombstone, at exactly this version. A
 * newer write stays.
 *
 * Beside them it takes away what aborted transactions have left on mixed tables (aborted.ts).
 */
import { assert } from "../../core/assert.ts";
import { CorruptDataError, StoreError } from "../../core/errors.ts";
import { tombstoneLifeMs } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type {
  Ports,
  Tombstone,
  TombstoneBatch,
  TombstoneBatchKey,
  WatermarkSample,
} from "../../core/ports.ts";
import type { Registry, ShardId, Timestamp } from "../../core/types.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import type { Observability } from "../shared/observability.ts";
import { cleanUpAborted } from "./aborted.ts";

export type ReaperSettings = {
  readonly ports: Pick<Ports, "clock" | "items" | "mixed" | "control">;
  readonly observability: Observability;
  /** Work stops `limits.reaperStopMs` before the end. */
  readonly budget: InvocationBudget;
};

export type ReaperReport = {
  readonly shards: number;
  /** Tombstones removed. */
  readonly removed: number;
  /** Tombstones that were gone or overwritten by a newer write. */
  readonly kept: number;
  readonly batchesDropped: number;
  /** Batches seen whose grace has not passed. */
  readonly batchesWaiting: number;
  /** Fences of aborted transactions that were taken away. */
  readonly fencesRemoved: number;
  /** Queued ones whose time has not come. */
  readonly fencesWaiting: number;
  /** Removals that the store did not carry out; their batches stay queued. */
  readonly failures: readonly ReaperFailure[];
  /** The time or the bound of one run was used up; the next run goes on. */
  readonly stoppedEarly: boolean;
};

export type ReaperFailure = {
  readonly shard: ShardId;
  /** Undefined when the shard's own bookkeeping failed. */
  readonly table: string | undefined;
  /** "damaged": what stands in the control table cannot be read. */
  readonly fault: StoreError["fault"] | "damaged";
  readonly message: string;
};

type Progress = {
  removed: number;
  kept: number;
  batchesDropped: number;
  batchesWaiting: number;
  fencesRemoved: number;
  fencesWaiting: number;
  stoppedEarly: boolean;
  readonly failures: ReaperFailure[];
};

/**
 * One run over all shards, oldest tombstones first. May be cut anywhere and may overlap another
 * run: every step is conditional or repeatable.
 * @throws StoreError when the shards or the registry cannot be read.
 */
export async function reap(settings: ReaperSettings): Promise<ReaperReport> {
  const { control, clock } = settings.ports;
  // Before the registry is read: a change that this run does not see lies after this moment, and
  // what it keeps for longer is reckoned from there.
  const nowMs = clock.nowMs();
  const call = callOptions(settings.budget);
  const [shards, registry] = await Promise.all([control.shards(call), control.registry(call)]);
  const progress: Progress = {
    removed: 0,
    kept: 0,
    batchesDropped: 0,
    batchesWaiting: 0,
    fencesRemoved: 0,
    fencesWaiting: 0,
    stoppedEarly: false,
    failures: [],
  };
  for (const shard of shards) {
    try {
      const samples = await sampleWatermark(settings, registry, shard);
      await reapShard(settings, { shard, samples, registry, nowMs }, progress);
      await reapFences(settings, { shard, samples, nowMs }, progress);
    } catch (error) {
      // One shard's trouble is not another's.
      noteFailure(progress, { shard, table: undefined }, error);
    }
  }
  const report = { ...progress, shards: shards.length };
  reportRun(settings.observability, report);
  return report;
}

function reportRun({ log, metrics }: Observability, report: ReaperReport): void {
  metrics.count("TombstonesRemoved", report.removed);
  metrics.count("TombstonesKept", report.kept);
  metrics.count("TombstoneBatchesWaiting", report.batchesWaiting);
  metrics.count("FencesRemoved", report.fencesRemoved);
  metrics.count("FencesWaiting", report.fencesWaiting);
  metrics.count("ReaperFailures", report.failures.length);
  // Not as `message`: that is the line's own.
  for (const { message: cause, ...where } of report.failures) {
    log.warn("a tombstone or a fence could not be removed", { ...where, cause });
  }
  const { failures: _, ...figures } = report;
  const { removed, kept, batchesDropped, fencesRemoved } = report;
  const isIdle = removed + kept + batchesDropped + fencesRemoved === 0;
  log[isIdle ? "debug" : "info"]("tombstones and fences looked through", figures);
}

/**
 * Adds the watermark as it stands to the shard's samples. The clock is read after the watermark, so
 * a sample is never older than what it says: errors delay a removal.
 */
async function sampleWatermark(
  settings: ReaperSettings,
  { retention }: Registry,
  shard: ShardId,
): Promise<readonly WatermarkSample[]> {
  const { control, clock } = settings.ports;
  const call = callOptions(settings.budget);
  const stored = await control.watermarkSamples(shard, call);
  const watermark = await control.readWatermark(shard, call);
  const observedMs = Math.ceil(clock.nowMs());
  if (watermark === undefined) return stored;
  const samples = thinned([...stored, { observedMs, timestamp: watermark.timestamp }], {
    nowMs: observedMs,
    longestGraceMs: tombstoneLifeMs(undefined, retention, observedMs),
  });
  await control.saveWatermarkSamples(shard, samples, call);
  return samples;
}

/**
 * Samples that can still decide something: those younger than the longest grace and the newest of
 * the older ones. Of three neighbours that lie closer together than a small share of that grace,
 * the middle one goes. So there are never more than `limits.watermarkSamplesMax`, and a removal is
 * delayed by that share at most. (Dropping every other sample when there are too many would never
 * let one live as long as a long grace.)
 */
export function thinned(
  samples: readonly WatermarkSample[],
  { nowMs, longestGraceMs }: { readonly nowMs: number; readonly longestGraceMs: number },
): readonly WatermarkSample[] {
  const horizonMs = nowMs - longestGraceMs;
  const ordered = [...samples].sort((a, b) => a.observedMs - b.observedMs);
  const old = ordered.filter(({ observedMs }) => observedMs <= horizonMs).slice(-1);
  const young = ordered.filter(({ observedMs }) => observedMs > horizonMs);
  // Three neighbours span a step at least, so there are at most two samples to a step, and a few at
  // the ends.
  const stepMs = longestGraceMs / (limits.watermarkSamplesMax / 2 - 4);
  const kept = [...old];
  for (const sample of young) {
    const beforeLast = kept.at(-2);
    if (beforeLast !== undefined && sample.observedMs - beforeLast.observedMs < stepMs) kept.pop();
    kept.push(sample);
  }
  assert(kept.length <= limits.watermarkSamplesMax, "reaper: thinned samples stay in bounds");
  return kept;
}

/** The highest watermark that was passed at least `graceMs` ago, as far as samples show. */
export function passedAt(
  samples: readonly WatermarkSample[],
  nowMs: number,
  graceMs: number,
): Timestamp {
  let passed = 0 as Timestamp;
  for (const { observedMs, timestamp } of samples) {
    // mutant: reaper-without-grace
    if (observedMs <= nowMs - graceMs && timestamp > passed) passed = timestamp;
  }
  return passed;
}

type ShardWork = {
  readonly shard: ShardId;
  readonly samples: readonly WatermarkSample[];
  readonly registry: Registry;
  /** Wall clock, read before the registry was. */
  readonly nowMs: number;
};

async function reapShard(
  settings: ReaperSettings,
  work: ShardWork,
  progress: Progress,
): Promise<void> {
  const { control } = settings.ports;
  const call = callOptions(settings.budget);
  const { nowMs } = work;
  const { tables, retention } = work.registry;
  const known = new Map(tables.map((table) => [table.name, table]));
  const lifeMs = ({ table }: Tombstone): number =>
    tombstoneLifeMs(known.get(table), retention, nowMs);
  // No tombstone lives shorter than the grace.
  const passed = passedAt(work.samples, nowMs, limits.tombstoneGraceMs);
  const onDamaged = damageOf(work.shard, progress);
  let after: TombstoneBatchKey | undefined;
  for (;;) {
    const page = await control.queuedTombstones(work.shard, { ...call, after, onDamaged });
    for (const batch of page) {
      const longestMs = batch.tombstones.reduce((max, each) => Math.max(max, lifeMs(each)), 0);
      if (batch.through > passedAt(work.samples, nowMs, longestMs)) {
        progress.batchesWaiting += 1;
        continue;
      }
      if (outOfBounds(settings, progress)) return;
      if (!(await removeAll(settings, batch, progress))) continue;
      await control.dropTombstones(batch, call);
      progress.batchesDropped += 1;
    }
    // What waits or fails stays behind: it must not keep the batches after it from their turn.
    const last = page.at(-1);
    // Positions and timestamps rise together, so all that follows waits, too.
    if (last === undefined || last.through > passed || outOfBounds(settings, progress)) return;
    after = last;
  }
}

async function reapFences(
  settings: ReaperSettings,
  { shard, samples, nowMs }: Omit<ShardWork, "registry">,
  progress: Progress,
): Promise<void> {
  const { ports, budget } = settings;
  const passed = passedAt(samples, nowMs, limits.tombstoneGraceMs);
  const isOver = (): boolean => outOfBounds(settings, progress);
  const onFailed = (table: string, error: StoreError): void => {
    noteFailure(progress, { shard, table }, error);
  };
  const onDamaged = damageOf(shard, progress);
  const work = { ports, shard, call: callOptions(budget), passed, isOver, onFailed, onDamaged };
  await cleanUpAborted(work, progress);
}

function outOfBounds({ budget }: ReaperSettings, progress: Progress): boolean {
  const spent = progress.removed + progress.kept >= limits.reaperRemovalsMax;
  if (!spent && budget.remainingMs() > limits.reaperStopMs) return false;
  progress.stoppedEarly = true;
  return true;
}

/** Whether every tombstone of the batch is dealt with. */
async function removeAll(
  settings: ReaperSettings,
  batch: TombstoneBatch,
  progress: Progress,
): Promise<boolean> {
  const { items } = settings.ports;
  const call = callOptions(settings.budget);
  let next = 0;
  let failed = false;
  const worker = async (): Promise<void> => {
    for (;;) {
      const tombstone = batch.tombstones[next];
      if (tombstone === undefined || failed) return;
      if (outOfBounds(settings, progress)) {
        failed = true;
        return;
      }
      next += 1;
      try {
        const outcome = await items.removeTombstone(tombstone, call);
        progress[outcome] += 1;
      } catch (error) {
        failed = true;
        noteFailure(progress, { shard: batch.shard, table: tombstone.table }, error);
      }
    }
  };
  const workers = Math.min(limits.reaperConcurrencyMax, batch.tombstones.length);
  await Promise.all(Array.from({ length: workers }, worker));
  return !failed;
}

/** What is damaged stays where it is, for operators, and holds up nothing. */
function damageOf(shard: ShardId, progress: Progress): (error: CorruptDataError) => void {
  return (error) => {
    noteFailure(progress, { shard, table: undefined }, error);
  };
}

/**
 * Store faults are reported and tried again on the next run, damaged data on each; anything else, a
 * bug or the deadline, ends the run.
 */
function noteFailure(
  progress: Progress,
  where: Pick<ReaperFailure, "shard" | "table">,
  error: unknown,
): void {
  const isDamage = error instanceof CorruptDataError;
  if (!isDamage && !(error instanceof StoreError)) throw error;
  if (progress.failures.length >= limits.reaperFailuresMax) return;
  const fault = isDamage ? "damaged" : error.fault;
  progress.failures.push({ ...where, fault, message: error.message });
}
