/**
 * One log, read from a place on for who wants all of it: what was committed, and what is open. A
 * tail holds only what transactions need; this goes on from where its reader stopped, hours ago.
 */
import { CorruptDataError, SnapshotTooOldError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { OpenTransactions } from "../../core/open-transactions.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  Fork,
  LogBlock,
  LogPosition,
  Payload,
  ShardNumber,
  Timestamp,
} from "../../core/types.ts";
import { elapsedMs, instantOf, type Instant } from "../elapsed.ts";
import { positionAtOrBelow } from "../log/log-search.ts";
import { PayloadsInOrder } from "../log/payloads-in-order.ts";
import { decodeBlock } from "../log/stored-block.ts";
import type { ShardSession } from "../shard-session.ts";
import { streamOrGone } from "./stream-or-gone.ts";

/** Where a log is read on from: behind the block, which ends at that timestamp. */
export type LogPlace = { readonly position: LogPosition; readonly timestamp: Timestamp };

export class LogCursor {
  readonly session: ShardSession;
  /** Committed, in the order of the log, and not taken yet. */
  readonly commits: CommittedVerdict[] = [];
  /** Met since they were last taken: the ranges that went to other logs. */
  readonly forks: (Fork & LogPlace)[] = [];
  readonly #ports: ClientPorts;
  #open = new OpenTransactions();
  readonly #payloads: PayloadsInOrder;
  #place: LogPlace;
  /** Its range is another log's: nothing comes any more. */
  #hasEnded = false;
  /** When it last looked what follows. */
  #looked: Instant;

