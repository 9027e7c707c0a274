/**
 * How far a feed is behind: what the logs have committed above its position. The position alone
 * does not tell, since in a quiet deployment it is old, and nothing is missing.
 */
import { CorruptDataError, SnapshotTooOldError } from "../core/errors.ts";
import type { LogPosition, ShardNumber, Timestamp } from "../core/types.ts";
import { isBelow } from "../engine/changes/position.ts";
import type { ChangePosition } from "../engine/changes/types.ts";
import { positionAtOrBelow } from "../engine/log/log-search.ts";
import type { Deployment, ShardLog } from "./deployment.ts";
import * as limits from "./limits.ts";
import { blocksAfter, newestBlocks, type ReadBlock } from "./log-reading.ts";

/** Of one log. */
export type ShardLag = Omit<FeedLag, "shards"> & { readonly number: ShardNumber };

export type FeedLag = {
  /** From the first block with a commit that it has not come to, to the ends of the logs. */
  readonly blocks: number;
  /** When the oldest of these commits was made; undefined: there is none. */
  readonly oldest: Timestamp | undefined;
  /** A log has let go of what follows the position. */
  readonly isExpired: boolean;
  /** Of each log, by their numbers: the position is one, and how much of each lies behind it. */
  readonly shards: readonly ShardLag[];
};

/** Where a log ends, read once for all feeds. */
export type NewestBlock = { readonly log: ShardLog; readonly newest: ReadBlock | undefined };

type Where = Pick<Deployment, "ports" | "map" | "logs">;
type LagOfLog = Omit<FeedLag, "shards">;

export function logEnds({ ports, logs }: Where): Promise<readonly NewestBlock[]> {
  return Promise.all(
    logs.map(async (log) => {
      const [newest] = await newestBlocks(ports.log, log, { blocksMax: 1 });
      return { log, newest };
    }),
  );
}

/** Undefined: a log has a block that does not decode, which has a finding of its own. */
export async function feedLag(
  deployment: Where,
  ends: readonly NewestBlock[],
  after: ChangePosition,
): Promise<FeedLag | undefined> {
  if (ends.some(({ newest }) => newest?.fault !== undefined)) return undefined;
  try {
    return await lagOf(deployment, ends, after);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

async function lagOf(
  deployment: Where,
  ends: readonly NewestBlock[],
  after: ChangePosition,
): Promise<FeedLag> {
  const found = await Promise.all(
    ends.map(async (end) => ({
      number: end.log.number,
      ...(await lagIn(deployment, end, after)),
    })),
  );
  const oldest = found.flatMap((each) => (each.oldest === undefined ? [] : [each.oldest]));
  return {
    blocks: found.reduce((sum, { blocks }) => sum + blocks, 0),
    oldest: oldest.length === 0 ? undefined : (Math.min(...oldest) as Timestamp),
    isExpired: found.some(({ isExpired }) => isExpired),
    shards: found,
  };
}

const none: LagOfLog = { blocks: 0, oldest: undefined, isExpired: false };

async function lagIn(
  deployment: Where,
  { log, newest }: NewestBlock,
  after: ChangePosition,
): Promise<LagOfLog> {
  if (newest?.block === undefined || newest.block.throughTimestamp < after.timestamp) return none;
  try {
    return await lagBehind(deployment, { log, end: newest.position, after });
  } catch (error) {
    if (!(error instanceof SnapshotTooOldError)) throw error;
    return { ...none, isExpired: true };
  }
}

async function lagBehind(
  { ports, map }: Where,
  {
    log,
    end,
    after,
  }: { readonly log: ShardLog; readonly end: LogPosition; readonly after: ChangePosition },
): Promise<LagOfLog> {
  // Others may count at the very timestamp of an id.
  const above = (after.id === undefined ? after.timestamp : after.timestamp - 1) as Timestamp;
  const range = { above, through: end, hashes: log.hashes, call: {} };
  const place = await positionAtOrBelow(ports.log, log.shard, range);
  // What stands before its fork is another log's.
  const from = Math.max(place, map.get(log.number)?.forked?.at ?? 0) as LogPosition;
  if (from >= end) return none;
  const blocks = await blocksAfter(ports.log, log, {
    after: from,
    blocksMax: Math.min(end - from, limits.feedBlocksMax),
  });
  for (const [at, { block, position }] of blocks.entries()) {
    // The store takes what has expired away in any order.
    if (position !== from + 1 + at) return { ...none, isExpired: true };
    for (const verdict of block?.verdicts ?? []) {
      if (verdict.kind !== "committed" || !isBelow(after, verdict)) continue;
      return { ...none, blocks: end - position + 1, oldest: verdict.timestamp };
    }
  }
  const last = blocks.at(-1);
  if (last === undefined) return { ...none, isExpired: true };
  if (last.position >= end) return none;
  // So many blocks without a commit: what comes next is said to be one, and is no older than this.
  const oldest = last.block?.throughTimestamp ?? after.timestamp;
  return { ...none, blocks: end - last.position, oldest };
}
