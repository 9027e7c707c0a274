/**
 * The client: what an application holds one of per process. Making it does no work; the first
 * transaction connects, once, and all later ones share the connection, its tail and its poller.
 */
import { InvalidRequestError, TransactionClosedError, UnavailableError } from "../core/errors.ts";
import { nativeSupport, type NativeSupport } from "../core/native-support.ts";
import type { Clock } from "../core/ports.ts";
import { OnDemand } from "../core/on-demand.ts";
import { outsideOfBodies } from "../aws/command-support.ts";
import { systemClock, systemRandom } from "../aws/system.ts";
import { waitBackoff } from "../engine/backoff.ts";
import { Call } from "../engine/call.ts";
import { ignore, orAborted } from "../engine/concurrency.ts";
import { publicError } from "../engine/public-error.ts";
import type {
  Changes as EngineChanges,
  ChangesOptions as EngineChangesOptions,
} from "../engine/changes/types.ts";
import type { ClientEngine, SnapshotOptions as EngineSnapshotOptions } from "../engine/types.ts";
import { parseTransactionId } from "../schemas/transaction-id-text.ts";
import {
  momentMicros,
  type OutcomeOptions,
  outcomeChecks,
  type SnapshotOptions,
  snapshotChecks,
  type TransactOptions,
  transactChecks,
} from "./call-options.ts";
import { withCaller } from "./caller.ts";
import type {
  BaseHandle,
  BaseParts,
  BaseRequested,
  BaseStarted,
  BaseStartOptions,
  BaseStatus,
} from "./base.ts";
import type { BaseDefinition, NamedBase } from "./base-definition.ts";
import type { BaseRunnerOptions } from "./base-runner-options.ts";
import type { ChangesOptions, ConsumeOptions } from "./changes-options.ts";
import { lazyChanges } from "./lazy-changes.ts";
import type { ChangeHandler, Changes } from "./row-changes.ts";
import { checkOptions } from "./check-options.ts";
import type { Handles } from "./handles.ts";
import type { MarshallOptions } from "./marshall.ts";
import type { Numbers } from "./numbers.ts";
import type { SnapshotBody, Transacted, TransactionBody } from "./transaction.ts";

const feeds = new OnDemand("changes", () => import("./changes.ts"));
const bases = new OnDemand("BASE transactions", () => import("./base.ts"));
const handles = new OnDemand("handles", () => import("./handles.ts"));
const keptResults = new OnDemand("kept results", () => import("./result-codec.ts"));

