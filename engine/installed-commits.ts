/**
 * Committed writes that this process has seen installed, or installed itself, above the watermark.
 * What one reader has seen to, none after it waits for. Forgetting is safe: the oldest leave first.
 */
import * as limits from "../core/limits.ts";
import { commitName, type TailCommit } from "../core/tail.ts";
import type { InstalledNames } from "../core/visibility.ts";

export class InstalledCommits {
  /** In the order in which they were noted, with the place in it. */
  readonly #noted = new Map<string, number>();
  #notes = 0;
  #asOf: InstalledNames | undefined;

  note(commit: Pick<TailCommit, "timestamp" | "write">): void {
    const name = commitName(commit);
    if (this.#noted.has(name)) return;
    this.#notes += 1;
    this.#noted.set(name, this.#notes);
    this.#asOf = undefined;
    if (this.#noted.size <= limits.installedCommitsMax) return;
    for (const oldest of this.#noted.keys()) {
      this.#noted.delete(oldest);
      return;
    }
  }

  /** What is noted now, and nothing that is noted later: an answer of the store may be older. */
  asOf(): InstalledNames {
    if (this.#asOf !== undefined) return this.#asOf;
    const [noted, last] = [this.#noted, this.#notes];
    this.#asOf = {
      size: noted.size,
      has: (name) => (noted.get(name) ?? Infinity) <= last,
    };
    return this.#asOf;
  }
}
