/**
 * The outcome of a transaction with parts, as a pure function of its logs
 * (docs/adr/0015-many-shards.md, Parts):
 *
 *     every log holds its part, prepared       committed, at the greatest of their timestamps
 *     one has decided the id as aborted        aborted
 *     else                                     open
 *
 * One that touches mixed tables is decided by its vote, in the log of its first part: what the
 * others hold decides nothing (model/TidemarkNative.tla, over several logs).
 *
 * Invariant: I3 over all logs. Paper: Centiman §3.1 (all validators must agree).
 */
import { assert } from "./assert.ts";
import * as limits from "./limits.ts";
import type {
  LogBlock,
  Part,
  PreparedVerdict,
  ShardNumber,
  Stamp,
  Timestamp,
  TransactionId,
  WholeOutcome,
} from "./types.ts";

/** What one log holds of the transaction. `committed`: its part was closed there already. */
export type PartState =
  | { readonly kind: "unseen" }
  | { readonly kind: "prepared"; readonly timestamp: Timestamp }
  | {
      readonly kind: "committed";
      readonly timestamp: Timestamp;
      readonly stamps?: readonly Stamp[] | undefined;
    }
  | { readonly kind: "aborted" };

export const unseen: PartState = { kind: "unseen" };

/** The part whose log decides alone, by a vote; undefined: all of them decide. */
export function decidingPart(parts: readonly Part[] | undefined): Part | undefined {
  const first = parts?.[0];
  return first?.stamps === undefined ? undefined : first;
}

/**
 * Whether what is prepared in the shard's log is decided there, by the next verdict on it: it is no
 * part, or the first one of a transaction that votes. Else that verdict enters what is decided
 * elsewhere.
 */
export function isDecidedIn(shard: ShardNumber, { parts }: PreparedVerdict): boolean {
  return parts === undefined || decidingPart(parts)?.shard === shard;
}

/** Of the stamps of a vote those that are for what is prepared in the shard's log. */
export function stampsFor(
  shard: ShardNumber,
  { parts = [], of = shard }: Pick<PreparedVerdict, "parts" | "of">,
  stamps: readonly Stamp[],
): readonly Stamp[] {
  let from = 0;
  for (const part of parts) {
    const to = from + (part.stamps ?? 0);
    if (part.shard === of) return stamps.slice(from, to);
    from = to;
  }
  return [];
}

/**
 * Undefined: it is open. One log that has entered the outcome says it for all; but it was entered
 * by the word of a client, who may have lied: what counts counts at or above all of its parts, so
 * that he has broken no log but by his own transaction.
 */
export function wholeOutcome(
  parts: readonly Pick<Part, "shard" | "stamps">[],
  states: ReadonlyMap<ShardNumber, PartState>,
): WholeOutcome | undefined {
  const [first] = parts;
  // mutant: outcome-of-any-log
  if (first?.stamps !== undefined) return votedOutcome(states.get(first.shard) ?? unseen);
  let greatest = 0;
  let isPrepared = true;
  let entered: "aborted" | "committed" | undefined;
  for (const { shard } of parts) {
    const state = states.get(shard) ?? unseen;
    if (state.kind === "aborted" || state.kind === "committed") entered ??= state.kind;
    if (state.kind === "unseen") isPrepared = false;
    else if (state.kind !== "aborted") greatest = Math.max(greatest, state.timestamp);
  }
  if (entered === "aborted") return { kind: "aborted" };
  if (entered === "committed") isPrepared = true;
  // mutant: outcome-from-one-log
  if (!isPrepared) return undefined;
  assert(greatest > 0, "I3: what is committed was prepared");
  return { kind: "committed", timestamp: greatest as Timestamp };
}

function votedOutcome(state: PartState): WholeOutcome | undefined {
  if (state.kind === "aborted") return { kind: "aborted" };
  if (state.kind !== "committed") return undefined;
  const { timestamp, stamps = [] } = state;
  return { kind: "committed", timestamp, stamps };
}

/** Folds the next block of a log into what it holds of the id; the first decision stands (I3). */
export function foldPart(state: PartState, { verdicts }: LogBlock, id: TransactionId): PartState {
  let folded = state;
  for (const verdict of verdicts) {
    if (verdict.id !== id) continue;
    if (folded.kind === "committed" || folded.kind === "aborted") return folded;
    if (verdict.kind === "prepared") {
      if (folded.kind === "unseen") folded = { kind: "prepared", timestamp: verdict.timestamp };
    } else if (verdict.kind === "committed") {
      const { timestamp, stamps } = verdict;
      folded = { kind: "committed", timestamp, stamps };
    } else if (verdict.kind === "aborted") folded = { kind: "aborted" };
  }
  return folded;
}

/**
 * Whether what the client of a part says of the whole may be so. One who lies breaks his own
 * transaction; he must not lead the log's time astray. So what lies ahead is measured from the
 * stream's time alone: from where the log stands he would come further with each transaction.
 */
export function isPossible(
  whole: WholeOutcome,
  { preparedAt, arrivalMicros }: { readonly preparedAt: Timestamp; readonly arrivalMicros: number },
): boolean {
  if (whole.kind === "aborted") return true;
  const { timestamp } = whole;
  const latest = Math.max(preparedAt, arrivalMicros + limits.partAheadMicrosMax);
  return timestamp >= preparedAt && timestamp <= latest;
}
