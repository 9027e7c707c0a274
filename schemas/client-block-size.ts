/**
 * How much a client's own block holds: told before anything is encoded, so that what has no room
 * waits for the next block, spills its payload, or goes by the stream.
 */
import { assert } from "../core/assert.ts";
import * as bytes from "../core/block-bytes.ts";
import * as limits from "../core/limits.ts";
import type { PayloadLocation, WriteHashes } from "../core/types.ts";
import { installedBytesMax } from "./installed-reports.ts";

const makerNumberBytes = 4;

/** A commit as it would stand in the block, or what is prepared. */
export type SizedCommit = {
  /** To leave out sort keys makes it smaller (core/types.ts, WriteHashes). */
  readonly writes: readonly WriteHashes[];
  readonly payload: Exclude<PayloadLocation, { readonly kind: "stream" | "prepared" }>;
  /** How many what is prepared has: those of a commit do not stand in the block. */
  readonly checks?: number;
  /** How many it is one of. */
  readonly parts?: number;
};

/** The commit of what was prepared: its payload lies where it was. */
export type SizedVote = {
  /** As of a commit. */
  readonly writes: readonly WriteHashes[];
  readonly stamps: number;
};

/** An abort has no writes and no payload. */
export type SizedDecision = SizedCommit | SizedVote | "abort";

export class ClientBlockSize {
  #bytesBound: number;
  #verdicts = 0;

  /** @param reports how many commits the block will say are installed. */
  constructor(reports: number) {
    assert(reports <= limits.installedReportsMax, "client block: too many reports");
    this.#bytesBound = bytes.blockFrameBytesMax + makerNumberBytes + installedBytesMax(reports);
  }

  /** The block will not be longer. */
  get bytesBound(): number {
    return this.#bytesBound;
  }

  fits(decision: SizedDecision): boolean {
    const reached = this.#bytesBound + decisionBytesMax(decision);
    return this.#verdicts < limits.blockVerdictsMax && reached <= limits.blockBytesMax;
  }

  add(decision: SizedDecision): void {
    assert(this.fits(decision), "client block: what is added has room");
    this.#verdicts += 1;
    this.#bytesBound += decisionBytesMax(decision);
  }
}

function decisionBytesMax(decision: SizedDecision): number {
  if (decision === "abort") return bytes.abortBytesMax;
  const details =
    "stamps" in decision
      ? Math.max(bytes.votedBytesMax, bytes.countedBytesMax) + bytes.stampBytesMax * decision.stamps
      : payloadBytesMax(decision) + checksBytesMax(decision) + partsBytesMax(decision);
  const head = bytes.decisionBytesMax + details + bytes.writeCountBytesMax;
  return head + bytes.writeHashesBytesMax(decision.writes);
}

function payloadBytesMax({ payload }: SizedCommit): number {
  if (payload.kind === "none") return 0;
  if (payload.kind === "spilled") return bytes.spilledBytesMax;
  return bytes.inlineLengthBytesMax + payload.bytes.length;
}

function partsBytesMax({ parts }: SizedCommit): number {
  return parts === undefined ? 0 : bytes.partCountBytesMax + bytes.partBytesMax * parts;
}

function checksBytesMax({ checks }: SizedCommit): number {
  return checks === undefined ? 0 : bytes.checkCountBytesMax + bytes.hashBytes * checks;
}
