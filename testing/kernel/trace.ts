/**
 * What happened, in order: one line an event. Its digest tells whether two runs were the same, byte
 * for byte, without keeping them; the lines themselves are kept for whoever wants to read a run.
 */

/** Digests of 2 × 32 bits: enough to notice a difference, which nobody forges. */
export class Trace {
  #first = 0xdeadbeef;
  #second = 0x41c6ce57;
  #lines: string[] | undefined;
  #count = 0;

  constructor(options: { readonly keepLines: boolean }) {
    if (options.keepLines) this.#lines = [];
  }

  note(nowMs: number, what: string): void {
    const line = `${nowMs.toFixed(3)} ${what}`;
    this.#count += 1;
    this.#lines?.push(line);
    let first = this.#first;
    let second = this.#second;
    for (let i = 0; i < line.length; i += 1) {
      const code = line.charCodeAt(i);
      first = Math.imul(first ^ code, 0x9e3779b1);
      second = Math.imul(second ^ code, 0x5f356495);
      first ^= second >>> 15;
    }
    this.#first = first;
    this.#second = second;
  }

  get lines(): readonly string[] {
    return this.#lines ?? [];
  }

  get count(): number {
    return this.#count;
  }

  /** 16 hexadecimal digits over all lines so far. */
  get digest(): string {
    return [this.#first, this.#second]
      .map((half) => (half >>> 0).toString(16).padStart(8, "0"))
      .join("");
  }
}
