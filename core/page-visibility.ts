/**
 * What a page of rows, as the store gave it, says and lacks at a read timestamp. The decision is
 * that of every read (visibility.ts). Keeps I8.
 */
import { commitName, type TailCommit, type UpTo } from "./tail.ts";
import type { CommittedVerdict, KeyHash, Timestamp, Version, WriteHashes } from "./types.ts";
import { spanningPlace, type Answer, type Known } from "./visibility.ts";

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
  const range = (upTo: UpTo) => ({ above: completeThrough, upTo });
  return {
    newest: shape.rows.reduce((max, { version }) => (version > max ? version : max), 0 as Version),
    newestPlace: (tail) =>
      shape.rows.reduce((max, { hashes, version }) => {
        const place = tail.placeOfVersion(hashes.key, version);
        return place > max ? place : max;
      }, 0 as Timestamp),
    completeThrough,
    about: predicate,
    spanning: (tail, place) => {
      if ((tail.lastCommit(predicate) ?? 0) <= place) return 0 as Timestamp;
      const behind = { above: place, upTo: { by: "place", at: tail.newest } } as const;
      const under = Array.from(tail.commitsUnder(predicate, behind), ({ commit }) => commit);
      return spanningPlace(under, place);
    },
    newestCommit: (tail) => tail.lastCommit(predicate) ?? (0 as Timestamp),
    lacking: (tail, upTo) => {
      if ((tail.lastCommit(predicate) ?? 0) <= completeThrough) return undefined;
      const commits: TailCommit[] = [];
      let here: { readonly commit: TailCommit; readonly key: KeyHash } | undefined;
      for (const { commit, hashes } of tail.commitsUnder(predicate, range(upTo))) {
        // Installed before the page was read: shown, superseded, or of another place.
        if (known.installed.size > 0 && known.installed.has(commitName(commit))) continue;
        const where = place(commit, hashes);
        // The newest of that key: what lies below it is superseded.
        if (where === "here" && (here?.key ?? hashes.key) === hashes.key) {
          here = { commit, key: hashes.key };
        }
        if (where === "unknown") commits.push(commit);
      }
      if (here !== undefined) return { where: "here", commits: [here.commit] };
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
