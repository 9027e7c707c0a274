/**
 * Whether this process is most likely the only one that commits: then its transactions begin
 * without a look at the log, and its own put tells whether the guess was right (docs/protocol.md
 * §5, Begun unasked). A wrong guess costs a refused put and another run, a right one saves a read
 * unit and a call; nothing else relies on it.
 *
 * Others that commit at random moments are in one of ten guesses: the log must have been without
 * them for ten times as long as it has not been asked. Times are monotonic milliseconds.
 */
import * as limits from "../../core/limits.ts";

/** Who ends without a commit has to look then, behind its reads instead of beside them. */
const commitsInRowMin = 3;

export class LoneWriter {
  /** Nobody else has committed since then, up to where the tail is complete. */
  #sinceMs: number;
  #commitsInRow = 0;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** A block of somebody else was folded, however old it is. */
  sawOther(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** A body of this process has ended: by a commit, or without one. */
  ended({ hasCommitted }: { readonly hasCommitted: boolean }): void {
    this.#commitsInRow = hasCommitted ? this.#commitsInRow + 1 : 0;
  }

  /** @param ageMs how long ago the tail was complete. */
  isLikely({ nowMs, ageMs }: { readonly nowMs: number; readonly ageMs: number }): boolean {
    if (ageMs > limits.expressUnaskedMsMax || this.#commitsInRow < commitsInRowMin) return false;
    const aloneMs = nowMs - ageMs - this.#sinceMs;
    return aloneMs >= limits.expressUnaskedShareMin * ageMs;
  }
}
