/**
 * Brings a warm oracle to where the log ends, when its put was refused or not answered: folds what
 * stands at its position and beyond, the block whose answer was lost included. A refused put has
 * brought that block along, where the store says what refused it. So what others append costs an
 * oracle what it costs a reader, or nothing, and no rebuild.
 *
 * Invariants: I1 (positions without a hole), I3 (what others have decided is known).
 */
import * as limits from "../../core/limits.ts";
import type { Oracle } from "../../core/oracle.ts";
import type { CallOptions, CommitLog, StoredBlock } from "../../core/ports.ts";
import type { ShardId } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";

export type CatchUpParts = {
  readonly shard: ShardId;
  readonly log: Pick<CommitLog, "readAfter">;
  readonly hashes: KeyHashes;
  /** What has refused its put, as far as that is known. */
  readonly found: StoredBlock | undefined;
};

/**
 * False when the oracle is better rebuilt: the log goes on further than a few pages, or the blocks
 * that would follow have expired. What was folded until then stands.
 * @throws StoreError when the log does not answer: to be called again.
 * @throws FrameError when the log holds what is no block, or one of another hash secret.
 * @throws CorruptDataError when a client's block moves the cursor.
 */
export async function catchUp(
  oracle: Oracle,
  { shard, log, hashes, found }: CatchUpParts,
  options: CallOptions,
): Promise<boolean> {
  if (found?.position === oracle.position + 1) {
    // probe: oracle-folds-what-refused-it
    fold(oracle, found, hashes);
    return true;
  }
  for (let page = 0; page < limits.oracleCatchUpPagesMax; page++) {
    const { blocks, complete } = await log.readAfter(shard, oracle.position, options);
    for (const block of blocks) {
      if (block.position !== oracle.position + 1) return false;
      // probe: oracle-catches-up
      fold(oracle, block, hashes);
    }
    if (complete) return true;
  }
  return false;
}

function fold(oracle: Oracle, { bytes, position }: StoredBlock, hashes: KeyHashes): void {
  // mutant: others-blocks-not-folded
  oracle.fold(decodeLogBlock(bytes, position, hashes));
}
