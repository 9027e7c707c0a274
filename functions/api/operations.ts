/**
 * What the routes do, without HTTP: requests that have passed the contract in, answers out.
 */
import { ConflictError, SnapshotTooOldError, TransactionClosedError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock, ControlStore, Random } from "../../core/ports.ts";
import type { Timestamp, TransactionId } from "../../core/types.ts";
import type {
  DetachedTransaction,
  Engine,
  Receipt as EngineReceipt,
  SnapshotOptions,
  TransactionState,
} from "../../engine/types.ts";
import { RangeMovedError } from "../../engine/conflict-error.ts";
import type { Receipt, ReadsAnswer } from "../../schemas/rest/answers.ts";
import type {
  BeginRequest,
  CommitRequest,
  ReadRequest,
  SnapshotRequest,
  TransactionRequest,
} from "../../schemas/rest/requests.ts";
import { requireDeliverable } from "./answer-items.ts";
import type { Allowance } from "./deadline.ts";
import { hashRequest, recordedCodec, requireSameRequest, type Recorded } from "./idempotency.ts";
import { createPace, type Pace } from "./pace.ts";
import { planChanges, planReads, requireKeysAtMost, type ReadPlan } from "./plan.ts";
import { ApiProblem } from "./problem.ts";
import { runChanges, runReads, type WrittenAnswer } from "./run.ts";
import { createTokenCodec, requireYoung, tokenSecretBytes, type TokenCodec } from "./token.ts";

export type OperationPorts = {
  readonly engine: Engine;
  readonly control: Pick<ControlStore, "secret" | "shards">;
  readonly clock: Clock;
  readonly random: Random;
};

export type Keyed = Allowance & { readonly idempotencyKey: string | undefined };

export type CommittedAnswer = {
  readonly reads?: ReadsAnswer;
  readonly written?: WrittenAnswer;
  readonly receipt: Receipt;
};

export type OpenAnswer = {
  readonly transaction: string;
  readonly readTimestamp: Timestamp;
  readonly expiresAt: string;
  readonly reads: ReadsAnswer;
};

export type HealthAnswer = {
  readonly status: "ok" | "unavailable";
  readonly checks?: Readonly<Record<"control" | "log", Check>>;
};

type Check = { readonly ok: boolean; readonly durationMs: number };

/** Methods throw the errors of core/errors.ts and ApiProblem; schemas/rest/routes.ts says which. */
export class Operations {
  readonly #ports: OperationPorts;
  #codec: Promise<TokenCodec> | undefined;

  constructor(ports: OperationPorts) {
    this.#ports = ports;
  }

