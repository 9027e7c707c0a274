/**
 * Transactions without a closure: one attempt whose caller comes and goes, carrying its state as
 * data (the REST service). No retries: the caller holds the body.
 */
import {
  ConflictError,
  InvalidRequestError,
  SnapshotTooOldError,
  TransactionClosedError,
} from "../core/errors.ts";
import { detachedEntryKey } from "../core/idempotency-key.ts";
import * as limits from "../core/limits.ts";
import { extendThrough, TransactionReads } from "../core/transaction-reads.ts";
import type { Digest, Random } from "../core/ports.ts";
import type { Isolation, Item, KeyHash, TableDescription, TransactionId } from "../core/types.ts";
import type { KeyHashes } from "../schemas/key-hashes.ts";
import { beginAttempt, finishAttempt, inAttempt, type Attempt } from "./attempts/attempt.ts";
import type { AttemptServices } from "./attempts/attempt-services.ts";
import type { Call } from "./call.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";
import type { MixedState } from "./attempts/remembered-state.ts";
import { publicError } from "./public-error.ts";
import { findEarlier, idempotencyEntryKey, readEntry, recordResult } from "./idempotency.ts";
import { blocksAbove } from "./log/log-search.ts";
import { conflictError } from "./conflict-error.ts";
import type { ShardSession } from "./shard-session.ts";
import { TableRefusedError, type TableRegistry } from "./table-registry.ts";
import type { DetachedTransaction, Receipt, TransactionState } from "./types.ts";

type CallerOptions = { readonly signal?: AbortSignal };
type Begun = Pick<TransactionState, "name" | "startedMs"> & { readonly attempt: Attempt };

/** Random bytes of a state's name: two never have the same. */
const stateNameBytes = 16;

/** A state commits once, and it has. Not part of the public API: the SDK has no such states. */
export class AlreadyCommittedError extends TransactionClosedError {
  readonly transactionId: TransactionId;
  constructor(transactionId: TransactionId) {
    super(`the transaction was committed before, as ${transactionId}`);
    this.transactionId = transactionId;
  }
}

export function begin(
  core: EngineCore,
  options: CallerOptions & { readonly isolation: Isolation },
): Promise<DetachedTransaction> {
  return open(core, options, async (services) => {
    await onlySession(services);
    const attempt = await beginAttempt(services, {
      mode: "read-write",
      isolation: options.isolation,
      maxStalenessMs: 0,
    });
    const view = attempt.views.lone;
    await view.ready().catch((error: unknown) => {
      view.close();
      throw error;
    });
    const { clock, random } = services.ports;
    return { attempt, name: newName(random), startedMs: clock.nowMs() };
  });
}

/**
 * @throws ConflictError when something that the state has read was overwritten meanwhile.
 * @throws SnapshotTooOldError beyond the transaction age limit.
 */
export function resume(
  core: EngineCore,
  state: TransactionState,
  options: CallerOptions,
): Promise<DetachedTransaction> {
  return open(core, options, async (services) => {
    const { ports } = services;
    const session = await onlySession(services);
    const ageMs = ports.clock.nowMs() - state.startedMs;
    if (ageMs > limits.transactionAgeMsMax) {
      throw new SnapshotTooOldError(
        `the transaction began ${ageMs} ms ago, above the limit transactionAgeMsMax of ` +
          `${limits.transactionAgeMsMax}; begin again`,
      );
    }
    const reads = restoreReads(state, services.registry, session.hashes);
    await orAborted(session.follower.refresh(), services.call.signal);
    // From here on the tail lets nothing go; what it has let go before is in the log.
    const user = { readTimestamp: session.follower.tail.floor };
    session.follower.enter(user);
    try {
      await coverGap(services, session, reads);
      const attempt = await beginAttempt(services, {
        mode: "read-write",
        isolation: state.isolation,
        maxStalenessMs: services.freshMs,
        startedMs: state.startedMs,
        reads,
      });
      await remember(services, attempt, state.mixed).catch((error: unknown) => {
        attempt.views.close();
        throw error;
      });
      return { attempt, name: state.name, startedMs: state.startedMs };
    } finally {
      session.follower.leave(user);
    }
  });
}

