/**
 * Hashes that somebody wants to hear of: whether anything was committed under them since. The tail
 * itself forgets what is installed, and could not tell later.
 */
import type { KeyHash, WriteHashes } from "./types.ts";

/** Of one hash. Once changed it stays so: who goes on watches anew. */
export type TailWatch = { isChanged: boolean };

export class TailWatches {
  readonly #watches = new Map<KeyHash, TailWatch>();

  /** Of a key, a partition or a table, from now on. */
  watch(hash: KeyHash): TailWatch {
    const known = this.#watches.get(hash);
    if (known !== undefined) return known;
    const watch: TailWatch = { isChanged: false };
    this.#watches.set(hash, watch);
    return watch;
  }

  noteCommit({ table, partition, key }: WriteHashes): void {
    if (this.#watches.size === 0) return;
    for (const hash of [table, partition, key]) this.#note(hash);
  }

  /** Nothing is known any more of what they watch; or nobody watches. */
  noteAll(): void {
    for (const hash of [...this.#watches.keys()]) this.#note(hash);
  }

  /** Nobody watches it any more. */
  end(hash: KeyHash): void {
    this.#note(hash);
  }

  #note(hash: KeyHash): void {
    const watch = this.#watches.get(hash);
    if (watch === undefined) return;
    watch.isChanged = true;
    this.#watches.delete(hash);
  }
}
