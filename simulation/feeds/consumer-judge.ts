/**
 * What a named consumer owes: behind the place where it began, each change is handled before its
 * position is kept, and what it does once is done once. Where an operator moves it back, that holds
 * anew for what lies behind the new place; what he moves it over is owed no longer. It watches what
 * handlers are given, and each position as the control table has it.
 */
import { deploymentNames } from "../../aws/names.ts";
import { isBelow, parsePosition, positionText } from "../../engine/changes/position.ts";
import type { ChangePosition, CommittedChanges } from "../../engine/changes/types.ts";
import type { TransactionId } from "../../core/types.ts";
import type { LoggedBases } from "../base/base-log.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";
import type { StoredChange } from "../judges/store-judge.ts";
import { effects } from "./consumer-tables.ts";
import { expectedChanges, givenText, isBehind, type ExpectedChange } from "./expected-changes.ts";

export type JudgedFeed = {
  readonly deployment: string;
  readonly name: string;
  readonly first: "now" | "oldest";
  readonly tables: readonly string[] | undefined;
};

type Given = Pick<ExpectedChange, "id" | "timestamp" | "text">;
/** `moved`: not by whoever is at it. */
type Kept = {
  readonly position: ChangePosition;
  readonly moment: number;
  readonly moved: boolean;
};

const findingsMax = 10;

export class ConsumerJudge {
  readonly findings: string[] = [];
  readonly #feed: JudgedFeed;
  readonly #controlTable: string;
  readonly #given: Given[] = [];
  /** When handlers of a change came to their ends, as numbers of the order of all. */
  readonly #handled = new Map<TransactionId, number[]>();
  readonly #kept: Kept[] = [];
  #moment = 0;
  /** Moves that may take place at any time, since nobody has heard that they have. */
  #movesOpen = 0;
  #isRemoved = false;
  #begunAnew = 0;
  /** How often what was done once may be done once more. */
  #rounds = 0;
  #endedAt = Infinity;

  constructor(feed: JudgedFeed) {
    this.#feed = feed;
    this.#controlTable = deploymentNames(feed.deployment).controlTable;
  }

  /** Of a change that the feed gives; what the handler does with it comes afterwards. */
  given(change: CommittedChanges): void {
    const { id, timestamp } = change;
    this.#given.push({ id, timestamp, text: givenText(change) });
  }

  handled({ id }: CommittedChanges): void {
    this.#moment += 1;
    this.#handled.set(id, [...(this.#handled.get(id) ?? []), this.#moment]);
  }

  isHandled(id: TransactionId): boolean {
    return this.#handled.has(id);
  }

  /** How often somebody has begun anew, since it had been removed. */
  get begunAnew(): number {
    return this.#begunAnew;
  }

