/**
 * What the store has said of a table that nobody but Tidemark writes, for as long as nothing was
 * committed there since: it would say the same again; but for what the store drops by itself, of
 * which no log tells: that is forgotten before it may. An answer that is found here is judged as
 * any other that was long on its way (core/visibility.ts), and so costs a transaction nothing but
 * its place in the read set.
 *
 *     ask ───── answer, judged ── note ───────────────── find: as if asked now
 *     log  ─── all of the hash is in the answer ── nothing of the hash ──▶
 */
import * as limits from "../../core/limits.ts";
import type { Page, StoredItem } from "../../core/ports.ts";
import type { Tail } from "../../core/tail.ts";
import { TailWatches, type TailWatch } from "../../core/tail-watches.ts";
import type { Answer } from "../../core/visibility.ts";

type Remembered<Found> = {
  readonly answer: Found;
  readonly tail: Tail;
  readonly watch: TailWatch;
  readonly untilMs: number;
  readonly end: () => void;
};

class RememberedAnswers<Found> {
  /** By what was asked; who was asked for last is last. */
  readonly #answers = new Map<string, Remembered<Found>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** As the store would answer now; undefined: it is to be asked. */
  find(question: string, tail: Tail): Found | undefined {
    const known = this.#answers.get(question);
    if (known === undefined) return undefined;
    this.#answers.delete(question);
    // mutant: remembers-what-has-changed
    if (known.watch.isChanged || known.tail !== tail) return undefined;
    if (known.untilMs <= this.#nowMs()) return undefined;
    // probe: record-remembered
    this.#answers.set(question, known);
    return known.answer;
  }

  /**
   * To be called in the turn in which the answer was judged, of what the store itself has said.
   * @param bytes what it takes to keep it.
   * @param expiresMs from when on, by a wall clock, the store may drop some of it.
   */
  note(
    question: string,
    answer: Found,
    {
      judged,
      tail,
      bytes,
      expiresMs,
    }: {
      readonly judged: Answer;
      readonly tail: Tail;
      readonly bytes: number;
      readonly expiresMs: number;
    },
  ): void {
    if (bytes > limits.rememberedAnswerBytesMax || !isWhole(judged, tail)) return;
    const { about } = judged;
    const watches = (tail.watches ??= new TailWatches());
    this.#answers.delete(question);
    this.#answers.set(question, {
      ...{ answer, tail, watch: watches.watch(about) },
      untilMs: expiresMs - limits.clientClockErrorMsMax,
      end: () => {
        watches.end(about);
      },
    });
    if (this.#answers.size <= limits.rememberedAnswersMax) return;
    const [oldest] = this.#answers;
    if (oldest === undefined) return;
    this.#answers.delete(oldest[0]);
    oldest[1].end();
  }
}

/** Of one shard. */
export class RememberedReads {
  readonly #table: string;
  readonly #items: RememberedAnswers<StoredItem>;
  readonly #pages: RememberedAnswers<Page>;

  /**
   * @param table which nobody but Tidemark writes; of all others nothing is remembered.
   * @param nowMs the wall clock.
   */
  constructor(table: string, nowMs: () => number) {
    this.#table = table;
    this.#items = new RememberedAnswers(nowMs);
    this.#pages = new RememberedAnswers(nowMs);
  }

  itemsOf(table: string): RememberedAnswers<StoredItem> | undefined {
    return table === this.#table ? this.#items : undefined;
  }

  /** Of whole partitions. */
  pagesOf(table: string): RememberedAnswers<Page> | undefined {
    return table === this.#table ? this.#pages : undefined;
  }
}

/** Whether all that the log has committed there, as far as it is known, is in the answer. */
function isWhole(answer: Answer, tail: Tail): boolean {
  if (answer.completeThrough < tail.floor || answer.newest > tail.newest) return false;
  return answer.lacking(tail, { by: "place", at: tail.newest }) === undefined;
}
