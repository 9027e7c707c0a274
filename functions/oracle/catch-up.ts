/**
 * Brings a warm oracle to where the log ends, when its put was refused or not answered: folds what
 * stands at its position and beyond, the block whose answer was lost included. So what others
 * append costs an oracle what it costs a reader, and no rebuild.
 *
 * Invariants: I1 (positions without a hole), I3 (what others have decided is known).
 */
import * as limits from "../../core/limits.ts";
import type { Oracle } from "../../core/oracle.ts";
import type { CallOptions, CommitLog } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";

export type CatchUpParts = {
  readonly shard: ShardId;
  readonly log: Pick<CommitLog, "readAfter">;
  readonly hashes: KeyHashes;
};

/**
 * False when the oracle is better rebuilt: the log goes on further than a few pages, or the blocks
 * that would follow have expired. What was folded until then stands.
 * @throws StoreError when the log does not answer: to be called again.
 * @throws FrameError when the log holds what is no block, or one of another hash secret.
 */
export async function catchUp(
  oracle: Oracle,
  { shard, log, hashes }: CatchUpParts,
  options: CallOptions,
): Promise<boolean> {
  for (let page = 0; page < limits.oracleCatchUpPagesMax; page++) {
    const { blocks, complete } = await log.readAfter(shard, oracle.position, options);
    for (const { bytes, position } of blocks) {
      if (position !== oracle.position + 1) return false;
      // probe: oracle-catches-up
      // mutant: others-blocks-not-folded
      oracle.fold(decodeLogBlock(bytes, position, hashes));
    }
    if (complete) return true;
  }
  return false;
}
