/**
 * A cold oracle from the end of its log (docs/protocol.md §3, Rebuild). Reads blocks backward until
 * one lies a whole window behind, then folds forward. It goes step by step, a page or a block at a
 * time, so that its driver can stop at a deadline and go on later; what was appended
 * meanwhile is folded on top.
 *
 * What is prepared and not decided bars others however old it is. So what lies below the window is
 * read, too, from where the window's oldest block says that something is open, for that alone:
 *
 *     watermark ──▶ ……… │ opening: prepared, votes │ folding: the window │ following
 *
 * At or below the watermark nothing is open: what was, the log has decided before the watermark
 * was put. What expired above it nobody can read: the oracle goes on without, and its blocks go on
 * to name it.
 *
 * The window is one of stream time, which may stand still while the log grows. So blocks and bytes
 * are bounded as well, counted from the newest block: what lies further back is forgotten, and the
 * floor rises over it. A rebuild that was stopped forgets the same as one that begins now: no cold
 * oracle has a lower floor than a warm one.
 *
 * Invariants: I1–I3 carry over, since above the floor the state follows from the log. Paper:
 * Centiman §3.4.
 */
import { assert } from "../../core/assert.ts";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { wholeRange, type OwnRange } from "../../core/shard-map.ts";
import type { SlotSeed } from "../../core/slot-seed.ts";
import { Oracle } from "../../core/oracle.ts";
import { type OracleBounds } from "../../core/oracle-bounds.ts";
import type { CallOptions, CommitLog, ControlStore, StoredBlock } from "../../core/ports.ts";
import type { LogPosition, ShardId, Timestamp, Watermark } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock, decodeLogBlockHeader } from "../../schemas/log-block.ts";

export type RebuildBounds = {
  /** Blocks folded, and their encoded bytes. */
  readonly blocksMax: number;
  readonly bytesMax: number;
  /** Blocks asked for at once. */
  readonly pageBlocksMax: number;
};

export const rebuildBoundsDefault: RebuildBounds = {
  blocksMax: limits.rebuildBlocksMax,
  bytesMax: limits.rebuildBytesMax,
  pageBlocksMax: limits.rebuildPageBlocksMax,
};

export type RebuildParts = {
  readonly shard: ShardId;
  readonly log: Pick<CommitLog, "readBackward" | "readAfter">;
  readonly control: Pick<ControlStore, "readWatermark">;
  readonly hashes: KeyHashes;
  readonly seed: SlotSeed;
  readonly range?: OwnRange;
  readonly oracleBounds: OracleBounds;
  readonly bounds: RebuildBounds;
};

/** The extent of a block that is folded. */
type Extent = { readonly byteLength: number; readonly throughTimestamp: Timestamp };

type State =
  /** Backward, from the newest block. */
  | { readonly kind: "reading" }
  /** Forward, up to the window: what is open there. Through `through` that is known. */
  | {
      readonly kind: "opening";
      readonly oracle: Oracle;
      readonly oldest: LogPosition;
      readonly through: LogPosition;
      readonly end: LogPosition;
    }
  | { readonly kind: "folding"; readonly oracle: Oracle }
  /** Forward, what was appended since the first page was read. */
  | { readonly kind: "following"; readonly oracle: Oracle };

export class Rebuild {
  readonly #parts: RebuildParts;
  #state: State = { kind: "reading" };
  #watermark: Watermark | undefined;
  /** Blocks that are read and not folded, newest first, without gaps. */
  #unfolded: StoredBlock[] = [];
  #bytesRead = 0;
  #newest: Timestamp | undefined;
  /** What the bounds cover of what is folded, oldest first. */
  readonly #folded: Extent[] = [];
  #bytesFolded = 0;
  #interrupted = false;
  #isCut = false;

  constructor(parts: RebuildParts) {
    assert(
      parts.bounds.blocksMax > 0 && parts.bounds.pageBlocksMax > 0,
      "rebuild: bounds are positive",
    );
    this.#parts = parts;
  }

  /** Whether the bounds, and not the window, have set the floor. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Time has passed since the last step: others may have appended, and are followed at the end. */
  resume(): void {
    // probe: oracle-rebuild-resumed
    this.#interrupted = true;
  }

  /**
   * Reads a page, or folds a block. Gives the oracle when it stands where the log ended. What a
   * step that throws was to do, the next one does.
   * @throws StoreError when the stores do not answer, or the shard has no watermark yet.
   * @throws FrameError when the log holds what is no block, or one of another hash secret, and
   *   CorruptDataError when a client's block moves the cursor: nothing may be certified over it.
   */
  async step(options: CallOptions): Promise<Oracle | undefined> {
    const state = this.#state;
    switch (state.kind) {
      case "reading":
        await this.#read(options);
        return undefined;
      case "opening":
        await this.#open(state, options);
        return undefined;
      case "folding":
        return this.#fold(state.oracle);
      case "following":
        return this.#follow(state.oracle, options);
    }
  }

  async #read(options: CallOptions): Promise<void> {
    const { shard, log, control, bounds } = this.#parts;
    const below = this.#unfolded.at(-1)?.position;
    const [page, watermark] = await Promise.all([
      log.readBackward(shard, {
        blocksMax: bounds.pageBlocksMax,
        ...options,
        ...(below === undefined ? {} : { from: (below - 1) as LogPosition }),
      }),
      this.#watermark ?? control.readWatermark(shard, options),
    ]);
    if (watermark === undefined) {
      const message = `shard ${shard} has no watermark: it is not bootstrapped`;
      throw new StoreError("unavailable", message);
    }
    this.#watermark = watermark;
    if (this.#take(page)) return;
    this.#state = this.#opening(this.#begin(watermark), watermark);
  }