  private constructor(ports: ClientPorts, session: ShardSession, at: LogPlace) {
    this.#ports = ports;
    this.session = session;
    this.#place = at;
    this.#looked = instantOf(ports.clock);
    this.#payloads = new PayloadsInOrder(streamOrGone(ports), {
      ...{ shard: session.shard, hashes: session.hashes, records: [] },
      preparedAs: (id) => this.#open.get(id),
    });
  }

  /**
   * Begins behind the last block that ends at or below the timestamp, and not before its own: what
   * stands in another log, that one's cursor gives.
   * @param own where the log's own blocks begin.
   * @throws SnapshotTooOldError when the log no longer reaches back so far.
   */
  static async begin(
    ports: ClientPorts,
    session: ShardSession,
    { after, own, call }: { after: Timestamp; own: LogPlace; call: CallOptions },
  ): Promise<LogCursor> {
    const place = await placeAtOrBelow(ports, session, { after, own, call });
    const cursor = new LogCursor(ports, session, place);
    await cursor.#readOpen(call);
    return cursor;
  }

  get number(): ShardNumber {
    return this.session.number;
  }

  /** Of the newest block that was read. */
  get position(): LogPosition {
    return this.#place.position;
  }

  /** All that the log has placed at or below it was read. */
  get newest(): Timestamp {
    return this.#hasEnded ? (Number.MAX_SAFE_INTEGER as Timestamp) : this.#place.timestamp;
  }

  /** Nothing that comes from this log counts at or below it, but for what was given already. */
  get completeTo(): Timestamp {
    // mutant: feed-passes-open-parts
    // Of parts the oldest; what awaits a native check counts where its vote will stand.
    for (const { prepared } of this.#open.all()) {
      if (prepared.parts === undefined) continue;
      return Math.min(this.newest, prepared.timestamp - 1) as Timestamp;
    }
    return this.newest;
  }

  /**
   * Reads a page. @returns whether the log's end was reached.
   * @throws SnapshotTooOldError where what follows has expired; CorruptDataError for a block that
   * is not there, and cannot have.
   */
  async readPage(call: CallOptions): Promise<boolean> {
    if (this.#hasEnded) return true;
    const { shard, hashes } = this.session;
    const began = instantOf(this.#ports.clock);
    const endsBehind = await this.#knownToEndBehind();
    const { blocks, complete } = await this.#ports.log.readAfter(shard, this.#place.position, call);
    if (blocks.length === 0 && endsBehind) throw this.#expired();
    for (const stored of blocks) {
      const block = decodeBlock(stored, hashes);
      if (block.position !== this.#place.position + 1) throw this.#missingBefore(block);
      this.#fold(block);
    }
    this.#looked = began;
    return complete;
  }

  /**
   * Who stands still for days may find that all has expired that it has not read: an empty page
   * says nothing of it. The watermark has gone on.
   */
  async #knownToEndBehind(): Promise<boolean> {
    const { clock } = this.#ports;
    if (elapsedMs(clock, this.#looked) <= limits.tailAsleepMsMax) return false;
    const { position } = await this.session.follower.readWatermark();
    return position > this.#place.position;
  }

  /** @param next the first block behind those that are missing. */
  #missingBefore({ previousTimestamp, position }: LogBlock): Error {
    // What a block ends at it outlives by the log's retention.
    const ageMs = this.#ports.clock.nowMs() - previousTimestamp / 1_000;
    if (ageMs >= limits.logExpiredAgeMsMin) return this.#expired();
    return new CorruptDataError(
      `I1: the log of ${this.session.shard} has no block at ${this.#place.position + 1}, and ` +
        `goes on behind, at ${position}`,
    );
  }

  #expired(): SnapshotTooOldError {
    return new SnapshotTooOldError(
      `what follows block ${this.#place.position} of the log of ${this.session.shard} has expired`,
    );
  }

  #fold(block: LogBlock): void {
    const { position, throughTimestamp, fork, handover } = block;
    this.#foldOpen(block);
    this.#place = { position, timestamp: throughTimestamp };
    if (handover?.kind === "ended") this.#hasEnded = true;
    if (fork !== undefined) this.forks.push({ ...fork, ...this.#place });
    for (const verdict of block.verdicts) {
      if (verdict.kind === "committed") this.commits.push(verdict);
    }
  }

  #foldOpen({ verdicts, position }: Pick<LogBlock, "verdicts" | "position">): void {
    for (const verdict of verdicts) this.#open.fold(verdict, position);
    this.#open.mark();
  }

  /**
   * What is open at the beginning lies below it: the next block says how far; at the log's end, the
   * last one, which may open something itself.
   */
  async #readOpen(call: CallOptions): Promise<void> {
    const { shard, hashes } = this.session;
    const { position } = this.#place;
    const oldest = await this.#oldestOpen(call);
    if (oldest === undefined) return;
    // What is named may have expired, or never been there: then from the first one that is. Where
    // some are missing in between, what was decided there would seem to be open for ever; and
    // nothing is open for as long as blocks are kept.
    for (let after = oldest - 1; after < position;) {
      const page = await this.#ports.log.readAfter(shard, after as LogPosition, call);
      const [first] = page.blocks;
      if (first === undefined) return;
      for (const each of page.blocks) {
        if (each.position !== after + 1) this.#open = new OpenTransactions();
        after = each.position;
        if (after <= position) this.#foldOpen(decodeBlock(each, hashes));
      }
    }
  }

  async #oldestOpen(call: CallOptions): Promise<LogPosition | undefined> {
    const { shard, hashes } = this.session;
    const { position } = this.#place;
    const next = await this.#ports.log.readAt(shard, (position + 1) as LogPosition, call);
    if (next !== undefined) return decodeBlock(next, hashes).oldestOpen;
    const last = position > 0 ? await this.#ports.log.readAt(shard, position, call) : undefined;
    return last && (decodeBlock(last, hashes).oldestOpen ?? position);
  }

  /** @throws as PayloadsInOrder. */
  payloadOf(verdict: CommittedVerdict, call: CallOptions): Promise<Payload> {
    return this.#payloads.load(verdict, call);
  }
}

async function placeAtOrBelow(
  ports: ClientPorts,
  { shard, hashes, follower: { tail } }: ShardSession,
  { after, own, call }: { after: Timestamp; own: LogPlace; call: CallOptions },
): Promise<LogPlace> {
  if (after <= own.timestamp && own.position > 0) return own;
  const end = { position: tail.position, timestamp: tail.newest };
  if (after >= end.timestamp) return end;
  const range = { above: after, through: end.position, hashes, call };
  const position = await positionAtOrBelow(ports.log, shard, range);
  const stored = position > 0 ? await ports.log.readAt(shard, position, call) : undefined;
  // Expired: the block behind it, which the search has seen, begins at or below the timestamp.
  const timestamp = stored && decodeBlock(stored, hashes).throughTimestamp;
  return { position, timestamp: timestamp ?? (0 as Timestamp) };
}
