/**
 * The one decision of every read: what an answer of the store means at a transaction's read
 * timestamp (docs/protocol.md §5). An item and a page of rows differ in what they ask of the tail
 * (`Answer`), and in nothing else.
 *
 * Keeps I8. Pure: the caller moves the read timestamp as the decision says, adds what it has read
 * to the read set in the same turn, and asks the store again where that is needed.
 */
import { placeOf } from "./decision.ts";
import type { Tail, TailCommit, UpTo } from "./tail.ts";
import type { ReadConflict, SeenPage, TransactionReads } from "./transaction-reads.ts";
import type { Isolation, KeyHash, Timestamp, TransactionId, Version } from "./types.ts";

/** `fixed` reads at a timestamp given from outside; the others may move theirs forward. */
export type ViewMode = "read-write" | "read-only" | "fixed";

/** Names of commits (`commitName`). */
export type InstalledNames = Pick<ReadonlySet<string>, "has" | "size">;

/** What was known to be installed when the store was asked. */
export type Known = {
  /** The tail's `installedThrough`: every commit up to here. */
  readonly installedThrough: Timestamp;
  /** Commits above it that this process had seen to. */
  readonly installed: InstalledNames;
};

/** Commits that an answer lacks. */
export type Lacking = {
  /** `here`: it should show them. `unknown`: they may belong to it or not. */
  readonly where: "here" | "unknown";
  /** In the order of their timestamps. */
  readonly commits: readonly [TailCommit, ...TailCommit[]];
};

/** What the store said. */
export type Answer = {
  /** Newest version in it, and its place in the log, which may lie higher. */
  readonly newest: Version;
  newestPlace(tail: Tail): Timestamp;
  /** It lacks no commit at or below. */
  readonly completeThrough: Timestamp;
  /** Newest commit that may belong to it, as far as the tail knows; 0 for none. */
  newestCommit(tail: Tail): Timestamp;
  /** What was committed in `(completeThrough, upTo]`, should or might be in it, and is not. */
  lacking(tail: Tail, upTo: UpTo): Lacking | undefined;
  /**
   * Place of the newest part that may belong to it, was prepared at or below the place, and entered
   * above it: its transaction may have been committed before. 0 for none.
   */
  spanning(tail: Tail, place: Timestamp): Timestamp;
  /** What the answer was to: a key, or a predicate. */
  readonly about: KeyHash;
  readonly seen?: SeenPage | undefined;
};

export type Judgement =
  /** True at this read timestamp, not below the transaction's. Newer rows come from history. */
  | { readonly kind: "consistent"; readonly readTimestamp: Timestamp }
  | { readonly kind: "lacking"; readonly lacking: Lacking }
  /** A version above the tail's end: refresh the tail. */
  | { readonly kind: "ahead-of-tail"; readonly version: Version }
  /** Parts that write what was read, of which nobody knows here whether they are committed. */
  | { readonly kind: "unsettled"; readonly ids: readonly TransactionId[] }
  /** The tail has forgotten commits that the answer may predate: ask again. */
  | { readonly kind: "stale-answer" }
  /** What it shows and what was read before agree at no timestamp that can be had. */
  | { readonly kind: "overtaken"; readonly conflict: ReadConflict };

export type Reading = {
  readonly mode: ViewMode;
  readonly isolation: Isolation;
  /** The caller has made sure that its read timestamp is not below the tail's floor. */
  readonly reads: TransactionReads;
  /** Whether older versions of what was asked for can be had. */
  readonly history: boolean;
};

export function judge(answer: Answer, reading: Reading, tail: Tail): Judgement {
  if (reading.mode !== "fixed" && answer.newest > tail.newest) {
    return { kind: "ahead-of-tail", version: answer.newest };
  }
  // mutant: old-answers-trusted
  if (answer.completeThrough < tail.floor) return { kind: "stale-answer" };
  // mutant: readers-pass-open-parts
  const unsettled = unsettledBy(answer, reading, tail);
  if (unsettled.length > 0) return { kind: "unsettled", ids: unsettled };
  const moved = move(answer, reading, tail);
  if (typeof moved === "object") return { kind: "overtaken", conflict: moved };
  const lacking = answer.lacking(tail, upToOf(reading, moved));
  // mutant: pending-writes-ignored
  return lacking === undefined
    ? { kind: "consistent", readTimestamp: moved }
    : { kind: "lacking", lacking };
}

