/**
 * Logs that begin behind a fork (core/shard-map.ts), read as if each of them held its past itself:
 * what stands at or below the fork is read where it stands. So whoever follows, rebuilds or
 * searches a log need not know that its shard was split off. Positions and timestamps go on without
 * a gap.
 */
import type { CommitLog, LogPast } from "../core/ports.ts";
import type { LogPosition, ShardId } from "../core/types.ts";

type Reads = Pick<CommitLog, "readAfter" | "readAt"> & Partial<Pick<CommitLog, "readBackward">>;

export type ForkedLogs<Log> = Log & Pick<CommitLog, "continues">;

/** @param log what the store holds under each shard's own name. */
export function forkedLogs<Log extends Reads>(log: Log): ForkedLogs<Log> {
  const pasts = new Map<ShardId, LogPast>();
  const readAfter: CommitLog["readAfter"] = async (shard, after, options) => {
    const past = pasts.get(shard);
    if (past === undefined || after >= past.through) return log.readAfter(shard, after, options);
    const page = await readAfter(past.shard, after, options);
    // mutant: follows-its-past-beyond-the-fork
    const blocks = page.blocks.filter(({ position }) => position <= past.through);
    if (blocks.length > 0) return { blocks, complete: false };
    // They have expired: what comes first shows the gap.
    return log.readAfter(shard, past.through, options);
  };
  const readAt: CommitLog["readAt"] = (shard, position, options) => {
    const past = pasts.get(shard);
    const isPast = past !== undefined && position <= past.through;
    return isPast ? readAt(past.shard, position, options) : log.readAt(shard, position, options);
  };
  const { readBackward: backward } = log;
  const readBackward: CommitLog["readBackward"] | undefined =
    backward &&
    (async (shard, options) => {
      const past = pasts.get(shard);
      const { from } = options;
      if (past === undefined) return backward(shard, options);
      if (from === undefined || from > past.through) {
        const page = await backward(shard, options);
        if (page.length > 0) return page;
      }
      const inPast = Math.min(from ?? past.through, past.through) as LogPosition;
      return readBackwardOf(past.shard, { ...options, from: inPast });
    });
  const readBackwardOf: CommitLog["readBackward"] = (shard, options) => {
    if (readBackward === undefined) return Promise.resolve([]);
    return readBackward(shard, options);
  };
  return {
    ...log,
    readAfter,
    readAt,
    ...(readBackward === undefined ? {} : { readBackward }),
    continues: (shard, past) => {
      pasts.set(shard, past);
    },
  };
}
