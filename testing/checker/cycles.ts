/**
 * Finds a short cycle of the worst kind in a strongly connected part of the graph: of writes alone,
 * with reads, with one anti-dependency, with more. Shortest by the number of transactions;
 * auxiliary nodes cost nothing.
 */
import {
  at,
  cyclicComponents,
  edgeKinds,
  isFree,
  kindMask,
  type EdgeList,
  type Graph,
} from "./graph.ts";

/** Index of an edge in the graph, and where it begins. */
export type PathEdge = { readonly edge: number; readonly from: number };

/** Searches that may start from many nodes look at no more edges than this, each search apart. */
const visitsMax = 4_000_000;
const startsMax = 256;

type PathWish = { readonly from: number; readonly to: number; readonly kinds: number };

const { within, onward, ww, wr, rw, rwAbsent, realTime, timestamp, initial } = edgeKinds;
const { itemTime, itemProcess, final, implied } = edgeKinds;
const freeKinds = kindMask(within, onward);
const writeKinds = kindMask(within, onward, ww, initial);
const flowKinds = writeKinds | kindMask(wr);
const antiKinds = kindMask(rw, rwAbsent);
const processKinds = kindMask(itemProcess);
const clockKinds = kindMask(realTime, timestamp, itemTime, itemProcess);
const allClockKinds = clockKinds | kindMask(final);

export class CycleSearch {
  readonly #graph: Graph;
  /** Of the nodes, which search has reached them last, and by which edge. */
  readonly #reachedIn: Int32Array;
  readonly #reachedBy: Int32Array;
  readonly #reachedFrom: Int32Array;
  /** Number of the component that is searched; nodes outside do not count. */
  readonly #part: Int32Array;
  #parts = 0;
  /** Kinds of edges that begin in the part that is searched. */
  #present = 0;
  #searches = 0;
  /** Edges looked at, over all searches. */
  visits = 0;

  constructor(edges: EdgeList, nodes: number) {
    this.#graph = edges.toGraph(nodes);
    this.#reachedIn = new Int32Array(nodes);
    this.#reachedBy = new Int32Array(nodes);
    this.#reachedFrom = new Int32Array(nodes);
    this.#part = new Int32Array(nodes);
  }

  get graph(): Graph {
    return this.#graph;
  }

