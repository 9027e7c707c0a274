/**
 * What replay has to install for a stretch of the log: every committed write of tables with
 * history, in order; elsewhere, per item, only the newest, since it supersedes the others. What its
 * client says it has installed is not looked at, unless an earlier write of the item is: whoever
 * may commit can overwrite the commit of somebody else and say that it has installed that, and a
 * report must cost nobody else's commit anything. Where an earlier write is missing, the reported
 * one is installed on top of it: so no older value ever comes after a newer one, not even where a
 * plain delete has taken the newer one away.
 *
 * While a table's history is switched on or off, some clients still write the other way. An item
 * that any of them writes with history is installed in order altogether: beside each other, a write
 * with history could be installed before an earlier one without, and would save what stood before
 * both as if it had stood until the second.
 */
import { placeOf } from "../../core/decision.ts";
import type { Tombstone } from "../../core/ports.ts";
import type { Timestamp } from "../../core/types.ts";
import { writeAt, writtenItem, type Commit } from "../../engine/installing/payload-writes.ts";

export type PlannedWrite = { readonly commit: Commit; readonly index: number };

/** Why a write must not be made; undefined for one that may. */
export type RefusalOf = (commit: Commit, index: number) => string | undefined;

export type RefusedWrite = PlannedWrite & { readonly reason: string };

export type ChunkPlan = {
  /** Of items with a write that nobody says is installed. Independent of each other; one each. */
  readonly latest: readonly PlannedWrite[];
  /** The same of items that are written with history. One list per item, in timestamp order. */
  readonly ordered: readonly (readonly PlannedWrite[])[];
  /** On mixed tables: all that nobody says is installed. Each knows by itself what it replaces. */
  readonly voted: readonly PlannedWrite[];
  /** Every delete, superseded ones too: its tombstone may have been installed by its client. */
  readonly tombstones: readonly Tombstone[];
  /**
   * Writes that nobody may make (engine/installing/permitted-writes.ts), and nobody says are
   * installed.
   */
  readonly refused: readonly RefusedWrite[];
};

/**
 * @param commits in timestamp order.
 * @param installed by their places in the log, commits of which their makers say that all their
 * writes have reached their tables.
 */
export function planChunk(
  commits: readonly Commit[],
  installed: ReadonlySet<Timestamp>,
  refusalOf: RefusalOf,
): ChunkPlan {
  const latest = new Map<string, PlannedWrite>();
  const ordered = new Map<string, PlannedWrite[]>();
  const voted: PlannedWrite[] = [];
  const tombstones: Tombstone[] = [];
  const refused: RefusedWrite[] = [];
  for (const commit of commits) {
    const isInstalled = installed.has(placeOf(commit.verdict));
    for (const index of commit.payload.writes.keys()) {
      const { write, table } = writeAt(commit.payload, index);
      const reason = refusalOf(commit, index);
      // mutant: replay-writes-to-any-table
      if (reason !== undefined) {
        if (!isInstalled) refused.push({ commit, index, reason });
        continue;
      }
      const leavesTombstone = table.isMixed !== true || table.isGuarded === true;
      // mutant: only-own-deletes-queued
      if (write.item === undefined && leavesTombstone) {
        const version = commit.verdict.timestamp;
        tombstones.push({ table: table.name, key: write.key, version });
      }
      if (table.isMixed === true) {
        if (!isInstalled) voted.push({ commit, index });
        continue;
      }
      const identity = writtenItem(commit.payload, index);
      // mutant: report-covers-earlier-writes
      const isFirst = !latest.has(identity) && !ordered.has(identity);
      if (isInstalled && isFirst) {
        // probe: replay-believes-its-client
        // Nothing to look at; its tombstone is queued all the same.
      } else if (ordered.has(identity)) {
        ordered.get(identity)?.push({ commit, index });
      } else if (table.history) {
        const chain = [{ commit, index }];
        // mutant: both-kinds-apart
        const before = latest.get(identity);
        if (before !== undefined) {
          chain.unshift(before);
          latest.delete(identity);
        }
        ordered.set(identity, chain);
      } else {
        latest.set(identity, { commit, index });
      }
    }
  }
  const chains = [...ordered.values()];
  return { latest: [...latest.values()], ordered: chains, voted, tombstones, refused };
}
