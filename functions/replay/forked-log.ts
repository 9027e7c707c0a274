/**
 * A log that begins behind a fork (core/shard-map.ts). What its past commits the other shard's
 * replay installs, and no other one: two at different places would install what the reaper of the
 * one that is further has taken away. So this one waits until that is done, and goes on from there.
 * Meanwhile whoever follows the log goes by its past, which is part of it.
 *
 * What was open at the fork is open in both logs, and entered in each: of that each installs what
 * lies in its own range.
 *
 * Invariant: I7.
 */
import { CorruptDataError } from "../../core/errors.ts";
import type { CallOptions, Ports } from "../../core/ports.ts";
import { holds } from "../../core/shard-map.ts";
import type { LogPosition, Stamp, Watermark } from "../../core/types.ts";
import { stampAt, writeAt, type Commit } from "../../engine/installing/payload-writes.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";

export type ForkedLog = {
  readonly hashes: KeyHashes;
  /** Up to where it has come. */
  readonly place: Pick<Watermark, "position" | "forkedAt">;
};

/** Whether the block at the position stands in another shard's log. */
export function isInPast({ past }: KeyHashes, position: LogPosition): boolean {
  const last = past.at(-1);
  return last !== undefined && position <= last.through;
}

/** Whether all that the log's past commits is in its tables. */
export async function isPastInstalled(
  { control }: Pick<Ports, "control">,
  { hashes, place }: ForkedLog,
  call: CallOptions,
): Promise<boolean> {
  const past = hashes.past.at(-1);
  if (past === undefined || place.position >= past.through) return true;
  const map = await control.shardMap(call);
  const parent = map?.get(past.shard);
  if (parent === undefined) {
    throw new CorruptDataError(
      `shard ${hashes.shard} was split off shard ${past.shard}, which the control table does not ` +
        "list; was an entry taken away?",
    );
  }
  const watermark = await control.readWatermark(parent.id, call);
  // probe: replay-waits-for-the-past
  return watermark !== undefined && watermark.position >= past.through;
}

/** Of a commit that was open at a fork of the log, what lies in the range that it has there. */
export async function withinRange(
  { control }: Pick<Ports, "control">,
  {
    hashes,
    place,
    position,
    commit,
  }: ForkedLog & {
    /** Of the block that holds the verdict. */
    readonly position: LogPosition;
    readonly commit: Commit;
  },
  call: CallOptions,
): Promise<Commit> {
  const { verdict, payload } = commit;
  const fork = Math.max(place.forkedAt ?? 0, hashes.past.at(-1)?.through ?? 0);
  const opened = verdict.payload.kind === "prepared" ? verdict.payload.position : position;
  if (opened > fork || position <= fork) return commit;
  const map = await control.shardMap(call);
  if (map?.get(hashes.shard) === undefined) return commit;
  const range = map.rangeAt(hashes.shard, position);
  const isOwn = (_: unknown, write: number): boolean => {
    const hash = verdict.writes[write]?.partition;
    return hash !== undefined && holds(range, hash);
  };
  const own = { ...verdict, writes: verdict.writes.filter(isOwn) };
  return {
    verdict: verdict.stamps === undefined ? own : { ...own, stamps: stampsOf(commit, isOwn) },
    payload: { ...payload, writes: payload.writes.filter(isOwn) },
  };
}

/** They stand in the order of the writes on mixed tables, so each goes with its own. */
function stampsOf(
  commit: Commit,
  isOwn: (write: unknown, index: number) => boolean,
): readonly Stamp[] {
  const { payload } = commit;
  return payload.writes.flatMap((write, index) => {
    const isFenced = writeAt(payload, index).table.isMixed === true;
    const stamp = isFenced && isOwn(write, index) ? stampAt(commit, index) : undefined;
    return stamp === undefined ? [] : [stamp];
  });
}
