/**
 * Transactions without a closure: one attempt whose caller comes and goes, carrying its state as
 * data (the REST service). No retries: the caller holds the body.
 */
import {
  InvalidRequestError,
  SnapshotTooOldError,
  TransactionClosedError,
} from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { extendThrough, TransactionReads } from "../core/transaction-reads.ts";
import type { Isolation, KeyHash } from "../core/types.ts";
import {
  beginAttempt,
  finishAttempt,
  type FinishOptions,
  inAttempt,
  type Attempt,
  type AttemptServices,
} from "./attempt.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";
import { publicError } from "./public-error.ts";
import { findEarlier, recordResult } from "./idempotency.ts";
import { blocksAbove } from "./log-search.ts";
import { conflictError } from "./conflict-error.ts";
import type { DetachedTransaction, Receipt, TransactionState } from "./types.ts";

type Wish = { readonly signal?: AbortSignal };

export function begin(
  core: EngineCore,
  wish: Wish & { readonly isolation: Isolation },
): Promise<DetachedTransaction> {
  return open(core, wish, async (services) => {
    const attempt = await beginAttempt(services, {
      mode: "read-write",
      isolation: wish.isolation,
      maxStalenessMs: 0,
    });
    const { view } = attempt.context;
    await view.ready().catch((error: unknown) => {
      view.close();
      throw error;
    });
    return { attempt, startedMs: services.ports.clock.nowMs() };
  });
}

/**
 * @throws ConflictError when something that the state has read was overwritten meanwhile.
 * @throws SnapshotTooOldError beyond the transaction age limit.
 */
export function resume(
  core: EngineCore,
  state: TransactionState,
  wish: Wish,
): Promise<DetachedTransaction> {
  return open(core, wish, async (services) => {
    const { session, ports } = services;
    const ageMs = ports.clock.nowMs() - state.startedMs;
    if (ageMs > limits.transactionAgeMsMax) {
      throw new SnapshotTooOldError(
        `the transaction began ${ageMs} ms ago, above the limit transactionAgeMsMax of ${limits.transactionAgeMsMax}; begin again`,
      );
    }
    const reads = restoreReads(state);
    await orAborted(session.follower.refresh(), services.call.signal);
    // From here on the tail lets nothing go; what it has let go before is in the log.
    const user = { readTimestamp: session.follower.tail.floor };
    session.follower.enter(user);
    try {
      await coverGap(services, reads);
      const attempt = await beginAttempt(services, {
        mode: "read-write",
        isolation: state.isolation,
        maxStalenessMs: services.freshMs,
        reads,
      });
      return { attempt, startedMs: state.startedMs };
    } finally {
      session.follower.leave(user);
    }
  });
}

function restoreReads(state: TransactionState): TransactionReads {
  const reads = new TransactionReads(state.readTimestamp);
  for (const hash of state.keys) reads.addKey(hash as KeyHash, { table: "", key: undefined });
  for (const hash of state.predicates) {
    reads.addPredicate(hash as KeyHash, { table: "", on: "partition", key: undefined });
  }
  return reads;
}

/** Extends the read timestamp over blocks that this process no longer holds, or never did. */
async function coverGap(services: AttemptServices, reads: TransactionReads): Promise<void> {
  const { session, ports, call } = services;
  const { floor, floorPosition, newest } = session.follower.tail;
  if (reads.readTimestamp > newest) {
    throw new InvalidRequestError(
      "readTimestamp",
      "the transaction's read timestamp lies above the log; it belongs to another deployment",
    );
  }
  if (reads.readTimestamp >= floor) return;
  const range = { above: reads.readTimestamp, through: floorPosition, call: call.options };
  for await (const block of blocksAbove(ports.log, session.shard, range)) {
    const conflict = extendThrough(reads, block);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
  }
}

async function open(
  core: EngineCore,
  wish: Wish,
  start: (services: AttemptServices) => Promise<{ attempt: Attempt; startedMs: number }>,
): Promise<DetachedTransaction> {
  const { services, ...begun } = await core.run(wish, async (call) => {
    const services = await core.services(call);
    return { services, ...(await start(services)) };
  });
  // The call is over, its deadline too; reads go on, and the caller can still give them up.
  services.call.follow(wish.signal);
  return detached(core, services, begun);
}

function detached(
  core: EngineCore,
  services: AttemptServices,
  { attempt, startedMs }: { readonly attempt: Attempt; readonly startedMs: number },
): DetachedTransaction {
  const { context } = attempt;
  const guard = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw publicError(error);
    }
  };
  return {
    get readTimestamp() {
      return context.readTimestamp;
    },
    describe: (table) => context.describe(table),
    get: (table, key) => guard(() => context.get(table, key)),
    batchGet: (keys) => guard(() => context.batchGet(keys)),
    queryPage: (table, query, page) => guard(() => context.queryPage(table, query, page)),
    scanPage: (table, scan, page) => guard(() => context.scanPage(table, scan, page)),
    put: (table, item) => {
      context.put(table, item);
    },
    delete: (table, key) => {
      context.delete(table, key);
    },
    state: () => stateOf(attempt, startedMs),
    commit: (options) =>
      core
        .run(options, (call) => commitDetached({ ...services, call }, attempt, options))
        .finally(() => {
          services.call.end();
        }),
    close: () => {
      context.view.close();
      services.call.end();
    },
  };
}

function stateOf({ context }: Attempt, startedMs: number): TransactionState {
  const { reads, isolation } = context.view;
  if (context.writes.size > 0) {
    throw new TransactionClosedError(
      "buffered writes are not part of a transaction's state; commit them",
    );
  }
  return {
    isolation,
    readTimestamp: reads.readTimestamp,
    startedMs,
    keys: [...reads.keys.keys()],
    predicates: [...reads.predicates.keys()],
  };
}

async function commitDetached(
  services: AttemptServices,
  attempt: Attempt,
  options: Parameters<DetachedTransaction["commit"]>[0],
): Promise<Receipt> {
  const times = {
    beganMs: services.ports.clock.monotonicMs(),
    retryMs: 0,
    attempts: 1,
    ack: options.ack ?? "installed",
  } as const;
  const { idempotencyKey } = options;
  return inAttempt(attempt, async () => {
    let named: FinishOptions["named"];
    if (idempotencyKey !== undefined) {
      const earlier = await findEarlier(services, attempt, { idempotencyKey, times });
      if (earlier !== undefined) return { ...earlier.receipt, recordedResult: earlier.result };
      const result = options.recordedResult ?? { NULL: true };
      ({ named } = recordResult(services, attempt, { idempotencyKey, result }));
    }
    return finishAttempt(services, attempt, { ...times, named });
  });
}
