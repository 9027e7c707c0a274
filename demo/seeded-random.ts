/** Numbers that look random and follow from a seed, so that a run can be asked for again. */

export class SeededRandom {
  #state: number;

  /** Different paths under one seed give unrelated sequences. */
  constructor(seed: number, ...path: readonly number[]) {
    this.#state = [seed, ...path].reduce((state, step) => scrambled(state ^ step), 0x9e3779b9);
  }

  /** In `[0, 1)`. */
  fraction(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return (scrambled(this.#state) >>> 0) / 2 ** 32;
  }

  /** A whole number in `[0, end)`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("nothing to pick from");
    return value;
  }

  shuffled<T>(values: readonly T[]): T[] {
    return values
      .map((value) => ({ value, order: this.fraction() }))
      .sort((one, other) => one.order - other.order)
      .map(({ value }) => value);
  }
}

/** Every bit of the argument has a say in every bit of the result. */
function scrambled(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
