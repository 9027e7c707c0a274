/**
 * What the log holds behind the stretch that replay is about to install: for each key hash, the
 * newest block that may hold a write of it. Read on from where the last look ended, so that many
 * looks cost one reading of the log.
 *
 * Half of each hash is kept: what meets by chance is told apart by whoever reads the block.
 */
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog } from "../../core/ports.ts";
import type { KeyHash, LogBlock, LogPosition, ShardId } from "../../core/types.ts";
import { decodeBlock } from "../../engine/stored-block.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";

export type LogReading = {
  readonly log: Pick<CommitLog, "readAfter">;
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly call: CallOptions;
  readonly isTimeUp: () => boolean;
};

/** Belongs to one invocation at a time; the next one may go on with it. */
export class LogAhead {
  /** By half of the hash. */
  readonly #newest = new Map<number, LogPosition>();
  readonly #keysMax: number;
  /** Blocks in `(#from, #through]` are entered. */
  #from = 0 as LogPosition;
  #through = 0 as LogPosition;

  constructor(keysMax: number = limits.replayAheadKeysMax) {
    this.#keysMax = keysMax;
  }

  /** Whether no more is taken in: what lies behind `reach` is not known then. */
  get isFull(): boolean {
    return this.#newest.size >= this.#keysMax;
  }

  /**
   * Enters all blocks from `after` to the log's end as it is now, or as many as there is room for.
   * @throws StoreError when the invocation's time is up before that; the next one goes on.
   */
  async reach(after: LogPosition, reading: LogReading): Promise<void> {
    if (!this.#isWorthKeeping(after)) {
      this.#newest.clear();
      this.#from = after;
      this.#through = after;
    }
    for await (const block of blocksAfter(this.#through, reading)) {
      if (this.isFull) return;
      for (const verdict of block.verdicts) {
        if (verdict.kind !== "committed") continue;
        for (const { key } of verdict.writes) this.#newest.set(halfOf(key), block.position);
      }
      this.#through = block.position;
    }
  }

  /** Undefined: none of the blocks that are entered holds a write of the key. */
  newest(key: KeyHash): LogPosition | undefined {
    return this.#newest.get(halfOf(key));
  }

  /** Less than half of it lies at or before the place: each block is entered thrice at most. */
  #isWorthKeeping(after: LogPosition): boolean {
    return after >= this.#from && (after - this.#from) * 2 < this.#through - this.#from;
  }
}

/**
 * The log's blocks above the position, up to its end as it is when that is met.
 * @throws StoreError when the invocation's time is up before; CorruptDataError
 */
export async function* blocksAfter(
  position: LogPosition,
  { log, shard, hashes, call, isTimeUp }: LogReading,
): AsyncGenerator<LogBlock, void, undefined> {
  let from = position;
  for (;;) {
    const page = await log.readAfter(shard, from, call);
    for (const stored of page.blocks) {
      yield decodeBlock(stored, hashes);
      from = stored.position;
    }
    if (page.complete) return;
    if (isTimeUp()) {
      throw new StoreError("unavailable", `the log's end, beyond ${from}, was not reached in time`);
    }
  }
}

/** A small integer, which a map holds without an object of its own. */
function halfOf(key: KeyHash): number {
  return Number(BigInt.asIntN(32, key >> 32n));
}
