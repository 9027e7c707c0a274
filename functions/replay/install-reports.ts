/**
 * What clients say that they have installed: in the records that bring their next commits, and in
 * the blocks that they append themselves. Both come after the commits that they speak of, so a
 * batch or a page of the log tells of most of its own commits, and nothing has to be kept from one
 * invocation to the next.
 *
 * Whoever may write to the stream or the log can say so of any commit, and under any maker's
 * number. It counts only with the proof that the transaction's id commits to, which its maker alone
 * has known until then: so a lie can cost a client its own writes, and nobody else's.
 */
import { placeOf } from "../../core/decision.ts";
import { FrameError } from "../../core/errors.ts";
import type { Digest, StoredBlock, StreamRecord } from "../../core/ports.ts";
import type { CommittedVerdict, InstalledReport, Timestamp } from "../../core/types.ts";
import { readInstalled } from "../../schemas/commit-record-reading.ts";
import { decodeLogBlockHeader } from "../../schemas/log-block.ts";
import { provesTransactionId, voteProofOf } from "../../schemas/transaction-id.ts";

export class InstallReports {
  readonly #digest: Digest;
  /** By a commit's place in the log: a forged report may come before the true one. */
  readonly #proofs = new Map<Timestamp, Uint8Array[]>();
  #forged = 0;

  /** A record that is none says nothing. */
  constructor(digest: Digest, records: readonly StreamRecord[]) {
    this.#digest = digest;
    for (const { data } of records) this.#add(() => readInstalled(data));
  }

  /**
   * What the blocks say of commits above the watermark; a block that does not decode says nothing.
   * What was said before of commits that are below it by now is forgotten.
   */
  addBlocks(blocks: readonly StoredBlock[], watermark: Timestamp): void {
    for (const timestamp of this.#proofs.keys()) {
      if (timestamp <= watermark) this.#proofs.delete(timestamp);
    }
    for (const { bytes, position } of blocks) {
      this.#add(() => {
        const { maker } = decodeLogBlockHeader(bytes, position);
        return (maker?.installed ?? []).filter(({ timestamp }) => timestamp > watermark);
      });
    }
  }

  #add(read: () => readonly InstalledReport[]): void {
    try {
      for (const { timestamp, proof } of read()) {
        const proofs = this.#proofs.get(timestamp);
        if (proofs === undefined) this.#proofs.set(timestamp, [proof]);
        else proofs.push(proof);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
    }
  }

  /** Which of the commits are installed, by the word of those who made them. */
  among(verdicts: readonly CommittedVerdict[]): ReadonlySet<Timestamp> {
    const installed = new Set<Timestamp>();
    for (const verdict of verdicts) {
      const timestamp = placeOf(verdict);
      for (const proof of this.#proofs.get(timestamp) ?? []) {
        // mutant: believes-any-report
        const isMakers = this.#isMakers(verdict, proof);
        if (isMakers) installed.add(timestamp);
        else {
          // probe: replay-refuses-a-forged-report
          this.#forged += 1;
        }
      }
    }
    return installed;
  }

  /** The vote of a prepared one has shown what its id commits to: it takes what that comes from. */
  #isMakers({ id, payload }: CommittedVerdict, proof: Uint8Array): boolean {
    const shown = payload.kind !== "prepared" ? proof : voteProofOf(proof, this.#digest);
    return provesTransactionId(id, shown, this.#digest);
  }

  /** How many reports since the last call had a proof that did not open their commit's id. */
  takeForged(): number {
    const forged = this.#forged;
    this.#forged = 0;
    return forged;
  }
}
