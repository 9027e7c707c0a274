/**
 * The state of the tables at one read timestamp, as a transaction sees it (docs/protocol.md §5).
 *
 * Keeps I8. A stored item alone does not say what was true at the read timestamp: a committed write
 * may not be installed yet, or a later one may be. The tail knows of both; this file asks it.
 */
import { attribute, keyNamesOf } from "../core/attributes.ts";
import {
  CorruptDataError,
  SnapshotTooOldError,
  TransactionClosedError,
  UnavailableError,
} from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, ClientPorts, StoredItem } from "../core/ports.ts";
import type { Tail, TailCommit } from "../core/tail.ts";
import type { TransactionReads } from "../core/transaction-reads.ts";
import type {
  Isolation,
  Item,
  KeyHash,
  TableDescription,
  Timestamp,
  Version,
  WriteHashes,
} from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { waitBackoff } from "./backoff.ts";
import { assertWithinTail, conflictError } from "./conflict-error.ts";
import type { LocalReads } from "./chaining/local-reads.ts";
import { asError, ignore, orAborted } from "./concurrency.ts";
import type { ShardSession } from "./shard-session.ts";

/** `fixed` reads at a timestamp given from outside; the others may move theirs forward. */
export type ViewMode = "read-write" | "read-only" | "fixed";

export type ViewOptions = {
  readonly mode: ViewMode;
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  /** Reads wait for it: the refresh of the tail that began after the transaction did. */
  readonly refreshed: Promise<void>;
  readonly call: CallOptions;
  /** How it reads what its own process is about to write; undefined: not at all. */
  readonly local?: LocalReads | undefined;
};

/** A key to read, with its hashes computed once. */
export type ReadKey = {
  readonly table: TableDescription;
  readonly key: Item;
  readonly hashes: WriteHashes;
  /** Equal exactly for equal items. Without it, nothing is read from undecided commits. */
  readonly identity?: string;
};

type Judgement =
  | { readonly kind: "visible" }
  | { readonly kind: "history" }
  /** Committed at or below the read timestamp, and not in the answer. */
  | { readonly kind: "missing"; readonly commit: TailCommit }
  | { readonly kind: "ahead-of-tail" }
  /** The tail has forgotten commits that the answer may predate: ask again. */
  | { readonly kind: "stale-answer" };

const readTriesMax = 40;
const pendingBackoff = { baseMs: 3, capMs: 150 };

export class ReadView {
  readonly #ports: ClientPorts;
  readonly #session: ShardSession;
  readonly #options: ViewOptions;
  /**
   * Names of committed writes that this view has seen to: whatever is read from now on holds them.
   */
  readonly helped = new Set<string>();
  #ready = false;
  /** Why, once it is. An error is made only for whoever comes too late: its stack takes time. */
  #closed: string | undefined;
  /** First conflict found; nothing that this view says afterwards may be committed. */
  #doomed: Error | undefined;

  /** Wall clock: unlike timers and the monotonic clock it goes on while a machine is suspended. */
  readonly #beganMs: number;

  constructor(ports: ClientPorts, session: ShardSession, options: ViewOptions) {
    this.#ports = ports;
    this.#beganMs = ports.clock.nowMs();
    this.#session = session;
    this.#options = options;
    options.refreshed.catch(ignore);
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
    this.#closed ??=
      "the transaction is being committed; wait for its reads and writes within its body";
  }

  get isSealed(): boolean {
    return this.#closed !== undefined;
  }

  /** Ends the view; later reads throw `TransactionClosedError`. */
  close(): void {
    this.#options.local?.close();
    this.#closed ??= "the transaction has ended; begin a new one";
    this.#session.follower.leave(this.#options.reads);
  }

