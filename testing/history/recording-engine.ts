/**
 * Records what goes through an engine: every run of a body becomes a transaction of the history.
 * The engine does what it did; only items carry the name of their version in one more attribute,
 * which bodies do not see.
 */
import { InvariantViolation } from "../../core/assert.ts";
import { CommitUnknownError } from "../../core/errors.ts";
import type { TransactionId } from "../../core/types.ts";
import type {
  ClientEngine,
  DetachedTransaction,
  Engine,
  EngineTransaction,
  Receipt,
  TransactionEngine,
} from "../../engine/types.ts";
import type { AttemptRecord, HistoryRecorder } from "./recorder.ts";
import type { RecordingOptions } from "./recording-options.ts";
import { recordingBases, recordingDesk } from "./recording-base.ts";
import { recordingBody, recordingReader, recordingTransaction } from "./recording-transaction.ts";

/**
 * An engine that records. Wrap each one once, before the first transaction; a recorder serves any
 * number. A body that names the attribute of versions in an item of its own is refused by
 * `InvalidRequestError`.
 */
export function recordingEngine(
  engine: Engine,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): Engine;
export function recordingEngine(
  engine: ClientEngine,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): ClientEngine;
export function recordingEngine(
  engine: ClientEngine | Engine,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): ClientEngine | Engine {
  const recorded = recordedTransactions(engine, recorder, options);
  return "begin" in engine
    ? { ...recorded, ...recordedDetached(engine, recorder, options) }
    : {
        ...recorded,
        native: engine.native,
        base: async () => recordingBases(await engine.base(), recorder, options),
        changes: (wish) => engine.changes(wish),
        consume: (wish, handle) => engine.consume(wish, handle),
      };
}

function recordedTransactions(
  engine: TransactionEngine,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): TransactionEngine {
  return {
    transact: (wish, body, codec) => {
      const isTimed = !isSharded(options);
      const isolation = wish.isolation ?? "serializable";
      const runs = new Runs(recorder, options, { isolation, isTimed });
      return runs.follow((run) =>
        engine.transact(
          wish,
          (transaction) =>
            run((attempt) => body(recordingBody(transaction, attempt, options, recorder))),
          codec,
        ),
      );
    },
    snapshot: (wish, body) => {
      const strict = wish.asOf === undefined && (wish.maxStalenessMs ?? 0) === 0;
      const isTimed = !isSharded(options) || wish.asOf !== undefined;
      const runs = new Runs(recorder, options, { isolation: "snapshot", strict, isTimed });
      return runs.follow((run) =>
        engine.snapshot(wish, (reader) =>
          run((attempt) => body(recordingReader(reader, attempt, options, recorder))),
        ),
      );
    },
    outcome: async (id, wish) => {
      const outcome = await engine.outcome(id, wish);
      settle(recorder, id, outcome);
      return outcome;
    },
    close: () => engine.close(),
  };
}

/** There the present is read at a place of each log: only the past has a timestamp. */
function isSharded({ mayBeSharded = false }: RecordingOptions): boolean {
  return mayBeSharded;
}

function settle(
  recorder: HistoryRecorder,
  id: TransactionId,
  outcome: Awaited<ReturnType<TransactionEngine["outcome"]>>,
): void {
  if (outcome.kind === "committed") recorder.settle(id, "commit", outcome.commitTimestamp);
  else recorder.settle(id, "abort");
}

type RunsOf = {
  readonly isolation: "serializable" | "snapshot";
  readonly strict?: boolean;
  readonly isTimed: boolean;
};

/** The runs of one body, of which at most the last can commit. */
class Runs {
  readonly #recorder: HistoryRecorder;
  readonly #options: RecordingOptions;
  readonly #of: RunsOf;
  /**
   * A transaction sees what was acknowledged before it was called for. Its engine begins a run at a
   * moment that nobody else sees: after the body before it has ended, and before this one begins.
   * The earlier bound claims less.
   */
  #startNs: number;
  #current: AttemptRecord | undefined;

