/**
 * A directed graph in flat arrays, for millions of edges, and its strongly connected components.
 * Everything is deterministic: nodes in order of their numbers, edges in the order they were added.
 */

export const edgeKinds = {
  /** From a transaction's read point to its commit point; costs nothing. */
  within: 0,
  /** Out of an auxiliary node; costs nothing, and means what the edge into it means. */
  onward: 1,
  ww: 2,
  wr: 3,
  /** From the reader of a version to who overwrote it. */
  rw: 4,
  /** The same from the reader of nothing to who made something of it. */
  rwAbsent: 5,
  realTime: 6,
  timestamp: 7,
  /** From what was there before the run to everything else. */
  initial: 8,
  /** From an operation on an item to a later one on it, by real time: one of both is native. */
  itemTime: 9,
  /** The same of one process. */
  itemProcess: 10,
  /** From a write to who looked when everything was over. */
  final: 11,
  /** From a writer to one that must come behind it, since the other way round closes a cycle. */
  implied: 12,
} as const;

export type EdgeKind = (typeof edgeKinds)[keyof typeof edgeKinds];

/** A set of kinds as bits. */
export function kindMask(...kinds: readonly EdgeKind[]): number {
  return kinds.reduce<number>((mask, kind) => mask | (1 << kind), 0);
}

export function isFree(kind: number): boolean {
  return kind === edgeKinds.within || kind === edgeKinds.onward;
}

/** Edges as they are found. */
export class EdgeList {
  #from = new Int32Array(1024);
  #to = new Int32Array(1024);
  #kind = new Uint8Array(1024);
  #key = new Int32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @param key number of the key that the edge is about; -1 for none. */
  add(from: number, to: number, kind: EdgeKind, key = -1): void {
    if (this.#length === this.#from.length) this.#grow();
    this.#from[this.#length] = from;
    this.#to[this.#length] = to;
    this.#kind[this.#length] = kind;
    this.#key[this.#length] = key;
    this.#length += 1;
  }

  /** Sorted by source; edges added later are not part of it. */
  toGraph(nodes: number): Graph {
    const length = this.#length;
    const first = new Int32Array(nodes + 1);
    for (let i = 0; i < length; i += 1) bump(first, at(this.#from, i) + 1);
    for (let node = 0; node < nodes; node += 1)
      first[node + 1] = at(first, node) + at(first, node + 1);
    const next = first.slice(0, nodes);
    const to = new Int32Array(length);
    const kind = new Uint8Array(length);
    const key = new Int32Array(length);
    for (let i = 0; i < length; i += 1) {
      const from = at(this.#from, i);
      const place = at(next, from);
      next[from] = place + 1;
      to[place] = at(this.#to, i);
      kind[place] = at(this.#kind, i);
      key[place] = at(this.#key, i);
    }
    return { nodes, first, to, kind, key };
  }

  #grow(): void {
    this.#from = doubled(this.#from);
    this.#to = doubled(this.#to);
    this.#key = doubled(this.#key);
    const kind = new Uint8Array(this.#kind.length * 2);
    kind.set(this.#kind);
    this.#kind = kind;
  }
}

export type Graph = {
  readonly nodes: number;
  /** The edges of a node are those from `first[node]` on, below `first[node + 1]`. */
  readonly first: Int32Array;
  readonly to: Int32Array;
  readonly kind: Uint8Array;
  readonly key: Int32Array;
};

/**
 * The component of each node, by number, and the nodes of each component that has a cycle, in the
 * order of their least node. Tarjan's algorithm with a stack of its own, so that depth is bounded
 * by memory alone.
 * @param mask kinds of edges that count.
 */
export function cyclicComponents(graph: Graph, mask: number): readonly (readonly number[])[] {
  const { nodes, first } = graph;
  const walk = new TarjanWalk(graph, mask);
  for (let node = 0; node < nodes; node += 1) {
    if (at(first, node) < at(first, node + 1)) walk.visit(node);
  }
  return walk.found.sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
}

class TarjanWalk {
  readonly found: number[][] = [];
  readonly #graph: Graph;
  readonly #mask: number;
  /** Order of discovery from 1; 0: not yet. */
  readonly #order: Int32Array;
  readonly #low: Int32Array;
  readonly #isOpen: Uint8Array;
  /** The next edge of each node on the path. */
  readonly #edge: Int32Array;
  readonly #open: number[] = [];
  #count = 0;

  constructor(graph: Graph, mask: number) {
    this.#graph = graph;
    this.#mask = mask;
    this.#order = new Int32Array(graph.nodes);
    this.#low = new Int32Array(graph.nodes);
    this.#isOpen = new Uint8Array(graph.nodes);
    this.#edge = new Int32Array(graph.nodes);
  }

  visit(root: number): void {
    if (this.#order[root] !== 0) return;
    const path: number[] = [root];
    this.#discover(root);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const child = this.#nextChild(node);
      if (child !== undefined) {
        this.#discover(child);
        path.push(child);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent !== undefined) {
        this.#low[parent] = Math.min(at(this.#low, parent), at(this.#low, node));
      }
      if (this.#low[node] === this.#order[node]) this.#close(node);
    }
  }

  #discover(node: number): void {
    this.#count += 1;
    this.#order[node] = this.#count;
    this.#low[node] = this.#count;
    this.#isOpen[node] = 1;
    this.#edge[node] = at(this.#graph.first, node);
    this.#open.push(node);
  }

  /** The next node that an edge leads to and nobody has seen; notes those on the path meanwhile. */
  #nextChild(node: number): number | undefined {
    const { first, to, kind } = this.#graph;
    const end = at(first, node + 1);
    for (let edge = at(this.#edge, node); edge < end; edge += 1) {
      if ((this.#mask & (1 << at(kind, edge))) === 0) continue;
      const target = at(to, edge);
      if (this.#order[target] === 0) {
        this.#edge[node] = edge + 1;
        return target;
      }
      if (this.#isOpen[target] === 1) {
        this.#low[node] = Math.min(at(this.#low, node), at(this.#order, target));
      }
    }
    this.#edge[node] = end;
    return undefined;
  }

  #close(root: number): void {
    const members: number[] = [];
    for (;;) {
      const node = this.#open.pop();
      if (node === undefined) break;
      this.#isOpen[node] = 0;
      members.push(node);
      if (node === root) break;
    }
    if (members.length > 1) this.found.push(members.sort((a, b) => a - b));
  }
}

/** The element of a flat array at an index that is within it. */
export function at(array: Int32Array | Uint8Array | Float64Array, index: number): number {
  return array[index] ?? 0;
}

function bump(array: Int32Array, index: number): void {
  array[index] = at(array, index) + 1;
}

function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
