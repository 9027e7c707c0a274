/**
 * Keeps one process's tail of one shard up to date: one poller, whatever the number of waiting
 * transactions. Reads are incremental; concurrent wishes for a refresh share calls.
 *
 * A refresh promises: every block that was put before the call began is folded when it ends. That
 * is what makes reads strictly serializable (docs/protocol.md §4) and a missing decision meaningful
 * (§6).
 */
import { assert } from "../../core/assert.ts";
import { isStreamEnd } from "../../core/cursor.ts";
import { CorruptDataError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Consumption, ClientPorts, StoredBlock } from "../../core/ports.ts";
import { Tail } from "../../core/tail.ts";
import { isDecision } from "../../core/decision.ts";
import type {
  LogBlock,
  LogPosition,
  ShardId,
  Timestamp,
  TransactionId,
  Verdict,
  Watermark,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import {
  type AwaitedIds,
  AwaitedVerdicts,
  type PollOptions,
} from "../committing/awaited-verdicts.ts";
import { ignore } from "../concurrency.ts";
import { elapsedMs, instantOf, type Instant } from "../elapsed.ts";
import { decodeBlock } from "./stored-block.ts";

export type FollowerOptions = PollOptions & {
  /** The watermark is read again at most this often while the tail is in use … */
  readonly watermarkMs: number;
  /** … and no oftener than this while the tail is so small that little would leave it. */
  readonly watermarkRestMs: number;
  readonly smallEntries: number;
  /** Log reads under way at once; a second one lets a newcomer start before the first is back. */
  readonly refreshesMax: number;
  /** Of the tail; beyond them it reads on only when some have left. */
  readonly entriesMax: number;
};

const followerDefaults: FollowerOptions = {
  pollMsMin: 1,
  pollMsMax: 250,
  watermarkMs: 1_000,
  watermarkRestMs: 10_000,
  smallEntries: limits.tailSmallEntriesMax,
  refreshesMax: limits.tailRefreshesMax,
  entriesMax: limits.tailEntriesMax,
};

/** Whose log it is, and under which key its hashes are made. */
export type FollowedLog = {
  readonly shard: ShardId;
  readonly hashes: KeyHashes;
  /** Called before a tail begins at the watermark. */
  readonly onBegin?: ((watermark: Watermark) => Promise<void>) | undefined;
  /** Called with each verdict, in the order of the log. */
  readonly onVerdict?: ((verdict: Verdict) => void) | undefined;
  /** Called with each block, before those are told who wait for its verdicts. */
  readonly onBlock?: ((block: LogBlock, as: FoldedBlock) => void) | undefined;
};

export type FoldedBlock = {
  /** As it is stored. */
  readonly bytes: number;
  /** Ids whose verdicts are waited for here. */
  readonly awaited: AwaitedIds;
};

/** A transaction that needs the tail's memory back to its read timestamp. */
export type TailUser = { readonly readTimestamp: Timestamp };

export class TailFollower {
  readonly #ports: ClientPorts;
  readonly #shard: ShardId;
  readonly #hashes: KeyHashes;
  readonly #onBegin: FollowedLog["onBegin"];
  readonly #onVerdict: FollowedLog["onVerdict"];
  readonly #onBlock: FollowedLog["onBlock"];
  readonly #options: FollowerOptions;
  #tail: Tail | undefined;
  #starting: Promise<void> | undefined;
  #refreshing = 0;
  /**
   * The refresh that begins as soon as one under way ends; shared by all who came too late for
   * those.
   */
  #next: { promise: Promise<void>; start: () => void } | undefined;
  /** When the newest finished refresh began: the tail is complete up to then. */
  #completeTo: Instant | undefined;
  /** When the log last said something, if only in part. */
  #heard: Instant | undefined;
  #watermarkReadMs = Number.NEGATIVE_INFINITY;
  /** With the monotonic time at which each began. */
  readonly #users = new Map<TailUser, number>();
  readonly #awaited: AwaitedVerdicts;
  readonly #watches = new Map<TransactionId, () => void>();
  /** What the watermark was last waited for in vain. */
  #missedTimestamp = 0 as Timestamp;
  /**
   * How often the stream has been closed meanwhile: what was sent before, and is undecided, no
   * stream decides.
   */
  closings = 0;
  /** What the tail's own reads cost; they belong to no transaction in particular. */
  readonly consumption: Consumption = { readUnits: 0, writeUnits: 0, calls: 0 };

  constructor(ports: ClientPorts, log: FollowedLog, options: Partial<FollowerOptions> = {}) {
    this.#ports = ports;
    this.#shard = log.shard;
    this.#hashes = log.hashes;
    this.#onBegin = log.onBegin;
    this.#onVerdict = log.onVerdict;
    this.#onBlock = log.onBlock;
    this.#options = { ...followerDefaults, ...options };
    this.#awaited = new AwaitedVerdicts(ports.clock, this.#options, () => this.refresh());
  }

  /** The tail as it is now. `refresh` must have resolved once. */
  get tail(): Tail {
    assert(this.#tail !== undefined, "the tail is started before it is used");
    return this.#tail;
  }

  get started(): boolean {
    return this.#tail !== undefined;
  }

  /**
   * Milliseconds since the moment up to which the tail is complete, what the machine slept
   * included; infinite before the first refresh.
   */
  get ageMs(): number {
    return elapsedMs(this.#ports.clock, this.#completeTo);
  }

  /**
   * Milliseconds since the log was last heard of: since then, or since a block came along that was
   * not asked for. Of a log that goes on nobody knows more.
   */
  get heardMs(): number {
    return Math.min(this.ageMs, elapsedMs(this.#ports.clock, this.#heard));
  }

  /** Keeps the tail's memory back to the user's read timestamp until `leave`. */
  enter(user: TailUser): void {
    this.#users.set(user, this.#ports.clock.monotonicMs());
  }

  leave(user: TailUser): void {
    this.#users.delete(user);
  }

  /** @throws StoreError, CorruptDataError, UnavailableError */
  async refresh(): Promise<void> {
    if (this.#tail === undefined) await this.#start();
    if (this.#refreshing < this.#options.refreshesMax) {
      await this.#readLog();
      return;
    }
    this.#next ??= this.#queueRefresh();
    await this.#next.promise;
  }

  #queueRefresh(): { promise: Promise<void>; start: () => void } {
    let start: () => void = ignore;
    const turn = new Promise<void>((resolve) => {
      start = resolve;
    });
    const promise = turn.then(() => this.#readLog());
    promise.catch(ignore);
    return { promise, start };
  }

  async #start(): Promise<void> {
    this.#starting ??= this.readWatermark()
      .then(ignore)
      .finally(() => {
        this.#starting = undefined;
      });
    await this.#starting;
  }

  /**
   * Reads the watermark, tells the tail, and returns it; begins a new tail from it when there is
   * none yet.
   */
  async readWatermark(): Promise<Watermark> {
    const { control, clock } = this.#ports;
    this.#watermarkReadMs = clock.monotonicMs();
    const watermark = await control.readWatermark(this.#shard, { consumption: this.consumption });
    if (watermark === undefined) {
      throw new UnavailableError(
        `shard ${this.#shard} has no watermark in the control table; is the deployment ` +
          "provisioned?",
      );
    }
    if (this.#tail !== undefined) {
      this.#tail.learnWatermark(watermark);
      return watermark;
    }
    await this.#onBegin?.(watermark);
    this.#tail ??= new Tail(watermark);
    return watermark;
  }

  async #readLog(): Promise<void> {
    this.#refreshing += 1;
    const began = instantOf(this.#ports.clock);
    try {
      if (this.#hasSlept) await this.#skipExpired();
      let restarted = false;
      for (;;) {
        if (this.tail.entries >= this.#options.entriesMax) await this.#makeRoom();
        const { tail } = this;
        const page = await this.#ports.log.readAfter(this.#shard, tail.position, {
          consumption: this.consumption,
        });
        if (this.tail !== tail) continue; // It has begun anew, and the page is of no use.
        if (!this.#foldPage(page.blocks)) {
          // Blocks that this process has not read have expired. Right behind the watermark none may
          // be missing.
          if (restarted) throw missingBlock(this.tail.position);
          restarted = true;
          await this.#restart();
        } else if (page.complete) {
          break;
        }
      }
      this.#noteComplete(began);
      this.#awaited.looked(began.monotonicMs);
    } finally {
      this.#refreshing -= 1;
      const next = this.#next;
      this.#next = undefined;
      next?.start();
    }
    this.#maintain();
  }

  get #hasSlept(): boolean {
    return this.#completeTo !== undefined && this.ageMs > limits.tailAsleepMsMax;
  }

  /**
   * Who has slept for days may find that all has expired that it has not read: an empty page says
   * nothing of it, and the next position seems to be free (I1). The watermark has gone on.
   */
  async #skipExpired(): Promise<void> {
    const { position } = await this.readWatermark();
    if (position > this.tail.position) await this.#restart();
  }

  /**
   * Lets go of all that is installed, also of what transactions under way have read at: they find
   * themselves below the floor. What is not installed has to stay, or reads would miss it. So while
   * replay is that far behind, the tail reads no further, rather than to take the process's memory.
   * @throws UnavailableError
   */
  async #makeRoom(): Promise<void> {
    const { entriesMax } = this.#options;
    const { position } = await this.readWatermark();
    if (position > this.tail.position) await this.#restart();
    else this.tail.release(undefined);
    if (this.tail.entries < entriesMax) return;
    throw new UnavailableError(
      `what replay has not installed exceeds the limit tailEntriesMax of ${entriesMax}; ` +
        "try again later",
    );
  }

  /** Folds what continues the tail; false at a gap. */
  #foldPage(blocks: readonly StoredBlock[]): boolean {
    for (const block of blocks) {
      if (block.position <= this.tail.position) continue; // Another refresh was faster.
      if (block.position !== this.tail.position + 1) return false;
      this.#fold(block);
    }
    return true;
  }

  /**
   * Takes in a block that is known to stand in the log, without reading it; of no use, and ignored,
   * unless it is the next one.
   * @param completeTo whoever has put it there knows that no other one came before it: when it
   * began to.
   * @throws CorruptDataError
   */
  adopt(stored: StoredBlock, completeTo?: Instant): void {
    if (stored.position !== this.tail.position + 1) return;
    // mutant: express-taken-not-folded
    this.#fold(stored);
    this.#heard = instantOf(this.#ports.clock);
    if (completeTo !== undefined) this.#noteComplete(completeTo);
    this.#maintain();
  }

  #noteComplete(to: Instant): void {
    if (to.monotonicMs >= (this.#completeTo?.monotonicMs ?? -Infinity)) this.#completeTo = to;
  }

  #fold(stored: StoredBlock): void {
    const block = decodeBlock(stored, this.#hashes);
    const wasClosed = this.isStreamClosed;
    this.tail.fold(block);
    this.#onBlock?.(block, { bytes: stored.bytes.length, awaited: this.#awaited });
    for (const verdict of block.verdicts) {
      if (isDecision(verdict)) this.#watches.get(verdict.id)?.();
      this.#onVerdict?.(verdict);
      this.#awaited.tell(verdict);
    }
    if (!wasClosed) this.#noteClosed();
  }

  /** Whether the log's stream takes no requests any more, as far as the tail knows. */
  get isStreamClosed(): boolean {
    return isStreamEnd(this.#tail?.cursor);
  }

  #noteClosed(): void {
    if (!this.isStreamClosed) return;
    this.closings += 1;
    // No block that comes decides what they have sent.
    this.#awaited.tellStale();
  }

  /**
   * The log went on without this process for so long that blocks expired: begin again from the
   * watermark. Transactions under way find their read timestamp below the new floor. Decisions that
   * are waited for may lie below it, too: whoever waits looks for them in the log
   * (decision-search.ts), as after an answer that decides nothing.
   */
  async #restart(): Promise<void> {
    const watermark = await this.readWatermark();
    await this.#onBegin?.(watermark);
    this.#tail = new Tail(watermark);
    this.#noteClosed();
    this.#awaited.tellStale();
  }

  /**
   * Calls `onDecision` when a block decides the id, until the function that this returns is called.
   * Nothing is polled for it: it is for ids that have not been sent yet.
   */
  watch(id: TransactionId, onDecision: () => void): () => void {
    this.#watches.set(id, onDecision);
    return () => this.#watches.delete(id);
  }

  #maintain(): void {
    const { clock } = this.#ports;
    const { watermarkMs, watermarkRestMs, smallEntries } = this.#options;
    const isSmall = (this.#tail?.entries ?? 0) <= smallEntries;
    const ageMs = clock.monotonicMs() - this.#watermarkReadMs;
    if (ageMs >= (isSmall ? watermarkRestMs : watermarkMs)) {
      // Beside the work, not in its way: a late or failed watermark only keeps the tail longer.
      this.readWatermark().catch(ignore);
    }
    let oldest: Timestamp | undefined;
    for (const [user, sinceMs] of this.#users) {
      const { readTimestamp } = user;
      // One that was never closed must not keep the log in memory for ever; it would find itself
      // below the floor.
      if (clock.monotonicMs() - sinceMs > 2 * limits.transactionAgeMsMax) this.#users.delete(user);
      else if (oldest === undefined || readTimestamp < oldest) oldest = readTimestamp;
    }
    this.tail.release(oldest);
  }

  /**
   * Waits until the watermark has reached `timestamp`; false when it has not after `waitMs`. False
   * at once while it has not reached what was waited for in vain before: replay stands still then,
   * and each reader would lose the whole time again.
   */
  async waitInstalled(
    timestamp: Timestamp,
    wait: { readonly waitMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<boolean> {
    const { clock } = this.#ports;
    const waitMs = this.tail.installedThrough < this.#missedTimestamp ? 0 : wait.waitMs;
    const untilMs = clock.monotonicMs() + waitMs;
    let pauseMs = this.#options.pollMsMin * 2;
    while (this.tail.installedThrough < timestamp) {
      if (clock.monotonicMs() > untilMs) {
        if (waitMs > 0) this.#missedTimestamp = timestamp;
        return false;
      }
      await clock.sleep(pauseMs, wait.signal);
      pauseMs = Math.min(pauseMs * 2, this.#options.pollMsMax);
      await this.readWatermark();
      // The watermark may have overtaken the tail, which ignores what it has not folded yet.
      if (this.tail.installedThrough < timestamp) await this.refresh();
    }
    return true;
  }

  /**
   * The next verdict on an id (or the decision that the tail already holds). Polls while anybody
   * waits. `signal` ends the wait, with its reason.
   */
  async awaitVerdict(id: TransactionId, signal: AbortSignal): Promise<Verdict> {
    return this.#tail?.decision(id) ?? (await this.#awaited.next(id, signal));
  }

  /** Ends the polling; waiters are left to their own signals. */
  close(): void {
    this.#awaited.close();
  }
}

function missingBlock(position: LogPosition): CorruptDataError {
  return new CorruptDataError(
    `I1: the log has no block at position ${position + 1}, and goes on behind it; was the log ` +
      "table edited?",
  );
}
