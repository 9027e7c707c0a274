/**
 * What the scripts are played on: tables with and without history, in their first state, and who
 * finds the conflicts.
 */
import { systemClock } from "../../../aws/system.ts";
import type { Clock } from "../../../core/ports.ts";
import type { Client, Isolation } from "../../../sdk/index.ts";
import { type Actor, keyOf, type Level, type Range, type Stage } from "./script.ts";
import { partition, Session, type TestTable } from "./session.ts";

export type Cast = Readonly<Record<Actor | "audience", Client>>;

export type Scene = {
  readonly level: Level;
  readonly range: Range;
  /** Whether a process hears of what others have committed before it asks for its own commit. */
  readonly judge: "oracle" | "tail";
};

/** Queries and scans take turns with the judges: each level sees all four. */
export const scenes: readonly (Scene & { readonly history: boolean })[] = (
  [
    { level: "serializable", history: true },
    { level: "serializable", history: false },
    { level: "snapshot", history: true },
    { level: "snapshot without history", history: false },
  ] as const
).flatMap((each) => [
  { ...each, range: "scan", judge: "oracle" },
  { ...each, range: "query", judge: "tail" },
]);

export const tableKey = {
  partitionKey: { name: "suite", type: "S" },
  sortKey: { name: "id", type: "N" },
} as const;

const slowness = 1_000;
const startedMs = systemClock.nowMs();

/**
 * To a client with slow clocks its tail never looks old, so it reads the log for a new transaction
 * only: what was committed since, the oracle finds. Where its tail shall find it, the client is
 * made to look before it commits. Both are slow, since an age is the greater of what they show.
 */
export const slowClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / slowness,
  nowMs: () => startedMs + (systemClock.nowMs() - startedMs) / slowness,
};

/** Puts the table into its first state; a client of each actor's plays on it. */
export async function setStage(cast: Cast, table: TestTable, scene: Scene): Promise<Stage> {
  await cast.audience.transact(async (transaction) => {
    for (const { id } of await transaction.query(table, { where: { suite: partition } }).all()) {
      if (id > 2) transaction.delete(table, keyOf(id));
    }
    transaction.put(table, keyOf(1), { value: 10 });
    transaction.put(table, keyOf(2), { value: 20 });
  });
  const isolation: Isolation = scene.level === "serializable" ? "serializable" : "snapshot";
  return {
    table,
    range: scene.range,
    begin: (by) => Session.begin(cast[by], isolation),
    async beforeCommit(by) {
      if (scene.judge !== "tail") return;
      await cast[by].snapshot((snapshot) => snapshot.get(table, { suite: "other", id: 0 }));
    },
    look: (read) => cast.audience.snapshot(read),
  };
}
