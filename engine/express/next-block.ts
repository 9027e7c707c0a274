/**
 * Looks for the block behind the tail's end from the moment at which it is about to come: who is
 * next in line has to know it before its own put can follow (commit-policy.ts). A put that is
 * refused would bring it, too, and cost write units; these looks cost a read unit each.
 */
import * as limits from "../../core/limits.ts";
import type { Clock, CommitLog } from "../../core/ports.ts";
import type { LogPosition, ShardId } from "../../core/types.ts";
import { ignore, noLongerNeeded } from "../concurrency.ts";
import type { TailFollower } from "../log/tail-follower.ts";

export type NextBlockParts = {
  readonly ports: { readonly clock: Clock; readonly log: Pick<CommitLog, "readAt"> };
  readonly shard: ShardId;
  readonly follower: Pick<TailFollower, "tail" | "adopt" | "consumption">;
};

/** Resolves when the tail has gone on, and after `forMs` in any case. */
export async function awaitNextBlock(
  { ports, shard, follower }: NextBlockParts,
  { forMs, everyMs }: { readonly forMs: number; readonly everyMs: number },
): Promise<void> {
  const { clock, log } = ports;
  const { position } = follower.tail;
  const { consumption } = follower;
  const over = new AbortController();
  let underWay = 0;
  // Those that are late are left to themselves: to abort one would cost its connection.
  const look = async (): Promise<void> => {
    underWay += 1;
    try {
      const next = await log.readAt(shard, (position + 1) as LogPosition, { consumption });
      if (next === undefined) return;
      follower.adopt(next);
      over.abort(noLongerNeeded);
    } finally {
      underWay -= 1;
    }
  };
  const isOver = (): boolean => over.signal.aborted || follower.tail.position !== position;
  for (let looks = Math.ceil(forMs / everyMs); looks > 0 && !isOver(); looks -= 1) {
    // What cannot be read shows nobody: the put will tell.
    if (underWay < limits.expressLooksMax) void look().catch(ignore);
    await clock.sleep(everyMs, over.signal).catch(ignore);
  }
  over.abort(noLongerNeeded);
}
