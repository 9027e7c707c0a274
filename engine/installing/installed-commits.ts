/**
 * Committed writes that this process has seen installed, or installed itself, above the watermark.
 * What one reader has seen to, none after it waits for. Forgetting is safe: the oldest leave first.
 */
import * as limits from "../../core/limits.ts";
import { commitName, type TailCommit } from "../../core/tail.ts";
import type { Timestamp } from "../../core/types.ts";
import type { InstalledNames } from "../../core/visibility.ts";

type Note = {
  /** Which of all notes it was. */
  readonly number: number;
  readonly item: string | undefined;
  readonly timestamp: Timestamp;
};

const forgottenAtOnce = limits.installedCommitsMax / 10;

export class InstalledCommits {
  /** By commit, in the order in which they were noted. */
  readonly #noted = new Map<string, Note>();
  /** The newest of each item. */
  readonly #newest = new Map<string, Timestamp>();
  #notes = 0;
  #asOf: InstalledNames | undefined;

  /** @param item whose identity it is that was written; undefined: not known. */
  note(commit: Pick<TailCommit, "timestamp" | "write">, item: string | undefined): void {
    const name = commitName(commit);
    if (this.#noted.has(name)) return;
    const { timestamp } = commit;
    this.#notes += 1;
    this.#noted.set(name, { number: this.#notes, item, timestamp });
    if (item !== undefined && timestamp > (this.#newest.get(item) ?? 0)) {
      this.#newest.set(item, timestamp);
    }
    this.#asOf = undefined;
    if (this.#noted.size > limits.installedCommitsMax) this.#forgetOldest();
  }

  /** Many at once: whoever looks for a map's first entry passes by all that were deleted before. */
  #forgetOldest(): void {
    let left = forgottenAtOnce;
    for (const [name, { item, timestamp }] of this.#noted) {
      this.#noted.delete(name);
      if (item !== undefined && this.#newest.get(item) === timestamp) this.#newest.delete(item);
      left -= 1;
      if (left <= 0) return;
    }
  }

  /** Whether a commit of the item above the timestamp is noted. */
  isAbove(timestamp: Timestamp, item: string): boolean {
    return (this.#newest.get(item) ?? 0) > timestamp;
  }

  /** What is noted now, and nothing that is noted later: an answer of the store may be older. */
  asOf(): InstalledNames {
    if (this.#asOf !== undefined) return this.#asOf;
    const [noted, last] = [this.#noted, this.#notes];
    this.#asOf = {
      size: noted.size,
      // mutant: later-knowledge-used
      has: (name) => (noted.get(name)?.number ?? Infinity) <= last,
    };
    return this.#asOf;
  }
}
