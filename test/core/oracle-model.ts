/**
 * docs/protocol.md §3 as plainly as it can be said: every decision ever made, kept in a list and
 * searched from end to end. A draft is what stands at the list's end, and is cut off again where it
 * is lost. The oracle must give the same verdicts.
 */
import { assert } from "../../core/assert.ts";
import * as limits from "../../core/limits.ts";
import type { KeyHash, Verdict } from "../../core/types.ts";
import { hashesOf, keyOf, type TestRequest, type TestWrite } from "./oracle-harness.ts";

type Decision = {
  readonly id: string;
  readonly timestamp: number;
  /** Empty for an abort. */
  readonly hashes: ReadonlySet<KeyHash>;
  readonly weight: number;
};

export type ModelBounds = { readonly windowMicros: number; readonly indexEntriesMax: number };

/** A verdict without what the model has no view of (payload locations, hashes in detail). */
export type ModelVerdict =
  | { readonly kind: "committed"; readonly id: string; readonly timestamp: number }
  | {
      readonly kind: "aborted";
      readonly id: string;
      readonly timestamp: number;
      readonly reason: unknown;
    }
  | { readonly kind: "prepared"; readonly id: string; readonly timestamp: number }
  | { readonly kind: "stale"; readonly id: string }
  | { readonly kind: "busy"; readonly id: string; readonly inTheWay: string };

/** What is prepared and not decided. */
type Open = {
  readonly id: string;
  readonly checks: ReadonlySet<KeyHash>;
  readonly writes: readonly TestWrite[];
};

export class OracleModel {
  readonly #decisions: Decision[] = [];
  readonly #bounds: ModelBounds;
  readonly #start: number;
  #last: number;
  #open: readonly Open[] = [];
  /** Decisions from here on are remembered. */
  #remembered = 0;
  /** What it was before the draft. */
  #before:
    | { decisions: number; remembered: number; last: number; open: readonly Open[] }
    | undefined;

  constructor(start: number, bounds: ModelBounds) {
    this.#start = start;
    this.#last = start;
    this.#bounds = bounds;
  }

  get last(): number {
    return this.#last;
  }

  get hasDraft(): boolean {
    return this.#before !== undefined;
  }

  get floor(): number {
    return this.#decisions[this.#remembered - 1]?.timestamp ?? this.#start;
  }

  /** Requests with their arrivals in milliseconds; duplicates have no verdict. */
  draft(requests: readonly (readonly [TestRequest, number])[]): readonly ModelVerdict[] {
    this.#begin();
    return requests.flatMap(([request, arrivalMs]) => this.certify(request, arrivalMs) ?? []);
  }

  #begin(): void {
    assert(!this.hasDraft, "model: a draft stands");
    const [decisions, remembered, last] = [this.#decisions.length, this.#remembered, this.#last];
    this.#before = { decisions, remembered, last, open: this.#open };
  }

  /** As `certifyAt`, and changes nothing. */
  wouldCertifyAt(request: TestRequest, arrival: number): ModelVerdict | undefined {
    this.#begin();
    const verdict = this.certifyAt(request, arrival);
    this.undo();
    return verdict;
  }

  appended(): void {
    assert(this.hasDraft, "model: no draft stands");
    this.#before = undefined;
  }

  undo(): void {
    const before = this.#before;
    assert(before !== undefined, "model: no draft stands");
    this.#decisions.length = before.decisions;
    this.#remembered = before.remembered;
    this.#last = before.last;
    this.#open = before.open;
    this.#before = undefined;
  }

  /** Undefined for a duplicate. */
  certify(request: TestRequest, arrivalMs: number): ModelVerdict | undefined {
    return this.certifyAt(request, arrivalMs * 1000);
  }

