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

/** A commit as it would stand in the block, or what is prepared for one. */
export type SizedCommit = {
  /** To leave out sort keys makes it smaller (core/types.ts, WriteHashes). */
  readonly writes: readonly WriteHashes[];
  readonly payload: Exclude<PayloadLocation, { readonly kind: "stream" }>;
  /** Of what is prepared: how many checks it has. */
  readonly checks?: number;
  /** Of a commit by vote: how many stamps it has. */
  readonly stamps?: number;
};

/** An abort has no writes and no payload. */
export type SizedVerdict = SizedCommit | "abort";

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

  fits(verdict: SizedVerdict): boolean {
    const reached = this.#bytesBound + verdictBytesMax(verdict);
    return this.#verdicts < limits.blockVerdictsMax && reached <= limits.blockBytesMax;
  }

  add(verdict: SizedVerdict): void {
    assert(this.fits(verdict), "client block: what is added has room");
    this.#verdicts += 1;
    this.#bytesBound += verdictBytesMax(verdict);
  }
}

function verdictBytesMax(verdict: SizedVerdict): number {
  if (verdict === "abort") return bytes.abortBytesMax;
  const { writes, checks, stamps = 0 } = verdict;
  const listed = checks === undefined ? 0 : bytes.checkCountBytesMax + bytes.hashBytes * checks;
  const head = bytes.decisionBytesMax + listed + bytes.writeCountBytesMax;
  const location = locationBytesMax(verdict.payload) + bytes.stampBytesMax * stamps;
  return head + location + bytes.writeHashesBytesMax(writes);
}

function locationBytesMax(payload: SizedCommit["payload"]): number {
  switch (payload.kind) {
    case "inline":
      return bytes.inlineLengthBytesMax + payload.bytes.length;
    case "spilled":
      return bytes.spilledBytesMax;
    case "prepared":
      return bytes.votedBytesMax;
  }
}