  constructor(recorder: HistoryRecorder, options: RecordingOptions, of: RunsOf) {
    this.#recorder = recorder;
    this.#options = options;
    this.#of = of;
    this.#startNs = recorder.nowNs();
  }

  async follow<Finished extends { readonly receipt: Receipt }>(
    call: (
      run: <Result>(body: (attempt: AttemptRecord) => Promise<Result>) => Promise<Result>,
    ) => Promise<Finished>,
  ): Promise<Finished> {
    try {
      const finished = await call((body) => this.#run(body));
      if (this.#current !== undefined) endByReceipt(this.#current, finished.receipt);
      return finished;
    } catch (error) {
      if (this.#current !== undefined) endByError(this.#current, error);
      throw error;
    }
  }

  async #run<Result>(body: (attempt: AttemptRecord) => Promise<Result>): Promise<Result> {
    this.#current?.abort();
    const { process, kind = "txn" } = this.#options;
    const attempt = this.#recorder.begin({
      ...{ process, kind, startNs: this.#startNs },
      ...this.#of,
    });
    this.#current = attempt;
    try {
      const result = await body(attempt);
      attempt.bodyEnded();
      return result;
    } catch (error) {
      attempt.abort();
      throw error;
    } finally {
      this.#startNs = this.#recorder.nowNs();
    }
  }
}

/**
 * A replayed receipt is that of another transaction: this one found its work done, and left no
 * trace.
 */
function endByReceipt(attempt: AttemptRecord, receipt: Receipt): void {
  if (receipt.replayed) attempt.abort();
  else {
    attempt.commit({
      snapshotTs: receipt.readTimestamp,
      commitTs: receipt.commitTimestamp,
      place: receipt.place,
      installed: receipt.installed,
    });
  }
}

/**
 * A body may itself throw the error of another transaction; only one whose body is through can have
 * been sent.
 */
function endByError(attempt: AttemptRecord, error: unknown): void {
  if (attempt.state !== "body-ended") attempt.abort();
  else if (error instanceof CommitUnknownError) attempt.unknown(error.transactionId, error.place);
  else if (error instanceof InvariantViolation) attempt.unknown(undefined);
  else attempt.abort();
}

function recordedDetached(
  engine: Engine,
  recorder: HistoryRecorder,
  options: RecordingOptions,
): Pick<Engine, "begin" | "resume" | "committedAs" | "bases"> {
  const { process, kind = "txn" } = options;
  const record = async (
    isolation: "serializable" | "snapshot",
    open: () => Promise<DetachedTransaction>,
  ): Promise<DetachedTransaction> => {
    const startNs = recorder.nowNs();
    const transaction = await open();
    const isTimed = !isSharded(options);
    const attempt = recorder.begin({ process, kind, isolation, startNs, isTimed });
    return recordedTransaction(
      transaction,
      attempt,
      recordingTransaction(transaction, attempt, options, recorder),
    );
  };
  return {
    begin: (wish) => record(wish.isolation, () => engine.begin(wish)),
    // What it has read before is known to its state only by hash: the record holds what it reads
    // from here on.
    resume: (state, wish) => record(state.isolation, () => engine.resume(state, wish)),
    committedAs: (state, wish) => engine.committedAs(state, wish),
    bases: async () => recordingDesk(await engine.bases(), recorder),
  };
}

function recordedTransaction(
  transaction: DetachedTransaction,
  attempt: AttemptRecord,
  recorded: EngineTransaction,
): DetachedTransaction {
  return {
    ...recorded,
    // A spread would have read the timestamp once and for all.
    get readTimestamp() {
      return transaction.readTimestamp;
    },
    endReads: () => transaction.endReads(),
    state: () => transaction.state(),
    commit: async (wish) => {
      attempt.bodyEnded();
      try {
        const receipt = await transaction.commit(wish);
        endByReceipt(attempt, receipt);
        return receipt;
      } catch (error) {
        endByError(attempt, error);
        throw error;
      }
    },
    close: () => {
      if (attempt.state === "open") attempt.abort();
      transaction.close();
    },
  };
}
