/** Sets of small numbers as bits, in rows of one size. */
import { at } from "../graph.ts";

export class BitRows {
  readonly words: number;
  readonly #bits: Int32Array;

  constructor(rows: number, columns: number) {
    this.words = (columns + 31) >>> 5;
    this.#bits = new Int32Array(rows * this.words);
  }

  has(row: number, column: number): boolean {
    const word = at(this.#bits, row * this.words + (column >>> 5));
    return (word & (1 << (column & 31))) !== 0;
  }

  add(row: number, column: number): void {
    const place = row * this.words + (column >>> 5);
    this.#bits[place] = at(this.#bits, place) | (1 << (column & 31));
  }

  /** Puts the row of another set, or of this one, into a row. */
  include(row: number, from: BitRows, fromRow: number): void {
    const [to, source] = [row * this.words, fromRow * this.words];
    for (let word = 0; word < this.words; word += 1) {
      this.#bits[to + word] = at(this.#bits, to + word) | at(from.#bits, source + word);
    }
  }

  /** Whether a row has something in common with one of another set, which may be wider. */
  meets(row: number, other: BitRows, otherRow: number): boolean {
    const [left, right] = [row * this.words, otherRow * other.words];
    for (let word = 0; word < this.words; word += 1) {
      if ((at(this.#bits, left + word) & at(other.#bits, right + word)) !== 0) return true;
    }
    return false;
  }

  isEmpty(row: number): boolean {
    return !this.meets(row, this, row);
  }

  clear(): void {
    this.#bits.fill(0);
  }
}
