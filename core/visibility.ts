/**
 * The one decision of every read: what an answer of the store means at a transaction's read
 * timestamp (docs/protocol.md §5). An item and a page of rows differ in what they ask of the tail
 * (`Answer`), and in nothing else.
 *
 * Keeps I8. Pure: the caller moves the read timestamp as the decision says, adds what it has read
 * to the read set in the same turn, and asks the store again where that is needed.
 */
import { commitName, type Tail, type TailCommit } from "./tail.ts";
import type { ReadConflict, SeenPage, TransactionReads } from "./transaction-reads.ts";
import type {
  CommittedVerdict,
  Isolation,
  KeyHash,
  Timestamp,
  Version,
  WriteHashes,
} from "./types.ts";

/** `fixed` reads at a timestamp given from outside; the others may move theirs forward. */
export type ViewMode = "read-write" | "read-only" | "fixed";

/** What was known to be installed when the store was asked. */
export type Known = {
  /** The tail's `installedThrough`: every commit up to here. */
  readonly installedThrough: Timestamp;
  /** Names of commits that this reader had seen to. */
  readonly installed: ReadonlySet<string>;
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

/** A row of a page as the tail would name it. */
export type PageRow = { readonly hashes: WriteHashes; readonly version: Version };

export type PageShape = {
  /** Hash of the partition or the table. */
  readonly predicate: KeyHash;
  readonly on: "partition" | "table";
  readonly rows: readonly PageRow[];
  /** Which page it is (`SeenPage`). */
  readonly page: string;
  /** Whether a row that the page lacks would have to be in it. */
  readonly mayContain: (hashes: WriteHashes) => "yes" | "no" | "unknown";
};

/** A page of a query or scan. */
export function pageAnswer(shape: PageShape, known: Known): Answer {
  const { predicate } = shape;
  const completeThrough = known.installedThrough;
  const place = placing(shape);
  const range = (upTo: Timestamp) => ({ above: completeThrough, upTo });
  return {
    newest: shape.rows.reduce((max, { version }) => (version > max ? version : max), 0 as Version),
    completeThrough,
    newestCommit: (tail) => tail.lastCommit(predicate) ?? (0 as Timestamp),
    lacking: (tail, upTo) => {
      if ((tail.lastCommit(predicate) ?? 0) <= completeThrough) return undefined;
      const commits: TailCommit[] = [];
      for (const { commit, hashes } of tail.commitsUnder(predicate, range(upTo))) {
        // Installed before the page was read: shown, superseded, or of another place.
        if (known.installed.size > 0 && known.installed.has(commitName(commit))) continue;
        const where = place(commit, hashes);
        if (where === "here") return { where, commits: [commit] };
        if (where === "unknown") commits.push(commit);
      }
      const [first, ...others] = commits;
      return first === undefined ? undefined : { where: "unknown", commits: [first, ...others] };
    },
    seen: {
      hash: predicate,
      page: shape.page,
      shows: (commit, hashes) => place(commit, hashes) === "shown",
    },
  };
}

type Place = "shown" | "here" | "elsewhere" | "unknown";

/**
 * Where a committed write stands as seen from the page. A row's hash does not say that the write
 * was the row's. Within a partition the sort key does, where the log has it: a row of another
 * partition with the same hash is none that the page could show. Elsewhere only a row of exactly
 * that commit is proof; beside a newer row the write may be an older one of that row, or a missing
 * one of another row.
 */
function placing({ rows, on, mayContain }: PageShape) {
  const rowsOf = new Map<KeyHash, PageRow[]>();
  for (const row of rows) {
    const { key } = row.hashes;
    rowsOf.set(key, [...(rowsOf.get(key) ?? []), row]);
  }
  const writesOf = writeCounts();
  return (commit: TailCommit, hashes: WriteHashes): Place => {
    const { sortKey } = hashes;
    const { timestamp } = commit;
    const alike = rowsOf.get(hashes.key) ?? [];
    const same =
      on === "partition" && sortKey !== undefined
        ? alike.filter((row) => isEqual(row.hashes.sortKey, sortKey))
        : alike;
    if (same.length === 0) {
      const where = mayContain(hashes);
      return where === "yes" ? "here" : where === "no" ? "elsewhere" : "unknown";
    }
    if (same.every(({ version }) => version < timestamp)) return "here";
    if (on === "partition" && sortKey !== undefined) return "shown";
    const rowsAt = same.filter(({ version }) => version === timestamp).length;
    if (rowsAt > 0 && rowsAt >= writesOf(commit.verdict, hashes.key)) return "shown";
    // probe: row-may-hide-another
    // mutant: rows-hide-others
    return "unknown";
  };
}

/** How many writes of a commit have the hash. */
function writeCounts(): (verdict: CommittedVerdict, key: KeyHash) => number {
  const counted = new Map<CommittedVerdict, Map<KeyHash, number>>();
  return (verdict, key) => {
    let counts = counted.get(verdict);
    if (counts === undefined) {
      counts = new Map();
      for (const write of verdict.writes) counts.set(write.key, (counts.get(write.key) ?? 0) + 1);
      counted.set(verdict, counts);
    }
    return counts.get(key) ?? 0;
  };
}

function isEqual(left: Uint8Array | undefined, right: Uint8Array): boolean {
  return left?.length === right.length && left.every((byte, at) => byte === right[at]);
}
