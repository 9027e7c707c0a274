/**
 * The shards of a deployment as one process has them: each one's session is opened when something
 * in it is first touched, so that a process follows only the logs that it uses
 * (docs/adr/0015-many-shards.md, The map). That a shard was split its log says: whoever has
 * followed it up to there goes by the new map from that moment on. That it has ended its log says,
 * too, and the map who has its range (sharded/handover.ts).
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

type MapBlock = Pick<LogBlock, "fork" | "handover" | "position" | "throughTimestamp">;
type MetBlock = { readonly of: ShardNumber; readonly block: MapBlock };

/** Undefined: the block does not fit to the map, which is old. */
function mapBehind(map: ShardMap, { of, block }: MetBlock): ShardMap | undefined {
  const { fork, handover, position: at } = block;
  if (fork !== undefined) {
    if (map.get(fork.shard) !== undefined) return map;
    if (map.live(of) === undefined) return undefined;
    const { from, to } = map.rangeOf(of);
    return from < fork.from && fork.from < to ? map.forkedBy(fork, { of, at }) : undefined;
  }
  if (handover?.kind !== "takes" || map.get(handover.shard)?.ended !== undefined) return map;
  const isNext = map.below(handover.shard)?.number === of;
  if (!isNext || map.rangeOf(handover.shard).to !== handover.to) return undefined;
  return map.joinedBy(handover, { heir: of, at });
}

export class Sessions {
  #map: ShardMap;
  /** To hash by, whichever shard a key lies in: all have the same hashes. */
  readonly hashes: KeyHashes;
  readonly #parts: SessionsParts;
  readonly #opening = new Map<ShardNumber, Promise<OpenSession>>();
  readonly #opened = new Map<ShardNumber, OpenSession>();
  /** Of the newest fork that was met in each shard's log. */
  readonly #forkedAt = new Map<ShardNumber, Timestamp>();
  #prepare: ((session: ShardSession) => void) | undefined;
  /** What logs have said, and the map does not say yet. */
  #unfitting: MetBlock[] = [];

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
    // What was decided in one that has ended its own log alone says.
    return others.length === 0 && this.map.ended.length === 0 ? first : undefined;
  }

  /** In which the partition lies. */
  at(partition: KeyHash): ShardEntry {
    return this.map.at(partition);
  }

  /** Those that are open. */
  get opened(): readonly OpenSession[] {
    return [...this.#opened.values()];
  }

  /** Done once with each that is open, or will be. Only the first such task counts. */
  prepareEach(task: (session: ShardSession) => void): void {
    if (this.#prepare !== undefined) return;
    this.#prepare = task;
    for (const { session } of this.#opened.values()) task(session);
  }

  /** The shard's, if it is open. */
  get(number: ShardNumber): OpenSession | undefined {
    return this.#opened.get(number);
  }

  /** Whether the shard was split since, as far as its log was followed. */
  isForkedSince(number: ShardNumber, since: Timestamp): boolean {
    return (this.#forkedAt.get(number) ?? 0) > since;
  }

  /**
   * Runs the task for each shard that was split off this one since, as far as its log was followed,
   * and for those that were split off these: what was open in it then is open in their logs, too.
   */
  async forHeirs(
    number: ShardNumber,
    since: Timestamp,
    task: (heir: ShardSession) => Promise<void>,
  ): Promise<void> {
    if (!this.isForkedSince(number, since)) return;
    const known = new Set<ShardNumber>();
    for (;;) {
      const { map } = this;
      const heirs = map.entries.filter(
        (entry) =>
          !known.has(entry.number) &&
          map.lineageOf(entry.number).some(({ shard }) => shard === number),
      );
      if (heirs.length === 0) return;
      for (const heir of heirs) known.add(heir.number);
      // Their logs may tell of more.
      await Promise.all(
        heirs.map(async (heir) => {
          const { session } = await this.of(heir.number);
          await session.follower.refresh();
          await task(session);
        }),
      );
    }
  }

  /**
   * A block of the shard's log, or of its past, may say that a part of the range goes on elsewhere,
   * or that it has another one's. What does not fit is of shards of which this map does not know.
   */
  follow(number: ShardNumber, block: MapBlock): void {
    const { fork, handover, position, throughTimestamp } = block;
    if (fork === undefined && handover?.kind !== "takes") return;
    if (fork !== undefined) this.#forkedAt.set(number, throughTimestamp);
    const past = this.map.lineageOf(number).find(({ through }) => position <= through);
    const of = this.map.get(past?.shard ?? number);
    assert(of !== undefined, "sessions: whose log is followed is in the map");
    if (fork !== undefined) {
      this.#parts.log.continues(shardIdOf(fork.shard), { shard: of.id, through: position });
    }
    // In the order of the log.
    this.#unfitting.push({ of: of.number, block });
    this.#fit();
  }

  /** Takes in what was met in logs, as far as it fits by now. */
  #fit(): void {
    const rest: MetBlock[] = [];
    for (const met of this.#unfitting) {
      const map = rest.some(({ of }) => of === met.of) ? undefined : mapBehind(this.map, met);
      if (map === undefined) {
        rest.push(met);
        continue;
      }
      // mutant: map-without-forks
      this.#map = map;
    }
    this.#unfitting = rest;
  }

  /** Whether logs have said what the map cannot: then it is to be read again, before it is used. */
  get isOld(): boolean {
    return this.#unfitting.length > 0;
  }

  /** @throws UnavailableError where the control table does not say it yet; what stores throw. */
  async learn(): Promise<void> {
    // probe: map-read-for-what-does-not-fit
    await this.readMap();
    if (!this.isOld) return;
    throw new UnavailableError("the control table's map does not say yet what the logs do");
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
    const isKnown = (): boolean => this.map.changedAt(number) >= forkedAt;
    // mutant: begins-by-old-map
    if (isKnown()) return;
    await this.readMap();
    if (isKnown()) return;
    throw new UnavailableError(
      `shard ${number} was split or joined at block ${forkedAt}, and the control table's map ` +
        "does not say so",
    );
  }

  /**
   * Goes by what the control table says by now. What logs have said and it does not say yet stays.
   * @throws what the stores throw.
   */
  async readMap(): Promise<void> {
    const read = await this.#parts.readMap();
    if (read === undefined) return;
    const own = this.map.all.filter(({ number, ended }) => {
      const known = read.get(number);
      return known === undefined || (ended !== undefined && known.ended === undefined);
    });
    const others = read.all.filter(({ number }) => own.every((each) => each.number !== number));
    const map = new ShardMap([...others, ...own]);
    const isSame =
      map.entries.length === this.map.entries.length && map.ended.length === this.map.ended.length;
    if (!isSame) this.#map = map;
    this.#fit();
  }

  async #entryOf(number: ShardNumber): Promise<ShardEntry> {
    if (this.map.get(number) === undefined) await this.readMap();
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
        this.#prepare?.(open.session);
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
    assert(this.#opened.size <= this.map.all.length, "sessions: one for each shard");
  }
}
