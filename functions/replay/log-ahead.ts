/**
 * What the log holds behind the stretch that replay is about to install: for each key hash, the
 * newest block that may hold a write of it. Read on from where the last look ended, so that many
 * looks cost one reading of the log.
 *
 * Half of each hash is kept: what meets by chance is told apart by whoever reads the block.
 */
import { CorruptDataError, StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, CommitLog, StoredBlock } from "../../core/ports.ts";
import {
  timestampZero,
  type KeyHash,
  type LogBlock,
  type LogPosition,
  type ShardId,
  type Watermark,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeFollowing, placeBehind } from "./following.ts";

export type LogReading = {
  readonly log: Pick<CommitLog, "readAfter">;
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  readonly call: CallOptions;
  readonly isTimeUp: () => boolean;
};

const beginning: Watermark = {
  position: 0 as LogPosition,
  timestamp: timestampZero,
  cursor: undefined,
};

/** Belongs to one invocation at a time; the next one may go on with it. */
export class LogAhead {
  /** By half of the hash. */
  readonly #newest = new Map<number, LogPosition>();
  readonly #keysMax: number;
  /** Blocks in `(#from, #through]` are entered. */
  #from = beginning.position;
  #through = beginning;

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
  async reach(after: Watermark, reading: LogReading): Promise<void> {
    if (!this.#isWorthKeeping(after.position)) {
      this.#newest.clear();
      this.#from = after.position;
      this.#through = after;
    }
    for await (const block of blocksAfter(this.#through, reading)) {
      if (this.isFull) return;
      for (const verdict of block.verdicts) {
        if (verdict.kind !== "committed") continue;
        for (const { key } of verdict.writes) this.#newest.set(halfOf(key), block.position);
      }
      this.#through = placeBehind(block, this.#through);
    }
  }

  /** Undefined: none of the blocks that are entered holds a write of the key. */
  newest(key: KeyHash): LogPosition | undefined {
    return this.#newest.get(halfOf(key));
  }

  /** Less than half of it lies at or before the place: each block is entered thrice at most. */
  #isWorthKeeping(after: LogPosition): boolean {
    return after >= this.#from && (after - this.#from) * 2 < this.#through.position - this.#from;
  }
}

/**
 * The log's blocks behind the place, up to its end as it is when that is met. A block that may not
 * stand there ends them, too: replay never passes it, nor does anybody read beyond it.
 * @throws StoreError when the invocation's time is up before.
 */
export async function* blocksAfter(
  after: Watermark,
  { log, shard, hashes, call, isTimeUp }: LogReading,
): AsyncGenerator<LogBlock, void, undefined> {
  let place = after;
  for (;;) {
    const page = await log.readAfter(shard, place.position, call);
    for (const stored of page.blocks) {
      const block = following(place, stored, hashes);
      if (block === undefined) return;
      yield block;
      place = placeBehind(block, place);
    }
    if (page.complete) return;
    if (isTimeUp()) {
      const { position } = place;
      throw new StoreError("unavailable", `the log goes on behind ${position}, and time is up`);
    }
  }
}

function following(place: Watermark, stored: StoredBlock, hashes: KeyHashes): LogBlock | undefined {
  try {
    return decodeFollowing(place, stored, hashes);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** A small integer, which a map holds without an object of its own. */
function halfOf(key: KeyHash): number {
  return Number(BigInt.asIntN(32, key >> 32n));
}