  components(): readonly (readonly number[])[] {
    this.visits += this.#graph.to.length;
    return cyclicComponents(this.#graph, ~0);
  }

  /** A cycle within the component, in order. */
  worstCycle(component: readonly number[]): readonly PathEdge[] {
    this.#parts += 1;
    for (const node of component) this.#part[node] = this.#parts;
    this.#present = this.#kindsIn(component);
    const clockLevels = [0, processKinds, clockKinds, allClockKinds];
    // What is only implied by a cycle is no cycle to show, if there is another one.
    const levels = [...clockLevels, ...clockLevels.map((all) => all | kindMask(implied))];
    for (const clocks of new Set(levels.map((all) => all & this.#present))) {
      for (const kinds of [writeKinds, flowKinds]) {
        const cycle = this.#shortestThrough(component, kinds | clocks);
        if (cycle !== undefined) return cycle;
      }
      const single = this.#shortestWithOne(component, flowKinds | clocks);
      if (single !== undefined) return single;
      const any = this.#shortestThrough(component, flowKinds | antiKinds | clocks);
      if (any !== undefined) return any;
    }
    return [];
  }

  /** Of the edges that begin in the component. */
  #kindsIn(component: readonly number[]): number {
    const { first, kind } = this.#graph;
    let kinds = 0;
    for (const node of component) {
      for (let edge = at(first, node); edge < at(first, node + 1); edge += 1) {
        kinds |= 1 << at(kind, edge);
      }
    }
    return kinds;
  }

  /** Through any of the nodes, by edges of these kinds alone. */
  #shortestThrough(component: readonly number[], kinds: number): readonly PathEdge[] | undefined {
    let best: readonly PathEdge[] | undefined;
    const limit = this.visits + visitsMax;
    for (const node of this.#starts(component, kinds)) {
      const cycle = this.#path({ from: node, to: node, kinds });
      if (
        cycle !== undefined &&
        (best === undefined || cost(this.#graph, cycle) < cost(this.#graph, best))
      ) {
        best = cycle;
      }
      if (best !== undefined && (cost(this.#graph, best) <= 2 || this.visits > limit)) break;
    }
    return best;
  }

  /**
   * Nodes from which a cycle of these kinds can be found: of each part that has one, the first
   * ones.
   */
  #starts(component: readonly number[], kinds: number): readonly number[] {
    if ((this.#present & ~kinds) === 0) return component.slice(0, startsMax);
    const part = this.#part[component[0] ?? 0] ?? 0;
    const inner = subgraph(this.#graph, component, (node) => this.#part[node] === part);
    this.visits += inner.to.length;
    return cyclicComponents(inner, kinds)
      .flatMap((nodes) => nodes.slice(0, startsMax).map((node) => component[node] ?? 0))
      .slice(0, startsMax);
  }

  /** A cycle of one anti-dependency and edges of these kinds, among which there is no cycle. */
  #shortestWithOne(component: readonly number[], kinds: number): readonly PathEdge[] | undefined {
    const limit = this.visits + visitsMax;
    let best: readonly PathEdge[] | undefined;
    for (const closing of this.#backwardEdges(component, kinds)) {
      const target = at(this.#graph.to, closing.edge);
      const rest = this.#path({ from: target, to: closing.from, kinds });
      if (rest === undefined) continue;
      const cycle = [closing, ...rest];
      if (best === undefined || cost(this.#graph, cycle) < cost(this.#graph, best)) best = cycle;
      if (cost(this.#graph, best) <= 2 || this.visits > limit) break;
    }
    return best;
  }

  /**
   * The anti-dependencies that lead back in an order of the component by the other edges: only they
   * close a cycle. Those that lead back furthest come first, since of the others many lead back by
   * chance of the order alone.
   */
  #backwardEdges(component: readonly number[], kinds: number): readonly PathEdge[] {
    const rank = this.#ranks(component, kinds);
    const { first, to, kind } = this.#graph;
    const found: (PathEdge & { readonly back: number })[] = [];
    for (const from of component) {
      for (let edge = at(first, from); edge < at(first, from + 1); edge += 1) {
        const target = at(to, edge);
        if ((antiKinds & (1 << at(kind, edge))) === 0) continue;
        if (this.#part[target] !== this.#part[from]) continue;
        const back = (rank.get(from) ?? 0) - (rank.get(target) ?? 0);
        if (back > 0) found.push({ edge, from, back });
      }
    }
    return found.sort((a, b) => b.back - a.back || a.edge - b.edge);
  }

  /** A place for each node behind those of its predecessors, as early as may be. */
  #ranks(component: readonly number[], kinds: number): ReadonlyMap<number, number> {
    const { first, to, kind } = this.#graph;
    const part = this.#part[component[0] ?? 0];
    const waiting = new Map<number, number>(component.map((node) => [node, 0]));
    const each = (node: number, visit: (target: number) => void): void => {
      for (let edge = at(first, node); edge < at(first, node + 1); edge += 1) {
        const target = at(to, edge);
        const counts = (kinds & (1 << at(kind, edge))) !== 0 && this.#part[target] === part;
        if (counts) visit(target);
      }
      this.visits += at(first, node + 1) - at(first, node);
    };
    for (const node of component) {
      each(node, (target) => waiting.set(target, (waiting.get(target) ?? 0) + 1));
    }
    const rank = new Map<number, number>();
    const ready = component.filter((node) => waiting.get(node) === 0);
    for (const node of ready) rank.set(node, 0);
    // Grows while it is walked through.
    for (const node of ready) {
      const next = (rank.get(node) ?? 0) + 1;
      each(node, (target) => {
        rank.set(target, Math.max(rank.get(target) ?? 0, next));
        const left = (waiting.get(target) ?? 0) - 1;
        waiting.set(target, left);
        if (left === 0) ready.push(target);
      });
    }
    return rank;
  }

  /**
   * Breadth first; a free edge leads to the same level. A path from a node to itself has at least
   * one edge.
   */
  #path(wish: PathWish): readonly PathEdge[] | undefined {
    this.#searches += 1;
    let level: number[] = [wish.from];
    while (level.length > 0) {
      // All that free edges reach belongs to this level, before anything is taken for the next one.
      for (const node of level) {
        for (const target of this.#reach(node, wish, freeKinds)) {
          if (target === wish.to) return this.#trail(wish);
          level.push(target);
        }
      }
      const next: number[] = [];
      for (const node of level) {
        for (const target of this.#reach(node, wish, ~freeKinds)) {
          if (target === wish.to) return this.#trail(wish);
          next.push(target);
        }
      }
      level = next;
    }
    return undefined;
  }

  /** The nodes that edges of these kinds lead to and that the search had not reached. */
  #reach(node: number, { from, kinds }: PathWish, among: number): readonly number[] {
    const { first, to, kind } = this.#graph;
    const reached: number[] = [];
    for (let edge = at(first, node); edge < at(first, node + 1); edge += 1) {
      this.visits += 1;
      const target = at(to, edge);
      if ((kinds & among & (1 << at(kind, edge))) === 0) continue;
      if (this.#part[target] !== this.#part[from]) continue;
      if (this.#reachedIn[target] === this.#searches) continue;
      this.#reachedIn[target] = this.#searches;
      this.#reachedBy[target] = edge;
      this.#reachedFrom[target] = node;
      reached.push(target);
    }
    return reached;
  }

  #trail({ from, to }: PathWish): readonly PathEdge[] {
    const edges: PathEdge[] = [];
    let node = to;
    do {
      const before = at(this.#reachedFrom, node);
      edges.push({ edge: at(this.#reachedBy, node), from: before });
      node = before;
    } while (node !== from);
    return edges.reverse();
  }
}

function cost(graph: Graph, path: readonly PathEdge[]): number {
  return path.filter(({ edge }) => !isFree(at(graph.kind, edge))).length;
}

/** The part of a graph between some of its nodes, which are renumbered in their order. */
function subgraph(
  graph: Graph,
  nodes: readonly number[],
  isInside: (node: number) => boolean,
): Graph {
  const numbers = new Map(nodes.map((node, i) => [node, i]));
  const first = new Int32Array(nodes.length + 1);
  const to: number[] = [];
  const kind: number[] = [];
  nodes.forEach((node, i) => {
    for (let edge = at(graph.first, node); edge < at(graph.first, node + 1); edge += 1) {
      const target = at(graph.to, edge);
      const number = isInside(target) ? numbers.get(target) : undefined;
      if (number === undefined) continue;
      to.push(number);
      kind.push(at(graph.kind, edge));
    }
    first[i + 1] = to.length;
  });
  return {
    nodes: nodes.length,
    first,
    to: Int32Array.from(to),
    kind: Uint8Array.from(kind),
    key: new Int32Array(0),
  };
}