  /** Takes what is needed of a page. Whether the next one is needed, too. */
  #take(page: readonly StoredBlock[]): boolean {
    const { windowMicros } = this.#parts.oracleBounds;
    for (const block of page) {
      const above = this.#unfolded.at(-1)?.position;
      if (above !== undefined && block.position !== above - 1) return false;
      const bytes = this.#bytesRead + block.bytes.length;
      if (above !== undefined && this.#exceeds(this.#unfolded.length + 1, bytes)) {
        // probe: oracle-rebuild-cut
        this.#isCut = true;
        return false;
      }
      this.#unfolded.push(block);
      this.#bytesRead = bytes;
      const { throughTimestamp } = decodeLogBlockHeader(block.bytes, block.position);
      this.#newest ??= throughTimestamp;
      if (throughTimestamp <= this.#newest - windowMicros) return false;
    }
    return page.length > 0 && this.#unfolded.at(-1)?.position !== 1;
  }

  #exceeds(blocks: number, bytes: number): boolean {
    const { blocksMax, bytesMax } = this.#parts.bounds;
    return blocks > blocksMax || bytes > bytesMax;
  }

  /** An oracle that stands before the oldest block that was read, or at the watermark. */
  #begin(watermark: Watermark): Oracle {
    const { seed, oracleBounds, range = wholeRange } = this.#parts;
    const newest = this.#unfolded[0];
    const oldest = this.#unfolded.at(-1);
    // The log's TTL removes blocks in no particular order: a watermark beyond them knows more.
    if (newest === undefined || oldest === undefined || watermark.position > newest.position) {
      this.#unfolded = [];
      return new Oracle(watermark, seed, oracleBounds, range);
    }
    const header = decodeLogBlockHeader(oldest.bytes, oldest.position);
    return new Oracle(
      {
        position: (oldest.position - 1) as LogPosition,
        timestamp: header.previousTimestamp,
        // A client's block has that of the one before; an oracle's begins anew.
        cursor: header.maker === undefined ? undefined : header.cursor,
      },
      seed,
      oracleBounds,
      range,
    );
  }

  /** Folds what was read, after what lies below it and is open, if anything is. */
  #opening(oracle: Oracle, watermark: Watermark): State {
    const end = this.#unfolded.at(-1);
    if (end === undefined) return { kind: "folding", oracle };
    const oldest = decodeLogBlockHeader(end.bytes, end.position).oldestOpen;
    const through = Math.max((oldest ?? end.position) - 1, watermark.position) as LogPosition;
    if (oldest === undefined || through >= end.position - 1) return { kind: "folding", oracle };
    return { kind: "opening", oracle, oldest, through, end: end.position };
  }

  /** One page. */
  async #open(state: Extract<State, { kind: "opening" }>, options: CallOptions): Promise<void> {
    const { shard, log, hashes } = this.#parts;
    const { oracle, oldest, end } = state;
    const { blocks, complete } = await log.readAfter(shard, state.through, options);
    let { through } = state;
    let hasGap = false;
    for (const { bytes, position } of blocks) {
      hasGap ||= position !== through + 1;
      if (position >= end) break;
      oracle.foldOpen(decodeLogBlock(bytes, position, hashes));
      through = position;
    }
    const isDone = through === end - 1 || complete || (blocks.at(-1)?.position ?? 0) >= end;
    if (hasGap || (isDone && through !== end - 1)) oracle.missOpen(oldest);
    this.#state = isDone ? { kind: "folding", oracle } : { ...state, through };
  }

  #fold(oracle: Oracle): Oracle | undefined {
    const block = this.#unfolded.at(-1);
    if (block !== undefined) {
      const { bytes, position } = block;
      const { hashes } = this.#parts;
      this.#makeRoom(oracle, block);
      // mutant: rebuilds-from-nothing
      oracle.fold(decodeLogBlock(bytes, position, hashes));
      this.#unfolded.pop();
      return undefined;
    }
    if (!this.#interrupted) return oracle;
    this.#state = { kind: "following", oracle };
    return undefined;
  }

  /** Forgets what the bounds do not reach from this block on. What was read at once, they do. */
  #makeRoom(oracle: Oracle, { bytes, position }: StoredBlock): void {
    const { throughTimestamp } = decodeLogBlockHeader(bytes, position);
    this.#bytesFolded += bytes.length;
    while (this.#exceeds(this.#folded.length + 1, this.#bytesFolded)) {
      const oldest = this.#folded.shift();
      if (oldest === undefined) break;
      this.#isCut = true;
      this.#bytesFolded -= oldest.byteLength;
      oracle.forget(oldest.throughTimestamp);
    }
    this.#folded.push({ byteLength: bytes.length, throughTimestamp });
  }

  /**
   * One page forward. Where there is nothing new, that very step is the last: one step for each
   * invocation is enough to end.
   */
  async #follow(oracle: Oracle, options: CallOptions): Promise<Oracle | undefined> {
    const { shard, log } = this.#parts;
    const { blocks, complete } = await log.readAfter(shard, oracle.position, options);
    if (blocks.length === 0) return oracle;
    this.#interrupted = !complete;
    this.#unfolded = blocks.toReversed();
    this.#state = { kind: "folding", oracle };
    return undefined;
  }
}
