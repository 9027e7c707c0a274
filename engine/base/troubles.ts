/**
 * What a runner tells of: each trouble once, as long as its looks meet it. Whoever may ask for BASE
 * transactions makes as many as he likes, so a runner that goes on for months remembers only so
 * many of a kind; of more than that in one look it tells of none, and of the other kinds still.
 */
import * as limits from "../../core/limits.ts";
import { baseOf } from "./base-name.ts";
import type { TroubleOfOne } from "./types.ts";

export type Tell = (trouble: TroubleOfOne) => void;

export class Troubles {
  readonly #onTrouble: Tell;
  readonly #max: number;
  /** By kind, in which look each was met last; in that order. */
  readonly #metIn = new Map<TroubleOfOne["kind"], Map<string, number>>();
  #look = 0;

  constructor(onTrouble: Tell, max = limits.baseTroublesMax) {
    this.#onTrouble = onTrouble;
    this.#max = max;
  }

  get remembered(): number {
    return [...this.#metIn.values()].reduce((sum, { size }) => sum + size, 0);
  }

  nextLook(): void {
    this.#look += 1;
  }

  tell(trouble: TroubleOfOne): void {
    const { kind, name, id } = trouble;
    const metIn = this.#metIn.get(kind) ?? new Map<string, number>();
    this.#metIn.set(kind, metIn);
    const base = baseOf({ name, id });
    const isKnown = metIn.delete(base);
    if (!isKnown && !this.#hasRoom(metIn)) return;
    metIn.set(base, this.#look);
    if (!isKnown) this.#onTrouble(trouble);
  }

  /** Forgets the one that was met longest ago, if that was in an earlier look. */
  #hasRoom(metIn: Map<string, number>): boolean {
    if (metIn.size < this.#max) return true;
    const [oldest] = metIn;
    return oldest !== undefined && oldest[1] < this.#look - 1 && metIn.delete(oldest[0]);
  }
}
