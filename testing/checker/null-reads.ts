/**
 * Reads of nothing. Nothing stood there before the first version, and after each deletion; which of
 * these a reader met its history does not say. Where there is one possibility it is that; else
 * timestamps tell, else it is tried out.
 */
import type { HistoryTransaction } from "../history/types.ts";
import type { Choices, NullRead } from "./dependencies.ts";
import { memberAt, nothing, type Member, type Model } from "./model.ts";
import type { KeyOrder } from "./version-order.ts";

export function nullReadsOf(
  model: Model,
  orders: readonly KeyOrder[],
  counts: (member: Member) => boolean,
): readonly NullRead[] {
  const candidatesOf = orders.map((order) => nullPlaces(model, order));
  return model.members.flatMap((member, i) => {
    if (!counts(member)) return [];
    return Array.from(member.reads).flatMap(([key, version]): NullRead[] => {
      if (version !== nothing) return [];
      const all = candidatesOf[key] ?? [];
      // Nobody reads what he leaves himself only later.
      const others = all.filter((place) => orders[key]?.segments[0]?.[place]?.member !== i);
      return [
        { member: i, key, candidates: others.length === 0 && all.length > 0 ? [-1] : others },
      ];
    });
  });
}

/** None where a deletion may lie that nobody can place. */
function nullPlaces(model: Model, order: KeyOrder): readonly number[] {
  const { segments, deletionsKnown, maybeDeleted = false } = order;
  if (maybeDeleted) return [];
  const segment = segments[0] ?? [];
  const hasDeletion = segments.some((each) => each.some(({ isDeletion }) => isDeletion));
  if (!deletionsKnown && (segments.length === 1 || hasDeletion)) return [];
  const deletions = segment.flatMap(({ isDeletion }, i) => (isDeletion ? [i] : []));
  const first = segment[0];
  const stoodBefore =
    first !== undefined && memberAt(model, first.member).transaction.kind === "init";
  return stoodBefore && deletions.length > 0 ? deletions : [-1, ...deletions];
}

/** The likeliest choice for each; certain where there is but one candidate. */
export function guessChoices(
  model: Model,
  orders: readonly KeyOrder[],
  reads: readonly NullRead[],
): Choices {
  return new Map(reads.map((read) => [read, guess(model, orders, read)]));
}

/** Binds only what is certain. */
export function certainChoices(reads: readonly NullRead[]): Choices {
  return new Map(
    reads.map((read) => [read, read.candidates.length === 1 ? read.candidates[0] : undefined]),
  );
}

export function isAmbiguous({ candidates }: NullRead): boolean {
  return candidates.length > 1;
}

/** Every combination of choices, the last read changing fastest. */
export function* allChoices(reads: readonly NullRead[]): Generator<Choices> {
  const indices = reads.map(() => 0);
  for (;;) {
    yield new Map(reads.map((read, i) => [read, read.candidates[indices[i] ?? 0]]));
    let at = reads.length - 1;
    for (; at >= 0; at -= 1) {
      const next = (indices[at] ?? 0) + 1;
      indices[at] = next < (reads[at]?.candidates.length ?? 0) ? next : 0;
      if (indices[at] !== 0) break;
    }
    if (at < 0) return;
  }
}

function guess(
  model: Model,
  orders: readonly KeyOrder[],
  { member, key, candidates }: NullRead,
): number | undefined {
  const segment = orders[key]?.segments[0] ?? [];
  const reader = memberAt(model, member).transaction;
  const isBefore = (candidate: number): boolean => {
    const entry = segment[candidate];
    if (entry === undefined) return true;
    const deleter = memberAt(model, entry.member).transaction;
    return isCommittedBefore(deleter, reader) ?? deleter.end < reader.start;
  };
  if (isOpen(reader)) {
    // What it has read is as true at its commit, which comes right before what it has left there.
    const own = segment.findLastIndex((entry) => entry.member === member);
    if (own >= 0 && candidates.includes(own - 1)) return own - 1;
  }
  return candidates.findLast(isBefore) ?? candidates[0];
}

/** Whether timestamps say which of the candidates it was. */
export function isTimed(
  model: Model,
  orders: readonly KeyOrder[],
  { member, key, candidates }: NullRead,
): boolean {
  const segment = orders[key]?.segments[0] ?? [];
  const reader = memberAt(model, member).transaction;
  if (reader.snapshotTs === undefined && reader.commitTs === undefined) return false;
  return candidates.every((candidate) => {
    const entry = segment[candidate];
    if (entry === undefined) return true;
    return isCommittedBefore(memberAt(model, entry.member).transaction, reader) !== undefined;
  });
}

/**
 * Whether the deleter's commit lies before what the reader saw; undefined where timestamps do not
 * tell.
 */
function isCommittedBefore(
  deleter: HistoryTransaction,
  reader: HistoryTransaction,
): boolean | undefined {
  const { snapshotTs, commitTs, isolation } = reader;
  if (deleter.commitTs === undefined) return undefined;
  // A serializable one's reads are as true at its commit; and those who are committed with it come
  // by place.
  if (isolation === "serializable" && commitTs !== undefined) {
    const isSame = deleter.commitTs === commitTs;
    return isSame ? (deleter.place ?? 0) < (reader.place ?? 0) : deleter.commitTs < commitTs;
  }
  if (snapshotTs === undefined) return undefined;
  const isBefore = deleter.commitTs <= snapshotTs;
  // It may have read what came later, such as a commit of its own process that it was chained to.
  return isOpen(reader) && !isBefore ? undefined : isBefore;
}

/** Whether nobody knows when it was committed, nor therefore when its reads were true. */
function isOpen({ isolation, commitTs }: HistoryTransaction): boolean {
  return isolation === "serializable" && commitTs === undefined;
}
