/**
 * What a transaction has read in calls before (detached.ts), taken up again in this one: each part
 * in its shard's log, from the read timestamp that it was brought to. Between two calls, or two
 * processes, anything may have been committed, and any shard split or joined.
 */
import { assert } from "../core/assert.ts";
import { ConflictError, InvalidRequestError } from "../core/errors.ts";
import { extendThrough, TransactionReads } from "../core/transaction-reads.ts";
import type { KeyHash, ShardNumber, TableDescription } from "../core/types.ts";
import { keyNamesOf } from "../core/attributes.ts";
import type { AttemptServices } from "./attempts/attempt-services.ts";
import type { AttemptViews, ResumedPart } from "./attempts/attempt-views.ts";
import type { MixedState, RememberedPart } from "./attempts/remembered-state.ts";
import { orAborted } from "./concurrency.ts";
import { conflictError, movedConflict } from "./conflict-error.ts";
import { blocksAbove } from "./log/log-search.ts";
import type { ReadView } from "./reading/read-view.ts";
import type { ShardSession } from "./shard-session.ts";
import type { TableRegistry } from "./table-registry.ts";

/**
 * Runs the task with the parts, whose tails let go of nothing meanwhile.
 * @throws ConflictError when something that they have read was overwritten, or a shard of theirs
 *   split or joined.
 */
export async function withResumed<T>(
  services: AttemptServices,
  parts: readonly RememberedPart[],
  task: (resumed: ReadonlyMap<ShardNumber, ResumedPart>) => Promise<T>,
): Promise<T> {
  const leave: (() => void)[] = [];
  const resumeOne = async (part: RememberedPart): Promise<ResumedPart | undefined> => {
    const { sessions, call, registry } = services;
    const { session } = await orAborted(sessions.of(part.shard), call.signal);
    const { follower } = session;
    await orAborted(follower.refresh(), call.signal);
    if (sessions.isOld) await orAborted(sessions.learn(), call.signal);
    const { map, lone } = sessions;
    // Of several shards one in which nothing was read is not touched.
    if (lone === undefined && part.keys.length + part.predicates.length === 0) return undefined;
    if (map.live(part.shard) === undefined || map.changedAt(part.shard) !== part.changedAt) {
      // probe: state-meets-a-fork
      throw movedConflict();
    }
    // What lies in the shard is said up to here.
    const reads = restoreReads(part, { registry, session });
    // From here on the tail lets nothing go; what it has let go before is in the log.
    const user = { readTimestamp: follower.tail.floor };
    follower.enter(user);
    leave.push(() => {
      follower.leave(user);
    });
    await coverGap(services, session, reads);
    return { reads, changedAt: part.changedAt };
  };
  try {
    const resuming = await Promise.allSettled(parts.map(resumeOne));
    const resumed = new Map<ShardNumber, ResumedPart>();
    for (const [i, { shard }] of parts.entries()) {
      const each = resuming[i];
      if (each?.status === "rejected") throw each.reason;
      if (each?.value !== undefined) resumed.set(shard, each.value);
    }
    return await task(resumed);
  } finally {
    for (const each of leave) each();
  }
}

/** What was read keeps no names, but a scanned table can be told by its hash. */
function restoreReads(
  { keys, predicates, readTimestamp }: RememberedPart,
  { registry, session }: { readonly registry: TableRegistry; readonly session: ShardSession },
): TransactionReads {
  const { hashes, follower } = session;
  const { newest } = follower.tail;
  if (readTimestamp > newest) {
    throw new InvalidRequestError(
      "readTimestamp",
      "the transaction's read timestamp lies above the log; it belongs to another deployment",
    );
  }
  const reads = new TransactionReads(readTimestamp, newest);
  for (const hash of keys) reads.addKey(hash as KeyHash, { table: undefined, key: undefined });
  if (predicates.length === 0) return reads;
  const tables = new Map(
    registry.all().map(({ name }): [bigint, string] => [hashes.table(name), name]),
  );
  for (const hash of predicates) {
    const table = tables.get(hash);
    const on = table === undefined ? "partition" : "table";
    reads.addPredicate(hash as KeyHash, { table, on, key: undefined });
  }
  return reads;
}

/** Extends the read timestamp over blocks that this process no longer holds, or never did. */
async function coverGap(
  { ports, call }: AttemptServices,
  session: ShardSession,
  reads: TransactionReads,
): Promise<void> {
  const { floor, floorPosition } = session.follower.tail;
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

/** What was read of mixed tables counts from here on; it is read again before the end. */
export async function remember(
  { registry, call }: AttemptServices,
  views: AttemptViews,
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
  for (const { view, table, ...own } of await byView(views, state, describe)) {
    const reads = await view.mixedReads(table);
    for (const scanned of own.scanned) reads.noteScanned(scanned);
    if (own.keys.length + own.pages.length > 0) reads.remember(own, describe);
  }
}

type OwnReads = {
  readonly view: ReadView;
  readonly table: TableDescription;
  readonly keys: MixedState["keys"][number][];
  readonly pages: MixedState["pages"][number][];
  /** Whose rows lie in its shard, too, and are read again by another one's. */
  readonly scanned: TableDescription[];
};

/** What is to be read again by the view of each shard. */
async function byView(
  views: AttemptViews,
  { keys, pages }: MixedState,
  describe: (name: string) => TableDescription,
): Promise<Iterable<OwnReads>> {
  const all = new Map<ReadView, OwnReads>();
  const of = (view: ReadView, table: TableDescription): OwnReads => {
    const own = all.get(view) ?? { view, table, keys: [], pages: [], scanned: [] };
    all.set(view, own);
    return own;
  };
  const { hashes } = views;
  for (const each of keys) {
    const table = describe(each.table);
    const { partition } = hashes.item(keyNamesOf(table), each.key);
    of(await views.at(partition), table).keys.push(each);
  }
  for (const page of pages) {
    const { request } = page;
    const table = describe(request.table);
    if (request.kind === "query") {
      const partition = hashes.partition(request.table, request.partitionKey);
      of(await views.at(partition), table).pages.push(page);
      continue;
    }
    const [first, ...others] = await views.everywhere();
    assert(first !== undefined, "resumed reads: there is a shard");
    of(first, table).pages.push(page);
    for (const other of others) of(other, table).scanned.push(table);
  }
  return all.values();
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
