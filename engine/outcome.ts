/**
 * Settles the outcome of a transaction id for good. The log says what was decided; an id that it
 * does not decide is aborted by a request of its own through the same shard, after which no late
 * copy can commit. The id carries the timestamp below which no decision on it can lie.
 */
import type { CallOptions, ClientPorts } from "../core/ports.ts";
import type { Timestamp, TransactionId, Verdict } from "../core/types.ts";
import { transactionIdTimestamp } from "../schemas/transaction-id.ts";
import { orAborted } from "./concurrency.ts";
import { blocksAbove } from "./log-search.ts";
import { settleRequest, type Decision } from "./request-settler.ts";
import type { ShardSession } from "./shard-session.ts";
import type { Outcome } from "./types.ts";

/**
 * @throws SnapshotTooOldError when the log's retention has passed.
 * @throws CommitUnknownError when the signal aborts first; ask again.
 */
export async function settleOutcome(
  ports: ClientPorts,
  session: ShardSession,
  wish: {
    readonly id: TransactionId;
    readonly signal: AbortSignal;
    readonly call: CallOptions;
    readonly onSent: (id: TransactionId, resend: boolean) => void;
  },
): Promise<Outcome> {
  const { follower } = session;
  await orAborted(follower.refresh(), wish.signal);
  // Holds the tail's memory from here on, so that a decision seen by any refresh below stays known.
  const user = { readTimestamp: follower.tail.newest };
  follower.enter(user);
  try {
    const decision =
      (await findDecision(ports, session, wish)) ??
      // The search may have taken long: by now the tail may hold a decision, which is looked for
      // before anything is sent.
      (await settleRequest(ports, session, {
        request: {
          kind: "abort",
          id: wish.id,
          isolation: "serializable",
          checkedTo: follower.tail.newest,
          checks: [],
          payload: { kind: "none" },
        },
        signal: wish.signal,
        onSent: wish.onSent,
        recheck: () => follower.tail.newest,
      }));
    return decision.kind === "committed"
      ? { kind: "committed", commitTimestamp: decision.timestamp }
      : { kind: "aborted" };
  } finally {
    follower.leave(user);
  }
}

async function findDecision(
  ports: ClientPorts,
  session: ShardSession,
  { id, call }: { readonly id: TransactionId; readonly call: CallOptions },
): Promise<Decision | undefined> {
  const { tail } = session.follower;
  const retained = asDecision(tail.decision(id));
  if (retained !== undefined) return retained;
  const above: Timestamp = transactionIdTimestamp(id);
  if (above >= tail.floor) return undefined;
  const range = { above, through: tail.floorPosition, call };
  for await (const block of blocksAbove(ports.log, session.shard, range)) {
    const decision = asDecision(
      block.verdicts.find((verdict) => verdict.kind !== "stale" && verdict.id === id),
    );
    if (decision !== undefined) return decision;
  }
  return undefined;
}

function asDecision(verdict: Verdict | undefined): Decision | undefined {
  return verdict === undefined || verdict.kind === "stale" ? undefined : verdict;
}
