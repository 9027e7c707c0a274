/**
 * Pairs of rows that are put and deleted together, and readers who look back at the edges of what
 * is kept: just before a delete, around the moment at which history begins, around the end of the
 * retention, by clocks that are minutes off. Meanwhile the table's history is switched on and off,
 * and the retention changes. Clients work in waves with minutes between them, so that tombstones
 * age and go. A reader who is told that the moment lies too far back is content; what it is shown
 * is judged against the log (judges/past-reads.ts).
 */
import { SnapshotTooOldError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { defineTable } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { CalmStage } from "../calm-stage.ts";
import { gridOf } from "./grid.ts";
import { numbered, pickHot } from "./key-spaces.ts";
import { edgesTable, lookAtEdges } from "./past-edges.ts";
import { takenTable, takeAway } from "./taken-away.ts";
import {
  WorkloadFinding,
  type Client,
  type Snapshot,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "./workload.ts";

type PairKey = { readonly pair: string; readonly side: string };
const pairs = defineTable<{ readonly by: string }, PairKey, "pair">("pairs", {
  key: ["pair", "side"],
});
const sides = ["left", "right"] as const;

const minuteMs = 60_000;
/** The last wave comes before a run's faults end. */
const waveMs = 5.5 * minuteMs;
const wavesMax = 7;
const stepsPerWave = 16;
const shortMs = limits.historyRetentionMsMin;
/**
 * Longer than tombstones live on a table without history, so that some that were deleted within it
 * are gone.
 */
const longMs = 2 * shortMs;
/**
 * The first switch comes when what was deleted in the first waves is reaped, just after the fifth
 * has begun: some of its clients know of it already, and some do not yet. Rarely another one
 * follows, or comes before: what holds must hold for a while, to be met.
 */
const firstSwitchStep = 4 * stepsPerWave + 1;
const switchChance = 0.01;
const retainChance = 0.02;
const lookChance = 0.4;
const aroundMsMax = 2 * minuteMs;
/** Who wants to see the end of the retention waits for it, if it comes so soon. */
const edgeWaitMsMax = 10 * minuteMs;
const lingerMsMax = 40_000;
const deletesMax = 60;

export const past: WorkloadFactory = (settings) => new Past(settings);

class Past implements Workload {
  readonly tables: Workload["tables"];
  readonly plainTables = [takenTable];
  readonly universe: NonNullable<Workload["universe"]>;
  readonly historyRetentionMs: number;
  readonly #names: readonly string[];
  /** Timestamps of commits that deleted a pair, as their clients were told. */
  readonly #deletedAt: number[] = [];
  #history: boolean;
  #retentionMs: number;
  #switchedMs: number | undefined;
  #beganMs: number | undefined;
  #steps = 0;

  constructor({ keys, history }: Pick<WorkloadSettings, "keys" | "history">) {
    this.#names = numbered("pair", Math.max(2, Math.ceil(keys / 2)));
    this.#history = history;
    // With history from the beginning the retention's end is met, else the moment it begins.
    this.#retentionMs = history ? shortMs : longMs;
    this.historyRetentionMs = this.#retentionMs;
    const grid = gridOf(pairs, { partitions: this.#names, places: sides, history });
    this.tables = [grid.table, edgesTable];
    this.universe = grid.universe;
  }

  async setUp(client: Client): Promise<void> {
    await client.transact((tx) => {
      for (const pair of this.#names) {
        for (const side of sides) tx.put(pairs, { pair, side, by: "setup" });
      }
      return Promise.resolve();
    });
  }

  async step(context: StepContext): Promise<void> {
    await this.#awaitWave(context);
    const { random } = context;
    if (this.#steps === firstSwitchStep || random.chance(switchChance)) {
      await this.#switch(context);
    }
    if (random.chance(retainChance)) await this.#retain(context);
    if (random.chance(lookChance)) await this.#lookBack(context);
    else await this.#act(context);
  }

  /** By the right time: clients whose clocks differ would not meet. */
  async #awaitWave({ operator, pause }: StepContext): Promise<void> {
    this.#beganMs ??= operator.nowMs;
    const wave = Math.min(wavesMax, Math.floor(this.#steps / stepsPerWave));
    this.#steps += 1;
    const restMs = this.#beganMs + wave * waveMs - operator.nowMs;
    if (restMs > 0) await pause(restMs);
  }

  async #switch({ operator }: StepContext): Promise<void> {
    this.#history = !this.#history;
    this.#switchedMs = operator.nowMs;
    await operator.setHistory("pairs", this.#history);
  }

  async #retain({ operator }: StepContext): Promise<void> {
    this.#retentionMs = this.#retentionMs === shortMs ? longMs : shortMs;
    await operator.retainHistory(this.#retentionMs);
  }

  async #act({ client, random, isolation, unique, pause }: StepContext): Promise<void> {
    const pair = pickHot(random, this.#names);
    const isBlind = random.chance(0.2);
    const lingersMs = random.chance(0.5) ? random.between(1, 200) : 0;
    const { receipt, result: deletes } = await client.transact({ isolation }, async (tx) => {
      const [left, right] = isBlind
        ? []
        : await tx.batchGet(
            pairs,
            sides.map((side) => ({ pair, side })),
          );
      if (!isBlind) assertPair(pair, left, right);
      if (lingersMs > 0) await pause(lingersMs);
      const goes = left !== undefined && random.chance(0.6);
      for (const side of sides) {
        if (goes) tx.delete(pairs, { pair, side });
        else tx.put(pairs, { pair, side, by: unique });
      }
      return goes;
    });
    if (!deletes || receipt.commitTimestamp === undefined) return;
    this.#deletedAt.push(receipt.commitTimestamp);
    if (this.#deletedAt.length > deletesMax) this.#deletedAt.shift();
  }

  async #lookBack(context: StepContext): Promise<void> {
    const { client, random, pause } = context;
    const asOf = await this.#moment(context);
    const way = random.pick(["get", "query"] as const);
    const lingersMs = random.chance(0.2) ? random.between(1, lingerMsMax) : 0;
    try {
      await client.snapshot({ asOf, attemptsMax: 2, deadlineMs: minuteMs }, async (snapshot) => {
        if (lingersMs > 0) await pause(lingersMs);
        await assertPairs(snapshot, this.#names, way);
      });
    } catch (error) {
      if (!(error instanceof SnapshotTooOldError)) throw error;
    }
  }

  /** A moment to look at, in microseconds; by the reader's own clock where it is about now. */
  async #moment({ random, nowMs, pause }: StepContext): Promise<number> {
    const around = random.logarithmic(1, aroundMsMax) * (random.chance(0.5) ? 1 : -1);
    const edge = random.pick(["delete", "delete", "last", "beginning", "end"] as const);
    if (edge === "last") return Math.floor(nowMs() - random.logarithmic(1, shortMs)) * 1000;
    if (edge === "beginning" && this.#switchedMs !== undefined) {
      const sinceMs = this.#switchedMs + (random.chance(0.5) ? limits.historyChangeMs : 0);
      return Math.floor(Math.min(sinceMs + around, nowMs())) * 1000;
    }
    if (edge !== "end" && this.#deletedAt.length > 0) return random.pick(this.#deletedAt) - 1;
    const dueMs = (deleted: number): number => deleted / 1000 + this.#retentionMs - nowMs();
    const [deleted] = shuffledDue(this.#deletedAt, random).filter((at) => {
      const waitMs = dueMs(at);
      return waitMs > 0 && waitMs < edgeWaitMsMax;
    });
    if (deleted === undefined) return Math.floor(nowMs() - this.#retentionMs + around) * 1000;
    await pause(Math.max(0, dueMs(deleted) - random.logarithmic(100, minuteMs)));
    return deleted - 1;
  }

  async afterwards(stage: CalmStage): Promise<void> {
    await lookAtEdges(stage);
    await takeAway(stage);
  }

  async judge(client: Client): Promise<readonly string[]> {
    try {
      await client.snapshot((snapshot) => assertPairs(snapshot, this.#names, "query"));
      return [];
    } catch (error) {
      if (error instanceof WorkloadFinding) return [error.message];
      throw error;
    }
  }
}

function shuffledDue(timestamps: readonly number[], random: SeededRandom): readonly number[] {
  const from = random.integer(0, timestamps.length);
  return [...timestamps.slice(from), ...timestamps.slice(0, from)];
}

type Row = { readonly by: string };

async function assertPairs(
  reader: Pick<Snapshot, "batchGet" | "query">,
  names: readonly string[],
  way: "get" | "query",
): Promise<void> {
  for (const pair of names) {
    const keys = sides.map((side) => ({ pair, side }));
    const rows =
      way === "get"
        ? await reader.batchGet(pairs, keys)
        : await reader.query(pairs, { where: { pair } }).all();
    const [left, right] = sides.map((side) => rows.find((row) => row?.side === side));
    assertPair(pair, left, right);
  }
}

function assertPair(pair: string, left: Row | undefined, right: Row | undefined): void {
  if (left?.by === right?.by) return;
  throw new WorkloadFinding(
    `${pair} is torn: ${left?.by ?? "nothing"} left, ${right?.by ?? "nothing"} right`,
  );
}
