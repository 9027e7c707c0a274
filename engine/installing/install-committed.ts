/**
 * Puts what this process has just committed into its tables. The commit stands, whatever happens
 * here: what is left replay finishes.
 */
import { placeOf } from "../../core/decision.ts";
import * as limits from "../../core/limits.ts";
import type { Consumption } from "../../core/ports.ts";
import type { Certified } from "../committing/commit.ts";
import type { CommitServices } from "../committing/commit-services.ts";
import { writtenItem } from "./payload-writes.ts";
import type { CommitWay } from "../types.ts";

/** Whether every write reached its table; never rejects. */
export async function installCommitted(
  { session, ports, emit, background }: CommitServices,
  { verdict, payload, sentMs }: Certified,
  own: {
    /** For its report: what its id commits to, or of one by vote what that is the digest of. */
    readonly proof: Uint8Array;
    /** By which way it was sent last. */
    readonly via: CommitWay;
    readonly consumption: Consumption;
  },
): Promise<boolean> {
  const { id: transactionId, timestamp: commitTimestamp } = verdict;
  // Replay knows it by its place in the log.
  const timestamp = placeOf(verdict);
  // An oracle's block has no payload; of a spilled one the block does not say who made it.
  const { kind } = verdict.payload;
  const isUntold = kind === "spilled" || kind === "prepared";
  const via = isUntold ? own.via : kind === "inline" ? "express" : "stream";
  emit?.({ kind: "certified", transactionId, commitTimestamp, via });
  const report = { timestamp, proof: own.proof };
  // mutant: installed-said-too-early
  const nowMs = ports.clock.nowMs();
  const signBeforeMs = Math.min(nowMs + limits.installSignMsMax, sentMs + limits.ownInstallMsMax);
  let done = false;
  const install = session.installer
    .install({ verdict, payload, signBeforeMs, isOwn: true }, { consumption: own.consumption })
    .then(
      () => {
        done = true;
        for (const write of payload.writes.keys()) {
          session.installed.note({ timestamp, write }, writtenItem(payload, write));
        }
        session.reports.add(report);
      },
      (cause: unknown) => {
        emit?.({ kind: "install-left", transactionId, cause });
      },
    )
    .finally(() => {
      background.delete(install);
    });
  background.add(install);
  await install;
  return done;
}
