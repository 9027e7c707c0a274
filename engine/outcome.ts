/**
 * Settles the outcome of a transaction id for good. The log says what was decided; an id that it
 * does not decide is aborted by a request of its own through the same shard, or by a block where
 * there is no stream, after which no late copy can commit. The id carries the timestamp below which
 * no decision on it can lie.
 */
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { CallOptions, ClientPorts } from "../core/ports.ts";
import type { Timestamp, TransactionId } from "../core/types.ts";
import { isLocalTransactionId, transactionIdTimestamp } from "../schemas/transaction-id.ts";
import { DecisionSearch } from "./log/decision-search.ts";
import type { OnSent } from "./express-way.ts";
import { settledDecision } from "./committing/request-settler.ts";
import type { ShardSession } from "./shard-session.ts";
import type { Outcome } from "./types.ts";

export type AskedOutcome = {
  readonly id: TransactionId;
  readonly signal: AbortSignal;
  readonly call: CallOptions;
  readonly onSent: OnSent;
};

/** @throws InvalidRequestError for an id that no log has. */
export function refuseLocal(id: TransactionId): void {
  if (!isLocalTransactionId(id)) return;
  throw new InvalidRequestError(
    "transactionId",
    `transaction ${id} was one write of one item of a mixed table, of which no log tells; read ` +
      "the item",
  );
}

export function madeElsewhere(id: TransactionId, newest: Timestamp): InvalidRequestError {
  return new InvalidRequestError(
    "transactionId",
    `transaction ${id} cannot have been made here: its maker had seen ` +
      `${transactionIdTimestamp(id)}, and the log ends at ${newest}; ask the deployment that ` +
      "made it",
  );
}

/**
 * @param session its tail shows what had been decided when its caller asked.
 * @throws InvalidRequestError for an id that is not from this log.
 * @throws SnapshotTooOldError when the log's retention has passed.
 * @throws UnavailableError when so much of the log lies behind the id that it takes another call.
 * @throws CommitUnknownError when the signal aborts first; ask again.
 */
export async function settleOutcome(
  ports: ClientPorts,
  session: ShardSession,
  asked: AskedOutcome,
): Promise<Outcome> {
  const { follower } = session;
  refuseLocal(asked.id);
  const madeAt = transactionIdTimestamp(asked.id);
  // Its maker had seen that timestamp in the log, so that whoever reads the log later sees it too.
  if (madeAt > follower.tail.newest) throw madeElsewhere(asked.id, follower.tail.newest);
  const state = await session.searching((searches) => searches.stateOf(asked.id, madeAt));
  // Holds what the tail has, so that the log need be searched once only.
  const user = { readTimestamp: follower.tail.floor };
  follower.enter(user);
  try {
    // mutant: outcome-without-block
    const decision = await settledDecision(ports, session, {
      ...asked,
      request: {
        kind: "abort",
        id: asked.id,
        isolation: "serializable",
        checkedTo: follower.tail.newest,
        checks: [],
        payload: { kind: "none" },
      },
      search: new DecisionSearch(session, state),
      pagesMax: limits.outcomePagesMax,
      recheck: () => follower.tail.newest,
    });
    return decision.kind === "committed"
      ? { kind: "committed", commitTimestamp: decision.timestamp }
      : { kind: "aborted" };
  } finally {
    follower.leave(user);
  }
}
