/**
 * Randomness that a seed determines: the small fast counting generator sfc32 (PractRand, C.
 * Doty-Humphrey). Every user of randomness has a stream of its own, forked by name, so that
 * switching one fault off leaves all other draws of a run as they were, and a failing run can be
 * made smaller.
 */
import type { Random } from "../../core/ports.ts";

/** 32 bits from a text: FNV-1a with a final avalanche (MurmurHash3's). */
function hash32(text: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export class SeededRandom implements Random {
  readonly #name: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Equal names give equal sequences. */
  constructor(name: string) {
    this.#name = name;
    this.#a = hash32(name, 1);
    this.#b = hash32(name, 2);
    this.#c = hash32(name, 3);
    for (let i = 0; i < 12; i += 1) this.#next32();
  }

  /** A stream of its own; forking draws nothing from this one. */
  fork(name: string): SeededRandom {
    return new SeededRandom(`${this.#name}/${name}`);
  }

  next(): number {
    return this.#next32() / 0x1_0000_0000;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.#next32() & 0xff);
  }

  /** Uniform in [min, max). */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** Uniform in min … max, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** Uniform in the logarithm: as often between 1 and 10 as between 100 and 1,000. */
  logarithmic(min: number, max: number): number {
    return min * (max / min) ** this.next();
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /**
   * How unevenly `pick` picks: 1 all alike; above, the first elements more often.
   */
  pickExponent = 1;

  /** @throws RangeError for an empty list. */
  pick<Element>(elements: readonly Element[]): Element {
    const element = elements[Math.floor(this.next() ** this.pickExponent * elements.length)];
    if (element === undefined) throw new RangeError("nothing to pick from");
    return element;
  }

  #next32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }
}
