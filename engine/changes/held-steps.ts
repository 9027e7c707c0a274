/**
 * What open BASE transactions have written so far, for the moment at which they are released: until
 * then nobody is given it. Paper: Salt §4.3.
 */
import * as limits from "../../core/limits.ts";
import type { Writes } from "./commit-writes.ts";
import type { ChangePosition } from "./types.ts";

export type HeldStep = {
  /** From 1. */
  readonly number: number;
  readonly at: ChangePosition;
  readonly writes: Writes;
};

export class HeldSteps {
  /** Of each, a run of its steps up to the last one that it has made. */
  readonly #byBase = new Map<string, HeldStep[]>();
  readonly #itemsMax: number;
  #items = 0;

  constructor(itemsMax = limits.changesHeldItemsMax) {
    this.#itemsMax = itemsMax;
  }

  /** Where too much is held, who has begun first is forgotten: he is looked up in the logs. */
  add(base: string, step: HeldStep): void {
    const known = this.#byBase.get(base);
    if (known === undefined) this.#byBase.set(base, [step]);
    else known.push(step);
    this.#items += step.writes.size;
    while (this.#items > this.#itemsMax) {
      const [first] = this.#byBase.keys();
      if (first === undefined) return;
      this.take(first);
    }
  }

  /** Its last steps; none: they are not known, or there was none. */
  take(base: string): readonly HeldStep[] {
    const steps = this.#byBase.get(base) ?? [];
    this.#byBase.delete(base);
    for (const { writes } of steps) this.#items -= writes.size;
    return steps;
  }
}
