/**
 * Gathers the history of a run. One transaction per attempt, each ended exactly once; an attempt
 * whose outcome its client does not know is held back, since `settle` may learn it. Ids and
 * versions come from counters: same run, same history.
 */
import { assert } from "../../core/assert.ts";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import { initialVersion } from "./key-text.ts";
import { isWrite, type HistoryKind, type HistoryOp, type HistoryTransaction } from "./types.ts";

export type RecorderOptions = {
  /**
   * Nanoseconds, whole, of one clock for all processes of the run (in a simulation the right one,
   * never a process's own), since any origin that keeps them below 2^53.
   */
  readonly nowNs: () => number;
  /**
   * Told of each transaction when it has ended; those that stay unknown, and `init`, come with
   * `finish`.
   */
  readonly emit?: (transaction: HistoryTransaction) => void;
  /**
   * Told of an attempt that wrote, when its body is through and before anything is sent, as
   * `unknown`. If the process dies in between, this is all that anyone knows of it; a later entry
   * of the same id stands instead.
   */
  readonly emitIntent?: (transaction: HistoryTransaction) => void;
};

export type AttemptStart = {
  readonly process: string;
  readonly kind: HistoryKind;
  readonly isolation: HistoryTransaction["isolation"];
  /** When it was called for; at most now. */
  readonly startNs: number;
  /** The BASE transaction that it is a step of, and which, from 1. */
  readonly parent?: string | undefined;
  readonly step?: number | undefined;
  /** False if it may read an older state. Default true. */
  readonly strict?: boolean;
  /** False where its read timestamp is none of the database's order. Default true. */
  readonly isTimed?: boolean;
};

