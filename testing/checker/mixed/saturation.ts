/**
 * What must come before what, as far as it follows from what is known. Two writers of an item have
 * some order; where one of the two would close a cycle it is the other, and then who read the
 * earlier version comes before the later writer. A read of nothing, or of "something else", is
 * bound to a writer as soon as only one can explain it. Repeated until nothing follows any more, or
 * there is a cycle: then the history has no order at all, whatever the order of the rest.
 *
 * A round takes (points + edges) log points, since only what is near in time is compared; there are
 * few.
 */
import { assert } from "../../../core/assert.ts";
import { edgeKinds, type Graph } from "../graph.ts";
import { BitRows } from "./bits.ts";
import { beginning, type Item, type ItemRead, type ItemWriter, type Problem } from "./problem.ts";
import { topologicalOrder, visitTargets, type Reach } from "./reach.ts";

const roundsMax = 60;

type Role =
  | { readonly kind: "commit"; readonly item: number; readonly writer: number }
  | { readonly kind: "bound"; readonly read: ItemRead }
  | { readonly kind: "open"; readonly read: ItemRead; readonly row: number };

/** Of open reads by row: writers that come before, and after. */
type Seen = { readonly before: BitRows; readonly after: BitRows };

/** What is known of an item's writers, by their indices. */
type Knowledge = {
  /** Whether the writer of the row must come before that of the column. */
  readonly before: BitRows;
  /** Of these, which have their edges in the graph. */
  readonly drawn: BitRows;
  /** Pairs learned in this round. */
  readonly fresh: Map<number, number[]>;
  /** Whether some writer must come before this one. */
  readonly hasBefore: Uint8Array;
  /** Reads whose writer is known, by writer. */
  readonly readsOf: ItemRead[][];
  /** A node before all writers, for those who found that nothing was there yet. */
  start: number | undefined;
};

export class Saturation {
  visits = 0;
  /** Reads that nothing explains, and that no cycle shows. */
  readonly impossible: ItemRead[] = [];
  readonly #problem: Problem;
  readonly #known: readonly Knowledge[];
  /** Reads with several candidates. */
  #open: ItemRead[] = [];
  #hasGrown = false;
  /** Pairs that follow from reads, in this round. */
  readonly #late: { readonly item: number; readonly first: number; readonly second: number }[] = [];
  /** By item: indices of writers in the order of this round. */
  readonly #sortedBy = new Map<number, readonly number[]>();