  async transact(request: TransactionRequest, keyed: Keyed): Promise<CommittedAnswer> {
    const { format, isolation, ack } = request;
    const readPlan = planReads(request.reads, format);
    const changePlan = planChanges(request);
    requireKeysAtMost(
      readPlan.gets.length + changePlan.conditions.length + changePlan.writes.length,
    );
    const requestHash = hashRequest("transact", request);
    const { deadlineMs, signal, idempotencyKey } = keyed;
    const pace = this.#pace(signal);
    const { result, receipt } = await this.#ports.engine.transact<Recorded>(
      { isolation, ack, deadlineMs, signal, ...(idempotencyKey && { idempotencyKey }) },
      async (transaction) => {
        const reads = await runReads(transaction, readPlan, { format, pace });
        const written = await runChanges(transaction, changePlan, pace);
        requireDeliverable({ reads, written });
        return { requestHash, reads, written };
      },
      recordedCodec,
    );
    requireSameRequest(result, requestHash);
    return committedAnswer(result, receipt);
  }

  async begin(request: BeginRequest, { signal }: Allowance): Promise<OpenAnswer> {
    const plan = planReads(request.reads, request.format);
    const codec = await this.#tokens();
    const { format, isolation } = request;
    const options = { codec, plan, format, pace: this.#pace(signal) };
    return this.#byNewMap(signal, async () =>
      openAnswer(await this.#ports.engine.begin({ isolation, signal }), options),
    );
  }

  async read(request: ReadRequest, { signal }: Allowance): Promise<OpenAnswer> {
    const plan = planReads(request.reads, request.format);
    const codec = await this.#tokens();
    const state = codec.decode(request.transaction);
    requireYoung(state, this.#ports.clock.nowMs());
    requireKeysAtMost(keysOf(state) + plan.gets.length);
    const options = { codec, plan, format: request.format, pace: this.#pace(signal) };
    return this.#byNewMap(signal, async () =>
      openAnswer(await this.#ports.engine.resume(state, { signal }), options),
    );
  }

  async commit(request: CommitRequest, keyed: Keyed): Promise<CommittedAnswer> {
    const plan = planChanges(request);
    const requestHash = hashRequest("commit", request);
    const replay = async (): Promise<CommittedAnswer | undefined> =>
      keyed.idempotencyKey === undefined
        ? undefined
        : this.#replay(keyed.idempotencyKey, { requestHash, allowance: keyed });

    // Before the token is looked at: a repeat must find its answer however old its token is, and
    // whatever its own first run did to the items that its conditions are about.
    const earlier = await replay();
    if (earlier !== undefined) return earlier;
    const codec = await this.#tokens();
    const state = codec.decode(request.transaction);
    requireKeysAtMost(keysOf(state) + plan.conditions.length + plan.writes.length);
    const { signal } = keyed;
    try {
      requireYoung(state, this.#ports.clock.nowMs());
      return await this.#byNewMap(signal, async () => {
        const transaction = await this.#ports.engine.resume(state, { signal });
        return letGo(transaction, async () => {
          const written = await endingReads(transaction, () =>
            runChanges(transaction, plan, this.#pace(signal)),
          );
          const recorded = { requestHash, reads: undefined, written };
          return this.#finish(transaction, { recorded, ack: request.ack, keyed });
        });
      });
    } catch (error) {
      if (!mayHaveCommitted(error)) throw error;
      // The same request, sent twice at once, runs into itself: the one that lost answers as the
      // other.
      const concurrent = await replay();
      if (concurrent !== undefined) return concurrent;
      const transactionId = await this.#byNewMap(signal, () =>
        this.#ports.engine.committedAs(state, { signal }),
      );
      if (transactionId === undefined) throw error;
      throw alreadyCommitted(transactionId);
    }
  }

  async snapshot(request: SnapshotRequest, { deadlineMs, signal }: Allowance) {
    const plan = planReads(request.reads, request.format);
    const { asOf, maxStalenessMs } = request;
    const options: SnapshotOptions = {
      deadlineMs,
      signal,
      ...(asOf === undefined ? {} : { asOf: asOf as Timestamp }),
      ...(maxStalenessMs === undefined ? {} : { maxStalenessMs }),
    };
    const manner = { format: request.format, pace: this.#pace(signal) };
    const { result } = await this.#ports.engine.snapshot(options, async (snapshot) => {
      const reads = await runReads(snapshot, plan, manner);
      return { readTimestamp: snapshot.readTimestamp, reads };
    });
    return result;
  }

  async outcome(id: TransactionId, { deadlineMs, signal }: Allowance) {
    const settled = await this.#ports.engine.outcome(id, { deadlineMs, signal });
    return settled.kind === "committed"
      ? {
          transactionId: id,
          outcome: settled.kind,
          commitTimestamp: settled.commitTimestamp,
        }
      : { transactionId: id, outcome: settled.kind };
  }

  async health(deep: boolean, { deadlineMs, signal }: Allowance): Promise<HealthAnswer> {
    if (!deep) return { status: "ok" };
    const [control, log] = await Promise.all([
      this.#check(() => this.#ports.control.shards({ signal })),
      this.#check(() =>
        this.#ports.engine.snapshot({ deadlineMs, signal, attemptsMax: 1 }, (snapshot) =>
          Promise.resolve(snapshot.readTimestamp),
        ),
      ),
    ]);
    return { status: control.ok && log.ok ? "ok" : "unavailable", checks: { control, log } };
  }

  async #check(reach: () => Promise<unknown>): Promise<Check> {
    const { clock } = this.#ports;
    const startedMs = clock.monotonicMs();
    const ok = await reach().then(
      () => true,
      () => false,
    );
    return { ok, durationMs: clock.monotonicMs() - startedMs };
  }

  async #finish(
    transaction: DetachedTransaction,
    options: {
      readonly recorded: Recorded;
      readonly ack: CommitRequest["ack"];
      readonly keyed: Keyed;
    },
  ): Promise<CommittedAnswer> {
    const { recorded, ack, keyed } = options;
    const { idempotencyKey, deadlineMs, signal } = keyed;
    // The deadline counts from here; the signal from the request's arrival, and what took long
    // before counts too.
    const receipt = await transaction.commit({
      ack,
      deadlineMs,
      signal,
      ...(idempotencyKey === undefined
        ? {}
        : { idempotencyKey, recordedResult: recordedCodec.encode(recorded) }),
    });
    if (receipt.recordedResult === undefined) return committedAnswer(recorded, receipt);
    const first = recordedCodec.decode(receipt.recordedResult);
    requireSameRequest(first, recorded.requestHash);
    return committedAnswer(first, receipt);
  }

  /**
   * The first answer under the key, or undefined. Runs nothing: the body throws if it is reached.
   */
  async #replay(
    idempotencyKey: string,
    options: { readonly requestHash: string; readonly allowance: Allowance },
  ): Promise<CommittedAnswer | undefined> {
    const { deadlineMs, signal } = options.allowance;
    const absent = new Error("no answer is recorded under the key");
    try {
      const { result, receipt } = await this.#ports.engine.transact<Recorded>(
        { idempotencyKey, deadlineMs, signal, attemptsMax: 1 },
        () => Promise.reject(absent),
        recordedCodec,
      );
      requireSameRequest(result, options.requestHash);
      return committedAnswer(result, receipt);
    } catch (error) {
      if (error === absent) return undefined;
      throw error;
    }
  }

  /**
   * Runs it again where a shard was split or joined meanwhile: what it goes on from says whether it
   * can, by the new map.
   */
  async #byNewMap<Result>(signal: AbortSignal, run: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof RangeMovedError)) throw error;
        await this.#ports.clock.sleep(limits.handoverPauseMs, signal);
      }
    }
  }

  #pace(signal: AbortSignal): Pace {
    return createPace(this.#ports.clock, signal);
  }

  /** One secret per deployment, read once; a failure is not remembered. */
  #tokens(): Promise<TokenCodec> {
    const { control, random } = this.#ports;
    this.#codec ??= control
      .secret("rest-token", () => random.bytes(tokenSecretBytes))
      .then(createTokenCodec)
      .catch((error: unknown) => {
        this.#codec = undefined;
        throw error;
      });
    return this.#codec;
  }
}

