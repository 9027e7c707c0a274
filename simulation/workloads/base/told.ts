/**
 * What callers were told of requests for BASE transactions, and whether it came so: what is
 * cancelled never happens, what is not is done once and ends, and what was recorded is never lost.
 */
import type { BaseStatus } from "../../../sdk/index.ts";

/** What was done of one, as its table has it. */
export type Done = {
  /** Whose input counted. */
  readonly by: string;
  readonly takes: number;
  readonly gives: number;
};

type Told = {
  /** Asks and begins that have not come back, or whose callers were told that nobody knows. */
  open: number;
  /** Those of which the caller was told that it is recorded, by which input it was the first. */
  readonly news: string[];
  /** Whether the recorded one was theirs, by their input. */
  readonly sames: Map<string, boolean>;
  isRecorded: boolean;
  isAccepted: boolean;
  /** It is cancelled, or refused: nothing has happened, and nothing will. */
  isNothing: boolean;
  /** A cancel was told that it has begun. */
  isBegun: boolean;
  readonly results: string[];
};

export class ToldOfRequests {
  readonly counts = { "requests-begun": 0, "cancels-won": 0, "cancels-lost": 0 };
  readonly #told = new Map<string, Told>();

  get ids(): readonly string[] {
    return [...this.#told.keys()];
  }

  /** From now on it may be there, whatever becomes of the caller. */
  asks(id: string): void {
    this.#of(id).open += 1;
  }

  /** The ask is over, and has recorded nothing. */
  recordedNothing(id: string): void {
    this.#of(id).open -= 1;
  }

  recorded(
    id: string,
    told: { readonly by: string; readonly isNew: boolean; readonly isSame?: boolean },
  ): void {
    const known = this.#of(id);
    known.isRecorded = true;
    if (told.isNew) known.news.push(told.by);
    if (told.isSame !== undefined) known.sames.set(told.by, told.isSame);
  }

  accepted(id: string): void {
    this.#of(id).isAccepted = true;
  }

  /** Whether the caller of a cancel is told what has become of it, and not that there is none. */
  isRecorded(id: string): boolean {
    return this.#of(id).isRecorded;
  }

  /** @param was whether it was recorded when the cancel was called. */
  cancelled(
    id: string,
    { was, isCancelled }: { readonly was: boolean; readonly isCancelled: boolean },
  ): void {
    const known = this.#of(id);
    if (!isCancelled && !was) return;
    // Each is won once; the others find it so.
    if (!isCancelled) this.counts["cancels-lost"] += 1;
    else if (!known.isNothing) this.counts["cancels-won"] += 1;
    if (isCancelled) known.isNothing = true;
    else known.isBegun = true;
  }

  refused(id: string): void {
    this.#of(id).isNothing = true;
  }

  ended(id: string, result: string): void {
    this.#of(id).results.push(result);
  }

  /** When all is over. @param status undefined: there is none of that id. */
  complaintsOf(
    id: string,
    status: BaseStatus | undefined,
    done: Done | undefined,
  ): readonly string[] {
    const told = this.#of(id);
    const phase = status?.phase ?? "absent";
    const isOver = status?.phase === "ended" && status.isReleased;
    const isNothing = phase === "cancelled" || phase === "refused";
    if (isOver && told.isRecorded) this.counts["requests-begun"] += 1;
    const wrong = (text: string): string => `request ${id} ${text}; it is ${phase}`;
    const complaints: string[] = [];
    const expect = (isSo: boolean, text: string): void => {
      if (!isSo) complaints.push(wrong(text));
    };
    expect(isOver || isNothing || phase === "absent", "has not come to an end");
    expect(phase !== "absent" || !told.isRecorded, "was recorded, and is lost");
    expect(phase === "absent" || told.open > 0 || told.isRecorded, "was never recorded");
    expect(isOver || !told.isAccepted, "was accepted, and has not ended");
    expect(isNothing || !told.isNothing, "was told to be nothing");
    expect(isOver || !told.isBegun, "could not be cancelled since it had begun");
    expect(isOver === (done !== undefined), done === undefined ? "is not done" : "is done");
    expect(told.news.length <= 1, `was new to ${told.news.join(", ")}`);
    if (done === undefined) return complaints;
    const { by, takes, gives } = done;
    expect(takes === 1 && gives === 1, `has taken ${takes} times and given ${gives} times`);
    for (const other of [...told.news, ...told.results]) {
      expect(other === by, `was done by the input of ${by}, and told to be by that of ${other}`);
    }
    for (const [other, isSame] of told.sames) {
      expect((other === by) === isSame, `was done by the input of ${by}, not as ${other} was told`);
    }
    return complaints;
  }

  #of(id: string): Told {
    const known = this.#told.get(id);
    if (known !== undefined) return known;
    const fresh: Told = {
      ...{ open: 0, news: [], sames: new Map(), results: [] },
      ...{ isRecorded: false, isAccepted: false, isNothing: false, isBegun: false },
    };
    this.#told.set(id, fresh);
    return fresh;
  }
}