  constructor(problem: Problem) {
    this.#problem = problem;
    this.#known = problem.items.map(({ writers }) => ({
      before: new BitRows(writers.length, writers.length),
      drawn: new BitRows(writers.length, writers.length),
      start: undefined,
      fresh: new Map(),
      hasBefore: new Uint8Array(writers.length),
      readsOf: writers.map(() => []),
    }));
    for (const read of problem.reads) {
      if (read.member !== undefined && problem.isOptional(read.member)) continue;
      if (!this.#bind(read)) this.#open.push(read);
    }
  }

  /** Adds edges to the problem. @returns false when they close a cycle. */
  run(): boolean {
    for (let round = 0; round < roundsMax; round += 1) {
      const graph = this.#problem.edges.toGraph(this.#problem.nodes);
      const order = topologicalOrder(graph, (node) => this.#urgency(node));
      if (order === undefined) return false;
      this.#hasGrown = false;
      this.#sortedBy.clear();
      this.#look(graph, order);
      this.#draw(order);
      // What follows from reads comes second: of two cycles the one that shows what was missed is
      // easier to understand.
      if (this.#late.length > 0 && this.#hasCycle()) return false;
      for (const { item, first, second } of this.#late.splice(0)) this.#learn(item, first, second);
      this.#draw(order);
      if (this.#isFinished()) return true;
    }
    return !this.#hasCycle();
  }

  #isFinished(): boolean {
    return !this.#hasGrown;
  }

  #hasCycle(): boolean {
    const graph = this.#problem.edges.toGraph(this.#problem.nodes);
    return topologicalOrder(graph, () => 0) === undefined;
  }

  #facts(item: number): Item {
    const facts = this.#problem.items[item];
    assert(facts !== undefined, "checker: an index of an item");
    return facts;
  }

  #knowledge(item: number): Knowledge {
    const known = this.#known[item];
    assert(known !== undefined, "checker: an index of an item");
    return known;
  }

  #learn(item: number, first: number, second: number): void {
    const { before, hasBefore, fresh } = this.#knowledge(item);
    if (before.has(first, second)) return;
    before.add(first, second);
    hasBefore[second] = 1;
    const list = fresh.get(first);
    if (list === undefined) fresh.set(first, [second]);
    else list.push(second);
  }

  /** Writers from which paths are known, by their places in the order of this round. */
  #eachNear(
    item: number,
    { places, from, to }: Reach,
    visit: (writer: ItemWriter, index: number) => void,
  ): void {
    const { writers } = this.#facts(item);
    const placeOf = (index: number | undefined): number =>
      places[this.#problem.commitPoint(writers[index ?? 0]?.member ?? 0)] ?? 0;
    const sorted = this.#sorted(item, placeOf);
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (placeOf(sorted[middle]) <= to) low = middle + 1;
      else high = middle;
    }
    for (let i = low - 1; i >= 0; i -= 1) {
      const index = sorted[i] ?? 0;
      const writer = writers[index];
      if (placeOf(index) < from) return;
      if (writer !== undefined) visit(writer, index);
    }
  }

  #sorted(item: number, placeOf: (index: number) => number): readonly number[] {
    const known = this.#sortedBy.get(item);
    if (known !== undefined) return known;
    const indices = this.#facts(item).writers.map((_writer, i) => i);
    const sorted = indices.sort((a, b) => placeOf(a) - placeOf(b));
    this.#sortedBy.set(item, sorted);
    return sorted;
  }

  /** One look at the graph: fills `before`, and drops candidates. */
  #look(graph: Graph, order: Int32Array): void {
    const roles = this.#roles();
    const writersMax = Math.max(0, ...this.#problem.items.map(({ writers }) => writers.length));
    const open = this.#open;
    const seen: Seen = {
      before: new BitRows(open.length, writersMax),
      after: new BitRows(open.length, writersMax),
    };
    const openAt = new Map<number, number[]>();
    open.forEach(({ item }, row) => {
      const rows = openAt.get(item);
      if (rows === undefined) openAt.set(item, [row]);
      else rows.push(row);
    });
    this.visits += visitTargets(graph, order, Array.from(roles.keys()), (target, reach) => {
      for (const role of roles.get(target) ?? []) {
        if (role.kind === "bound") this.#lookAtBound(role.read, reach);
        else if (role.kind === "open") this.#lookAtOpen(role, reach, seen);
        else {
          this.#lookAtCommit(role, reach);
          for (const row of openAt.get(role.item) ?? []) {
            if (reach.reaches(open[row]?.point ?? 0)) seen.after.add(row, role.writer);
          }
        }
      }
    });
    this.#open = open.filter((read, row) => !this.#narrow(read, row, seen));
  }

  #roles(): ReadonlyMap<number, readonly Role[]> {
    const problem = this.#problem;
    const roles = new Map<number, Role[]>();
    const add = (point: number, role: Role): void => {
      const list = roles.get(point);
      if (list === undefined) roles.set(point, [role]);
      else list.push(role);
    };
    problem.items.forEach(({ writers }, item) => {
      writers.forEach(({ member, isCertain }, writer) => {
        if (!isCertain) return;
        add(problem.commitPoint(member), { kind: "commit", item, writer });
        for (const read of this.#known[item]?.readsOf[writer] ?? []) {
          add(read.point, { kind: "bound", read });
        }
      });
    });
    this.#open.forEach((read, row) => {
      add(read.point, { kind: "open", read, row });
    });
    return roles;
  }

  /** Whoever lies before a writer's commit is before it: the other way round would be a circle. */
  #lookAtCommit(
    { item, writer }: { readonly item: number; readonly writer: number },
    reach: Reach,
  ): void {
    this.#eachNear(item, reach, ({ member, isCertain }, other) => {
      if (!isCertain || other === writer) return;
      if (reach.reaches(this.#problem.readPoint(member))) this.#learn(item, other, writer);
    });
  }

  /** A writer before a read is before the one whose version was found. */
  #lookAtBound(read: ItemRead, reach: Reach): void {
    const [found = beginning] = read.candidates;
    this.#eachNear(read.item, reach, ({ member, isCertain }, other) => {
      if (!isCertain || member === read.member || other === found) return;
      if (!reach.reaches(this.#problem.commitPoint(member))) return;
      if (this.#knowledge(read.item).before.has(other, found)) return;
      this.#late.push({ item: read.item, first: other, second: found });
    });
  }

  #lookAtOpen(
    { read, row }: { readonly read: ItemRead; readonly row: number },
    reach: Reach,
    seen: Seen,
  ): void {
    this.#eachNear(read.item, reach, ({ member, isCertain }, other) => {
      if (!isCertain || member === read.member) return;
      if (reach.reaches(this.#problem.commitPoint(member))) seen.before.add(row, other);
    });
  }

  /** Drops what cannot have been found. @returns whether the read is bound now. */
  #narrow(read: ItemRead, row: number, seen: Seen): boolean {
    const { before } = this.#knowledge(read.item);
    const left = read.candidates.filter((candidate) => {
      if (candidate === beginning) return seen.before.isEmpty(row);
      // It came later, or somebody overwrote it in between.
      return !seen.after.has(row, candidate) && !before.meets(candidate, seen.before, row);
    });
    const kept = left.length === 0 ? this.#likeliest(read) : left;
    if (kept.length < read.candidates.length) this.#hasGrown = true;
    read.candidates = kept;
    return this.#bind(read);
  }

  /** With none left any will do whose edges close a cycle that says so. */
  #likeliest(read: ItemRead): readonly number[] {
    const { writers } = this.#facts(read.item);
    const isDrawn = (candidate: number): boolean =>
      candidate === beginning || writers[candidate]?.isCertain === true;
    const likeliest = read.candidates.findLast(isDrawn);
    if (likeliest !== undefined) return [likeliest];
    this.impossible.push(read);
    return [];
  }

  /**
   * Draws what follows where only one writer is left, and it took effect. (Of one that may not
   * have, nothing follows before somebody tries it out.)
   */
  #bind(read: ItemRead): boolean {
    const [writer, second] = read.candidates;
    if (writer === undefined || second !== undefined) return false;
    const { key, writers } = this.#facts(read.item);
    if (writer === beginning) {
      this.#bindToBeginning(read);
      return true;
    }
    const facts = writers[writer];
    if (facts?.isCertain !== true) return false;
    const { edges } = this.#problem;
    edges.add(this.#problem.commitPoint(facts.member), read.point, edgeKinds.wr, key);
    const { readsOf, drawn } = this.#knowledge(read.item);
    readsOf[writer]?.push(read);
    writers.forEach((_each, other) => {
      if (drawn.has(writer, other)) this.#drawMiss(read, other);
    });
    this.#hasGrown = true;
    return true;
  }

  #bindToBeginning(read: ItemRead): void {
    const { key, writers, writerOf } = this.#facts(read.item);
    const known = this.#knowledge(read.item);
    this.#hasGrown = true;
    if (read.member !== undefined && writerOf.has(read.member)) {
      writers.forEach((_each, other) => {
        if (known.hasBefore[other] === 0) this.#drawMiss(read, other);
      });
      return;
    }
    const { edges } = this.#problem;
    if (known.start === undefined) {
      known.start = this.#problem.newNode();
      for (const { member, isCertain } of writers) {
        if (!isCertain) continue;
        edges.add(known.start, this.#problem.commitPoint(member), edgeKinds.onward);
      }
    }
    edges.add(read.point, known.start, edgeKinds.rwAbsent, key);
  }

  /** The read comes before that writer, whose write it missed. */
  #drawMiss(read: ItemRead, writer: number): void {
    const { key, writers } = this.#facts(read.item);
    const facts = writers[writer];
    if (facts?.isCertain !== true || facts.member === read.member) return;
    const [found = beginning] = read.candidates;
    const isAbsent = found === beginning || writers[found]?.isDeletion === true;
    const kind = isAbsent ? edgeKinds.rwAbsent : edgeKinds.rw;
    this.#problem.edges.add(read.point, this.#problem.commitPoint(facts.member), kind, key);
  }

  /** Puts what is new into the graph: an edge to each nearest writer behind. */
  #draw(order: Int32Array): void {
    const places = new Int32Array(order.length);
    order.forEach((node, place) => (places[node] = place));
    this.#problem.items.forEach(({ writers }, item) => {
      const { fresh } = this.#knowledge(item);
      const covered = new BitRows(1, writers.length);
      const placeOf = (index: number): number =>
        places[this.#problem.commitPoint(writers[index]?.member ?? 0)] ?? 0;
      for (const [writer, behind] of fresh) {
        behind.sort((a, b) => placeOf(a) - placeOf(b));
        this.#drawFrom(item, writer, { behind, covered });
      }
      fresh.clear();
    });
  }

  #drawFrom(
    item: number,
    writer: number,
    { behind, covered }: { readonly behind: readonly number[]; readonly covered: BitRows },
  ): void {
    const { key, writers } = this.#facts(item);
    const { before, drawn, readsOf } = this.#knowledge(item);
    covered.clear();
    for (const next of behind) {
      if (covered.has(0, next)) continue;
      covered.include(0, before, next);
      if (drawn.has(writer, next)) continue;
      drawn.add(writer, next);
      this.#hasGrown = true;
      const [from, to] = [writers[writer]?.member ?? 0, writers[next]?.member ?? 0];
      const { edges } = this.#problem;
      const { commitPoint, readPoint } = this.#pointsOf(from, to);
      edges.add(commitPoint, readPoint, edgeKinds.implied, key);
      for (const read of readsOf[writer] ?? []) this.#drawMiss(read, next);
    }
  }

  #pointsOf(first: number, second: number) {
    return {
      commitPoint: this.#problem.commitPoint(first),
      readPoint: this.#problem.readPoint(second),
    };
  }

  /** About when each node comes: nodes that are near in time shall be near in the order. */
  #urgency(node: number): number {
    const { members } = this.#problem.model;
    return members[node >> 1]?.transaction.start ?? 0;
  }
}
