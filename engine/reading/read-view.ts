/**
 * The state of the tables at one read timestamp, as a transaction sees it (docs/protocol.md §5):
 * when it begins, when it ends, and what an answer of the store means to it. What is asked, and
 * when again, is the readers' (point-reads.ts, range-reads.ts).
 *
 * Keeps I8. A stored item alone does not say what was true at the read timestamp: a committed write
 * may not be installed yet, or a later one may be. The tail knows of both (core/visibility.ts).
 */
import {
  CorruptDataError,
  InvalidRequestError,
  SnapshotTooOldError,
  TransactionClosedError,
  UnavailableError,
} from "../../core/errors.ts";
import { isInHistory } from "../../core/history.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type { Tail, TailCommit } from "../../core/tail.ts";
import type { TransactionReads } from "../../core/transaction-reads.ts";
import type {
  Isolation,
  Item,
  KeyHash,
  TableDescription,
  Timestamp,
  TransactionId,
  Version,
} from "../../core/types.ts";
import {
  type Answer,
  judge,
  type Judgement,
  type Known,
  type ViewMode,
} from "../../core/visibility.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { AttemptFate } from "../attempts/attempt-fate.ts";
import { waitBackoff } from "../backoff.ts";
import { conflictError, RangeMovedError, refuseBelowTail } from "../conflict-error.ts";
import { asError, orAborted } from "../concurrency.ts";
import type { MixedReads } from "../mixed-way.ts";
import type { OwnCommits, OwnReads } from "../committing/own-commits.ts";
import { readKeyOf, type ReadKey } from "./read-key.ts";
import type { ShardSession } from "../shard-session.ts";

export type ViewOptions = {
  readonly mode: ViewMode;
  readonly isolation: Isolation;
  /** Of its attempt, which may have views of other shards beside it. */
  readonly fate: AttemptFate;
  /** How it begins; only `refreshed` waits for the log. */
  readonly begins: Beginning;
  readonly reads: TransactionReads;
  /** Reads wait for it: the refresh of the tail that began after the transaction did. */
  readonly refreshed: () => Promise<void>;
  /** Whether it may be behind what was acknowledged before it began. */
  readonly isStale: boolean;
  readonly call: CallOptions;
  /** The process's own commits; undefined: not known. */
  readonly own?: OwnCommits | undefined;
  /** How it reads what they are about to write; undefined: not at all. */
  readonly local?: OwnReads | undefined;
  /** Brings about what becomes of open transactions. @param met how often it was asked, so far. */
  readonly settle: (ids: readonly TransactionId[], met: number) => Promise<void>;
};

/**
 * - `refreshed`: it sees all that was acknowledged before it began.
 * - `again`: another run of its call, which has looked at the log before: it sees what was
 *   acknowledged before the call.
 * - `unasked`: by the tail as it is, since nobody else commits, most likely.
 *
 * The latter two are serializable by what their commit finds; without one they look at their end.
 */
export type Beginning = "refreshed" | "again" | "unasked";

const beingCommitted =
  "the transaction is being committed; wait for its reads and writes within its body";
const pendingBackoff = { baseMs: 3, capMs: 150 };

export class ReadView {
  readonly #ports: ClientPorts;
  readonly #session: ShardSession;
  readonly #options: ViewOptions;
  #ready = false;
  /** From when on its shard had the range in which it reads. */
  readonly #rangeSince: Timestamp;
  /** Open transactions that were settled for it, so far. */
  #met = 0;
  #mixed: MixedReads | undefined;
  #isLeftOut = false;

  constructor(ports: ClientPorts, session: ShardSession, options: ViewOptions) {
    this.#ports = ports;
    this.#session = session;
    this.#options = options;
    this.#rangeSince = session.follower.tail.rangeSince;
    if (options.mode !== "fixed") session.follower.enter(options.reads);
  }

