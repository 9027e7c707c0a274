/**
 * The one decision of every read: what an answer of the store means at a transaction's read
 * timestamp (docs/protocol.md §5). An item and a page of rows differ in what they ask of the tail
 * (`Answer`), and in nothing else.
 *
 * Keeps I8. Pure: the caller moves the read timestamp as the decision says, adds what it has read
 * to the read set in the same turn, and asks the store again where that is needed.
 */
import type { Tail, TailCommit } from "./tail.ts";
import type { ReadConflict, SeenPage, TransactionReads } from "./transaction-reads.ts";
import type { Isolation, KeyHash, Timestamp, Version } from "./types.ts";

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
  /** Newest version in it. */
  readonly newest: Version;
  /** It lacks no commit at or below. */
  readonly completeThrough: Timestamp;
  /** Newest commit that may belong to it, as far as the tail knows; 0 for none. */
  newestCommit(tail: Tail): Timestamp;
  /** What was committed in `(completeThrough, upTo]`, should or might be in it, and is not. */
  lacking(tail: Tail, upTo: Timestamp): Lacking | undefined;
  readonly seen?: SeenPage | undefined;
};

export type Judgement =
  /** True at this read timestamp, not below the transaction's. Newer rows come from history. */
  | { readonly kind: "consistent"; readonly readTimestamp: Timestamp }
  | { readonly kind: "lacking"; readonly lacking: Lacking }
  /** A version above the tail's end: refresh the tail. */
  | { readonly kind: "ahead-of-tail"; readonly version: Version }
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
  const moved = move(answer, reading, tail);
  if (typeof moved === "object") return { kind: "overtaken", conflict: moved };
  const lacking = answer.lacking(tail, moved);
  // mutant: pending-writes-ignored
  return lacking === undefined
    ? { kind: "consistent", readTimestamp: moved }
    : { kind: "lacking", lacking };
}

/** Where the read timestamp goes; or what stands in the way, if reading on here is of no use. */
function move(
  answer: Answer,
  { mode, isolation, reads, history }: Reading,
  tail: Tail,
): Timestamp | ReadConflict {
  const { readTimestamp } = reads;
  if (mode === "fixed") return readTimestamp;
  const isNewer = answer.newest > readTimestamp;
  const isOvertaken = mode === "read-write" && answer.newestCommit(tail) > readTimestamp;
  if (!isNewer && !isOvertaken) return readTimestamp;
  const conflict = reads.conflict(tail, answer.seen);
  // mutant: extends-over-conflicts
  if (conflict === undefined) return tail.newest;
  const mustBeNewest = mode === "read-write" && isolation === "serializable";
  return mustBeNewest || (isNewer && !history) ? conflict : readTimestamp;
}

/** One item, or its absence (version 0). */
export function itemAnswer(key: KeyHash, version: Version, known: Known): Answer {
  const completeThrough = Math.max(version, known.installedThrough) as Timestamp;
  return {
    newest: version,
    completeThrough,
    newestCommit: (tail) =>
      tail.newestCommit(key, { above: completeThrough, upTo: tail.newest })?.timestamp ??
      (0 as Timestamp),
    lacking: (tail, upTo) => {
      // The hash may be another item's: what is installed and not seen here is.
      const except = known.installed;
      const commit = tail.newestCommit(key, { above: completeThrough, upTo, except });
      return commit === undefined ? undefined : { where: "here", commits: [commit] };
    },
  };
}