  /** @throws TransactionClosedError, or the conflict that ended the attempt. */
  assertOpen(): void {
    this.#options.call.signal?.throwIfAborted();
    if (this.#closed !== undefined) throw new TransactionClosedError(this.#closed);
    if (this.#doomed !== undefined) throw this.#doomed;
    this.#assertAge();
  }

  /**
   * I8 needs that a reader ends before the tombstones that it may have to meet are removed: one
   * that slept with its machine would take an item that was deleted meanwhile for one that never
   * was.
   */
  #assertAge(): void {
    const ageMs = this.#ports.clock.nowMs() - this.#beganMs;
    // mutant: sleepers-read-on
    if (ageMs <= limits.transactionAgeMsMax) return;
    // probe: reader-slept-too-long
    throw this.doom(
      new UnavailableError(
        `the transaction began ${ageMs} ms ago, above the limit transactionAgeMsMax of ` +
          `${limits.transactionAgeMsMax}`,
      ),
    );
  }

  get doomed(): Error | undefined {
    return this.#doomed;
  }

  /** Ends the attempt: whatever the body makes of the error, it cannot commit. */
  doom(error: Error): Error {
    this.#doomed ??= error;
    return this.#doomed;
  }

  /** Waits for the transaction's own refresh, and begins at its end: nothing was read before. */
  async ready(): Promise<void> {
    if (!this.#ready) {
      // mutant: no-refresh-at-begin
      await orAborted(this.#options.refreshed, this.#options.call.signal);
      this.#ready = true;
    }
    this.assertOpen();
    if (this.mode === "fixed") return;
    this.assertWithinTail();
    if (this.reads.size === 0 && this.#options.local?.isChained !== true) {
      this.reads.extend(this.tail);
    }
  }

  assertWithinTail(): void {
    try {
      assertWithinTail(this.reads, this.tail);
    } catch (error) {
      throw this.doom(asError(error));
    }
  }

  /**
   * Without history the past of a table is what nobody has changed since. That a deleted item was
   * there is known by its tombstone only, and the reaper removes it.
   */
  assertReachesBack(table: TableDescription): void {
    if (this.mode !== "fixed" || table.history) return;
    const oldestMs = this.#ports.clock.nowMs() - limits.asOfWithoutHistoryMsMax;
    if (this.readTimestamp >= oldestMs * 1000) return;
    throw this.doom(
      new SnapshotTooOldError(
        `table "${table.name}" keeps no history; asOf may lie at most ` +
          `${limits.asOfWithoutHistoryMsMax} ms back`,
      ),
    );
  }

  readKey(table: TableDescription, key: Item, identity?: string): ReadKey {
    const hashes = this.hashes.item(keyNamesOf(table), key);
    return identity === undefined ? { table, key, hashes } : { table, key, hashes, identity };
  }

  /** One item as it stands at the read timestamp; joins the read set. */
  async get(key: ReadKey): Promise<Item | undefined> {
    this.assertOpen();
    this.assertReachesBack(key.table);
    const found = await this.#getLocally(key);
    if (found !== undefined) return found.item;
    const installedThrough = this.#installedThroughNow();
    const asked = this.#ports.items.get(key.table, key.key, this.call);
    asked.catch(ignore); // Reported below, after the refresh, if that does not fail first.
    await this.ready();
    return this.#resolve(key, await asked, { installedThrough, joins: true });
  }

  /**
   * Resolves once no transaction of this process is about to write there, as far as it could be
   * known at the call.
   */
  async localDecided(key: ReadKey): Promise<void> {
    await this.#options.local?.localDecided(key);
  }

  /** What this process itself is about to write, or has just written, where that is to be read. */
  async #getLocally(key: ReadKey): Promise<{ readonly item: Item | undefined } | undefined> {
    const { local } = this.#options;
    if (local?.isContended(key) !== true) return undefined;
    await this.ready();
    await local.takeTurn(key.hashes.key);
    this.assertOpen();
    const chained = local.chain(key);
    if (chained !== undefined) return chained;
    const own = this.#ownCommit(key);
    if (own === undefined) return undefined;
    // Nothing that is installed by now need be in an answer that does not come from the store.
    const asked = { installedThrough: 0 as Timestamp, joins: true };
    // mutant: own-commits-trusted
    return { item: await this.#resolve(key, own, asked) };
  }

  /**
   * What this process itself has just committed there. Whether that is what is to be read, the tail
   * judges.
   */
  #ownCommit({ hashes, identity }: ReadKey): StoredItem | undefined {
    if (identity === undefined) return undefined;
    return this.#session.local.committed(hashes.key, identity, this.tail);
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

  /**
   * Each item as it stands at the read timestamp. They join the read set, unless a predicate there
   * covers them already.
   */
  async batchGet(
    keys: readonly ReadKey[],
    { joins }: { readonly joins: boolean } = { joins: true },
  ): Promise<readonly (Item | undefined)[]> {
    this.assertOpen();
    for (const { table } of keys) this.assertReachesBack(table);
    const installedThrough = this.#installedThroughNow();
    const asked = this.#ports.items.batchGet(keys, this.call);
    asked.catch(ignore);
    await this.ready();
    const stored = await asked;
    return Promise.all(
      keys.map(async (key, i) => {
        const answer = stored[i];
        if (answer === undefined) return undefined;
        return this.#resolve(key, answer, { installedThrough, joins });
      }),
    );
  }

  #installedThroughNow(): Timestamp {
    return this.#session.follower.started ? this.tail.installedThrough : (0 as Timestamp);
  }

  /**
   * What an answer of the store means at the read timestamp; asks again as long as it cannot tell.
   * @param asked `installedThrough` is the tail's, captured before the store was asked.
   */
  async #resolve(
    key: ReadKey,
    answer: StoredItem,
    asked: { readonly installedThrough: Timestamp; readonly joins: boolean },
  ): Promise<Item | undefined> {
    let stored = answer;
    let captured = asked.installedThrough;
    const chained = asked.joins ? this.#options.local?.chain(key) : undefined;
    if (chained !== undefined) return chained.item;
    for (let attempt = 0; attempt < readTriesMax; attempt += 1) {
      this.assertOpen();
      const judgement = this.#judge(key, stored, captured);
      switch (judgement.kind) {
        case "visible":
          if (asked.joins) {
            this.reads.addKey(key.hashes.key, { table: key.table.name, key: key.key });
          }
          return stored.item;
        case "history":
          return this.#fromHistory(key);
        case "missing": {
          const own = this.#ownCommit(key);
          if (own?.version === judgement.commit.timestamp) {
            stored = own;
            captured = 0 as Timestamp;
            continue;
          }
          await this.awaitInstall(judgement.commit, attempt);
          break;
        }
        case "ahead-of-tail":
          // probe: read-ahead-of-tail
          await this.catchUp(stored.version, key.table.name);
          continue;
        case "stale-answer":
          // probe: read-older-than-tail-remembers
          break;
      }
      captured = this.tail.installedThrough;
      stored = await this.#ports.items.get(key.table, key.key, this.call);
    }
    throw this.doom(
      new UnavailableError(
        `a committed write to table "${key.table.name}" was still not installed after ` +
          `${readTriesMax} reads`,
      ),
    );
  }

