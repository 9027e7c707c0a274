/**
 * What this process has installed and replay has not been told of yet: its next record, or its next
 * block, says so, and replay need not look at the items. Some twelve bytes a commit, instead of
 * half a read unit for each of its writes. What gets lost is looked at. Not in the papers.
 */
import * as limits from "../../core/limits.ts";
import type { InstalledReport, Timestamp } from "../../core/types.ts";

export class InstallOutbox {
  readonly #proofs = new Map<Timestamp, Uint8Array>();

  /** All writes of the commit have reached their tables, or later ones have. */
  add({ timestamp, proof }: InstalledReport): void {
    // More than a record takes replay finds out by itself.
    if (this.#proofs.size < limits.installedReportsMax) this.#proofs.set(timestamp, proof);
  }

  /** By rising timestamp; the proofs show that the commits were this process's own. */
  take(): readonly InstalledReport[] {
    const taken = Array.from(this.#proofs, ([timestamp, proof]) => ({ timestamp, proof }));
    this.#proofs.clear();
    return taken.sort((a, b) => a.timestamp - b.timestamp);
  }
}
