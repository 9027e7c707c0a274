/**
 * The shards of a deployment as one process has them: each one's session is opened when something
 * in it is first touched, so that a process follows only the logs that it uses
 * (docs/adr/0015-many-shards.md, The map). That a shard was split its log says: whoever has
 * followed it up to there goes by the new map from that moment on.
 */
import { assert } from "../core/assert.ts";
import { UnavailableError } from "../core/errors.ts";
import type { CommitLog } from "../core/ports.ts";
import { shardIdOf, ShardMap, type ShardEntry } from "../core/shard-map.ts";
import type {
  KeyHash,
  LogBlock,
  LogPosition,
  ShardNumber,
  Timestamp,
  Watermark,
} from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import type { OwnCommits } from "./committing/own-commits.ts";
import type { ShardSession } from "./shard-session.ts";

export type OpenSession = {
  readonly session: ShardSession;
  /** Undefined where the process does not chain its transactions. */
  readonly own: OwnCommits | undefined;
};

export type SessionsParts = {
  readonly open: (entry: ShardEntry) => Promise<OpenSession>;
  readonly readMap: () => Promise<ShardMap | undefined>;
  readonly log: Pick<CommitLog, "continues">;
};

export class Sessions {
  #map: ShardMap;
  /** To hash by, whichever shard a key lies in: all have the same hashes. */
  readonly hashes: KeyHashes;
  readonly #parts: SessionsParts;
  readonly #opening = new Map<ShardNumber, Promise<OpenSession>>();
  readonly #opened = new Map<ShardNumber, OpenSession>();
  /** Of the newest fork that was met in each shard's log. */
  readonly #forkedAt = new Map<ShardNumber, Timestamp>();

  constructor(map: ShardMap, hashes: KeyHashes, parts: SessionsParts) {
    this.#map = map;
    this.hashes = hashes;
    this.#parts = parts;
  }

  /** As far as the logs that are followed have said; another one once a shard is split. */
  get map(): ShardMap {
    return this.#map;
  }

  /** Of a deployment with one shard: that one. */
  get lone(): ShardEntry | undefined {
    const [first, ...others] = this.map.entries;
    return others.length === 0 ? first : undefined;
  }

  /** In which the partition lies. */
  at(partition: KeyHash): ShardEntry {
    return this.map.at(partition);
  }

  /** Those that are open. */
  get opened(): readonly OpenSession[] {
    return [...this.#opened.values()];
  }

  /** The shard's, if it is open. */
  get(number: ShardNumber): OpenSession | undefined {
    return this.#opened.get(number);
  }

  /** Whether the shard was split since, as far as its log was followed. */
  isForkedSince(number: ShardNumber, since: Timestamp): boolean {
    return (this.#forkedAt.get(number) ?? 0) > since;
  }

  /** A block of the shard's log, or of its past, says that the range goes on elsewhere. */
  forked(
    number: ShardNumber,
    { fork, position, throughTimestamp }: Pick<LogBlock, "fork" | "position" | "throughTimestamp">,
  ): void {
    if (fork === undefined) return;
    this.#forkedAt.set(number, throughTimestamp);
    if (this.map.get(fork.shard) !== undefined) return;
    const past = this.map.lineageOf(number).find(({ through }) => position <= through);
    const of = this.map.get(past?.shard ?? number);
    assert(of !== undefined, "sessions: whose log is followed is in the map");
    this.#parts.log.continues(shardIdOf(fork.shard), { shard: of.id, through: position });
    // mutant: map-without-forks
    this.#map = this.map.forkedBy(fork, { of: of.number, at: position });
  }

  /**
   * A tail begins at the watermark, and so sees none of the forks below: the map has to know them.
   * @throws UnavailableError where the control table does not say them yet; what the stores throw.
   */
  async begins(
    number: ShardNumber,
    { forkedAt = 0 as LogPosition, timestamp }: Watermark,
  ): Promise<void> {
    // It was there or below.
    if (forkedAt > 0) this.#forkedAt.set(number, timestamp);
    const isKnown = (): boolean => this.map.forkedAt(number) >= forkedAt;
    // mutant: begins-by-old-map
    if (isKnown()) return;
    await this.#readMap();
    if (isKnown()) return;
    throw new UnavailableError(
      `shard ${number} was split at block ${forkedAt}, and the control table's map does not say so`,
    );
  }

  /** What logs have said and it does not say yet stays. */
  async #readMap(): Promise<void> {
    const read = await this.#parts.readMap();
    if (read === undefined) return;
    const own = this.map.entries.filter(({ number }) => read.get(number) === undefined);
    const map = new ShardMap([...read.entries, ...own]);
    const isSame = map.entries.length === this.map.entries.length;
    if (!isSame) this.#map = map;
  }

  async #entryOf(number: ShardNumber): Promise<ShardEntry> {
    if (this.map.get(number) === undefined) await this.#readMap();
    const entry = this.map.get(number);
    if (entry !== undefined) return entry;
    // Its log may go on before the map says so.
    throw new UnavailableError(
      `the log names shard ${number}, which the control table's map does not list yet`,
    );
  }

  /** @throws UnavailableError for a shard that is not in the map; what the stores throw. */
  async of(number: ShardNumber): Promise<OpenSession> {
    const known = this.#opening.get(number);
    if (known !== undefined) return known;
    const entry = this.map.get(number) ?? (await this.#entryOf(number));
    const opening = this.#opening.get(number) ?? this.#begin(entry);
    return opening;
  }

  #begin(entry: ShardEntry): Promise<OpenSession> {
    const { number } = entry;
    const opening = this.#parts.open(entry).then(
      (open) => {
        this.#opened.set(number, open);
        return open;
      },
      (error: unknown) => {
        this.#opening.delete(number); // The next one tries again.
        throw error;
      },
    );
    this.#opening.set(number, opening);
    return opening;
  }

  /** Every call has ended, and what they left running. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#opening.values());
    for (const { session, own } of this.#opened.values()) {
      session.close();
      own?.close();
    }
    assert(this.#opened.size <= this.map.entries.length, "sessions: one for each shard");
  }
}