export type Client = {
  /**
   * Runs the body in a transaction and, when it returns, commits what it wrote. Conflicts are
   * retried: the body runs again. To abandon, throw, and the error arrives here untouched; or
   * `return tx.rollback(result)`, and the result does.
   * @returns the body's result, and a receipt of what committing took.
   * @throws CommitUnknownError when the commit was sent and no decision seen in time: ask
   * `outcome`.
   * @throws ConflictError when `attemptsMax` runs met a conflict each.
   * @throws UnavailableError, TransactionTooLargeError, InvalidRequestError: nothing was committed.
   * @throws IdempotencyKeyReusedError when the key has answered another `idempotencyRequest`.
   * @example
   * const { result, receipt } = await db.transact(async (tx) => {
   *   const row = await tx.get(accounts, "ann");
   *   tx.put(accounts, { id: "ann", balanceCents: (row?.balanceCents ?? 0) + 500 });
   *   return row === undefined;
   * });
   * console.log(result, receipt.attempts);
   */
  transact<Result>(body: TransactionBody<Result>): Promise<Transacted<Result>>;
  transact<Result>(
    options: TransactOptions,
    body: TransactionBody<Result>,
  ): Promise<Transacted<Result>>;
  /**
   * Runs the body over one consistent, read-only state, and returns its result. Never aborts a
   * writer and sends nothing to the oracle.
   * @throws SnapshotTooOldError when `asOf` lies beyond the history kept.
   * @example const rows = await db.snapshot((s) => s.batchGet(accounts, ["ann", "bob"]));
   */
  snapshot<Result>(body: SnapshotBody<Result>): Promise<Result>;
  snapshot<Result>(options: SnapshotOptions, body: SnapshotBody<Result>): Promise<Result>;
  /**
   * Settles, for good, what became of a transaction: an undecided one is aborted by the question.
   * @param transactionId from a receipt or a `CommitUnknownError`.
   * @throws SnapshotTooOldError when the log does not reach back so far.
   * @example
   * try {
   *   await db.transact((tx) => tx.update(accounts, "ann", { balanceCents: 0 }));
   * } catch (error) {
   *   if (!(error instanceof CommitUnknownError)) throw error;
   *   console.log(await db.outcome(error.transactionId)); // "committed" or "aborted", for good.
   * }
   */
  outcome(transactionId: string, options?: OutcomeOptions): Promise<"committed" | "aborted">;
  /**
   * Every committed transaction once, whole, in commit order, from a position on (docs/sdk.md). Of
   * mixed tables it lacks what is in no log, native writes and transactions of one item alone; in
   * `tables` they are refused, unless `mixed` says `"only-logged"`. Begins when it is iterated,
   * and then throws InvalidRequestError for an option that is unknown or wrong, or a table that
   * cannot be followed.
   * @example
   * for await (const change of db.changes({ tables: [orders], from: "now" })) {
   *   for (const { key, after } of change.of(orders)) console.log(key, after?.totalCents);
   * }
   */
  changes(options?: ChangesOptions): Changes;
  /**
   * Handles what `changes` gives, one after the other, for a consumer whose position the deployment
   * keeps: after a crash it goes on there, in whichever process. At least once; what the handler
   * does by `feed.once` is done once. One process is at it at a time, others wait.
   * @throws what the handler throws; the change comes again.
   * @throws ChangesExpiredError, InvalidRequestError.
   * @example
   * await db.consume({ name: "search", tables: [orders] }, async (change) => {
   *   for (const { key, after } of change.of(orders)) await index(key, after);
   * });
   */
  consume(options: ConsumeOptions, handle: ChangeHandler): Promise<void>;
  /**
   * Begins a BASE transaction, and resolves once its first step is committed: it is accepted, and
   * goes on to its end whatever happens to this process (docs/base.md).
   * @throws what the handler throws before that: then nothing has happened.
   * @throws InvalidRequestError; UnavailableError.
   * @example
   * const { accepted } = await db.base(createOrder, order, { id: order.id });
   * const { paid } = await accepted.result();
   */
  base<Input, Result>(
    definition: BaseDefinition<Input, Result>,
    input: Input,
    options: BaseStartOptions,
  ): Promise<BaseStarted<Result>>;
  /**
   * Asks for a BASE transaction, and resolves once that is recorded: nothing has happened until a
   * runner takes it up. `status()` and `result()` tell whether its first step was committed, or has
   * refused; until then it may be cancelled.
   * @throws InvalidRequestError; UnavailableError: it is not recorded.
   * @throws CommitUnknownError: it may be recorded; to ask again, with the same id, finds it.
   * @example
   * const { requested } = await db.requestBase(createOrder, order, { id: order.id });
   * console.log((await requested.status())?.phase);
   */
  requestBase<Input, Result>(
    definition: BaseDefinition<Input, Result>,
    input: Input,
    options: BaseStartOptions,
  ): Promise<BaseRequested<Result>>;
  /**
   * One that was begun, or asked for, here or elsewhere.
   * @example const { paid } = await db.baseOf(createOrder, "order-7").result();
   */
  baseOf<Result>(definition: NamedBase<Result>, id: string): BaseHandle<Result>;
  /**
   * BASE transactions that have not begun, or whose writes are not seen by all; oldest first.
   * @example for (const { id, phase } of await db.openBases()) console.log(id, phase);
   */
  openBases(): Promise<readonly BaseStatus[]>;
  /**
   * Begins those that are asked for, and goes on with what no process is at, until stopped.
   * @example await db.baseRunner({ handlers: [createOrder], onTrouble: console.warn });
   */
  baseRunner(options: BaseRunnerOptions): Promise<void>;
  /**
   * Waits for what is under way, then stops. Later calls throw `TransactionClosedError`.
   * @example process.once("SIGTERM", () => void db.close());
   */
  close(): Promise<void>;
  /** `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
};

/** What a client needs of an engine. */
export type Connection = { readonly engine: ClientEngine; close(): Promise<void> };

type Connected = Connection & { readonly handles: Handles };

export type ClientParts = {
  /** Called once, on first use; again after it has failed. */
  readonly connect: () => Promise<Connection>;
  /** By which the first call's deadline runs while it connects. Default: the system's. */
  readonly clock?: Clock | undefined;
  readonly marshall: MarshallOptions;
  readonly numbers: Numbers;
};

const connectBackoff = { baseMs: 50, capMs: 500 };

export class ConnectedClient implements Client {
  readonly #parts: ClientParts;
  #connection: Promise<Connected> | undefined;
  #connected: Connected | undefined;
  #closed: Promise<void> | undefined;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  async transact<Result>(
    first: TransactOptions | TransactionBody<Result>,
    second?: TransactionBody<Result>,
  ): Promise<Transacted<Result>> {
    const { options, body } = optionsAndBody<TransactOptions, TransactionBody<Result>>(
      first,
      second,
    );
    checkTransactOptions(options);
    try {
      const { engine, handles, left } = await this.#begin(options);
      const run = handles.transactions(body);
      if (options.idempotencyKey === undefined) {
        return await handles.outside(() => engine.transact(left, run));
      }
      const { resultCodec } = await keptResults.load();
      const codec = resultCodec<Result>(this.#parts.numbers, options.idempotencyRequest);
      const done = await handles.outside(() => engine.transact(left, run, codec));
      if (done.receipt.replayed) return done;
      return { ...done, result: codec.normalized(done.result) };
    } catch (error) {
      throw withCaller(publicError(error));
    }
  }

  async snapshot<Result>(
    first: SnapshotOptions | SnapshotBody<Result>,
    second?: SnapshotBody<Result>,
  ): Promise<Result> {
    const { options, body } = optionsAndBody<SnapshotOptions, SnapshotBody<Result>>(first, second);
    const engineOptions = checkedSnapshotOptions(options);
    try {
      const { engine, handles, left } = await this.#begin(engineOptions);
      const run = handles.snapshots(body);
      const { result } = await handles.outside(() => engine.snapshot(left, run));
      return result;
    } catch (error) {
      throw withCaller(publicError(error));
    }
  }

  async outcome(
    transactionId: string,
    options: OutcomeOptions = {},
  ): Promise<"committed" | "aborted"> {
    checkOptions("", options, outcomeChecks);
    const id = parseTransactionId(transactionId);
    try {
      const { engine, left } = await this.#begin(options);
      return (await engine.outcome(id, left)).kind;
    } catch (error) {
      throw withCaller(publicError(error));
    }
  }

  changes(options: ChangesOptions = {}): Changes {
    const start = async (wish: EngineChangesOptions): Promise<EngineChanges> => {
      const { engine } = await this.#begin({});
      return engine.changes(wish);
    };
    return lazyChanges(async () => {
      const { ChangeIterable } = await feeds.load();
      return new ChangeIterable(options, { ...this.#parts, start });
    });
  }

  async consume(options: ConsumeOptions, handle: ChangeHandler): Promise<void> {
    try {
      const { consume } = await feeds.load();
      await consume(options, handle, {
        ...this.#parts,
        begin: () => this.#begin({}),
        once: (idempotencyKey, body) => this.transact({ idempotencyKey }, body),
      });
    } catch (error) {
      throw withCaller(publicError(error));
    }
  }

  async base<Input, Result>(
    definition: BaseDefinition<Input, Result>,
    input: Input,
    options: BaseStartOptions,
  ): Promise<BaseStarted<Result>> {
    const { startBase } = await bases.load();
    return this.#basing((parts) => startBase(definition, input, { options, parts }));
  }

  async requestBase<Input, Result>(
    definition: BaseDefinition<Input, Result>,
    input: Input,
    options: BaseStartOptions,
  ): Promise<BaseRequested<Result>> {
    const { requestBase } = await bases.load();
    return this.#basing((parts) => requestBase(definition, input, { options, parts }));
  }

  baseOf<Result>(definition: NamedBase<Result>, id: string): BaseHandle<Result> {
    const handle = async (): Promise<BaseHandle<Result>> => {
      const { baseHandle } = await bases.load();
      return this.#basing((parts) => Promise.resolve(baseHandle(definition, id, parts)));
    };
    return {
      id,
      result: async (options) => (await handle()).result(options),
      status: async () => (await handle()).status(),
      resume: async () => (await handle()).resume(),
      cancel: async () => (await handle()).cancel(),
    };
  }

  openBases(): Promise<readonly BaseStatus[]> {
    return this.#basing(async ({ engine }) => (await (await engine()).list()).bases);
  }

  async baseRunner(options: BaseRunnerOptions): Promise<void> {
    const { runBases } = await bases.load();
    await this.#basing((parts) => runBases(options, parts));
  }

  async #basing<Result>(task: (parts: BaseParts) => Promise<Result>): Promise<Result> {
    try {
      const { numbers } = this.#parts;
      const engine = async () => (await this.#begin({})).engine.base();
      const handles = async () => (await this.#begin({})).handles;
      return await task({ engine, handles, numbers });
    } catch (error) {
      throw withCaller(publicError(error));
    }
  }

  get [nativeSupport](): NativeSupport {
    return {
      mixedTables: () => this.#native((native) => native.mixedTables()),
      clearFence: (at) => this.#native((native) => native.clearFence(at)),
    };
  }

  async #native<Result>(ask: (native: NativeSupport) => Promise<Result>): Promise<Result> {
    return ask((await this.#begin({})).engine.native);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // A connection that never came about has nothing to close; its caller has had the error.
    const connection = await this.#connection?.catch(() => undefined);
    if (connection === undefined) return;
    try {
      await connection.engine.close();
    } catch (error) {
      // The engine's error is the first one: the clients' own must not replace it.
      await connection.close().catch(() => undefined);
      throw publicError(error);
    }
    await connection.close();
  }

  /** What a call works with, and the wish with what is left of its time once that is there. */
  async #begin<Wish extends TimeWish>(
    wish: Wish,
  ): Promise<Pick<Connected, "engine" | "handles"> & { readonly left: Wish }> {
    if (this.#closed !== undefined) throw new TransactionClosedError("the client is closed");
    if (this.#connected !== undefined) return { ...this.#connected, left: wish };
    const clock = this.#parts.clock ?? systemClock;
    const call = new Call(clock, wish);
    try {
      // Connecting goes on where a call gives up: others may wait for it, or come.
      const connected = await this.#connectedIn(call, clock);
      const spentMs = clock.monotonicMs() - call.beganMs;
      if (spentMs === 0) return { ...connected, left: wish };
      return {
        ...connected,
        left: { ...wish, deadlineMs: Math.max(1, call.deadlineMs - spentMs) },
      };
    } finally {
      call.end();
    }
  }

  /** A stack that is not there yet may come up, or back, within the call's time. */
  async #connectedIn(call: Call, clock: Clock): Promise<Connected> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await orAborted(this.#connect(), call.signal);
      } catch (error) {
        if (call.signal.aborted || !(error instanceof UnavailableError)) throw error;
        call.lastFailure = error;
      }
      const wait = { backoff: connectBackoff, attempt, signal: call.signal };
      await waitBackoff({ clock, random: systemRandom }, wait);
    }
  }

  #connect(): Promise<Connected> {
    // What is begun here goes on for longer than a body that makes the first call.
    this.#connection ??= outsideOfBodies(() => this.#open()).then(
      (connected) => {
        this.#connected = connected;
        return connected;
      },
      (error: unknown) => {
        this.#connection = undefined;
        throw publicError(error);
      },
    );
    return this.#connection;
  }

  async #open(): Promise<Connected> {
    const loading = handles.load();
    loading.catch(ignore);
    const connection = await this.#parts.connect();
    try {
      const { Handles } = await loading;
      const { engine } = connection;
      return { engine, close: () => connection.close(), handles: new Handles(this.#parts) };
    } catch (error) {
      await connection.close().catch(ignore);
      throw error;
    }
  }
}

type TimeWish = { readonly deadlineMs?: number; readonly signal?: AbortSignal };

function optionsAndBody<Options extends object, Body>(
  first: Options | Body,
  second: Body | undefined,
): { readonly options: Options; readonly body: Body } {
  const [options, body] =
    typeof first === "function" && second === undefined ? [{}, first] : [first, second];
  if (typeof body !== "function") {
    throw new InvalidRequestError("body", "the last argument must be the body, an async function");
  }
  return { options: options as Options, body };
}

function checkTransactOptions(options: TransactOptions): void {
  checkOptions("", options, transactChecks);
  if (options.idempotencyRequest !== undefined && options.idempotencyKey === undefined) {
    throw new InvalidRequestError(
      "idempotencyRequest",
      "`idempotencyRequest` needs an `idempotencyKey`",
    );
  }
}

function checkedSnapshotOptions(options: SnapshotOptions): EngineSnapshotOptions {
  checkOptions("", options, snapshotChecks);
  const { asOf, ...others } = options;
  if (asOf === undefined) return others;
  if (others.maxStalenessMs !== undefined) {
    throw new InvalidRequestError("maxStalenessMs", "`asOf` excludes `maxStalenessMs`");
  }
  const timestamp = momentMicros(asOf);
  return timestamp === undefined ? others : { ...others, asOf: timestamp };
}
