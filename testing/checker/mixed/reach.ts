/** Who comes before whom in a graph without cycles: an order of the nodes, and reachability. */
import { at, type Graph } from "../graph.ts";
import { BitRows } from "./bits.ts";
import { Heap } from "./heap.ts";

/**
 * All nodes, each behind its predecessors; undefined if there is a cycle.
 * @param urgency of those that may come next, the one with the least comes first.
 */
export function topologicalOrder(
  { nodes, first, to }: Graph,
  urgency: (node: number) => number,
): Int32Array | undefined {
  const waiting = new Int32Array(nodes);
  for (const target of to) waiting[target] = at(waiting, target) + 1;
  const ready = new Heap(urgency);
  waiting.forEach((count, node) => {
    if (count === 0) ready.push(node);
  });
  const order = new Int32Array(nodes);
  let length = 0;
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order[length] = node;
    length += 1;
    for (let edge = at(first, node); edge < at(first, node + 1); edge += 1) {
      const target = at(to, edge);
      const left = at(waiting, target) - 1;
      waiting[target] = left;
      if (left === 0) ready.push(target);
    }
  }
  return length === nodes ? order : undefined;
}

/** Targets looked at together. */
const blockMax = 1024;
/** How far back, in places of the order, paths are followed. */
const windowMax = 4096;

export type Reach = {
  /** Place of each node in the order. */
  readonly places: Int32Array;
  /** Paths are known from nodes between these places. */
  readonly from: number;
  readonly to: number;
  /** Whether a path leads from the node to the target. Holds during the call alone. */
  readonly reaches: (node: number) => boolean;
};

/**
 * Tells for each target which nodes have a path to it, of those that are not too far back in the
 * order: so time and memory grow with nodes and edges × a constant.
 * @returns edges looked at.
 */
export function visitTargets(
  graph: Graph,
  order: Int32Array,
  targets: readonly number[],
  visit: (target: number, reach: Reach) => void,
): number {
  const places = new Int32Array(order.length);
  order.forEach((node, place) => (places[node] = place));
  const sorted = targets.toSorted((a, b) => at(places, a) - at(places, b));
  let visits = 0;
  for (let start = 0; start < sorted.length; start += blockMax) {
    const block = sorted.slice(start, start + blockMax);
    const from = Math.max(0, at(places, block[0] ?? 0) - windowMax);
    const to = at(places, block.at(-1) ?? 0);
    const rows = new BitRows(to - from + 1, block.length);
    const columnOf = new Map(block.map((target, column) => [target, column]));
    for (let place = to; place >= from; place -= 1) {
      const node = at(order, place);
      for (let edge = at(graph.first, node); edge < at(graph.first, node + 1); edge += 1) {
        const next = at(graph.to, edge);
        visits += 1;
        if (at(places, next) > to) continue;
        rows.include(place - from, rows, at(places, next) - from);
        const column = columnOf.get(next);
        if (column !== undefined) rows.add(place - from, column);
      }
    }
    block.forEach((target, column) => {
      const reaches = (node: number): boolean => {
        const place = at(places, node);
        return place >= from && place <= to && rows.has(place - from, column);
      };
      visit(target, { places, from, to: at(places, target), reaches });
    });
  }
  return visits;
}
