/**
 * A split and a join in the middle of a run, as an operator makes them, while processes are killed
 * around them. What a kill cuts short is run again, until it is done.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { splitShardOf } from "../aws/split-on-aws.ts";
import { StoreError } from "../core/errors.ts";
import type { ShardNumber } from "../core/types.ts";
import { joinShardOf } from "../functions/replay/join-on-aws.ts";
import type { StackDescription } from "../sdk/discovery.ts";

export type ShardChanges = { readonly splits: number; readonly joins: number };

const againMs = 200;

/**
 * Splits the first shard once `atMs` is over, and joins the new part to it again a little later.
 * @param run.signal nothing more is waited for: what is not done then is not counted.
 */
export async function changeShards(
  stack: StackDescription,
  run: {
    readonly atMs: number;
    readonly signal: AbortSignal;
    readonly say: (line: string) => void;
  },
): Promise<ShardChanges> {
  const { atMs, signal, say } = run;
  const at = { ...stack, endpoint: stack.endpoints };
  await sleep(atMs);
  const split = await untilDone(() => splitShardOf(at, { shard: 0 as ShardNumber }), signal);
  if (split === undefined) return { splits: 0, joins: 0 };
  say(`shard 0 is split: shard ${split.shard} has the upper half of its range`);
  await sleep(atMs / 2);
  const join = await untilDone(() => joinShardOf(at, { shard: split.shard }), signal);
  if (join === undefined) return { splits: 1, joins: 0 };
  say(`shard ${join.shard} is joined to shard ${join.heir}`);
  return { splits: 1, joins: 1 };
}

async function untilDone<Result>(
  change: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      await sleep(againMs);
    }
  }
  return undefined;
}
