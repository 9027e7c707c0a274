/**
 * Transactions without a closure: one attempt whose caller comes and goes, carrying its state as
 * data (the REST service). No retries: the caller holds the body.
 */
import { keyNamesOf } from "../core/attributes.ts";
import { SnapshotTooOldError, TransactionClosedError } from "../core/errors.ts";
import { detachedEntryKey } from "../core/idempotency-key.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { Digest } from "../core/ports.ts";
import type { Isolation, Item, ShardNumber, TransactionId } from "../core/types.ts";
import { beginAttempt, finishAttempt, inAttempt, type Attempt } from "./attempts/attempt.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import type { AttemptServices } from "./attempts/attempt-services.ts";
import { endReadsInShards } from "./attempts/end-without-commit.ts";
import type { Guard } from "./attempts/guard.ts";
import type { MixedState } from "./attempts/remembered-state.ts";
import { HeldError } from "./base/held.ts";
import type { Call } from "./call.ts";
import type { CommitName } from "./committing/commit-under-way.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";
import { publicError } from "./public-error.ts";
import { findEarlier, idempotencyEntryKey, readEntry, recordResult } from "./idempotency.ts";
import { remember, withResumed } from "./resumed-reads.ts";
import { TableRefusedError, type TableRegistry } from "./table-registry.ts";
import type { DetachedTransaction, Receipt, TransactionState } from "./types.ts";

const basing = new OnDemand("BASE transactions", () => import("./base/isolation.ts"));

type CallerOptions = { readonly signal?: AbortSignal };
type Begun = Pick<TransactionState, "startedMs"> & {
  readonly attempt: Attempt;
  /** Undefined: it has none yet. */
  readonly name: string | undefined;
};
type Named = Begun & Pick<TransactionState, "name">;
/** Undefined: no table takes BASE transactions. */
type Guarded = { readonly guard: Guard | undefined };

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
    const attempt = await beginAttempt(services, {
      mode: "read-write",
      isolation: options.isolation,
      maxStalenessMs: 0,
    });
    await attempt.views.ready().catch((error: unknown) => {
      attempt.views.close();
      throw error;
    });
    return { attempt, name: undefined, startedMs: services.ports.clock.nowMs() };
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
    const ageMs = services.ports.clock.nowMs() - state.startedMs;
    if (ageMs > limits.transactionAgeMsMax) {
      throw new SnapshotTooOldError(
        `the transaction began ${ageMs} ms ago, above the limit transactionAgeMsMax of ` +
          `${limits.transactionAgeMsMax}; begin again`,
      );
    }
    return withResumed(services, state.parts, async (resumed) => {
      const attempt = await beginAttempt(services, {
        mode: "read-write",
        isolation: state.isolation,
        maxStalenessMs: services.freshMs,
        startedMs: state.startedMs,
        resumed,
      });
      await remember(services, attempt.views, state.mixed).catch((error: unknown) => {
        attempt.views.close();
        throw error;
      });
      return { attempt, name: state.name, startedMs: state.startedMs };
    });
  });
}

/**
 * Random. The commit leaves an entry under it: of several shards in one that the transaction has
 * touched already, so that it need not be prepared in one more.
 */
function newName({ ports, sessions }: AttemptServices, { context }: Attempt): string {
  const home = sessions.lone === undefined ? touchedShards(sessions, context) : undefined;
  for (let tries = 1; ; tries += 1) {
    const name = Buffer.from(ports.random.bytes(stateNameBytes)).toString("hex");
    if (home === undefined || home.size === 0 || tries === limits.stateNameTriesMax) return name;
    if (home.has(shardOfEntry({ ports, sessions }, name))) return name;
  }
}

function touchedShards(
  sessions: AttemptServices["sessions"],
  { views, writes }: Attempt["context"],
): ReadonlySet<ShardNumber> {
  const read = views.all.filter(({ readCount }) => readCount > 0);
  const touched = new Set(read.map(({ session }) => session.number));
  for (const { hashes } of writes.values()) touched.add(sessions.at(hashes.partition).number);
  return touched;
}

