/**
 * Certifies one transaction, or several as one (docs/protocol.md §6, §9): the local check, the
 * request, the verdict.
 *
 * What may be thrown depends on how far it got. Before anything was sent, and after a verdict, the
 * outcome is known. In between it is not, and only `CommitUnknownError` may leave this file.
 */
import { assert } from "../../core/assert.ts";
import { StoreError, TransactionError } from "../../core/errors.ts";
import type { CallOptions, ClientPorts } from "../../core/ports.ts";
import type {
  CommittedVerdict,
  Part,
  Payload,
  TableDescription,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import {
  abortError,
  buildRequest,
  checkLocally,
  checksOf,
  spill,
  type Checks,
  type Committable,
} from "./commit-request.ts";
import { ignore, orAborted } from "../concurrency.ts";
import { DecisionSearch } from "../log/decision-search.ts";
import type { OnSent, Predecessors } from "../express-way.ts";
import { settledDecision, type SettleOptions } from "./request-settler.ts";
import type { ShardSession } from "../shard-session.ts";
import { assertKeyCount } from "../attempts/write-buffer.ts";

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
  const sent = await sendRequest(ports, session, subject, {
    ...{ ...options, kind: "commit" },
    settle: (request) => settledDecision(ports, session, request),
  });
  const { checkedTo, checks, payload, sentMs } = sent;
  const verdict = await sent.answer;
  if (verdict.kind === "aborted") throw abortError(verdict.reason, checks, tablesOf(subject));
  assert(verdict.id === options.id, "I3: the verdict is on the transaction that was sent");
  assert(verdict.timestamp > checkedTo, "I2: a commit lies above what its client had checked");
  assert(verdict.writes.length === payload.writes.length, "I3: the verdict covers every write");
  return { verdict, payload, sentMs };
}

/** Those that it writes, each once. */
export function tablesOf({ writes }: Pick<Committable, "writes">): readonly TableDescription[] {
  const written = Array.from(writes.values(), ({ table }) => [table.name, table] as const);
  return [...new Map(written).values()];
}

/** Sends it in its turn. What is settled is a commit, or a place in the log. */
export async function sendRequest<Answer>(
  ports: ClientPorts,
  session: ShardSession,
  subject: Committable,
  options: CommitOptions & Asked<Answer>,
): Promise<Sent<Answer>> {
  const leave = await boarded(session, options);
  try {
    return await send(ports, session, subject, { ...options, leave });
  } finally {
    leave();
  }
}

type Asked<Answer> = {
  readonly kind: "commit" | "prepare";
  /** To prepare as one of them. */
  readonly parts?: readonly Part[];
  readonly settle: (request: SettleOptions) => Promise<Answer>;
};

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

export type Sent<Answer> = Pick<Certified, "payload" | "sentMs"> & {
  readonly checks: Checks;
  readonly checkedTo: Timestamp;
  readonly answer: Promise<Answer>;
};

/** Resolves in the turn in which the request is on its way, or in the next block. */
async function send<Answer>(
  ports: ClientPorts,
  session: ShardSession,
  subject: Committable,
  options: CommitOptions & Asked<Answer> & { readonly leave: () => void },
): Promise<Sent<Answer>> {
  const { group } = options;
  group?.close();
  const { writes } = subject;
  const isPart = options.parts !== undefined;
  assert(isPart || writes.size > 0, "I3: only a transaction that wrote something is sent");
  const undecided = group?.undecidedReads() ?? [];
  // Reads begun at the same time have each found room for themselves alone.
  const mixed = subject.mixed?.length ?? 0;
  assertKeyCount(subject.reads.size + undecided.length + mixed, writes.size);
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
  const undecidedTo = { id: options.id, undecidedTo: options.undecidedTo };
  const answer = options.settle({
    request,
    signal: options.signal,
    call: options.call,
    search: new DecisionSearch(session, undecidedTo, options.kind === "prepare"),
    pagesMax: Number.POSITIVE_INFINITY,
    onSent: options.onSent,
    writes: hashes,
    spill: (bytes) => spill(ports, bytes, { ...options, hashes: session.hashes }),
    // A stale or lost request is sent again only after the local check has covered what came since.
    recheck: () => {
      group?.close();
      return checkLocally(session, subject);
    },
    recheckTables,
    predecessors: group,
  });
  answer.catch(ignore);
  return { checkedTo, checks, payload, sentMs, answer };
}

/** Whether running the body again can help. */
export function isRetryableAttempt(error: unknown): boolean {
  if (error instanceof StoreError) return error.fault !== "rejected";
  // Errors of the body's own are the caller's, whatever they say of themselves.
  return error instanceof TransactionError && error.retryable;
}
