/**
 * How far an order has come: which points have run, which may run next, and the way back. Besides
 * the edges of the problem there are wishes, which a search adds as it learns.
 */
import { assert } from "../../../core/assert.ts";
import { at, type Graph } from "../graph.ts";
import { memberAt } from "../model.ts";
import type { Problem } from "./problem.ts";
import { topologicalOrder } from "./reach.ts";
import { Store, type Ran } from "./store.ts";

export class RunState {
  readonly problem: Problem;
  readonly store: Store;
  /** Points that must run and have not. */
  left = 0;
  readonly #graph: Graph;
  readonly #wishes = new Map<number, number[]>();
  readonly #isPart: Uint8Array;
  /** Of each node, predecessors that have not run. */
  readonly #waiting: Int32Array;
  readonly #deadline: Float64Array;
  readonly #log: Ran[] = [];
  /** Place in the log, from 1; 0: has not run. */
  readonly #place: Int32Array;
  /** Sources of the edges to a node; built when first asked for. */
  #sources: readonly (readonly number[])[] | undefined;

  constructor(problem: Problem) {
    this.problem = problem;
    this.store = new Store(problem);
    this.#graph = problem.edges.toGraph(problem.nodes);
    this.#place = new Int32Array(problem.nodes);
    this.#isPart = this.#parts();
    this.#waiting = this.#predecessors();
    this.#deadline = this.#deadlines();
  }

  /** Points and other nodes that nothing keeps waiting, and that have not run. */
  ready(): number[] {
    const nodes: number[] = [];
    this.#waiting.forEach((waiting, node) => {
      if (waiting === 0 && this.#isPart[node] === 1 && this.#place[node] === 0) nodes.push(node);
    });
    return nodes;
  }

  isReady(node: number): boolean {
    return this.#waiting[node] === 0;
  }

  /** 0 if it has not run; of two that have, the later one has the greater. */
  placeOf(node: number): number {
    return at(this.#place, node);
  }

  /** The points that have run, the last one last. */
  get log(): readonly Ran[] {
    return this.#log;
  }

  /** The least end of what comes after the node, or of itself. */
  deadline(node: number): number {
    return at(this.#deadline, node);
  }

  /** When its member began. */
  startOf(node: number): number {
    const member = this.store.memberOf(node);
    return member === undefined ? 0 : memberAt(this.problem.model, member).transaction.start;
  }

  mayRun(point: number): boolean {
    return this.store.obstacle(point) === undefined;
  }

  isOptional(point: number): boolean {
    const member = this.store.memberOf(point);
    return member !== undefined && this.problem.isOptional(member);
  }

  /** @returns the nodes that nothing keeps waiting any more. */
  run(point: number): number[] {
    this.#place[point] = this.#log.push(this.store.run(point));
    if (!this.isOptional(point)) this.left -= 1;
    const freed: number[] = [];
    this.eachTarget(point, (target) => {
      const waiting = at(this.#waiting, target) - 1;
      this.#waiting[target] = waiting;
      if (waiting === 0 && this.#isPart[target] === 1) freed.push(target);
    });
    return freed;
  }

  undo(): void {
    const last = this.#log.pop();
    assert(last !== undefined, "checker: something has run");
    this.store.undo(last);
    this.#place[last.point] = 0;
    if (!this.isOptional(last.point)) this.left += 1;
    this.eachTarget(last.point, (target) => {
      this.#waiting[target] = at(this.#waiting, target) + 1;
    });
  }

  /** From now on `first` runs before `second`; neither has run. */
  wish(first: number, second: number): void {
    const list = this.#wishes.get(first);
    if (list === undefined) this.#wishes.set(first, [second]);
    else list.push(second);
    this.#waiting[second] = at(this.#waiting, second) + 1;
    if (this.#sources !== undefined) this.#sources = undefined;
  }

  /** Takes back the wishes between nodes of which none has run. */
  forgetWishes(): void {
    for (const [first, list] of this.#wishes) {
      if (this.#place[first] !== 0) continue;
      for (const second of list) this.#waiting[second] = at(this.#waiting, second) - 1;
      this.#wishes.delete(first);
    }
    this.#sources = undefined;
  }

  eachTarget(node: number, visit: (target: number) => void): void {
    const { first, to } = this.#graph;
    for (let edge = at(first, node); edge < at(first, node + 1); edge += 1) visit(at(to, edge));
    for (const target of this.#wishes.get(node) ?? []) visit(target);
  }

  /** A node that keeps this one waiting. */
  waitsFor(node: number): number | undefined {
    this.#sources ??= this.#allSources();
    return this.#sources[node]?.find((source) => this.#place[source] === 0);
  }

  #allSources(): readonly (readonly number[])[] {
    const sources: number[][] = Array.from({ length: this.problem.nodes }, () => []);
    for (let node = 0; node < this.problem.nodes; node += 1) {
      if (this.#isPart[node] === 1) this.eachTarget(node, (target) => sources[target]?.push(node));
    }
    return sources;
  }

  /** Members that took effect or may have; of one without a snapshot there is no second point. */
  #parts(): Uint8Array {
    const isPart = new Uint8Array(this.problem.nodes).fill(1);
    this.problem.model.members.forEach(({ takesEffect }, i) => {
      const counts = takesEffect || this.problem.isOptional(i);
      isPart[2 * i] = counts ? 1 : 0;
      isPart[2 * i + 1] = counts && this.problem.hasSnapshot(i) ? 1 : 0;
    });
    isPart.forEach((counts, node) => {
      if (counts === 1 && !this.isOptional(node)) this.left += 1;
    });
    return isPart;
  }

  #predecessors(): Int32Array {
    const waiting = new Int32Array(this.problem.nodes);
    for (let node = 0; node < this.problem.nodes; node += 1) {
      if (this.#isPart[node] !== 1) continue;
      this.eachTarget(node, (target) => (waiting[target] = at(waiting, target) + 1));
    }
    return waiting;
  }

  #deadlines(): Float64Array {
    const deadline = new Float64Array(this.problem.nodes).fill(Number.MAX_VALUE);
    const order = topologicalOrder(this.#graph, () => 0) ?? new Int32Array(0);
    for (let place = order.length - 1; place >= 0; place -= 1) {
      const node = at(order, place);
      const member = this.store.memberOf(node);
      let least = Number.MAX_VALUE;
      if (member !== undefined) {
        const { status, end } = memberAt(this.problem.model, member).transaction;
        if (status === "commit") least = end;
      }
      this.eachTarget(node, (target) => (least = Math.min(least, at(deadline, target))));
      deadline[node] = least;
    }
    return deadline;
  }
}
