/**
 * The shards of a deployment as one process has them: each one's session is opened when something
 * in it is first touched, so that a process follows only the logs that it uses
 * (docs/adr/0015-many-shards.md, The map).
 */
import { assert } from "../core/assert.ts";
import { CorruptDataError } from "../core/errors.ts";
import type { ShardEntry, ShardMap } from "../core/shard-map.ts";
import type { KeyHash, ShardNumber } from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import type { OwnCommits } from "./own-commits.ts";
import type { ShardSession } from "./shard-session.ts";

export type OpenSession = {
  readonly session: ShardSession;
  /** Undefined where the process does not chain its transactions. */
  readonly own: OwnCommits | undefined;
};

export class Sessions {
  readonly map: ShardMap;
  /** To hash by, whichever shard a key lies in: all have the same hashes. */
  readonly hashes: KeyHashes;
  readonly #open: (entry: ShardEntry) => Promise<OpenSession>;
  readonly #opening = new Map<ShardNumber, Promise<OpenSession>>();
  readonly #opened = new Map<ShardNumber, OpenSession>();

  constructor(map: ShardMap, hashes: KeyHashes, open: (entry: ShardEntry) => Promise<OpenSession>) {
    this.map = map;
    this.hashes = hashes;
    this.#open = open;
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

  /** @throws CorruptDataError for a shard that is not there; what the stores throw. */
  async of(number: ShardNumber): Promise<OpenSession> {
    const known = this.#opening.get(number);
    if (known !== undefined) return known;
    const entry = this.map.get(number);
    if (entry === undefined) {
      throw new CorruptDataError(
        `the log names shard ${number}, which the control table does not list; was an entry ` +
          "taken away?",
      );
    }
    const opening = this.#open(entry).then(
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
