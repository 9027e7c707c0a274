/**
 * The order of operations on one item that a native operation touches: what had ended before
 * another began has its place before it. Of one process always (*per-process item order*); of all
 * processes where the order must be that of real time. Different items have nothing to do with each
 * other: so a native reader may find one half of a transaction and then miss the other.
 */
import { edgeKinds, type EdgeKind } from "../graph.ts";
import type { Problem } from "./problem.ts";

type Access = {
  readonly process: string;
  readonly start: number;
  readonly end: number;
  /** Whether its end is known. */
  readonly hasEnded: boolean;
  /** Where it looks at the item first, and where it has done with it. */
  readonly first: number;
  readonly last: number;
};

/** @param strict whether real time binds different processes, too. */
export function addItemTime(
  problem: Problem,
  keys: ReadonlySet<number>,
  { strict }: { readonly strict: boolean },
): void {
  for (const [key, accesses] of accessesOf(problem, keys)) {
    const byProcess = new Map<string, Access[]>();
    for (const access of accesses) {
      const list = byProcess.get(access.process);
      if (list === undefined) byProcess.set(access.process, [access]);
      else list.push(access);
    }
    for (const list of byProcess.values()) chain(problem, list, edgeKinds.itemProcess, key);
    if (strict) chain(problem, accesses, edgeKinds.itemTime, key);
  }
}

function accessesOf(
  problem: Problem,
  keys: ReadonlySet<number>,
): ReadonlyMap<number, readonly Access[]> {
  const { model } = problem;
  const byKey = new Map<number, Access[]>(Array.from(keys, (key) => [key, []]));
  model.members.forEach((member, i) => {
    const { transaction, takesEffect, reads, others, writes } = member;
    // What asked for an older state binds nobody and is bound by nothing.
    if (transaction.kind === "init" || transaction.strict === false) return;
    if (!takesEffect && !problem.isOptional(i)) return;
    const { process, start, end, status, installed = true } = transaction;
    for (const key of new Set([...reads.keys(), ...others.keys(), ...writes.keys()])) {
      const looks = reads.has(key) || others.has(key);
      byKey.get(key)?.push({
        ...{ process, start, end, hasEnded: status === "commit" && installed },
        first: looks ? problem.readPoint(i) : problem.commitPoint(i),
        last: writes.has(key) ? problem.commitPoint(i) : problem.readPoint(i),
      });
    }
  });
  return byKey;
}

/** Auxiliary nodes, behind each of which lies all that had ended, make it linear after sorting. */
function chain(problem: Problem, accesses: readonly Access[], kind: EdgeKind, key: number): void {
  const { edges } = problem;
  const ended = accesses.filter(({ hasEnded }) => hasEnded).sort((a, b) => a.end - b.end);
  const begun = [...accesses].sort((a, b) => a.start - b.start);
  let next = 0;
  let behind: number | undefined;
  for (const { start, first } of begun) {
    let isFirst = true;
    for (; next < ended.length; next += 1) {
      const other = ended[next];
      if (other === undefined || other.end >= start) break;
      if (isFirst) {
        const node = problem.newNode();
        if (behind !== undefined) edges.add(behind, node, edgeKinds.onward);
        behind = node;
        isFirst = false;
      }
      if (behind !== undefined) edges.add(other.last, behind, kind, key);
    }
    if (behind !== undefined) edges.add(behind, first, edgeKinds.onward);
  }
}
