/**
 * Commits one attempt (docs/protocol.md §6): the local check, the request, the verdict, the install.
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
import { limits } from "../core/limits.ts";
import type { Ports } from "../core/ports.ts";
import type { ReadConflict } from "../core/transaction-reads.ts";
import type {
  AbortReason,
  CommitRequest,
  CommittedVerdict,
  KeyHash,
  Payload,
  Timestamp,
  TransactionId,
} from "../core/types.ts";
import { encodePayload } from "../schemas/payload.ts";
import { spillPayload } from "../schemas/spill.ts";
import { orAborted } from "./concurrency.ts";
import { settleRequest } from "./request-settler.ts";
import { conflictError } from "./read-view.ts";
import type { ShardSession } from "./shard-session.ts";
import type { TransactionContext } from "./transaction-context.ts";
import { assertKeyCount } from "./write-buffer.ts";

export type CommitOptions = {
  /** Aborts at the deadline, or when the caller gives up. */
  readonly signal: AbortSignal;
  readonly id: TransactionId;
  /** A tail older than this is refreshed before the request is sent. */
  readonly freshMs: number;
  readonly onSent: (id: TransactionId, resend: boolean) => void;
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
 * Certifies the buffered writes; there is at least one.
 * @throws ConflictError, SnapshotTooOldError, UnavailableError, TransactionTooLargeError: not committed.
 * @throws CommitUnknownError: sent, and no verdict before the signal.
 */
export async function certify(
  ports: Ports,
  session: ShardSession,
  context: TransactionContext,
  options: CommitOptions,
): Promise<Certified> {
  const { view, writes } = context;
  assert(writes.size > 0, "I3: only a transaction that wrote something is sent");
  // A body that read nothing has not waited for the transaction's own refresh yet.
  await view.ready();
  view.seal();
  // Reads begun at the same time have each found room for themselves alone.
  assertKeyCount(view.reads.size, writes.size);
  const payload = writes.toPayload();
  const bytes = encodePayload(payload);
  if (session.follower.ageMs > options.freshMs) {
    await orAborted(session.follower.refresh(), options.signal);
  }
  const checks = checksOf(context);
  const checkedTo = checkLocally(session, context);
  const { id } = options;
  const request = await buildRequest(ports, { id, checkedTo, checks, bytes, context });
  const sentMs = ports.clock.nowMs();
  const verdict = await settleRequest(ports, session, {
    request,
    signal: options.signal,
    onSent: options.onSent,
    // A stale or lost request is sent again only after the local check has covered what came since.
    recheck: () => checkLocally(session, context),
  });
  if (verdict.kind === "aborted") throw abortError(verdict.reason, checks);
  assert(verdict.id === id, "I3: the verdict is on the transaction that was sent");
  assert(verdict.timestamp > checkedTo, "I2: a commit lies above what its client had checked");
  assert(verdict.writes.length === payload.writes.length, "I3: the verdict covers every write");
  return { verdict, payload, sentMs };
}

function checksOf(context: TransactionContext): Checks {
  const { view, writes } = context;
  if (view.isolation === "snapshot") {
    const written = Array.from(writes.values());
    return {
      hashes: written.map(({ hashes }) => hashes.key),
      reads: written.map(({ table, key }) => ({ table: table.name, key })),
    };
  }
  const { keys, predicates } = view.reads;
  return {
    hashes: [...keys.keys(), ...predicates.keys()],
    reads: [...keys.values(), ...predicates.values()],
  };
}

/** The part of certification that needs no oracle: `(r, L]` on the tail. Returns L. */
function checkLocally(session: ShardSession, context: TransactionContext): Timestamp {
  const { view } = context;
  const { tail } = session.follower;
  view.assertWithinTail();
  if (view.isolation === "serializable") {
    const conflict = view.reads.conflict(tail);
    if (conflict !== undefined) throw view.doom(conflictError(conflict, conflict));
    return tail.newest;
  }
  for (const { table, key, hashes } of context.writes.values()) {
    const timestamp = tail.lastCommit(hashes.key);
    if (timestamp === undefined || timestamp <= view.readTimestamp) continue;
    throw view.doom(conflictError({ read: { table: table.name, key } }, { timestamp }));
  }
  return tail.newest;
}

async function buildRequest(
  ports: Ports,
  parts: {
    readonly id: TransactionId;
    readonly checkedTo: Timestamp;
    readonly checks: Checks;
    readonly bytes: Uint8Array;
    readonly context: TransactionContext;
  },
): Promise<CommitRequest> {
  const { id, checkedTo, checks, bytes, context } = parts;
  const request = {
    kind: "commit",
    id,
    isolation: context.view.isolation,
    checkedTo,
    checks: checks.hashes,
  } as const;
  const requestBytes = bytes.length + 8 * checks.hashes.length + 64;
  if (requestBytes <= limits.inlineRequestBytesMax) {
    return { ...request, payload: { kind: "inline", bytes } };
  }
  if (bytes.length > limits.payloadBytesMax) {
    throw new TransactionTooLargeError(
      `the encoded writes take ${bytes.length} bytes, above the limit payloadBytesMax of ${limits.payloadBytesMax}; split the work into smaller transactions`,
      { name: "payloadBytesMax", max: limits.payloadBytesMax, actual: bytes.length },
    );
  }
  const { chunks, source } = spillPayload(bytes);
  await orAborted(ports.log.spill(id, chunks, context.view.call), context.view.call.signal);
  return { ...request, payload: source };
}

function abortError(reason: AbortReason, checks: Checks): Error {
  switch (reason.kind) {
    case "conflict": {
      const read = checks.reads[reason.check];
      assert(read !== undefined, "I4: a conflict names a check of its own request");
      return conflictError({ read }, { timestamp: reason.conflictTimestamp, by: "oracle" });
    }
    case "checked-ahead":
      return new CorruptDataError(
        "the oracle's log ends below what this process has read of it; was the log table restored or emptied?",
      );
    case "payload-unreadable":
      return new UnavailableError(
        "the oracle could not read the spilled payload; nothing was committed",
      );
    case "too-large":
      return new TransactionTooLargeError(
        `the oracle refused the request as too large; the limit transactionKeysMax is ${limits.transactionKeysMax}`,
        {
          name: "transactionKeysMax",
          max: limits.transactionKeysMax,
          actual: checks.hashes.length,
        },
      );
    case "probed":
      return new UnavailableError(
        "somebody asked for the outcome first, which settled it as aborted",
      );
  }
}

/** Whether running the body again can help. */
export function isRetryableAttempt(error: unknown): boolean {
  if (error instanceof StoreError) return error.fault !== "rejected";
  // Errors of the body's own are the caller's, whatever they say of themselves.
  return error instanceof TransactionError && error.retryable;
}
