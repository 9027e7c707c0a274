/**
 * Drops what a read of nothing cannot have found, by times alone: a deletion that began after the
 * read had ended, or that somebody had surely overwritten before it began. What is left is near in
 * time, of which there is little; n log n.
 */
import { memberAt } from "../model.ts";
import { beginning, type Item, type Problem } from "./problem.ts";

type Span = { readonly start: number; readonly end: number };

/** For histories whose operations on one item come in the order of real time. */
export function narrowByTime(problem: Problem): void {
  const overwritten = new Map<number, (before: number) => number>();
  for (const read of problem.reads) {
    if (read.member === undefined || read.candidates.length < 2) continue;
    const { transaction } = memberAt(problem.model, read.member);
    const item = problem.items[read.item];
    if (transaction.strict === false || item === undefined) continue;
    const newestStart = overwritten.get(read.item) ?? newestStarts(problem, item);
    overwritten.set(read.item, newestStart);
    // Whoever had ended before that was overwritten by one that had ended before the read began.
    const after = newestStart(transaction.start);
    const left = read.candidates.filter((candidate) => {
      if (candidate === beginning) return after < 0;
      const { start, end } = spanOf(problem, item, candidate);
      return end >= after && start <= (transaction.status === "commit" ? transaction.end : start);
    });
    if (left.length > 0) read.candidates = left;
  }
}

function spanOf({ model }: Problem, { writers }: Item, index: number): Span {
  const writer = writers[index];
  if (writer === undefined) return { start: 0, end: Number.MAX_VALUE };
  const { start, end, status } = memberAt(model, writer.member).transaction;
  return { start, end: status === "commit" ? end : Number.MAX_VALUE };
}

/** The greatest start of the writers that had ended before a moment; -1 if none had. */
function newestStarts(problem: Problem, item: Item): (before: number) => number {
  const spans = item.writers.flatMap(({ isCertain }, i) => {
    const span = spanOf(problem, item, i);
    return isCertain && span.end < Number.MAX_VALUE ? [span] : [];
  });
  spans.sort((a, b) => a.end - b.end);
  const ends = spans.map(({ end }) => end);
  let newest = -1;
  const starts = spans.map(({ start }) => (newest = Math.max(newest, start)));
  return (before) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] ?? 0) < before) low = middle + 1;
      else high = middle;
    }
    return starts[low - 1] ?? -1;
  };
}
