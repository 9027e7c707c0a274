/**
 * Watches who is beaten where. A process whose requests are beaten at an item, again and again,
 * while other processes commit there, is left out: it keeps trying, and its turn never comes. Each
 * of its own commits there, and a while without a try, begins the count anew.
 *
 * Only what the oracle has refused counts: courtesy between processes (engine/chaining/courtesy.ts)
 * gives way to requests that the log shows to be beaten. What a transaction finds on its own tail,
 * before it has sent anything, nobody else can know. A slow body meets that often: with others'
 * commits every 100 ms it is overtaken wherever it stands, in each of its process's lanes.
 *
 * How often a process may be beaten in a row has no exact bound: courtesy is a guess about who
 * comes again. What is judged is far above what it was seen to come to, and below what comes
 * without it.
 */
import type { EngineEvent } from "../../engine/types.ts";
import type { Item } from "../../core/types.ts";
import type { HistoryTransaction } from "../../testing/history/types.ts";

/**
 * A row of tries of one process at one item, none of which has committed. Transactions that are
 * certified as one are beaten, and beat, as one.
 */
type Row = {
  beaten: number;
  /** Commit timestamp of what has beaten it last. */
  by: number | undefined;
  passed: number;
  /** Commit timestamp of what has passed it last. */
  last: number | undefined;
  triedMs: number;
};

/** Beaten so often in a row, while others committed so often, it is left out. */
export type StarvationBounds = { readonly beatenMax: number; readonly passedMax: number };

/** Who does not try for so long has given up, or sleeps. */
const keepsTryingMs = 5_000;

export class StarvationJudge {
  /** Of all rows, the longest by what others committed in it. */
  longest: { readonly text: string; readonly beaten: number; readonly passed: number } = {
    text: "",
    beaten: 0,
    passed: 0,
  };
  readonly #nowMs: () => number;
  readonly #keyOf: (table: string, key: Item) => string | undefined;
  readonly #bounds: StarvationBounds;
  /** By item, then by process. */
  readonly #rows = new Map<string, Map<string, Row>>();

  constructor(parts: {
    readonly nowMs: () => number;
    /** An item's name in the history. */
    readonly keyOf: (table: string, key: Item) => string | undefined;
    readonly bounds: StarvationBounds;
  }) {
    this.#nowMs = parts.nowMs;
    this.#keyOf = parts.keyOf;
    this.#bounds = parts.bounds;
  }

  /** A process was told something. */
  observe(process: string, event: EngineEvent): void {
    if (event.kind !== "attempt-aborted" || event.detail === undefined) return;
    const { table, key, foundBy, version } = event.detail;
    // Its own transactions are in each other's way: another matter.
    if (foundBy === "process" || table === undefined || key === undefined) return;
    const name = this.#keyOf(table, key);
    if (name === undefined) return;
    const nowMs = this.#nowMs();
    const rows = this.#rows.get(name) ?? new Map<string, Row>();
    this.#rows.set(name, rows);
    const known = rows.get(process);
    const row =
      known === undefined || nowMs > known.triedMs + keepsTryingMs
        ? { beaten: 0, by: undefined, passed: 0, last: undefined, triedMs: nowMs }
        : known;
    rows.set(process, row);
    row.triedMs = nowMs;
    if (foundBy !== "oracle" || version === undefined || version === row.by) return;
    row.by = version;
    row.beaten += 1;
    const { beaten, passed } = row;
    if (Math.min(beaten, passed) <= Math.min(this.longest.beaten, this.longest.passed)) return;
    this.longest = { text: `${process} at ${name}`, beaten, passed };
  }

  /** A transaction of the history has ended. */
  ended({ process, status, ops, commitTs }: HistoryTransaction): void {
    if (status !== "commit") return;
    for (const [op, key] of ops) {
      if (op === "r") continue;
      for (const [other, row] of this.#rows.get(key) ?? []) {
        if (other === process || row.last === commitTs) continue;
        row.last = commitTs;
        row.passed += 1;
      }
      this.#rows.get(key)?.delete(process);
    }
  }

  get findings(): readonly string[] {
    const { text, beaten, passed } = this.longest;
    const { beatenMax, passedMax } = this.#bounds;
    if (beaten <= beatenMax || passed <= passedMax) return [];
    return [
      `fairness: ${text} was beaten ${beaten.toString()} times in a row, while others committed ` +
        `${passed.toString()} times`,
    ];
  }
}
