/**
 * The items while an order is tried out: what stands where, who still has to read it, and which
 * points may come next. Runs points forwards, and backwards again.
 */
import { assert } from "../../../core/assert.ts";
import { at } from "../graph.ts";
import { beginning, type ItemRead, type Problem } from "./problem.ts";

/** Nobody. */
const none = -1;
/** Nobody, for good: somebody has looked when all was over. */
const closed = -2;

export type Ran = {
  readonly point: number;
  /** Of the items that it wrote: what had stood there. */
  readonly replaced: readonly number[];
};

export class Store {
  readonly #problem: Problem;
  readonly #readsAt = new Map<number, ItemRead[]>();
  readonly #readsOf = new Map<number, ItemRead[]>();
  readonly #itemsOf: readonly (readonly number[])[];
  /** By item: the writer of what stands there. */
  readonly #current: Int32Array;
  /** By item: the snapshot transaction that has looked and not committed. */
  readonly #holder: Int32Array;
  /** By item and writer: reads still to come that must find its write. */
  readonly #awaited: readonly Int32Array[];

  constructor(problem: Problem) {
    this.#problem = problem;
    this.#current = new Int32Array(problem.items.length).fill(beginning);
    this.#holder = new Int32Array(problem.items.length).fill(none);
    this.#awaited = problem.items.map(({ writers }) => new Int32Array(writers.length));
    this.#itemsOf = problem.model.members.map(({ writes }) => Array.from(writes.keys()));
    for (const read of problem.reads) {
      const list = this.#readsAt.get(read.point);
      if (list === undefined) this.#readsAt.set(read.point, [read]);
      else list.push(read);
      const ofItem = this.#readsOf.get(read.item);
      if (ofItem === undefined) this.#readsOf.set(read.item, [read]);
      else ofItem.push(read);
      this.#await(read, 1);
    }
  }

  readsAt(point: number): readonly ItemRead[] {
    return this.#readsAt.get(point) ?? [];
  }

  /** Items that a member writes. */
  itemsOf(member: number): readonly number[] {
    return this.#itemsOf[member] ?? [];
  }

  /** Undefined for a node that is no member's. */
  memberOf(point: number): number | undefined {
    return point < 2 * this.#problem.model.members.length ? point >> 1 : undefined;
  }

  /** Items that the point writes. */
  writtenAt(point: number): readonly number[] {
    const member = this.memberOf(point);
    if (member === undefined || point !== this.#problem.commitPoint(member)) return [];
    return this.itemsOf(member);
  }

  /** Whether running it as soon as it may run can do no harm. */
  isHarmless(point: number): boolean {
    const member = this.memberOf(point);
    if (member === undefined) return this.readsAt(point).length === 0;
    return this.itemsOf(member).length === 0;
  }

  /** The item that keeps the point from running now; undefined if none does. */
  obstacle(point: number): number | undefined {
    const reads = this.readsAt(point);
    const unfit = reads.find((read) => !this.fits(read));
    if (unfit !== undefined) return unfit.item;
    const member = this.memberOf(point);
    if (member === undefined) return undefined;
    if (point !== this.#problem.commitPoint(member)) {
      return this.itemsOf(member).find((item) => this.#holder[item] !== none);
    }
    return this.itemsOf(member).find((item) => {
      const holder = at(this.#holder, item);
      if (holder !== none && holder !== member) return true;
      const own = reads.some((read) => read.item === item && this.#isAwaited(read)) ? 1 : 0;
      return this.#awaitedHere(item) > own;
    });
  }

  fits({ item, candidates }: ItemRead): boolean {
    return candidates.includes(at(this.#current, item));
  }

  /** Whether the point writes what the read may have found. */
  explains(point: number, { item, candidates }: ItemRead): boolean {
    const member = this.memberOf(point);
    if (member === undefined) return false;
    const writer = this.#problem.items[item]?.writerOf.get(member);
    return writer !== undefined && candidates.includes(writer);
  }

  /** The writer of what stands there, by index. */
  currentOf(item: number): number {
    return at(this.#current, item);
  }

  /** Who has looked at the item and will write it. */
  holderOf(item: number): number | undefined {
    const holder = at(this.#holder, item);
    return holder < 0 ? undefined : holder;
  }

  /** Reads that must find what stands there now; some may have run. */
  awaitedAt(item: number): readonly ItemRead[] {
    const current = at(this.#current, item);
    return (this.#readsOf.get(item) ?? []).filter(
      (read) => read.candidates[0] === current && this.#isAwaited(read),
    );
  }

  run(point: number): Ran {
    for (const read of this.readsAt(point)) this.#await(read, -1);
    const member = this.memberOf(point);
    if (member === undefined) {
      for (const { item } of this.readsAt(point)) this.#holder[item] = closed;
      return { point, replaced: [] };
    }
    if (point !== this.#problem.commitPoint(member)) {
      for (const item of this.itemsOf(member)) this.#holder[item] = member;
      return { point, replaced: [] };
    }
    const replaced = this.itemsOf(member).map((item) => {
      const before = at(this.#current, item);
      this.#current[item] = this.#problem.items[item]?.writerOf.get(member) ?? beginning;
      this.#holder[item] = none;
      return before;
    });
    return { point, replaced };
  }

  /** Of the point that ran last. */
  undo({ point, replaced }: Ran): void {
    for (const read of this.readsAt(point)) this.#await(read, 1);
    const member = this.memberOf(point);
    if (member === undefined) {
      for (const { item } of this.readsAt(point)) this.#holder[item] = none;
      return;
    }
    const isCommit = point === this.#problem.commitPoint(member);
    const holds = isCommit && this.#problem.hasSnapshot(member);
    this.itemsOf(member).forEach((item, i) => {
      this.#holder[item] = holds ? member : none;
      if (!isCommit) return;
      const before = replaced[i];
      assert(before !== undefined, "checker: a point is undone as it ran");
      this.#current[item] = before;
    });
  }

  #await(read: ItemRead, change: number): void {
    if (!this.#isAwaited(read)) return;
    const [writer = beginning] = read.candidates;
    const awaited = this.#awaited[read.item];
    if (awaited !== undefined) awaited[writer] = at(awaited, writer) + change;
  }

  /** Whether nothing but that one write will do, and the read will surely be there. */
  #isAwaited({ candidates, member }: ItemRead): boolean {
    const [writer] = candidates;
    const isOnly = candidates.length === 1 && writer !== beginning;
    return isOnly && (member === undefined || !this.#problem.isOptional(member));
  }

  #awaitedHere(item: number): number {
    const current = at(this.#current, item);
    return current === beginning ? 0 : at(this.#awaited[item] ?? new Int32Array(0), current);
  }
}