/** What was read keeps no names, but a scanned table can be told by its hash. */
function restoreReads(
  state: TransactionState,
  registry: TableRegistry,
  hashes: KeyHashes,
): TransactionReads {
  const reads = new TransactionReads(state.readTimestamp);
  for (const hash of state.keys)
    reads.addKey(hash as KeyHash, { table: undefined, key: undefined });
  if (state.predicates.length === 0) return reads;
  const tables = new Map(
    registry.all().map(({ name }): [bigint, string] => [hashes.table(name), name]),
  );
  for (const hash of state.predicates) {
    const table = tables.get(hash);
    const on = table === undefined ? "partition" : "table";
    reads.addPredicate(hash as KeyHash, { table, on, key: undefined });
  }
  return reads;
}

/** What was read of mixed tables counts from here on; it is read again before the end. */
async function remember(
  { registry, call }: AttemptServices,
  { views: { lone: view } }: Attempt,
  state: MixedState | undefined,
): Promise<void> {
  if (state === undefined) return;
  const names = new Set<string>();
  for (const { table } of state.keys) names.add(table);
  for (const { request } of state.pages) names.add(request.table);
  const areMixed = (): boolean =>
    [...names].every((name) => registry.find(name)?.access === "mixed");
  // Whoever has read them may know of newer ones than this process.
  if (!areMixed()) await registry.lookAgain(call.signal);
  const describe = (name: string): TableDescription => mixedTable(registry, name);
  const [first] = Array.from(names, describe);
  if (first === undefined) return;
  const reads = await view.mixedReads(first);
  reads.remember(state, describe);
}

/** @throws ConflictError: what has become of its items no read of them tells any more. */
function mixedTable(registry: TableRegistry, name: string): TableDescription {
  const table = registry.find(name);
  if (table?.access === "mixed") return table;
  throw new ConflictError(
    `table "${name}" is not mixed any more, as it was when this transaction has read it; begin ` +
      "again",
    { table: name, key: undefined, version: undefined, on: "table", foundBy: "native" },
  );
}

function newName(random: Random): string {
  return Buffer.from(random.bytes(stateNameBytes)).toString("hex");
}

/**
 * Settles what has become of a state whose caller does not know: also of one too old to go on.
 * Undefined as well while its commit is on its way; then none but that one can commit.
 */
export function committedAs(
  core: EngineCore,
  state: TransactionState,
  options: CallerOptions,
): Promise<TransactionId | undefined> {
  return core.run(options, async (call) => {
    const services = await core.services(call);
    const attempt = await beginAttempt(services, {
      mode: "read-write",
      isolation: "serializable",
      maxStalenessMs: 0,
    });
    return inAttempt(services, attempt, () =>
      findCommitted(services, attempt, detachedEntryKey(state.name)),
    );
  });
}

/**
 * The session of the deployment's one shard: a state has one read timestamp, and hashes of one log.
 * @throws InvalidRequestError where there are several.
 */
async function onlySession({ sessions, call }: AttemptServices): Promise<ShardSession> {
  const { lone } = sessions;
  if (lone !== undefined) return (await orAborted(sessions.of(lone.number), call.signal)).session;
  throw new InvalidRequestError(
    "deployment",
    `the deployment has ${sessions.map.entries.length} shards, and interactive transactions need ` +
      "one; send the transaction as one request, or use the SDK",
  );
}

/** Extends the read timestamp over blocks that this process no longer holds, or never did. */
async function coverGap(
  { ports, call }: AttemptServices,
  session: ShardSession,
  reads: TransactionReads,
): Promise<void> {
  const { floor, floorPosition, newest } = session.follower.tail;
  if (reads.readTimestamp > newest) {
    throw new InvalidRequestError(
      "readTimestamp",
      "the transaction's read timestamp lies above the log; it belongs to another deployment",
    );
  }
  if (reads.readTimestamp >= floor) return;
  const range = {
    above: reads.readTimestamp,
    through: floorPosition,
    hashes: session.hashes,
    call: call.options,
  };
  for await (const block of blocksAbove(ports.log, session.shard, range)) {
    const conflict = extendThrough(reads, block);
    if (conflict !== undefined) throw conflictError(conflict, conflict);
  }
}

