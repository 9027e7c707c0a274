/**
 * Watches the load of the shards, and splits one that has too much of it (core/split-policy.ts). It
 * splits as an operator does, by the same code, so that two at once do no harm; and keeps nothing:
 * what it goes by stands in the logs and in the map. A run that is cut short has measured in vain,
 * or leaves a split that was begun, which the next run ends.
 */
import { splitShard, type Split, type SplitParts } from "../../aws/split-shard.ts";
import { mapOf, type AwsControlStore, type ShardEntry } from "../../aws/dynamodb-control-store.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, Clock, CommitLog } from "../../core/ports.ts";
import type { ShardMap } from "../../core/shard-map.ts";
import {
  decideSplit,
  type ShardLoad,
  type SplitDecision,
  type SplitPolicy,
} from "../../core/split-policy.ts";
import type { LogPosition, ShardId, ShardNumber } from "../../core/types.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import type { Observability } from "../shared/observability.ts";
import { measureLoad } from "./measure-load.ts";
import { timeMsOf } from "./moments.ts";

export type SplitterParts = {
  readonly log: Pick<CommitLog, "readAt" | "readAfter" | "readBackward">;
  readonly control: Pick<AwsControlStore, "shardEntries" | "readWatermark" | "keyHasher">;
  readonly clock: Pick<Clock, "nowMs">;
  /** Asked when something is split: by then a deployment may have a stream, or none any more. */
  readonly splitParts: () => Promise<SplitParts>;
  readonly policy: SplitPolicy;
  readonly observability: Observability;
};

export type SplitterReport = {
  readonly measured: number;
  /** Shards that there was no time for; the next run begins with them. */
  readonly unmeasured: number;
  readonly decision: SplitDecision;
  /** What was split, by this run's decision or to end what was begun. */
  readonly split: Split | undefined;
};

export type SplitterService = {
  /** Safe to call at any time, also while another one runs. @throws StoreError. */
  run(budget: InvocationBudget): Promise<SplitterReport>;
};

export function createSplitterService(parts: SplitterParts): SplitterService {
  const memory: Memory = {
    next: undefined,
    forkTimesMs: new Map(),
    shards: undefined,
    changedMs: Number.NEGATIVE_INFINITY,
  };
  return { run: (budget) => new SplitterRun(parts, budget, memory).run() };
}

/** What a process remembers; without it a run does as well, but for what is said here. */
type Memory = {
  /** The shard that the last run had no time for. */
  next: ShardNumber | undefined;
  /** When each shard was split off; that never changes. */
  readonly forkTimesMs: Map<ShardNumber, number>;
  /** Those that there were in the last run, and those that had ended. */
  shards: string | undefined;
  /**
   * When that was seen to have changed. The block that changes it has the time of the log in which
   * it stands: of one that had been quiet, that is long ago.
   */
  changedMs: number;
};

const resting: SplitDecision = { kind: "rest", because: "calm" };

class SplitterRun {
  readonly #parts: SplitterParts;
  readonly #budget: InvocationBudget;
  readonly #call: CallOptions;
  readonly #memory: Memory;

  constructor(parts: SplitterParts, budget: InvocationBudget, memory: Memory) {
    this.#parts = parts;
    this.#budget = budget;
    this.#call = callOptions(budget);
    this.#memory = memory;
  }

  async run(): Promise<SplitterReport> {
    const { control, policy } = this.#parts;
    const entries = await control.shardEntries(this.#call);
    const map = mapOf(entries);
    const nothing = { measured: 0, unmeasured: map?.entries.length ?? 0, decision: resting };
    if (map === undefined) return { ...nothing, split: undefined };
    const begun = begunSplitOf(entries, map);
    const ended = begun === undefined ? undefined : await this.#end(begun);
    if (ended !== undefined) return { ...nothing, split: ended };
    this.#noteChanges(map);
    const loads = await this.#measure(map);
    const decision = decideSplit(policy, {
      shards: loads,
      shardCount: map.entries.length,
      isUnderWay: await this.#isJoining(entries),
      sinceChangeMs: await this.#sinceChangeMs(map),
    });
    const split = await this.#carryOut(decision, loads);
    const unmeasured = map.entries.length - loads.length;
    return { measured: loads.length, unmeasured, decision, split };
  }

  /** A split that was begun, and cut short or on its way: it is ended before another one. */
  async #end(shard: ShardNumber): Promise<Split | undefined> {
    const { log } = this.#parts.observability;
    const split = await this.#split({ shard }, {});
    if (split !== undefined) log.info("a split that was begun is ended", { of: shard, ...split });
    return split;
  }

