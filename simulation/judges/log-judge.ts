/**
 * Watches one log while a simulation runs, and judges at every block and watermark what the
 * invariants of docs/protocol.md §10 say of it: I1 to I3, and of the watermark I7. And no client
 * dates a block ahead of the store's clock: others' `asOf` and expiry go by it.
 */
import { placeOf } from "../../core/decision.ts";
import type { LogBlock, LogPosition } from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { decodeLogBlock } from "../../schemas/log-block.ts";

export type SeenWatermark = {
  readonly position: number;
  readonly timestamp: number;
  /** Changes of the stores before it. */
  readonly change: number;
  readonly atMs: number;
};

export class LogJudge {
  readonly blocks: LogBlock[] = [];
  /** In the order in which they came. */
  readonly watermarks: SeenWatermark[] = [];
  readonly hashes: KeyHashes;
  readonly #found: (finding: string) => void;
  readonly #nowMs: () => number;
  readonly #decided: Set<string>;
  /** What is prepared and not decided. */
  readonly #open: Set<string>;
  #hasEnded = false;
  #last = 0;
  /** Of a log that begins behind a fork: what comes before. */
  readonly past: readonly LogBlock[];

  constructor(parts: {
    /** As its blocks are decoded; nothing may change their secret. */
    readonly hashes: KeyHashes;
    readonly found: (finding: string) => void;
    /** The store's clock. */
    readonly nowMs: () => number;
    /** Of a shard that is split off: the other's log, which ends with the fork at this moment. */
    readonly forkOf?: LogJudge;
  }) {
    const { forkOf } = parts;
    this.past = forkOf === undefined ? [] : [...forkOf.past, ...forkOf.blocks];
    this.#decided = new Set(forkOf?.decided);
    this.#open = new Set(forkOf?.open);
    this.#last = forkOf?.newest ?? 0;
    this.hashes = parts.hashes;
    this.#found = parts.found;
    this.#nowMs = parts.nowMs;
  }

  get decided(): ReadonlySet<string> {
    return this.#decided;
  }

  get open(): ReadonlySet<string> {
    return this.#open;
  }

  /** Its past, and what stands behind it. */
  get all(): readonly LogBlock[] {
    return [...this.past, ...this.blocks];
  }

  /** Timestamp of the newest watermark. */
  get watermark(): number {
    return this.watermarks.at(-1)?.timestamp ?? 0;
  }

  /** Newest timestamp of the log. */
  get newest(): number {
    return this.#last;
  }

  /** The watermark that came to the timestamp first. */
  claimOf(timestamp: number): SeenWatermark | undefined {
    return this.watermarks.find((watermark) => watermark.timestamp >= timestamp);
  }

  /** A block was put. @returns it, decoded. */
  append(position: number, bytes: Uint8Array | undefined): LogBlock | undefined {
    const before = this.past.length + this.blocks.length;
    if (position !== before + 1) {
      this.#found(`I1: position ${position.toString()} after ${before.toString()}`);
    }
    if (bytes === undefined) {
      this.#found(`I1: position ${position.toString()} holds no block`);
      return undefined;
    }
    const block = decodeLogBlock(bytes, position as LogPosition, this.hashes);
    this.blocks.push(block);
    this.#judgeBlock(block);
    this.#judgeEnd(block);
    return block;
  }

  #judgeBlock(block: LogBlock): void {
    const at = `block ${block.position.toString()}`;
    if (this.#last !== 0 && block.previousTimestamp !== this.#last) {
      this.#found(`I2: ${at} does not follow the one before`);
    }
    let last: number = block.previousTimestamp;
    for (const verdict of block.verdicts) {
      if (verdict.kind === "stale" || verdict.kind === "busy") continue;
      const place = placeOf(verdict);
      // Oracles go by the stream's arrival times, which may lie ahead; and what counts in another
      // log, too, does not stand below that.
      const isOfOthers = verdict.kind === "committed" && verdict.placed !== undefined;
      const aheadMs = place / 1_000 - this.#nowMs();
      const isMade = block.maker !== undefined && block.handover === undefined;
      if (isMade && place > last + 1 && aheadMs > 0 && !isOfOthers) {
        this.#found(`time: ${at} is dated ${aheadMs.toFixed(3)} ms ahead of the store's clock`);
      }
      if (place <= last) this.#found(`I2: ${place.toString()} in ${at}`);
      last = place;
      if (verdict.kind === "prepared") continue;
      // Whoever claims to have seen the future can have its own id refused again and again; no
      // honest client does.
      if (verdict.kind === "aborted" && verdict.reason.kind === "checked-ahead") continue;
      if (this.#decided.has(verdict.id)) this.#found(`I3: ${verdict.id} is decided twice, ${at}`);
      this.#decided.add(verdict.id);
    }
    this.#last = block.throughTimestamp;
  }

  /** A log ends with nothing open, and then only says no. */
  #judgeEnd({ position, verdicts, handover }: LogBlock): void {
    const at = `block ${position.toString()}`;
    for (const { kind, id } of verdicts) {
      if (kind === "prepared") this.#open.add(id);
      if (kind === "committed" || kind === "aborted") this.#open.delete(id);
      const isNew = kind === "prepared" || kind === "committed";
      if (this.#hasEnded && isNew) this.#found(`end: ${at} takes ${id}, and the log has ended`);
    }
    if (handover?.kind !== "ended") return;
    this.#hasEnded = true;
    if (this.#open.size > 0) this.#found(`end: ${at} ends a log with something open`);
  }

  advance(watermark: SeenWatermark): void {
    const before = this.watermarks.at(-1);
    this.watermarks.push(watermark);
    if (before === undefined) return;
    if (watermark.position < before.position || watermark.timestamp < before.timestamp) {
      this.#found("I7: the watermark went back");
    }
  }
}
