/**
 * A cold oracle from the end of its log (docs/protocol.md §3, Rebuild). Reads blocks backward until
 * one lies a whole window behind, then folds forward.
 *
 * Invariants: I1–I3 carry over, since the state is a function of the log. Paper: Centiman §3.4.
 */
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { SlotSeed } from "../../core/slot-seed.ts";
import { Oracle } from "../../core/oracle.ts";
import type { OracleBounds } from "../../core/oracle.ts";
import type { CommitLog, ControlStore, StoredBlock } from "../../core/ports.ts";
import type { LogPosition, ShardId, Watermark } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../../schemas/log-block.ts";

export type RebuildOptions = {
  readonly shard: ShardId;
  readonly log: Pick<CommitLog, "readBackward">;
  readonly control: Pick<ControlStore, "readWatermark">;
  readonly hashes: KeyHashes;
  readonly seed: SlotSeed;
  readonly bounds: OracleBounds;
  readonly signal: AbortSignal | undefined;
};

/**
 * @throws StoreError when the stores do not answer, or the shard has no watermark yet.
 * @throws FrameError when the log holds what is no block, or one of another hash secret: nothing
 *   may be certified over it.
 */
export async function rebuildOracle(options: RebuildOptions): Promise<Oracle> {
  const { shard, control } = options;
  const callOptions = options.signal === undefined ? {} : { signal: options.signal };
  const [blocks, watermark] = await Promise.all([
    readWindow(options),
    control.readWatermark(shard, callOptions),
  ]);
  if (watermark === undefined) {
    throw new StoreError("unavailable", `shard ${shard} has no watermark: it is not bootstrapped`);
  }
  return oracleOf(blocks, watermark, options);
}

/** @param blocks newest first, without gaps. */
function oracleOf(
  blocks: readonly StoredBlock[],
  watermark: Watermark,
  { bounds, hashes, seed }: RebuildOptions,
): Oracle {
  const newest = blocks[0];
  const oldest = blocks.at(-1);
  // The log's TTL removes blocks in no particular order: a watermark beyond them knows more.
  if (newest === undefined || oldest === undefined || watermark.position > newest.position) {
    return new Oracle(watermark, seed, bounds);
  }
  const { previousTimestamp } = decodeLogBlockHeader(oldest.bytes, oldest.position);
  const oracle = new Oracle(
    {
      position: (oldest.position - 1) as LogPosition,
      timestamp: previousTimestamp,
      cursor: undefined,
    },
    seed,
    bounds,
  );
  for (const { bytes, position } of blocks.toReversed()) {
    // mutant: rebuilds-from-nothing
    oracle.fold(decodeLogBlock(bytes, position, hashes));
  }
  return oracle;
}

/**
 * The newest blocks, descending, down to one that lies a window behind, to a gap, or to the log's
 * start.
 */
async function readWindow(options: RebuildOptions): Promise<readonly StoredBlock[]> {
  const blocks: StoredBlock[] = [];
  let through = Number.NEGATIVE_INFINITY;
  for (;;) {
    const below = blocks.at(-1)?.position;
    if (below === 1) return blocks;
    const page = await options.log.readBackward(options.shard, {
      blocksMax: limits.rebuildPageBlocksMax,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      ...(below === undefined ? {} : { from: (below - 1) as LogPosition }),
    });
    if (page.length === 0) return blocks;
    for (const block of page) {
      const expected = blocks.at(-1)?.position;
      if (expected !== undefined && block.position !== expected - 1) return blocks;
      blocks.push(block);
      const { throughTimestamp } = decodeLogBlockHeader(block.bytes, block.position);
      through = Math.max(through, throughTimestamp);
      if (throughTimestamp <= through - options.bounds.windowMicros) return blocks;
    }
  }
}
