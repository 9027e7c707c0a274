/**
 * Nothing acknowledged is lost, judged by times alone and by nothing that the checker of histories
 * works out: what stands under a key in the end was not written before something else there that
 * was acknowledged, and of which it was known before that was begun.
 */
import type { FinalState, HistoryTransaction } from "../../testing/history/types.ts";

/** What a committed transaction or native write has left under a key; null: nothing. */
type Left = {
  readonly version: string | null;
  readonly id: string;
  readonly start: number;
  readonly end: number;
};

/** @param finals of the keys that are judged. */
export function lostWrites(
  transactions: readonly HistoryTransaction[],
  finals: readonly FinalState[],
): readonly string[] {
  const written = new Map<string, Left[]>();
  for (const each of transactions) {
    if (each.status !== "commit") continue;
    for (const [key, version] of leftBy(each)) {
      const left = { version, id: each.id, start: each.start, end: each.end };
      const ofKey = written.get(key);
      if (ofKey === undefined) written.set(key, [left]);
      else ofKey.push(left);
    }
  }
  const mayDelete = new Set(
    transactions.filter(({ status }) => status === "unknown").flatMap((each) => deletedBy(each)),
  );
  return finals.flatMap(({ key, version }) => {
    const lefts = written.get(key) ?? [];
    const finders = lefts.filter((left) => left.version === version);
    // Of unknown outcome: nobody knows when it took effect.
    if (finders.length === 0 || (version === null && mayDelete.has(key))) return [];
    const lastEnd = Math.max(...finders.map(({ end }) => end));
    const later = lefts.find((left) => left.start > lastEnd && left.version !== version);
    if (later === undefined) return [];
    return [
      `lost write: ${key} ended as ${version ?? "nothing"}, and ${later.id} had written ` +
        `${later.version ?? "its deletion"} after that was acknowledged`,
    ];
  });
}

function leftBy({ ops }: HistoryTransaction): ReadonlyMap<string, string | null> {
  const left = new Map<string, string | null>();
  for (const [kind, key, version] of ops) {
    if (kind === "d") left.set(key, null);
    else if (kind === "w" || kind === "a") left.set(key, version);
  }
  return left;
}

function deletedBy({ ops }: HistoryTransaction): readonly string[] {
  return ops.filter(([kind]) => kind === "d").map(([, key]) => key);
}