function keysOf({ parts, mixed }: TransactionState): number {
  return parts.reduce((sum, { keys }) => sum + keys.length, mixed?.keys.length ?? 0);
}

/**
 * The next call may come to another process, so that nothing of the transaction stays in this one.
 */
async function letGo<Result>(
  transaction: DetachedTransaction,
  use: () => Promise<Result>,
): Promise<Result> {
  try {
    return await use();
  } finally {
    transaction.close();
  }
}

/** What is said of items that were never there at one moment is not to be heard. */
async function endingReads<Result>(
  transaction: DetachedTransaction,
  use: () => Promise<Result>,
): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    await transaction.endReads();
    throw error;
  }
}

async function openAnswer(
  transaction: DetachedTransaction,
  options: {
    readonly codec: TokenCodec;
    readonly plan: ReadPlan;
    readonly format: BeginRequest["format"];
    readonly pace: Pace;
  },
): Promise<OpenAnswer> {
  const reads = await letGo(transaction, async () => {
    const reads = await runReads(transaction, options.plan, options);
    await transaction.endReads();
    return reads;
  });
  const state = transaction.state();
  const answer = {
    transaction: options.codec.encode(state),
    readTimestamp: transaction.readTimestamp,
    expiresAt: new Date(state.startedMs + limits.transactionAgeMsMax).toISOString(),
    reads,
  };
  requireDeliverable(answer);
  return answer;
}

function committedAnswer(recorded: Recorded, receipt: EngineReceipt): CommittedAnswer {
  const { reads, written } = recorded;
  const { attempts, readTimestamp, installed, replayed, consumed, phases } = receipt;
  const isLocal = receipt.local === true;
  return {
    ...(reads === undefined ? {} : { reads }),
    ...(written === undefined ? {} : { written }),
    receipt: {
      // What no log knows of is no id to ask with.
      transactionId: isLocal ? null : (receipt.transactionId ?? null),
      commitTimestamp: receipt.commitTimestamp ?? null,
      ...(isLocal ? { local: true } : {}),
      readTimestamp,
      attempts,
      installed,
      replayed,
      consumed: { ...consumed },
      phases: { ...phases },
    },
  };
}

/**
 * Whether an earlier commit of the same token would explain the failure: it has overwritten what
 * the token has read, changed what the conditions are about, or was made long ago.
 */
function mayHaveCommitted(error: unknown): boolean {
  return (
    error instanceof ConflictError ||
    error instanceof SnapshotTooOldError ||
    error instanceof TransactionClosedError ||
    (error instanceof ApiProblem && committedSigns.has(error.code))
  );
}

const committedSigns: ReadonlySet<ApiProblem["code"]> = new Set([
  "condition-failed",
  "transaction-closed",
]);

function alreadyCommitted(transactionId: TransactionId): ApiProblem {
  return new ApiProblem(
    "already-committed",
    `the transaction was committed before, as ${transactionId}; this request has written nothing`,
    { outcome: "aborted", field: "transaction", transactionId },
  );
}