  get reads(): TransactionReads {
    return this.#options.reads;
  }
  get readTimestamp(): Timestamp {
    return this.#options.reads.readTimestamp;
  }
  get isolation(): Isolation {
    return this.#options.isolation;
  }
  get hashes(): KeyHashes {
    return this.#session.hashes;
  }
  get tail(): Tail {
    return this.#session.follower.tail;
  }
  get mode(): ViewMode {
    return this.#options.mode;
  }
  get call(): CallOptions {
    return this.#options.call;
  }
  get ports(): ClientPorts {
    return this.#ports;
  }
  get session(): ShardSession {
    return this.#session;
  }
  /** What it reads of its own process's undecided commits; undefined: nothing. */
  get local(): OwnReads | undefined {
    return this.#options.local;
  }
  get begins(): Beginning {
    return this.#options.begins;
  }
  get fate(): AttemptFate {
    return this.#options.fate;
  }
  get own(): OwnCommits | undefined {
    return this.#options.own;
  }

  /** What it has read so far: keys and predicates. */
  get readCount(): number {
    return this.reads.size + (this.#mixed?.size ?? 0);
  }

  /** What it has read of mixed tables; undefined: nothing. */
  get mixed(): MixedReads | undefined {
    return this.#mixed;
  }

  /**
   * How it reads a mixed table: as that is now.
   * @throws InvalidRequestError where the past is asked for.
   */
  async mixedReads(table: TableDescription): Promise<MixedReads> {
    this.assertOpen();
    const field = this.mode === "fixed" ? "asOf" : "maxStalenessMs";
    if (this.mode === "fixed" || this.#options.isStale) {
      throw new InvalidRequestError(
        field,
        `table "${table.name}" is mixed: native writes leave no past, so that it can be read as ` +
          `it is now only; leave \`${field}\` out`,
      );
    }
    const tables = await this.#session.mixed();
    this.assertOpen();
    return (this.#mixed ??= tables.reads(this));
  }

  /**
   * Ends reading while the tail still keeps what the commit needs. What a request checks is fixed
   * when it is first sent: a read that its body did not wait for must not add to the read set any
   * more. The settler takes a conflict in the read set as proof that no copy of the request can
   * commit, and such a conflict would prove nothing:
   *
   *   body        get(k) ──── not awaited ─────▶ k joins the read set
   *   commit      send {checks: ∅} ─ answer lost ─▶ conflict on k: body runs again, commits
   *   stream                        late copy {checks: ∅} ──────────────────▶ commits too
   */
  seal(): void {
    this.fate.close(beingCommitted);
  }

  /**
   * Nothing was read here, and its transaction is certified without its shard: from now on nothing
   * is.
   */
  leaveOut(): void {
    this.#isLeftOut = true;
  }

  get isSealed(): boolean {
    return this.fate.isClosed;
  }

  /** Ends the view; later reads throw `TransactionClosedError`. */
  close(): void {
    this.#options.local?.close();
    this.fate.close("the transaction has ended; begin a new one");
    this.#session.follower.leave(this.#options.reads);
  }

  /** @throws TransactionClosedError, or the conflict that ended the attempt. */
  assertOpen(): void {
    this.fate.assertOpen();
    if (this.#isLeftOut) throw new TransactionClosedError(beingCommitted);
  }

  get doomed(): Error | undefined {
    return this.fate.doomed;
  }

  /** An item was read in its table, where a commit had put it. */
  noteVersioned(identity: string): void {
    this.fate.versioned.add(identity);
  }

  get versioned(): ReadonlySet<string> {
    return this.fate.versioned;
  }

  /** Ends the attempt: whatever the body makes of the error, it cannot commit. */
  doom(error: Error): Error {
    return this.fate.doom(error);
  }

  /** Waits for the transaction's own refresh, and begins at its end: nothing was read before. */
  async ready(): Promise<void> {
    if (!this.#ready) {
      // mutant: no-refresh-at-begin
      await orAborted(this.#options.refreshed(), this.#options.call.signal);
      this.#ready = true;
    }
    this.assertOpen();
    // A log that was behind the moment of the past may have been split on its way there.
    this.assertUnmoved();
    if (this.mode === "fixed") return;
    this.refuseBelowTail();
    if (this.reads.size === 0 && this.#options.local?.isChained !== true) {
      this.reads.extend(this.tail);
    }
  }

  /**
   * Moves the read timestamp to the log's end, as it is now.
   * @throws ConflictError if what was read has changed; the attempt is over.
   */
  async extendToEnd(): Promise<void> {
    await orAborted(this.#session.follower.refresh(), this.call.signal);
    await this.settleRead();
    this.extend();
  }

  /**
   * Settles the parts that are about to write what was read: their transactions may be committed,
   * and acknowledged, before this log says so.
   */
  async settleRead(): Promise<void> {
    const { keys, predicates } = this.reads;
    for (;;) {
      // mutant: readers-pass-open-parts
      const ids = this.tail.open.partsWriting([...keys.keys(), ...predicates.keys()]);
      if (ids.length === 0) return;
      await this.settle(ids);
      this.assertOpenTo(limits.readTriesMax);
    }
  }

  /** @throws UnavailableError for who has met more open transactions than that. */
  assertOpenTo(metMax: number): void {
    if (this.#met <= metMax) return;
    throw this.doom(
      new UnavailableError(
        `what was read was about to be written by ${metMax} transactions over several shards, ` +
          "one after the other",
      ),
    );
  }

  /** As `extendToEnd`, to where the tail ends. */
  extend(): void {
    this.refuseBelowTail();
    const conflict = this.reads.extend(this.tail);
    if (conflict !== undefined) throw this.doom(conflictError(conflict, conflict));
  }

  /** @throws RangeMovedError when the shard was split since; the attempt is over. */
  assertUnmoved(): void {
    if (this.reads.isMoved(this.tail)) throw this.doom(new RangeMovedError());
  }

  refuseBelowTail(): void {
    try {
      refuseBelowTail(this.reads, this.tail);
    } catch (error) {
      throw this.doom(asError(error));
    }
  }

  /**
   * Without history, and before it begins, the past of a table is what nobody has changed since.
   * That a deleted item was there is known by its tombstone only, and the reaper removes it.
   */
  assertReachesBack(table: TableDescription): void {
    if (this.mode !== "fixed" || isInHistory(table, this.readTimestamp)) return;
    const oldestMs = this.#ports.clock.nowMs() - limits.asOfWithoutHistoryMsMax;
    if (this.readTimestamp >= oldestMs * 1000) return;
    const why = whyTooOld(table, this.readTimestamp);
    throw this.doom(new SnapshotTooOldError(why, { retryable: false }));
  }

  readKey(table: TableDescription, key: Item, identity?: string): ReadKey {
    return readKeyOf(this.hashes, { table, key, identity });
  }

  /**
   * Ends reading, and makes sure of all that was read, up to the tail's end: in the turn in which
   * this returns, the transaction may join others (chaining/commit-group.ts).
   * @throws ConflictError, and the attempt is over.
   */
  sealForCommit(): void {
    this.seal();
    if (this.isolation === "serializable") this.#options.local?.seal();
  }

  /**
   * Waits until all that was read from undecided commits is committed, and goes on as if it had
   * been read from the tables. Due before anything may leave the transaction but through its own
   * commit.
   * @throws ConflictError when one of them was not committed, or was overwritten since; the attempt
   * is over.
   */
  async settleChained(): Promise<void> {
    await this.#options.local?.settle();
  }

  /** What is known of installs as of now; to be taken before the store is asked. */
  known(): Known {
    const { started } = this.#session.follower;
    const installedThrough = started ? this.tail.installedThrough : (0 as Timestamp);
    return { installedThrough, installed: this.#session.installed.asOf() };
  }

  /**
   * What an answer of the store means. Moves the read timestamp as that says: the caller adds what
   * it was an answer to to the read set in the same turn, or asks again.
   */
  judge(answer: Answer, history: boolean): Judgement {
    const { mode, isolation, reads, tail } = this;
    if (mode !== "fixed") {
      this.refuseBelowTail();
      // What stands in the tables must not be seen beside what was read from a commit that has
      // failed.
      this.#options.local?.assertChained();
    }
    const judgement = judge(answer, { mode, isolation, reads, history }, tail);
    if (judgement.kind === "consistent" && mode !== "fixed") {
      reads.advance(judgement.readTimestamp);
    }
    return judgement;
  }

  /** Whether a version is not to be seen at the read timestamp. */
  isNewer(key: KeyHash, version: Version): boolean {
    const place = this.mode === "fixed" ? version : this.tail.placeOfVersion(key, version);
    return place > this.readTimestamp;
  }

  /**
   * What history knows of the item: by the moment at which commits count, which of a part lies
   * below its place. So of the present it is asked for what stood before the first one placed above
   * the read timestamp.
   * @throws SnapshotTooOldError when history does not reach back to the read timestamp.
   */
  async historyOf(
    key: {
      readonly table: TableDescription;
      readonly key: Item;
    },
    hash: KeyHash,
  ): Promise<Item | undefined> {
    const { table } = key;
    const at = this.#momentOf(hash);
    const entry = table.history
      ? await this.#ports.versions.find(table.name, key.key, at, this.call)
      : undefined;
    if (entry === undefined) {
      throw this.doom(
        new SnapshotTooOldError(
          table.history
            ? `history of table "${table.name}" does not reach back to ${at}`
            : `an item of table "${table.name}" was overwritten after ${at}, and the table ` +
                "keeps no history",
          { retryable: this.mode !== "fixed" },
        ),
      );
    }
    return entry.item;
  }

  #momentOf(key: KeyHash): Timestamp {
    const at = this.readTimestamp;
    if (this.mode === "fixed") return at;
    const [newer] = this.tail.commitsOf(key, { above: at, upTo: this.tail.newest });
    if (newer?.placed === undefined) return at;
    return Math.min(at, newer.timestamp - 1) as Timestamp;
  }

  /**
   * Brings about what becomes of parts that write what is read here.
   * @throws UnavailableError when that could not be had in time.
   */
  async settle(ids: readonly TransactionId[]): Promise<void> {
    this.#met += 1;
    // probe: reader-settles-a-part
    await this.#options.settle(ids, this.#met);
  }

  /** The version's block was put before the version was installed, so a refresh must find it. */
  async catchUp(version: Version, table: string): Promise<void> {
    await this.#session.follower.refresh();
    if (this.tail.rangeSince !== this.#rangeSince) throw this.doom(new RangeMovedError());
    if (version <= this.tail.newest) return;
    throw this.doom(
      new CorruptDataError(
        `an item of table "${table}" has version ${version}, above everything in the log ` +
          `of shard ${this.#session.number} (${this.tail.newest}); was the table restored or ` +
          "copied from another deployment?",
      ),
    );
  }

  /** Gives the commit's owner time to install it; after that, sees to it here. */
  async awaitInstall(commit: TailCommit, attempt: number): Promise<void> {
    if (attempt % limits.pendingReadTriesMax !== limits.pendingReadTriesMax - 1) {
      await waitBackoff(this.#ports, {
        backoff: pendingBackoff,
        attempt,
        signal: this.call.signal,
      });
      return;
    }
    // probe: reader-installs-for-another
    await this.finish([commit]);
  }

  /** Whether the watermark reached the timestamp within `waitMs`. */
  async waitInstalled(timestamp: Timestamp, waitMs: number): Promise<boolean> {
    return this.#session.follower.waitInstalled(timestamp, { waitMs, signal: this.call.signal });
  }

  /**
   * Sees to it that these committed writes are installed or superseded, by whomever: whatever is
   * asked for from now on holds them.
   */
  async finish(commits: readonly TailCommit[]): Promise<void> {
    await this.#session.finish(commits, this.call.signal);
  }
}

function whyTooOld({ name, history, historySince }: TableDescription, at: Timestamp): string {
  const reach = `asOf may lie at most ${limits.asOfWithoutHistoryMsMax} ms back`;
  if (!history) return `table "${name}" keeps no history; ${reach}`;
  return (
    `the history of table "${name}" begins at ${historySince ?? 0}, after asOf ${at}; ` +
    `before that ${reach}`
  );
}