async function open(
  core: EngineCore,
  options: CallerOptions,
  start: (services: AttemptServices) => Promise<Begun>,
): Promise<DetachedTransaction> {
  const { services, ...begun } = await core.run(options, async (call) => {
    const services = await core.services(call);
    return { services, ...(await start(services)) };
  });
  // The call is over, its deadline too; reads go on, and the caller can still give them up.
  services.call.follow(options.signal);
  return detached(core, services, begun);
}

function detached(core: EngineCore, services: AttemptServices, begun: Begun): DetachedTransaction {
  const { attempt } = begun;
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
    state: () => stateOf(begun, services.ports.digest),
    commit: (options) =>
      core
        .run(options, (call) => {
          const committing = commitDetached({ ...services, call }, begun, options);
          return committing.catch((error: unknown) => refused(core.registry, call, error));
        })
        .finally(() => {
          services.call.end();
        }),
    close: () => {
      attempt.views.close();
      services.call.end();
    },
  };
}

function stateOf(
  { attempt: { context, views }, name, startedMs }: Begun,
  digest: Digest,
): TransactionState {
  const { reads, isolation, mixed } = views.lone;
  if (context.writes.size > 0) {
    throw new TransactionClosedError(
      "buffered writes are not part of a transaction's state; commit them",
    );
  }
  return {
    name,
    isolation,
    readTimestamp: reads.readTimestamp,
    startedMs,
    keys: [...reads.keys.keys()],
    predicates: [...reads.predicates.keys()],
    mixed: mixed?.state(digest),
  };
}

async function commitDetached(
  services: AttemptServices,
  { attempt, name }: Begun,
  options: Parameters<DetachedTransaction["commit"]>[0],
): Promise<Receipt> {
  const times = {
    beganMs: services.ports.clock.monotonicMs(),
    retryMs: 0,
    attempts: 1,
    ack: options.ack ?? "installed",
  } as const;
  const { idempotencyKey } = options;
  return inAttempt(services, attempt, async () => {
    if (idempotencyKey !== undefined) {
      const entryKey = idempotencyEntryKey(idempotencyKey);
      const looked = findEarlier(services, attempt, { entryKey, times });
      const earlier = await orAborted(looked, services.call.signal);
      if (earlier !== undefined) return { ...earlier.receipt, recordedResult: earlier.result };
      const result = options.recordedResult ?? { NULL: true };
      recordResult(services, attempt, { entryKey, result });
    }
    if (attempt.context.writes.size > 0) await commitOnce(services, attempt, name);
    return finishAttempt(services, attempt, times);
  });
}

/**
 * The caller runs it again, here or in another process: what it does then goes by the registry as
 * it is now, of which the oracle knows.
 */
async function refused(registry: TableRegistry, call: Call, error: unknown): Promise<never> {
  if (!(error instanceof TableRefusedError)) throw error;
  const looked = await registry.lookAgain(call.signal).then(
    () => true,
    () => false,
  );
  throw looked ? await error.comparedWith(registry) : error;
}

/**
 * Has the commit read and write an entry under the state's name, so that of two commits of the
 * state, here or elsewhere, now or later, one at most succeeds. Its id could not do that: two
 * requests of one id and different writes would each take the verdict for their own.
 */
async function commitOnce(
  services: AttemptServices,
  attempt: Attempt,
  name: string,
): Promise<void> {
  const entryKey = detachedEntryKey(name);
  const earlier = await findCommitted(services, attempt, entryKey);
  if (earlier !== undefined) throw new AlreadyCommittedError(earlier);
  recordResult(services, attempt, { entryKey, result: { NULL: true } });
}

/**
 * The id of the commit that stands under the entry, or undefined; either way the entry is in the
 * read set now.
 */
async function findCommitted(
  services: AttemptServices,
  attempt: Attempt,
  entryKey: Item,
): Promise<TransactionId | undefined> {
  return (await readEntry(services, attempt, entryKey))?.transactionId;
}
