/**
 * Looks for an order by always taking what is most urgent; where that leads to a dead end, goes
 * back to the decision that was wrong, and decides it the other way. Finds the order of nearly
 * every legal history; that it finds none means nothing.
 */
import { Heap } from "./heap.ts";
import { repairOf, type Wish } from "./repair.ts";
import type { RunState } from "./run-state.ts";

/** Points taken back at once, at first. */
const backMin = 64;

export class Greedy {
  /** Points run or found to be blocked. */
  steps = 0;
  repairs = 0;
  readonly #state: RunState;
  /** Of starting over. */
  #round = 0;
  #back = backMin;
  #furthest = 0;
  #heap: Heap;
  /** Ready and blocked, by the item that blocks them. */
  #parked = new Map<number, number[]>();
  #optional = new Set<number>();

  constructor(state: RunState) {
    this.#state = state;
    this.#heap = this.#newHeap();
  }

  /** @param limits how much may be tried; in steps, and in decisions taken back. */
  search(limits: { readonly stepsMax: number; readonly repairsMax: number }): boolean {
    const state = this.#state;
    while (state.left > 0) {
      const point = this.#heap.pop();
      this.steps += 1;
      if (this.steps > limits.stepsMax) return false;
      if (point !== undefined) {
        this.#consider(point);
        continue;
      }
      const wanted = this.#wanted();
      if (wanted !== undefined) {
        this.#optional.delete(wanted);
        this.#take(wanted);
        continue;
      }
      if (this.repairs >= limits.repairsMax) return false;
      this.repairs += 1;
      const wish = this.#wish();
      if (wish === undefined) this.#startOver();
      else this.#goBack(wish);
    }
    return true;
  }

  #newHeap(): Heap {
    const { store } = this.#state;
    // What can do no harm goes first: it only waits for less.
    const heap = new Heap((point) => (store.isHarmless(point) ? -1 : this.#urgency(point)));
    for (const point of this.#state.ready()) heap.push(point);
    return heap;
  }

  /** Its deadline; in later rounds a moment near it, another one in each round. */
  #urgency(point: number): number {
    const deadline = this.#state.deadline(point);
    if (this.#round === 0) return deadline;
    const noise = (Math.imul(point + 1, 2654435761 + 40503 * this.#round) >>> 8) / 2 ** 24;
    return deadline - noise * (deadline - this.#state.startOf(point));
  }

  #consider(point: number): void {
    const obstacle = this.#state.store.obstacle(point);
    if (obstacle !== undefined) {
      const list = this.#parked.get(obstacle);
      if (list === undefined) this.#parked.set(obstacle, [point]);
      else list.push(point);
    } else if (this.#state.isOptional(point)) this.#optional.add(point);
    else this.#take(point);
  }

  #take(point: number): void {
    for (const next of this.#state.run(point)) this.#heap.push(next);
    for (const item of this.#touched(point)) {
      for (const other of this.#parked.get(item) ?? []) this.#heap.push(other);
      this.#parked.delete(item);
    }
  }

  /** Items whose state the point may have changed for others. */
  #touched(point: number): readonly number[] {
    const { store } = this.#state;
    const member = store.memberOf(point);
    const reads = store.readsAt(point).map(({ item }) => item);
    return member === undefined ? reads : [...reads, ...store.itemsOf(member)];
  }

  /** An optional one that explains what somebody is waiting to read. */
  #wanted(): number | undefined {
    const { store } = this.#state;
    for (const point of this.#optional) {
      if (!this.#state.mayRun(point)) continue;
      const waiting = this.#touched(point).flatMap((item) => this.#parked.get(item) ?? []);
      const unfit = waiting.flatMap((reader) =>
        store.readsAt(reader).filter((read) => !store.fits(read)),
      );
      if (unfit.some((read) => store.explains(point, read))) return point;
    }
    return undefined;
  }

  #wish(): Wish | undefined {
    for (const list of this.#parked.values()) {
      for (const point of list) {
        const wish = this.#state.isOptional(point) ? undefined : repairOf(this.#state, point);
        if (wish !== undefined) return wish;
      }
    }
    return undefined;
  }

  #goBack({ first, second }: Wish): void {
    this.#undoTo(this.#state.placeOf(second) - 1);
    this.#state.wish(first, second);
    this.#refill();
  }

  /** Wishes contradict each other: further back, without them, and by another urgency. */
  #startOver(): void {
    const { length } = this.#state.log;
    // Again and again no further than before: then the mistake lies further back.
    this.#back = length > this.#furthest ? backMin : this.#back * 2;
    this.#furthest = Math.max(this.#furthest, length);
    this.#undoTo(Math.max(0, length - this.#back));
    this.#state.forgetWishes();
    this.#round += 1;
    this.#refill();
  }

  #undoTo(length: number): void {
    while (this.#state.log.length > length) this.#state.undo();
  }

  #refill(): void {
    this.#parked = new Map();
    this.#optional = new Set();
    this.#heap = this.#newHeap();
  }
}
