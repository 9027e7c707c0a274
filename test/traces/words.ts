/**
 * The words of one line of a trace, read from left to right. What is left over, missing or
 * misspelled is an error that names the line.
 */
import type { Timestamp } from "../../core/types.ts";

export class TraceError extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = "TraceError";
  }
}

const microsPerMs = 1000;

/** Milliseconds, and `+` microseconds where there are some. */
export function timeText(timestamp: number): string {
  const micros = timestamp % microsPerMs;
  const ms = (timestamp - micros) / microsPerMs;
  return micros === 0 ? `${ms}` : `${ms}+${micros}`;
}

export class Words {
  readonly line: number;
  readonly #words: readonly string[];
  #at = 0;

  constructor(line: { readonly text: string; readonly number: number }) {
    this.line = line.number;
    this.#words = line.text.replaceAll(",", " , ").trim().split(/\s+/u);
  }

  fail(message: string): never {
    throw new TraceError(this.line, message);
  }

  peek(): string {
    return this.#words[this.#at] ?? "";
  }

  next(what: string): string {
    const word = this.#words[this.#at];
    if (word === undefined) this.fail(`${what} is missing`);
    this.#at += 1;
    return word;
  }

  /** Whether this word comes next; it is read then. */
  take(word: string): boolean {
    if (this.peek() !== word) return false;
    this.#at += 1;
    return true;
  }

  expect(word: string): void {
    if (!this.take(word)) this.fail(`"${word}" expected, not "${this.peek()}"`);
  }

  oneOf<Word extends string>(words: readonly Word[]): Word {
    const found = words.find((word) => this.take(word));
    return found ?? this.fail(`one of ${words.join(", ")} expected, not "${this.peek()}"`);
  }

  number(what: string): number {
    const word = this.next(what);
    if (!/^\d{1,9}$/u.test(word)) this.fail(`${what} is a number, not "${word}"`);
    return Number(word);
  }

  /** `120`, or `120+1` for a microsecond later. */
  time(): Timestamp {
    const word = this.next("a time");
    const [, ms, micros] = /^(\d{1,9})(?:\+(\d{1,3}))?$/u.exec(word) ?? [];
    if (ms === undefined) this.fail(`a time is 120 or 120+1, not "${word}"`);
    return (Number(ms) * microsPerMs + Number(micros ?? 0)) as Timestamp;
  }

  optionalTime(word: string): Timestamp | undefined {
    return this.take(word) ? this.time() : undefined;
  }

  /** What `each` reads, again after each comma. */
  list<T>(each: (words: Words) => T): T[] {
    const found: T[] = [];
    do found.push(each(this));
    while (this.take(","));
    return found;
  }

  end(): void {
    if (this.#at < this.#words.length) this.fail(`"${this.peek()}" is not understood`);
  }
}
