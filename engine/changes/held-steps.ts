/**
 * What open BASE transactions have written so far, for the moment at which they are released: until
 * then nobody is given it. Paper: Salt §4.3.
 */
import { itemWeightBytes } from "../../core/item-size.ts";
import * as limits from "../../core/limits.ts";
import type { Writes } from "./commit-writes.ts";
import type { ChangePosition } from "./types.ts";

export type HeldStep = {
  /** From 1. */
  readonly number: number;
  readonly at: ChangePosition;
  readonly writes: Writes;
};

type WeighedStep = { readonly step: HeldStep; readonly bytes: number };

export class HeldSteps {
  /** Of each, a run of its steps up to the last one that it has made. */
  readonly #byBase = new Map<string, WeighedStep[]>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = limits.changesHeldBytesMax) {
    this.#bytesMax = bytesMax;
  }

  /** Where too much is held, who has begun first is forgotten: he is looked up in the logs. */
  add(base: string, step: HeldStep): void {
    const bytes = weightBytes(step);
    const known = this.#byBase.get(base);
    if (known === undefined) this.#byBase.set(base, [{ step, bytes }]);
    else known.push({ step, bytes });
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) {
      const [first] = this.#byBase.keys();
      if (first === undefined) return;
      this.take(first);
    }
  }

  /** Its last steps; none: they are not known, or there was none. */
  take(base: string): readonly HeldStep[] {
    const steps = this.#byBase.get(base) ?? [];
    this.#byBase.delete(base);
    for (const { bytes } of steps) this.#bytes -= bytes;
    return steps.map(({ step }) => step);
  }
}

function weightBytes({ writes }: HeldStep): number {
  let bytes = limits.changesHeldStepBytes;
  for (const { key, item } of writes.values()) bytes += itemWeightBytes(item ?? key);
  return bytes;
}
