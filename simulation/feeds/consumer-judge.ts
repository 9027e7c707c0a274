/**
 * What a named consumer owes: behind the place where it began, each change is handled before its
 * position is kept, and what it does once is done once. It watches what handlers are given, and
 * each position as the control table has it.
 */
import { deploymentNames } from "../../aws/names.ts";
import { parsePosition } from "../../engine/changes/position.ts";
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
type Kept = { readonly position: ChangePosition; readonly moment: number };

const findingsMax = 10;

export class ConsumerJudge {
  readonly findings: string[] = [];
  readonly #feed: JudgedFeed;
  readonly #controlTable: string;
  readonly #given: Given[] = [];
  /** When the handler of a change came to its end first, as a number of the order of all. */
  readonly #handled = new Map<TransactionId, number>();
  readonly #kept: Kept[] = [];
  #moment = 0;

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
    if (!this.#handled.has(id)) this.#handled.set(id, this.#moment);
  }

  isHandled(id: TransactionId): boolean {
    return this.#handled.has(id);
  }

  observe({ table, after }: StoredChange): void {
    const pk = after?.["pk"];
    const isOwn = pk !== undefined && "S" in pk && pk.S === `feed#${this.#feed.name}`;
    if (table !== this.#controlTable || !isOwn) return;
    const text = after?.["position"];
    const position = text && "S" in text ? parsePosition(text.S) : undefined;
    const before = this.#kept.at(-1);
    if (position === undefined) {
      if (before !== undefined || text !== undefined) this.#found("its position was lost");
      return;
    }
    if (before !== undefined && isBehind(asBehindAll(before.position), position)) {
      this.#found("its position went back");
    }
    this.#moment += 1;
    this.#kept.push({ position, moment: this.#moment });
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
    const isDue = (each: ExpectedChange): boolean =>
      this.#feed.first === "oldest" || isBehind(each, begun.position);
    const due = expected.filter(isDue);
    this.#judgeGiven(new Map(due.map((each) => [each.id, each])));
    this.#judgeHandled(due);
    this.#judgeEffects(writes, new Set(due.map(({ id }) => id)));
  }

  #judgeGiven(due: ReadonlyMap<TransactionId, ExpectedChange>): void {
    for (const { id, timestamp, text } of this.#given) {
      const wanted = due.get(id);
      if (!this.#handled.has(id)) this.#found(`${id} was given, and never handled`);
      if (wanted?.timestamp === timestamp && wanted.text === text) continue;
      const dueText = wanted === undefined ? "nothing is due" : `${wanted.text} is due`;
      this.#found(`it was given ${id} (${text}), where ${dueText}`);
    }
  }

  #judgeHandled(due: readonly ExpectedChange[]): void {
    for (const each of due) {
      const handledAt = this.#handled.get(each.id);
      if (handledAt === undefined) {
        this.#found(`${each.id} at ${each.timestamp} was skipped: ${each.text}`);
        continue;
      }
      const kept = this.#kept.find(({ position }) => !isBehind(each, position));
      if (kept !== undefined && kept.moment < handledAt) {
        this.#found(`a position behind ${each.id} was kept before that was handled`);
      }
    }
  }

  #judgeEffects(writes: readonly LoggedWrite[], due: ReadonlySet<TransactionId>): void {
    const times = new Map<string, number>();
    const worked = new Set<string>();
    for (const { table, key, item } of writes) {
      if (table.name !== effects.name) continue;
      const change = textOf(key["change"]);
      times.set(change, (times.get(change) ?? 0) + 1);
      const done = item?.["times"];
      const isFirst = done !== undefined && "N" in done && done.N === "1";
      if (!isFirst) this.#found(`what ${change} does once was done again`);
    }
    for (const { id, text } of this.#given) if (hasWork(text)) worked.add(id);
    for (const id of worked) {
      const done = times.get(id) ?? 0;
      if (done !== 1) this.#found(`what ${id} does once was done ${done} times`);
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