function shardOfEntry(
  { ports, sessions }: Pick<AttemptServices, "ports" | "sessions">,
  name: string,
): ShardNumber {
  const table = keyNamesOf(ports.control.idempotencyTable);
  const { partition } = sessions.hashes.item(table, detachedEntryKey(name));
  return sessions.at(partition).number;
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

async function open(
  core: EngineCore,
  options: CallerOptions,
  start: (services: AttemptServices) => Promise<Begun>,
): Promise<DetachedTransaction> {
  const { services, isolation, ...begun } = await core.run(options, async (call) => {
    const services = await core.services(call);
    // Nothing is loaded where no table takes BASE transactions.
    const loading = services.registry.hasBase ? basing.load() : undefined;
    const isolation = loading && (await orAborted(loading, call.signal));
    return { services, isolation, ...(await start(services)) };
  });
  // The call is over, its deadline too; reads go on, and the caller can still give them up.
  services.call.follow(options.signal);
  const { context } = begun.attempt;
  const guard = isolation?.isolated(core, services, { context, mode: "writes" });
  return detached(core, services, { ...begun, guard });
}

function detached(
  core: EngineCore,
  services: AttemptServices,
  begun: Begun & Guarded,
): DetachedTransaction {
  const { attempt, guard } = begun;
  const context = guard?.transaction ?? attempt.context;
  let { name } = begun;
  const named = (): Named & Guarded => {
    return { ...begun, name: (name ??= newName(services, attempt)) };
  };
  const asked = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw publicError(await told(core, services.call, error));
    }
  };
  return {
    get readTimestamp() {
      return context.readTimestamp;
    },
    describe: (table) => context.describe(table),
    get: (table, key) => asked(() => context.get(table, key)),
    batchGet: (keys) => asked(() => context.batchGet(keys)),
    queryPage: (table, query, page) => asked(() => context.queryPage(table, query, page)),
    scanPage: (table, scan, page) => asked(() => context.scanPage(table, scan, page)),
    put: (table, item) => {
      context.put(table, item);
    },
    delete: (table, key) => {
      context.delete(table, key);
    },
    endReads: () => asked(() => endReadsInShards(services, attempt.views)),
    state: () => stateOf(named(), services.ports.digest),
    commit: (options) =>
      core
        .run(options, (call) => {
          const committing = commitDetached({ ...services, call }, named(), options);
          return committing.catch(async (error: unknown) =>
            refused(core.registry, call, await told(core, call, error)),
          );
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
  { attempt: { context, views }, name, startedMs }: Named,
  digest: Digest,
): TransactionState {
  if (context.writes.size > 0) {
    throw new TransactionClosedError(
      "buffered writes are not part of a transaction's state; commit them",
    );
  }
  const { isolation, parts } = views;
  const ofShards = views.all.flatMap((view) => view.mixed?.state(digest) ?? []);
  return { name, isolation, startedMs, parts, mixed: together(ofShards) };
}

/** Where a key or page is to be read again its own table says. */
function together(states: readonly MixedState[]): MixedState | undefined {
  if (states.length === 0) return undefined;
  return {
    keys: states.flatMap(({ keys }) => keys),
    pages: states.flatMap(({ pages }) => pages),
  };
}

async function commitDetached(
  services: AttemptServices,
  { attempt, name, guard }: Named & Guarded,
  options: Parameters<DetachedTransaction["commit"]>[0],
): Promise<Receipt> {
  const times = {
    beganMs: services.ports.clock.monotonicMs(),
    retryMs: 0,
    attempts: 1,
    ack: options.ack ?? "installed",
  } as const;
  const { idempotencyKey } = options;
  const entries: ReturnType<typeof recordResult>[] = [];
  // Of several shards it gets its id when it is sent.
  const named = (known: CommitName): void => {
    for (const entry of entries) entry.named(known);
  };
  return inAttempt(services, attempt, async () => {
    const { signal } = services.call;
    const entryKey = idempotencyKey === undefined ? undefined : idempotencyEntryKey(idempotencyKey);
    if (entryKey !== undefined) {
      const looked = findEarlier(services, attempt, { entryKey, times });
      const earlier = await orAborted(looked, signal);
      if (earlier !== undefined) return { ...earlier.receipt, recordedResult: earlier.result };
    }
    if (guard !== undefined) await orAborted(guard.beforeCommit(), signal);
    if (entryKey !== undefined) {
      const result = options.recordedResult ?? { NULL: true };
      entries.push(recordResult(services, attempt, { entryKey, result }));
    }
    if (attempt.context.writes.size > 0) entries.push(await commitOnce(services, attempt, name));
    return finishAttempt(services, attempt, { ...times, named });
  });
}

/** Whoever holds the body does not wait: he is told who holds what he asks for. */
async function told(core: EngineCore, call: Call, error: unknown): Promise<unknown> {
  if (!(error instanceof HeldError)) return error;
  try {
    const { heldAt } = await basing.load();
    return await heldAt(core, new AttemptRunner(core), { call, held: error });
  } catch {
    return error; // Names them as well.
  }
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
): Promise<ReturnType<typeof recordResult>> {
  const entryKey = detachedEntryKey(name);
  const earlier = await findCommitted(services, attempt, entryKey);
  if (earlier !== undefined) throw new AlreadyCommittedError(earlier);
  return recordResult(services, attempt, { entryKey, result: { NULL: true } });
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
