/**
 * Certifies one transaction, or several as one (docs/protocol.md §6, §9): the local check, the
 * request, the verdict.
 *
 * What may be thrown depends on how far it got. Before anything was sent, and after a verdict, the
 * outcome is known. In between it is not, and only `CommitUnknownError` may leave this file.
 */
import { assert } from "../core/assert.ts";
import {
  CorruptDataError,
  StoreError,
  TransactionError,
  TransactionTooLargeError,
  UnavailableError,
} from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { CallOptions, ClientPorts } from "../core/ports.ts";
import type { ReadConflict, TransactionReads } from "../core/transaction-reads.ts";
import type {
  AbortReason,
  CommitRequest,
  CommittedVerdict,
  Decision,
  Isolation,
  KeyHash,
  Payload,
  TableDescription,
  Timestamp,
  TransactionId,
  WriteHashes,
} from "../core/types.ts";
import { encodePayload } from "../schemas/payload.ts";
import { ignore, orAborted } from "./concurrency.ts";
import { DecisionSearch } from "./decision-search.ts";
import type { OnSent, Predecessors, UndecidedRead } from "./express-way.ts";
import { settledDecision } from "./request-settler.ts";
import { refuseBelowTail, conflictError } from "./conflict-error.ts";
import { TableRefusedError } from "./table-registry.ts";
import type { ShardSession } from "./shard-session.ts";
import { assertKeyCount, type WriteBuffer } from "./write-buffer.ts";

const spilling = new OnDemand("spilling", () => import("../schemas/spill.ts"));

/**
 * What is sent to the oracle as one transaction: sealed, so that it stays as it is once its checks
 * are taken.
 */
export interface Committable {
  readonly isolation: Isolation;
  readonly reads: TransactionReads;
  readonly writes: WriteBuffer;
}

export type CommitOptions = {
  /** Aborts when no caller waits for the verdict any more. */
  readonly signal: AbortSignal;
  readonly call: CallOptions;
  readonly id: TransactionId;
  /** No decision on the id lies at or below it. */
  readonly undecidedTo: Timestamp;
  /** A tail older than this is refreshed before the request is sent. */
  readonly freshMs: number;
  readonly group: GroupSteps | undefined;
  readonly onSent: OnSent;
};

/** What a group of several that are certified as one does besides (chaining/commit-group.ts). */
export type GroupSteps = Predecessors & {
  /** Resolves when it is time to be certified; others may still join. */
  gathered(signal: AbortSignal): Promise<void>;
  /** Whether it is still time, where the next block is about to be made; else it gathers again. */
  readonly isReady: boolean;
  /** In the very turn in which payload and checks are taken, or checked again, before they are. */
  close(): void;
};

export type Certified = {
  readonly verdict: CommittedVerdict;
  readonly payload: Payload;
  /** Wall clock, before the request was first sent. */
  readonly sentMs: number;
};

/** What is checked, by the position that the oracle names in a conflict. */
type Checks = {
  readonly hashes: readonly KeyHash[];
  readonly reads: readonly ReadConflict["read"][];
};

/**
 * Certifies what was read and written; there is at least one write.
 * @throws ConflictError, SnapshotTooOldError, UnavailableError, TransactionTooLargeError: not
 * committed.
 * @throws CommitUnknownError: sent, and no verdict before the signal.
 */
export async function certify(
  ports: ClientPorts,
  session: ShardSession,
  subject: Committable,
  options: CommitOptions,
): Promise<Certified> {
  const leave = await boarded(session, options);
  let sent: Sent;
  try {
    sent = await send(ports, session, subject, { ...options, leave });
  } finally {
    leave();
  }
  const { checkedTo, checks, payload, sentMs } = sent;
  const verdict = await sent.verdict;
  if (verdict.kind === "aborted") {
    const written = Array.from(
      subject.writes.values(),
      ({ table }) => [table.name, table] as const,
    );
    throw abortError(verdict.reason, checks, [...new Map(written).values()]);
  }
  assert(verdict.id === options.id, "I3: the verdict is on the transaction that was sent");
  assert(verdict.timestamp > checkedTo, "I2: a commit lies above what its client had checked");
  assert(verdict.writes.length === payload.writes.length, "I3: the verdict covers every write");
  return { verdict, payload, sentMs };
}