  /** Where it has been, each place once. */
  get keptPositions(): readonly ChangePosition[] {
    const places = new Map(this.#kept.map(({ position }) => [positionText(position), position]));
    return [...places.values()];
  }

  /**
   * An operator begins to move the feed, or to remove it.
   * @param wish.again what was done once for a change may be done once more.
   * @returns what he calls when it is over. Never called: it may take place at any time.
   */
  moveBegins({ again }: { readonly again: boolean }): () => void {
    this.#movesOpen += 1;
    if (again) this.#rounds += 1;
    return () => {
      this.#movesOpen -= 1;
    };
  }

  /** All is calm from now on: what is moved late need not be handled any more. */
  ends(): void {
    this.#endedAt = this.#moment;
  }

  observe({ table, after }: StoredChange): void {
    const pk = after?.["pk"];
    const isOwn = pk !== undefined && "S" in pk && pk.S === `feed#${this.#feed.name}`;
    if (table !== this.#controlTable || !isOwn) return;
    const text = after?.["position"];
    const position = text && "S" in text ? parsePosition(text.S) : undefined;
    const before = this.#kept.at(-1);
    if (position === undefined) {
      const removed = after?.["removed"];
      if (removed !== undefined && this.#movesOpen > 0) this.#isRemoved = true;
      else if (text !== undefined || (before !== undefined && !this.#isRemoved))
        this.#found("its position was lost");
      return;
    }
    // An operator does not stay. Of one who ends just then the judge asks less.
    const isOperators =
      before !== undefined &&
      after?.["holder"] === undefined &&
      this.#movesOpen > 0 &&
      positionText(before.position) !== positionText(position);
    const moved = isOperators || this.#isRemoved;
    if (this.#isRemoved) this.#begunAnew += 1;
    this.#isRemoved = false;
    if (!moved && before !== undefined && isBehind(asBehindAll(before.position), position)) {
      this.#found("its position went back");
    }
    this.#moment += 1;
    this.#kept.push({ position, moment: this.#moment, moved });
  }

  /** @param writes all that the logs have committed. */
  judge(writes: readonly LoggedWrite[], bases: LoggedBases | undefined): void {
    const expected = expectedChanges(writes, bases, this.#feed.tables);
    const [begun] = this.#kept;
    if (begun === undefined) {
      this.#found("no position was ever kept");
      return;
    }
    // Nothing expires within a run.
    const isOwed = (each: ExpectedChange): boolean =>
      this.#feed.first === "oldest" || isBehind(each, begun.position);
    // Moved further back than it has begun, it gives what it would not have given.
    const oldest = this.#kept.reduce((a, b) => (isBelow(b.position, a.position) ? b : a));
    const due = expected.filter((each) => isOwed(each) || isBehind(each, oldest.position));
    const movedOver = this.#judgeHandled(due, isOwed);
    this.#judgeGiven(new Map(due.map((each) => [each.id, each])), movedOver);
    this.#judgeEffects(writes, new Set(due.map(({ id }) => id)));
  }

  #judgeGiven(
    due: ReadonlyMap<TransactionId, ExpectedChange>,
    movedOver: ReadonlySet<TransactionId>,
  ): void {
    for (const { id, timestamp, text } of this.#given) {
      const wanted = due.get(id);
      const isOwed = !this.#handled.has(id) && !movedOver.has(id);
      if (isOwed) this.#found(`${id} was given, and never handled`);
      if (wanted?.timestamp === timestamp && wanted.text === text) continue;
      const dueText = wanted === undefined ? "nothing is due" : `${wanted.text} is due`;
      this.#found(`it was given ${id} (${text}), where ${dueText}`);
    }
  }

  /** @returns what an operator has moved it over at the last. */
  #judgeHandled(
    due: readonly ExpectedChange[],
    isOwed: (change: ExpectedChange) => boolean,
  ): ReadonlySet<TransactionId> {
    const movedOver = new Set<TransactionId>();
    for (const each of due) {
      const handled = this.#handled.get(each.id) ?? [];
      /** It has to be handled behind this moment. Undefined: it was, or is moved over. */
      let owedFrom = isOwed(each) ? 0 : undefined;
      for (const { position, moment, moved } of this.#kept) {
        if (isBehind(each, position)) {
          if (moved) owedFrom = moment <= this.#endedAt ? moment : undefined;
          continue;
        }
        if (moved && owedFrom !== undefined) movedOver.add(each.id);
        else if (owedFrom !== undefined && !isWithin(handled, owedFrom, moment)) {
          this.#found(`a position behind ${each.id} was kept before that was handled`);
        }
        owedFrom = undefined;
      }
      if (owedFrom !== undefined && !isWithin(handled, owedFrom, Infinity)) {
        this.#found(`${each.id} at ${each.timestamp} was skipped: ${each.text}`);
      }
    }
    return movedOver;
  }

  #judgeEffects(writes: readonly LoggedWrite[], due: ReadonlySet<TransactionId>): void {
    /** What each doing has said, as the how manieth it comes. */
    const times = new Map<string, number[]>();
    for (const { table, key, item } of writes) {
      if (table.name !== effects.name) continue;
      const change = textOf(key["change"]);
      const said = item?.["times"];
      const nth = said !== undefined && "N" in said ? Number(said.N) : 0;
      times.set(change, [...(times.get(change) ?? []), nth]);
    }
    for (const [change, said] of times) {
      const isCounted = said.sort((a, b) => a - b).every((nth, at) => nth === at + 1);
      if (!isCounted) this.#found(`what ${change} does once was done by one who has not seen it`);
    }
    const worked = new Set(this.#given.filter(({ text }) => hasWork(text)).map(({ id }) => id));
    for (const id of worked) {
      const done = times.get(id)?.length ?? 0;
      const isDone = done > 0 || !this.#handled.has(id);
      if (!isDone || done > 1 + this.#rounds) {
        this.#found(`what ${id} does once was done ${done} times`);
      }
    }
    for (const change of times.keys()) {
      if (!due.has(change as TransactionId)) this.#found(`${change} has an effect, and is not due`);
    }
  }

  #found(finding: string): void {
    if (this.findings.length < findingsMax) {
      this.findings.push(`consumers: of the feed ${this.#feed.name}: ${finding}`);
    }
  }
}

function isWithin(moments: readonly number[], from: number, to: number): boolean {
  return moments.some((moment) => moment >= from && moment < to);
}

/** Whether anything but effects was changed: else each would have one, and so on for ever. */
function hasWork(text: string): boolean {
  return text.split("\n").some((line) => !line.startsWith(`${effects.name} `));
}

/** A position without an id is behind all at its timestamp. */
function asBehindAll({ timestamp, id }: ChangePosition): Pick<ExpectedChange, "timestamp" | "id"> {
  return { timestamp, id: id ?? ("~" as TransactionId) };
}

function textOf(value: LoggedWrite["key"][string] | undefined): string {
  return value !== undefined && "S" in value ? value.S : "";
}