  #noteChanges(map: ShardMap): void {
    const shards = [...map.entries, ...map.ended].map(({ number }) => number).join();
    const { shards: before } = this.#memory;
    if (before !== undefined && before !== shards) {
      this.#memory.changedMs = this.#parts.clock.nowMs();
    }
    this.#memory.shards = shards;
  }

  async #measure(map: ShardMap): Promise<readonly ShardLoad[]> {
    const { clock, policy, observability } = this.#parts;
    const { next } = this.#memory;
    this.#memory.next = undefined;
    const at = map.entries.findIndex(({ number }) => number === next);
    const from = Math.max(0, at);
    const inTurn = [...map.entries.slice(from), ...map.entries.slice(0, from)];
    const loads: ShardLoad[] = [];
    for (const { number, id, forked } of inTurn) {
      if (this.#isTimeUp()) {
        this.#memory.next = number;
        observability.log.warn("there was no time to measure all shards", {
          measured: loads.length,
          next: id,
        });
        break;
      }
      const beginsAt = forked?.at ?? (0 as LogPosition);
      const window = { endsMs: clock.nowMs(), lengthMs: policy.windowSeconds * 1_000 };
      const shard = { number, id, beginsAt, range: map.rangeOf(number) };
      const load = await measureLoad(this.#parts, shard, { window, call: this.#call });
      this.#tell(id, load);
      loads.push(load);
    }
    return loads;
  }

  #tell(id: ShardId, load: ShardLoad): void {
    const { log, metrics } = this.#parts.observability;
    const seen = seenIn(load);
    metrics.count("EntriesPerSecond", seen.entriesPerSecond, id);
    metrics.count("WriteUnitsPerSecond", seen.writeUnitsPerSecond, id);
    log.debug("load of a shard", { shard: id, ...seen });
  }

  /** One whose log is closing: whoever writes there waits for it. */
  async #isJoining(entries: readonly ShardEntry[]): Promise<boolean> {
    for (const { shard, joins, ended } of entries) {
      if (joins === undefined || ended !== undefined) continue;
      if (await this.#isClosing(shard)) return true;
    }
    return false;
  }

  /** The watermark stays before the block that says so; who said it and went away, put none. */
  async #isClosing(shard: ShardId): Promise<boolean> {
    const { log, control } = this.#parts;
    let at = (await control.readWatermark(shard, this.#call))?.position ?? (0 as LogPosition);
    for (let pages = 0; pages < limits.splitPagesMax; pages += 1) {
      const { blocks, complete } = await log.readAfter(shard, at, this.#call);
      for (const { bytes, position } of blocks) {
        if (decodeLogBlockHeader(bytes, position).handover?.kind === "closing") return true;
        at = position;
      }
      if (complete) return false;
    }
    // Replay is far behind: it may be.
    return true;
  }

  async #sinceChangeMs(map: ShardMap): Promise<number> {
    const { log, clock } = this.#parts;
    const { forkTimesMs } = this.#memory;
    let newestMs = this.#memory.changedMs;
    for (const { number, id, forked, ended } of map.all) {
      if (ended !== undefined) newestMs = Math.max(newestMs, ended.through / 1_000);
      if (forked === undefined) continue;
      let timeMs = forkTimesMs.get(number);
      if (timeMs === undefined) {
        // Read as its own past; what has expired was long ago.
        const fork = await log.readAt(id, forked.at, this.#call);
        timeMs = fork === undefined ? Number.NEGATIVE_INFINITY : timeMsOf(fork);
        forkTimesMs.set(number, timeMs);
      }
      newestMs = Math.max(newestMs, timeMs);
    }
    return Math.max(0, clock.nowMs() - newestMs);
  }

  async #carryOut(
    decision: SplitDecision,
    loads: readonly ShardLoad[],
  ): Promise<Split | undefined> {
    const { log, metrics } = this.#parts.observability;
    if (decision.kind === "rest" && decision.because === "calm") return undefined;
    const { shard, because } = decision;
    const load = loads.find((each) => each.shard === shard);
    const why = { of: shard, because, ...(load === undefined ? {} : seenIn(load)) };
    if (decision.kind === "rest") {
      metrics.count("SplitsHeldBack", 1);
      // What passes by itself needs nobody.
      const level = because === "cooling-down" || because === "under-way" ? "info" : "warn";
      log[level]("a busy shard is not split", why);
      return undefined;
    }
    if (this.#isTimeUp()) return undefined;
    const { at, movedShare } = decision;
    const split = await this.#split({ shard, at }, why);
    if (split !== undefined) {
      log.info("a busy shard is split", { ...why, movedShare, ...split });
    }
    return split;
  }

  /** Undefined: it was refused, and who operates the deployment has to do something. */
  async #split(
    request: { readonly shard: ShardNumber; readonly at?: number },
    why: Readonly<Record<string, unknown>>,
  ): Promise<Split | undefined> {
    const { splitParts, observability } = this.#parts;
    const { log, metrics } = observability;
    try {
      const split = await splitShard(await splitParts(), request);
      metrics.count("Splits", 1);
      return split;
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      metrics.count("SplitsRefused", 1);
      const { field, message: reason } = error;
      log.warn("a split was refused", { ...why, of: request.shard, field, reason });
      return undefined;
    }
  }

  #isTimeUp(): boolean {
    return this.#budget.remainingMs() < limits.splitterReserveMs;
  }
}

/** The shard that is about to be split. One that was joined to another meanwhile never will be. */
function begunSplitOf(entries: readonly ShardEntry[], map: ShardMap): ShardNumber | undefined {
  const begun = entries.find(
    ({ forked }) =>
      forked !== undefined && forked.at === undefined && map.live(forked.of) !== undefined,
  );
  return begun?.forked?.of;
}

/** Over the window. */
function seenIn({ slots, lagMs }: ShardLoad): {
  readonly entriesPerSecond: number;
  readonly writeUnitsPerSecond: number;
  readonly lagMs: number;
} {
  const mean = (rates: readonly number[]): number =>
    Math.round(rates.reduce((sum, rate) => sum + rate, 0) / Math.max(1, rates.length));
  return {
    entriesPerSecond: mean(slots.map(({ entries }) => entries)),
    writeUnitsPerSecond: mean(slots.map(({ writeUnits }) => writeUnits)),
    lagMs: Math.round(lagMs),
  };
}