/** Until the next block can be put, others may join. Resolves with what to call afterwards. */
async function boarded(
  session: ShardSession,
  { group, freshMs, signal }: CommitOptions,
): Promise<() => void> {
  const { follower } = session;
  for (;;) {
    await group?.gathered(signal);
    const isFresh = follower.heardMs <= freshMs || session.express?.isAlone === true;
    if (!isFresh) await orAborted(follower.refresh(), signal);
    if (session.lacksExpress) await orAborted(session.readyExpress(), signal);
    const leave = (await session.express?.board(signal)) ?? ignore;
    if (group?.isReady !== false) return leave;
    leave();
  }
}

type Sent = Pick<Certified, "payload" | "sentMs"> & {
  readonly checks: Checks;
  readonly checkedTo: Timestamp;
  readonly verdict: Promise<Decision>;
};

/** Resolves in the turn in which the request is on its way, or in the next block. */
async function send(
  ports: ClientPorts,
  session: ShardSession,
  subject: Committable,
  options: CommitOptions & { readonly leave: () => void },
): Promise<Sent> {
  const { group } = options;
  group?.close();
  const { writes } = subject;
  assert(writes.size > 0, "I3: only a transaction that wrote something is sent");
  const undecided = group?.undecidedReads() ?? [];
  // Reads begun at the same time have each found room for themselves alone.
  assertKeyCount(subject.reads.size + undecided.length, writes.size);
  const payload = writes.toPayload();
  const checks = checksOf(subject, undecided);
  const checkedTo = checkLocally(session, subject);
  const recheckTables = (): void => {
    session.express?.refuseChanged(Array.from(writes.values(), ({ table }) => table));
  };
  // An oracle asks that by itself.
  if (session.express?.isReady === true) recheckTables();
  const hashes = () => Array.from(writes.values(), (write) => write.hashes);
  const prepared = { ...options, subject, checkedTo, checks, payload, hashes };
  const request = await buildRequest(ports, session, prepared);
  const sentMs = ports.clock.nowMs();
  const verdict = settledDecision(ports, session, {
    request,
    signal: options.signal,
    call: options.call,
    search: new DecisionSearch(session, { id: options.id, undecidedTo: options.undecidedTo }),
    pagesMax: Number.POSITIVE_INFINITY,
    onSent: options.onSent,
    writes: hashes,
    spill: (bytes) => spill(ports, bytes, options),
    // A stale or lost request is sent again only after the local check has covered what came since.
    recheck: () => {
      group?.close();
      return checkLocally(session, subject);
    },
    recheckTables,
    predecessors: group,
  });
  verdict.catch(ignore);
  return { checkedTo, checks, payload, sentMs, verdict };
}

function checksOf(
  { isolation, reads, writes }: Committable,
  undecided: readonly UndecidedRead[],
): Checks {
  if (isolation === "snapshot") {
    const written = Array.from(writes.values());
    return {
      // mutant: no-write-set
      hashes: written.map(({ hashes }) => hashes.key),
      reads: written.map(({ table, key }) => ({ table: table.name, key })),
    };
  }
  const { keys, predicates } = reads;
  // mutant: no-read-set
  // mutant: no-predicates
  return {
    hashes: [...keys.keys(), ...predicates.keys(), ...undecided.map(({ key }) => key)],
    reads: [...keys.values(), ...predicates.values(), ...undecided.map(({ read }) => read)],
  };
}