  #judge(key: ReadKey, stored: StoredItem, captured: Timestamp): Judgement {
    const { tail } = this;
    if (this.mode !== "fixed" && stored.version > tail.newest) return { kind: "ahead-of-tail" };
    // mutant: old-answers-trusted
    if (captured < tail.floor && tail.floor > stored.version) return { kind: "stale-answer" };
    const above = Math.max(stored.version, captured) as Timestamp;
    if (this.mode !== "fixed") {
      this.assertWithinTail();
      // What stands in the tables must not be seen beside what was read from a commit that has
      // failed.
      this.#options.local?.assertChained();
      const latest = tail.newestCommit(key.hashes.key, { above, upTo: tail.newest });
      const newest = Math.max(stored.version, latest?.timestamp ?? 0);
      const wanted = this.mode === "read-write" ? newest : stored.version;
      if (wanted > this.readTimestamp) {
        const conflict = this.reads.extend(tail);
        if (conflict !== undefined && !this.#mayStayBehind(key.table, stored.version)) {
          // probe: conflict-found-by-reader
          throw this.doom(conflictError(conflict, conflict));
        }
      }
    }
    if (stored.version > this.readTimestamp) {
      // probe: read-from-history
      return { kind: "history" };
    }
    const commit = tail.newestCommit(key.hashes.key, { above, upTo: this.readTimestamp });
    // mutant: pending-writes-ignored
    return commit === undefined ? { kind: "visible" } : { kind: "missing", commit };
  }

  /**
   * Whether reading on at the old read timestamp is of use although something newer was committed.
   */
  #mayStayBehind(table: TableDescription, version: Version): boolean {
    if (this.mode === "read-write" && this.isolation === "serializable") return false;
    return version <= this.readTimestamp || table.history;
  }

  async #fromHistory(key: ReadKey): Promise<Item | undefined> {
    // Before the look-up: from now on the read timestamp moves only if this key did not change.
    this.reads.addKey(key.hashes.key, { table: key.table.name, key: key.key });
    return this.historyOf(key);
  }

  /** @throws SnapshotTooOldError when history does not reach back to the read timestamp. */
  async historyOf(key: Pick<ReadKey, "table" | "key">): Promise<Item | undefined> {
    const { table } = key;
    const at = this.readTimestamp;
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
        ),
      );
    }
    return entry.item;
  }

  /** The version's block was put before the version was installed, so a refresh must find it. */
  async catchUp(version: Version, table: string): Promise<void> {
    await this.#session.follower.refresh();
    if (version <= this.tail.newest) return;
    throw this.doom(
      new CorruptDataError(
        `an item of table "${table}" has version ${version}, above everything in the log ` +
          `(${this.tail.newest}); was the table restored or copied from another deployment?`,
      ),
    );
  }

  /** Gives the commit's owner time to install it; after that, installs it here. */
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
    await this.#session.finish(commit);
  }

  /** Whether the watermark reached the timestamp within `waitMs`. */
  async waitInstalled(timestamp: Timestamp, waitMs: number): Promise<boolean> {
    return this.#session.follower.waitInstalled(timestamp, { waitMs, signal: this.call.signal });
  }

  /** Resolves once this committed write is installed or superseded, by whomever. */
  async finish(commit: TailCommit): Promise<void> {
    await this.#session.finish(commit);
  }

  get ports(): ClientPorts {
    return this.#ports;
  }
}

/** The attributes of `item` that make up the table's key. */
export function keyOf(table: TableDescription, item: Item): Item {
  const names = [table.partitionKey, ...(table.sortKey === undefined ? [] : [table.sortKey])];
  const key: Record<string, Item[string]> = {};
  for (const { name } of names) {
    const value = attribute(item, name);
    if (value !== undefined) key[name] = value;
  }
  return key;
}

export type SeenVersions = Map<KeyHash, Version>;