  /** As of an arrival in microseconds, as blocks have them that no record has brought. */
  certifyAt(request: TestRequest, arrival: number): ModelVerdict | undefined {
    const { id, checkedTo, spilled } = request;
    const opened = this.#open.find((open) => open.id === id);
    if (opened !== undefined) return this.#settle(request, opened, arrival);
    if (request.kind === "vote") return undefined;
    if (this.#decisions.slice(this.#remembered).some((decision) => decision.id === id)) {
      return undefined;
    }
    if (checkedTo > this.#last) return this.#abort(id, arrival, { kind: "checked-ahead" });
    if (checkedTo < this.floor) return { kind: "stale", id };
    if (request.kind === "abort") return this.#abort(id, arrival, { kind: "probed" });
    if (spilled === "unreadable" || spilled === "unread") {
      return this.#abort(id, arrival, { kind: "payload-unreadable" });
    }
    if (spilled === "too-large" || isTooLarge(request)) {
      return this.#abort(id, arrival, { kind: "too-large" });
    }
    if (request.tableFault !== undefined) {
      return this.#abort(id, arrival, { kind: `table-${request.tableFault}` });
    }
    for (const [check, hash] of (request.checks ?? []).entries()) {
      const found = this.#decisions.findLast(({ hashes }) => hashes.has(hash));
      if (found === undefined || found.timestamp <= checkedTo) continue;
      const reason = { kind: "conflict", check, conflictTimestamp: found.timestamp };
      return this.#abort(id, arrival, reason);
    }
    const inTheWay = this.#inTheWay(request);
    if (inTheWay !== undefined) return { kind: "busy", id, inTheWay };
    const writes = request.writes ?? [];
    if (request.kind !== "prepare") return this.#commit(id, arrival, writes);
    this.#open = [...this.#open, { id, checks: new Set(request.checks ?? []), writes }];
    return { kind: "prepared", id, timestamp: this.#decide(id, arrival, new Set(), 4) };
  }

  #commit(id: string, arrival: number, writes: readonly TestWrite[]): ModelVerdict {
    const hashes = new Set(writes.flatMap((write) => hashesOf(write)));
    const timestamp = this.#decide(id, arrival, hashes, 4 + 3 * writes.length);
    return { kind: "committed", id, timestamp };
  }

  /** The first vote decides; whoever asks to abort votes against. */
  #settle({ id, kind, isForged }: TestRequest, opened: Open, arrival: number) {
    if (kind !== "abort" && (kind !== "vote" || isForged === true)) return undefined;
    this.#open = this.#open.filter((open) => open !== opened);
    if (kind === "vote") return this.#commit(id, arrival, opened.writes);
    return this.#abort(id, arrival, { kind: "probed" });
  }

  /** The oldest that reads or writes what the request writes, or writes what it reads. */
  #inTheWay({ checks = [], writes = [] }: TestRequest): string | undefined {
    const writer = (hash: KeyHash) =>
      this.#open.find((open) => open.writes.some((write) => hashesOf(write).includes(hash)));
    const reader = (hash: KeyHash) => this.#open.find((open) => open.checks.has(hash));
    const found = [
      ...checks.map(writer),
      ...writes.flatMap((write) => {
        const { table, partition } = write;
        const key = keyOf(write);
        return [writer(key), reader(key), reader(partition), reader(table)];
      }),
    ];
    return found.find((open) => open !== undefined)?.id;
  }

  #abort(id: string, arrival: number, reason: unknown): ModelVerdict {
    return { kind: "aborted", id, timestamp: this.#decide(id, arrival, new Set(), 4), reason };
  }

  #decide(id: string, arrival: number, hashes: ReadonlySet<KeyHash>, weight: number): number {
    const timestamp = Math.max(this.#last + 1, arrival);
    this.#decisions.push({ id, timestamp, hashes, weight });
    this.#last = timestamp;
    for (;;) {
      const remembered = this.#decisions.slice(this.#remembered);
      const sum = remembered.reduce((total, decision) => total + decision.weight, 0);
      const oldest = remembered[0]?.timestamp ?? timestamp;
      const inWindow = oldest > timestamp - this.#bounds.windowMicros;
      if (inWindow && sum <= this.#bounds.indexEntriesMax) return timestamp;
      this.#remembered += 1;
    }
  }
}

/** Keys read and written. What a snapshot request checks is what it writes. */
function isTooLarge({ kind, isolation, checks = [], writes = [] }: TestRequest): boolean {
  const keys =
    isolation === "snapshot"
      ? Math.max(checks.length, writes.length)
      : checks.length + writes.length;
  const isUnpreparable = kind === "prepare" && writes.length > limits.preparedWritesMax;
  return isUnpreparable || keys > limits.transactionKeysMax;
}

/** A verdict of the log as the model would say it. */
export function asModelVerdict(verdict: Verdict): ModelVerdict {
  if (verdict.kind !== "committed" && verdict.kind !== "prepared") return verdict;
  return { kind: verdict.kind, id: verdict.id, timestamp: verdict.timestamp };
}
