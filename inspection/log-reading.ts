/**
 * Blocks of a log, for whoever looks at it: newest first, or onward from a position. One that does
 * not decode is handed on with what is wrong with it, since somebody looks for just that.
 */
import { CorruptDataError } from "../core/errors.ts";
import type { CommitLog, StoredBlock } from "../core/ports.ts";
import type { LogBlock, LogPosition } from "../core/types.ts";
import { decodeBlock } from "../engine/log/stored-block.ts";
import * as limits from "./limits.ts";
import type { ShardLog } from "./deployment.ts";

/** `block` is undefined where the bytes are no block; `fault` says why. */
export type ReadBlock = {
  readonly position: LogPosition;
  readonly bytes: number;
  readonly block: LogBlock | undefined;
  readonly fault: string | undefined;
};

type ReadLog = Pick<CommitLog, "readAfter" | "readBackward" | "readAt">;

function blockOf(stored: StoredBlock, { hashes }: Pick<ShardLog, "hashes">): ReadBlock {
  const { position, bytes } = stored;
  try {
    const block = decodeBlock(stored, hashes);
    return { position, bytes: bytes.length, block, fault: undefined };
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return { position, bytes: bytes.length, block: undefined, fault: error.message };
  }
}

/**
 * The newest blocks, by falling position: at most `blocksMax`, and none behind the first one that
 * `until` holds for.
 */
export async function newestBlocks(
  log: ReadLog,
  shardLog: ShardLog,
  {
    blocksMax,
    until = () => false,
  }: { readonly blocksMax: number; readonly until?: (read: ReadBlock) => boolean },
): Promise<readonly ReadBlock[]> {
  const found: ReadBlock[] = [];
  let from: LogPosition | undefined;
  while (found.length < blocksMax) {
    const wanted = Math.min(limits.pageBlocksMax, blocksMax - found.length);
    const options = { blocksMax: wanted, ...(from === undefined ? {} : { from }) };
    const page = await log.readBackward(shardLog.shard, options);
    for (const stored of page) {
      const read = blockOf(stored, shardLog);
      found.push(read);
      if (until(read)) return found;
    }
    const last = page.at(-1);
    if (last === undefined || last.position <= 1) return found;
    from = (last.position - 1) as LogPosition;
  }
  return found;
}

/** Blocks behind the position, in order, to the end of the log or `blocksMax`. */
export async function blocksAfter(
  log: ReadLog,
  shardLog: ShardLog,
  { after, blocksMax }: { readonly after: LogPosition; readonly blocksMax: number },
): Promise<readonly ReadBlock[]> {
  const found: ReadBlock[] = [];
  for (;;) {
    const last = found.at(-1)?.position ?? after;
    const { blocks, complete } = await log.readAfter(shardLog.shard, last);
    for (const stored of blocks) {
      if (found.length === blocksMax) return found;
      found.push(blockOf(stored, shardLog));
    }
    if (complete || blocks.length === 0) return found;
  }
}