export class HistoryRecorder {
  readonly #options: RecorderOptions;
  /** Attempts per process. */
  readonly #counts = new Map<string, number>();
  readonly #open = new Set<AttemptRecord>();
  /** Several where transactions were certified as one. */
  readonly #unknown = new Map<TransactionId, AttemptRecord[]>();
  readonly #done: HistoryTransaction[] = [];
  /** Keys that were there before, and who met them first. */
  readonly #initial = new Map<string, string>();
  readonly #bases = new Map<string, SeenBase>();
  #finished = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  nowNs(): number {
    return this.#options.nowNs();
  }

  /** What has ended and is known so far. After `finish`: everything. */
  get transactions(): readonly HistoryTransaction[] {
    return this.#done;
  }

  /** Opens the record of an attempt. */
  begin(start: AttemptStart): AttemptRecord {
    const count = (this.#counts.get(start.process) ?? 0) + 1;
    this.#counts.set(start.process, count);
    const attempt = new AttemptRecord(`${start.process}:${count}`, start, {
      nowNs: () => this.nowNs(),
      bodyEnded: (record) => this.#options.emitIntent?.(record.transaction("unknown")),
      ended: (record, state, transactionId) => {
        this.#end(record, state, transactionId);
      },
    });
    this.#open.add(attempt);
    return attempt;
  }

  /**
   * Records what was not run through an engine, such as a native write, or rows written before the
   * run.
   */
  add(transaction: HistoryTransaction): void {
    this.#done.push(transaction);
    this.#options.emit?.(transaction);
  }

  /** The version of an item that nobody recorded writing. */
  initialVersion(key: string, process: string): string {
    if (!this.#initial.has(key)) this.#initial.set(key, process);
    return initialVersion(key);
  }

  /** A process is at a step of a BASE transaction. */
  baseSeen(base: string, by: Pick<SeenBase, "process" | "startNs">): void {
    if (!this.#bases.has(base)) this.#bases.set(base, { ...by, isTold: false });
  }

  /** Somebody was told that it is over: from now on all see it. */
  baseTold(base: string): void {
    const seen = this.#bases.get(base);
    if (seen === undefined || seen.isTold) return;
    seen.isTold = true;
    // At once: this process may not live to its end.
    this.#addBase(base, seen, "commit");
  }

  #addBase(id: string, { process, startNs: start }: SeenBase, status: "commit" | "unknown"): void {
    const fixed = { kind: "base", isolation: "serializable", ops: [] } as const;
    this.add({ ...fixed, id, process, start, end: this.nowNs(), status });
  }

  /**
   * What `outcome(id)` has said. An id that this recorder does not know as unknown is ignored.
   * @param commitTs of a committed one, if known.
   */
  settle(transactionId: TransactionId, status: "commit" | "abort", commitTs?: Timestamp): void {
    const records = this.#unknown.get(transactionId) ?? [];
    this.#unknown.delete(transactionId);
    for (const record of records) {
      if (commitTs !== undefined) record.commitTs = commitTs;
      // Nobody knew before now that it was committed, so nothing has to come after it before now.
      record.endNs = this.nowNs();
      record.leftToOthers();
      this.add(record.transaction(status));
    }
  }

  /** The process has died: what it had sent stays unknown, and what it had not is aborted. */
  abandon(process: string): void {
    for (const attempt of this.#open) if (attempt.process === process) attempt.abandon();
  }

  /** Ends what is still open, and states what was there before. @returns the whole history. */
  finish(): readonly HistoryTransaction[] {
    if (this.#finished) return this.#done;
    this.#finished = true;
    for (const attempt of this.#open) attempt.abandon();
    for (const record of [...this.#unknown.values()].flat())
      this.add(record.transaction("unknown"));
    this.#unknown.clear();
    for (const [id, seen] of this.#bases) if (!seen.isTold) this.#addBase(id, seen, "unknown");
    const byProcess = new Map<string, HistoryOp[]>();
    for (const [key, process] of this.#initial) {
      const ops = byProcess.get(process) ?? [];
      ops.push(["w", key, initialVersion(key)]);
      byProcess.set(process, ops);
    }
    for (const [process, ops] of byProcess) {
      const fixed = { start: 0, end: 0, status: "commit", kind: "init" } as const;
      this.add({ id: `${process}:init`, process, ...fixed, isolation: "serializable", ops });
    }
    return this.#done;
  }

  #end(record: AttemptRecord, state: Ended, transactionId: TransactionId | undefined): void {
    assert(this.#open.delete(record), "history: an attempt ends once");
    if (state !== "unknown") this.add(record.transaction(state));
    else if (transactionId !== undefined) {
      const records = this.#unknown.get(transactionId);
      if (records === undefined) this.#unknown.set(transactionId, [record]);
      else records.push(record);
    } else this.add(record.transaction("unknown"));
  }
}

/** A BASE transaction of which steps were run. */
type SeenBase = {
  readonly process: string;
  readonly startNs: number;
  isTold: boolean;
};

type Ended = "commit" | "abort" | "unknown";

type AttemptHooks = {
  readonly nowNs: () => number;
  readonly bodyEnded: (record: AttemptRecord) => void;
  readonly ended: (
    record: AttemptRecord,
    state: Ended,
    transactionId: TransactionId | undefined,
  ) => void;
};

/** One attempt of a transaction while it runs. What comes after its end changes nothing. */
export class AttemptRecord {
  readonly id: string;
  readonly process: string;
  readonly #start: AttemptStart;
  readonly #hooks: AttemptHooks;
  /** Undefined: a read that has been asked for and not answered. */
  readonly #ops: (HistoryOp | undefined)[] = [];
  readonly #written = new Set<string>();
  #versions = 0;
  #state: "open" | "body-ended" | Ended = "open";
  #isAsItIs = false;
  #isInstalled = true;
  snapshotTs: Timestamp | undefined;
  commitTs: Timestamp | undefined;
  place = 0;
  endNs = 0;

  constructor(id: string, start: AttemptStart, hooks: AttemptHooks) {
    this.id = id;
    this.process = start.process;
    this.#start = start;
    this.#hooks = hooks;
  }

  get state(): "open" | "body-ended" | Ended {
    return this.#state;
  }

  get isOver(): boolean {
    return this.#state !== "open" && this.#state !== "body-ended";
  }

  /** A version's name, not used before. */
  nextVersion(): string {
    this.#versions += 1;
    return `${this.id}.${this.#versions}`;
  }

  hasWritten(key: string): boolean {
    return this.#written.has(key);
  }

  push(op: HistoryOp): void {
    this.reserve()(op);
  }

  /** A place in the order of steps for one whose answer is still to come. */
  reserve(): (op: HistoryOp) => void {
    if (this.isOver) return () => undefined;
    const place = this.#ops.push(undefined) - 1;
    return (op) => {
      if (this.isOver) return;
      this.#ops[place] = op;
      if (isWrite(op)) this.#written.add(op[1]);
    };
  }

  /** The writes so far, and the reads that saw them, count for nothing. */
  forgetWrites(): void {
    if (this.isOver) return;
    const sawOwn = ([, key, version]: HistoryOp): boolean =>
      version === null ? this.#written.has(key) : version.startsWith(`${this.id}.`);
    this.#ops.forEach((op, place) => {
      if (op !== undefined && (isWrite(op) || sawOwn(op))) this.#ops[place] = undefined;
    });
    this.#written.clear();
  }

  /**
   * It has read a table that others write as well: at no timestamp, but as it was when it ended,
   * whatever isolation was asked for.
   */
  readAsItIs(): void {
    this.#isAsItIs = true;
  }

  /** The body has returned; from here on a commit may be under way. */
  bodyEnded(): void {
    if (this.#state !== "open") return;
    this.#state = "body-ended";
    this.endNs = this.#hooks.nowNs();
    if (this.#written.size > 0) this.#hooks.bodyEnded(this);
  }

  commit(place: {
    readonly snapshotTs: Timestamp;
    readonly commitTs: Timestamp | undefined;
    readonly place: number;
    readonly installed: boolean;
  }): void {
    if (this.isOver) return;
    this.snapshotTs = place.snapshotTs;
    this.commitTs = place.commitTs;
    this.place = place.place;
    this.#isInstalled = place.installed || this.#written.size === 0;
    this.#end("commit", undefined);
  }

  /** Of a step, whose place in the order of commits nobody is told. */
  committedAsStep(): void {
    this.leftToOthers();
    this.#end("commit", undefined);
  }

  /** Nobody has said that its writes are installed by now: whoever finishes them takes his time. */
  leftToOthers(): void {
    this.#isInstalled = this.#written.size === 0;
  }

  /** Of a native operation, which has no place in the order of commits. */
  answered(): void {
    this.#end("commit", undefined);
  }

  abort(): void {
    this.#end("abort", undefined);
  }

  /**
   * @param transactionId by which the outcome may be settled later, if there is one.
   * @param place see `HistoryTransaction`.
   */
  unknown(transactionId: TransactionId | undefined, place = 0): void {
    if (!this.isOver) this.place = place;
    this.#end("unknown", transactionId);
  }

  /** Nobody will ever tell how it ended. */
  abandon(): void {
    if (this.#state === "body-ended") this.unknown(undefined);
    else this.abort();
  }

  transaction(status: Ended): HistoryTransaction {
    const { process, kind, isolation, startNs, strict, isTimed = true } = this.#start;
    const { parent, step } = this.#start;
    const { commitTs, place } = this;
    const isAsItIs = this.#isAsItIs;
    const snapshotTs = isAsItIs || !isTimed ? undefined : this.snapshotTs;
    return {
      ...{ id: this.id, process, start: startNs, end: Math.max(startNs, this.endNs), status, kind },
      ...(parent === undefined ? {} : { parent }),
      ...(step === undefined ? {} : { step }),
      isolation: isAsItIs ? "serializable" : isolation,
      ...(strict === false ? { strict } : {}),
      ...(this.#isInstalled ? {} : { installed: false as const }),
      ops: this.#ops.filter((op) => op !== undefined),
      ...(snapshotTs === undefined ? {} : { snapshotTs }),
      ...(commitTs === undefined ? {} : { commitTs }),
      ...(commitTs === undefined || place === 0 ? {} : { place }),
    };
  }

  #end(state: Ended, transactionId: TransactionId | undefined): void {
    if (this.isOver) return;
    this.#state = state;
    this.endNs = this.#hooks.nowNs();
    this.#hooks.ended(this, state, transactionId);
  }
}