/**
 * An open part's transaction may be committed, and acknowledged, before this log says so. So it is
 * settled before what it writes is read, and before what was read is taken to hold still; of the
 * past, if it may count there.
 */
function unsettledBy(answer: Answer, reading: Reading, tail: Tail): readonly TransactionId[] {
  if (tail.open.size === 0) return [];
  const { mode, reads } = reading;
  const { open } = tail;
  if (mode === "fixed") return open.partsWriting([answer.about], reads.readTimestamp);
  const about = open.partsWriting([answer.about]);
  if (about.length > 0 || !mustMove(answer, reading, tail)) return about;
  return open.partsWriting([...reads.keys.keys(), ...reads.predicates.keys()]);
}

/** The present is read by place, the past by the moment at which a commit counts. */
export function upToOf({ mode }: Pick<Reading, "mode">, at: Timestamp): UpTo {
  return { by: mode === "fixed" ? "moment" : "place", at };
}

function isSpannedBy(answer: Answer, readTimestamp: Timestamp, tail: Tail): boolean {
  return answer.spanning(tail, readTimestamp) > readTimestamp;
}

/** Whether the answer may not be what is to be seen at the read timestamp. */
function mustMove(answer: Answer, { mode, reads }: Reading, tail: Tail): boolean {
  const { readTimestamp } = reads;
  return (
    answer.newestPlace(tail) > readTimestamp ||
    (mode === "read-write" && answer.newestCommit(tail) > readTimestamp) ||
    isSpannedBy(answer, readTimestamp, tail)
  );
}

/** Where the read timestamp goes; or what stands in the way, if reading on here is of no use. */
function move(answer: Answer, reading: Reading, tail: Tail): Timestamp | ReadConflict {
  const { mode, isolation, reads, history } = reading;
  const { readTimestamp } = reads;
  if (mode === "fixed" || !mustMove(answer, reading, tail)) return readTimestamp;
  const isNewer = answer.newestPlace(tail) > readTimestamp;
  const isSpanned = isSpannedBy(answer, readTimestamp, tail);
  const conflict = reads.conflict(tail, answer.seen);
  // mutant: extends-over-conflicts
  if (conflict === undefined) return tail.newest;
  const mustBeNewest = (mode === "read-write" && isolation === "serializable") || isSpanned;
  return mustBeNewest || (isNewer && !history) ? conflict : readTimestamp;
}

/** Place of the newest of them that was prepared at or below the place. */
export function spanningPlace(commits: Iterable<TailCommit>, place: Timestamp): Timestamp {
  let newest = 0 as Timestamp;
  for (const commit of commits) {
    const { preparedAt } = commit;
    if (preparedAt !== undefined && preparedAt <= place) newest = placeOf(commit);
  }
  return newest;
}

/** One item, or its absence (version 0). */
export function itemAnswer(key: KeyHash, version: Version, known: Known): Answer {
  const completeThrough = Math.max(version, known.installedThrough) as Timestamp;
  return {
    newest: version,
    newestPlace: (tail) => tail.placeOfVersion(key, version),
    completeThrough,
    about: key,
    newestCommit: (tail) => {
      const upTo = { by: "place", at: tail.newest } as const;
      const commit = tail.newestCommit(key, { above: completeThrough, upTo });
      return commit === undefined ? (0 as Timestamp) : placeOf(commit);
    },
    spanning: (tail, place) =>
      spanningPlace(tail.commitsOf(key, { above: place, upTo: tail.newest }), place),
    lacking: (tail, upTo) => {
      // The hash may be another item's: what is installed and not seen here is.
      const except = known.installed;
      const commit = tail.newestCommit(key, { above: completeThrough, upTo, except });
      return commit === undefined ? undefined : { where: "here", commits: [commit] };
    },
  };
}
