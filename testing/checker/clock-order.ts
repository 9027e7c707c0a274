/**
 * Orders that a clock gives, as edges: that of real time, and that of the database's own
 * timestamps. Both are chains of auxiliary nodes, so that n transactions cost a multiple of n edges
 * after sorting, not n².
 */
import { readPoint, type DependencyBuilder } from "./dependencies.ts";
import { edgeKinds, type EdgeList } from "./graph.ts";
import { memberAt, type Member, type Model } from "./model.ts";

const afterAll = Number.MAX_SAFE_INTEGER;

type Counts = (member: Member) => boolean;

/** A graph of points to which edges are added. */
export type PointGraph = {
  readonly edges: EdgeList;
  newNode(): number;
  commitPoint(member: number): number;
};

/**
 * What had ended before a transaction began comes before it. An outcome that nobody knew when its
 * caller gave up has no end that counts; what asked for an older state binds nobody and is bound by
 * nothing.
 */
export function addRealTime(builder: PointGraph, model: Model, counts: Counts): void {
  const isStrict = ({ transaction }: Member): boolean =>
    transaction.strict !== false && transaction.kind !== "init";
  const strict = model.members.flatMap((member, i) =>
    counts(member) && isStrict(member) ? [i] : [],
  );
  const ended = strict.filter((i) => memberAt(model, i).transaction.status === "commit");
  const endOf = (i: number): number => memberAt(model, i).transaction.end;
  const startOf = (i: number): number => memberAt(model, i).transaction.start;
  ended.sort((a, b) => endOf(a) - endOf(b) || a - b);
  strict.sort((a, b) => startOf(a) - startOf(b) || a - b);
  let next = 0;
  /** Behind it lies all that has ended so far. */
  let behind: number | undefined;
  for (const i of strict) {
    let isFirst = true;
    for (; next < ended.length; next += 1) {
      const other = ended[next];
      if (other === undefined || endOf(other) >= startOf(i)) break;
      if (isFirst) {
        const node = builder.newNode();
        if (behind !== undefined) builder.edges.add(behind, node, edgeKinds.onward);
        behind = node;
        isFirst = false;
      }
      if (behind !== undefined) {
        builder.edges.add(builder.commitPoint(other), behind, edgeKinds.realTime);
      }
    }
    if (behind !== undefined) builder.edges.add(behind, readPoint(i), edgeKinds.onward);
  }
}

/** Commits at their `commitTs`, snapshots just after the commits at their `snapshotTs`. */
export function addTimestamps(builder: DependencyBuilder, model: Model, counts: Counts): void {
  /** `rank`: among the commits of one timestamp by place, snapshots after all of them. */
  const places: { readonly point: number; readonly timestamp: number; readonly rank: number }[] =
    [];
  model.members.forEach((member, i) => {
    const { commitTs, snapshotTs, place: rank = 0 } = member.transaction;
    if (!counts(member)) return;
    const commit = builder.commitPoint(i);
    if (commitTs !== undefined) places.push({ point: commit, timestamp: commitTs, rank });
    // The one point of a serializable transaction that committed something is its commit. Who read
    // nothing has seen no state, so it does not matter how old the state is that the database had
    // put before him. So it is of one that is known to be committed only by what it left, and
    // nobody knows when: then it has no place here.
    const wrote = member.writes.size > 0 || member.transaction.ops.some(([kind]) => kind === "w");
    const hasCommitted = commitTs !== undefined || (member.takesEffect && wrote);
    if (hasCommitted && commit === readPoint(i)) return;
    if (snapshotTs === undefined || member.reads.size === 0) return;
    places.push({ point: readPoint(i), timestamp: snapshotTs, rank: afterAll });
  });
  places.sort((a, b) => a.timestamp - b.timestamp || a.rank - b.rank || a.point - b.point);
  let before: number | undefined;
  let after: number | undefined;
  places.forEach((place, i) => {
    const previous = places[i - 1];
    if (previous?.timestamp !== place.timestamp || previous.rank !== place.rank) {
      before = after;
      after = builder.newNode();
      if (before !== undefined) builder.edges.add(before, after, edgeKinds.onward);
    }
    if (before !== undefined) builder.edges.add(before, place.point, edgeKinds.onward);
    if (after !== undefined) builder.edges.add(place.point, after, edgeKinds.timestamp);
  });
}