/** The part of certification that needs no oracle: `(r, L]` on the tail. Returns L. */
function checkLocally(session: ShardSession, subject: Committable): Timestamp {
  const { reads, writes } = subject;
  const { tail } = session.follower;
  refuseBelowTail(reads, tail);
  if (subject.isolation === "serializable") {
    const conflict = reads.conflict(tail);
    // mutant: no-local-check
    if (conflict !== undefined) throw conflictError(conflict, conflict);
    return tail.newest;
  }
  for (const { table, key, hashes } of writes.values()) {
    const timestamp = tail.lastCommit(hashes.key);
    // mutant: no-local-check-of-snapshot
    if (timestamp === undefined || timestamp <= reads.readTimestamp) continue;
    throw conflictError({ read: { table: table.name, key } }, { timestamp });
  }
  return tail.newest;
}

async function buildRequest(
  ports: ClientPorts,
  { express, isStreamless }: ShardSession,
  parts: {
    readonly id: TransactionId;
    readonly checkedTo: Timestamp;
    readonly checks: Checks;
    readonly payload: Payload;
    readonly hashes: () => readonly WriteHashes[];
    readonly subject: Committable;
    readonly call: CallOptions;
    readonly signal: AbortSignal;
    readonly leave: () => void;
  },
): Promise<CommitRequest> {
  const { id, checkedTo, checks, call } = parts;
  const bytes = encodePayload(parts.payload);
  const request = {
    kind: "commit",
    id,
    isolation: parts.subject.isolation,
    checkedTo,
    checks: checks.hashes,
  } as const;
  const requestBytes = bytes.length + 8 * checks.hashes.length + 64;
  if (requestBytes <= limits.inlineRequestBytesMax) {
    const inline = { kind: "inline", bytes } as const;
    // Where there is a stream it takes what is too large for a block.
    const isForBlock = isStreamless && express?.takes(inline, parts.hashes()) === false;
    if (!isForBlock) return { ...request, payload: inline };
  }
  parts.leave();
  const payload = await orAborted(spill(ports, bytes, { id, call }), parts.signal);
  return { ...request, payload };
}

async function spill(
  ports: ClientPorts,
  bytes: Uint8Array,
  { id, call }: { readonly id: TransactionId; readonly call: CallOptions },
): Promise<CommitRequest["payload"]> {
  const { spillPayload } = await spilling.load();
  const { chunks, source } = spillPayload(bytes, ports.digest);
  // mutant: express-refers-to-nothing
  await ports.log.spill(id, chunks, call);
  return source;
}

function abortError(
  reason: AbortReason,
  checks: Checks,
  tables: readonly TableDescription[],
): Error {
  switch (reason.kind) {
    case "conflict": {
      const read = checks.reads[reason.check];
      assert(read !== undefined, "I4: a conflict names a check of its own request");
      return conflictError({ read }, { timestamp: reason.conflictTimestamp, by: "oracle" });
    }
    case "checked-ahead":
      return new CorruptDataError(
        "the oracle's log ends below what this process has read of it; was the log table " +
          "restored or emptied?",
      );
    case "payload-unreadable":
      return new UnavailableError(
        "the oracle could not read the spilled payload; nothing was committed",
      );
    case "too-large":
      return new TransactionTooLargeError(
        "the oracle refused the request as too large; the limit transactionKeysMax is " +
          `${limits.transactionKeysMax}`,
        {
          name: "transactionKeysMax",
          max: limits.transactionKeysMax,
          actual: checks.hashes.length,
        },
      );
    case "table-unknown":
    case "table-differs": {
      const names = tables.map(({ name }) => `"${name}"`).join(", ");
      return new TableRefusedError(
        `the oracle refused the commit (${reason.kind}): the registry does not have the table ` +
          `${names} as this process knew it`,
        tables,
      );
    }
    case "probed":
      return probedError();
  }
}

/** Another process asked for the outcome of an id before it was decided. */
export function probedError(): UnavailableError {
  return new UnavailableError("somebody asked for the outcome first, which settled it as aborted");
}

/** Whether running the body again can help. */
export function isRetryableAttempt(error: unknown): boolean {
  if (error instanceof StoreError) return error.fault !== "rejected";
  // Errors of the body's own are the caller's, whatever they say of themselves.
  return error instanceof TransactionError && error.retryable;
}
