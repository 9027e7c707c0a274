/**
 * The neighbour of a shard that has ended takes its range, by a block of its own log
 * (docs/protocol.md §10, Joining shards). Which one that is its log decides: it may be split, or
 * joined itself, at the same time. So the block is put where the range ends at which the other one
 * begins, as the log stands at that position; and nowhere twice.
 *
 * It lies above both logs, so that versions go on to rise.
 */
import { StoreError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CommitLog, ControlStore, StoredBlock } from "../core/ports.ts";
import type { ShardMap } from "../core/shard-map.ts";
import type { LogPosition, ShardNumber, Timestamp } from "../core/types.ts";
import { decodeLogBlockHeader } from "../schemas/log-block.ts";
import {
  decidingBlockBehind,
  placeOnce,
  watermarkOf,
  type ProvisioningParts,
} from "./provisioning-block.ts";

export type TakeOverParts = Pick<ProvisioningParts, "clock" | "random"> & {
  readonly log: Pick<CommitLog, "append" | "readAfter" | "readBackward">;
  readonly control: Pick<
    ControlStore,
    "readWatermark" | "keyHasher" | "shardMap" | "enterFork" | "enterJoin"
  >;
};

export type EndedLog = {
  readonly shard: ShardNumber;
  readonly at: LogPosition;
  readonly through: Timestamp;
};

/** What is met above the heir's watermark and puts the range elsewhere: the map is to know it. */
class ElsewhereError extends Error {
  readonly stored: StoredBlock;
  constructor(stored: StoredBlock) {
    super("the range of the neighbour is another one by now");
    this.stored = stored;
  }
}

/**
 * Returns once the range is taken, and the map says so.
 * @throws StoreError: the next run goes on.
 */
export async function takeOver(parts: TakeOverParts, ended: EndedLog): Promise<void> {
  const { control } = parts;
  for (let tries = 0; tries < limits.shardsMax; tries += 1) {
    const before = await control.shardMap();
    const heir = before?.below(ended.shard);
    if (before === undefined || before.live(ended.shard) === undefined) return;
    if (heir === undefined) throw unavailable(ended, "the map shows no neighbour below it");
    // Before the map is read by which the block is made: what is not in that lies above (I7).
    const watermark = await watermarkOf(parts, heir.id);
    const map = await control.shardMap();
    if (map?.live(ended.shard) === undefined) return;
    if (map.below(ended.shard)?.number !== heir.number) continue;
    const taken = takeoverOf(map, ended);
    const isIt = (stored: StoredBlock): boolean => {
      const { fork, handover } = decodeLogBlockHeader(stored.bytes, stored.position);
      if (handover?.kind === "takes" && handover.shard === ended.shard) return true;
      const isSplit = fork !== undefined && map.get(fork.shard) === undefined;
      if (isSplit || handover?.kind === "ended") throw new ElsewhereError(stored);
      return false;
    };
    try {
      const at = await placeOnce(
        parts,
        { shard: heir.id, watermark },
        {
          isIt,
          follow: (end) => ({
            ...decidingBlockBehind(end, parts.random, { above: ended.through }),
            handover: { kind: "takes", ...taken },
          }),
        },
      );
      await control.enterJoin(taken, { heir: heir.number, at });
      return;
    } catch (error) {
      if (!(error instanceof ElsewhereError)) throw error;
      const { bytes, position } = error.stored;
      const { fork } = decodeLogBlockHeader(bytes, position);
      if (fork === undefined) {
        throw unavailable(ended, `its neighbour, shard ${heir.number}, has ended as well`);
      }
      await control.enterFork(fork, { of: heir.number, at: position });
    }
  }
  throw unavailable(ended, "its neighbours change at every try");
}

function takeoverOf(map: ShardMap, { shard, at, through }: EndedLog) {
  return { shard, endedAt: at, endedThrough: through, ...map.rangeOf(shard) };
}

function unavailable({ shard }: EndedLog, why: string): StoreError {
  return new StoreError("unavailable", `shard ${shard} has ended, and ${why}; run it again`);
}
