/**
 * What a transaction waits for whose shard is being joined to its neighbour (docs/protocol.md §10,
 * Joining shards). Then it is run again by the new map, and its caller hears nothing of it.
 *
 * Readers go on while the log is closing. Who writes waits for its end: what it sends would be
 * answered `stale`. It is the operator who brings that about; where he has died, replay, which a
 * record in the stream wakes.
 */
import * as limits from "../../core/limits.ts";
import { encodeCommitRequest } from "../../schemas/commit-record.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../../schemas/transaction-id.ts";
import type { AttemptServices } from "../attempts/attempt-services.ts";
import { ignore, orAborted } from "../concurrency.ts";
import type { ShardSession } from "../shard-session.ts";
import { bare } from "./settle-outcome.ts";

type Waiting = Pick<AttemptServices, "ports" | "sessions" | "call">;

/** Until the log has ended that is closing. @throws the signal's reason; StoreError. */
export async function untilEnded({ ports, call }: Waiting, session: ShardSession): Promise<void> {
  const { follower } = session;
  const wake = waking(ports, session);
  while (follower.tail.standing === "closing") {
    // probe: writer-waits-for-an-end
    await wake();
    await ports.clock.sleep(limits.handoverPauseMs, call.signal);
    await orAborted(follower.refresh(), call.signal);
  }
}

/** Until the map says who has the range of one that has ended. @throws as `untilEnded`. */
export async function untilTaken(
  { ports, sessions, call }: Waiting,
  session: ShardSession,
): Promise<void> {
  const { number } = session;
  const wake = waking(ports, session);
  for (;;) {
    await orAborted(sessions.readMap(), call.signal);
    if (sessions.map.live(number) === undefined) return;
    // probe: waits-for-an-heir
    await wake();
    await ports.clock.sleep(limits.handoverPauseMs, call.signal);
  }
}

/**
 * Sends a request that decides nothing of anybody's, now and then: its record wakes replay. Where
 * there is no stream, or it takes none, that comes by itself.
 */
function waking({ clock, random }: Waiting["ports"], session: ShardSession): () => Promise<void> {
  const { follower, sender } = session;
  let dueMs = clock.monotonicMs() + limits.handoverPatienceMs;
  return async () => {
    if (clock.monotonicMs() < dueMs || session.isStreamless) return;
    dueMs = clock.monotonicMs() + limits.handoverWakeMs;
    const { newest } = follower.tail;
    const id = makeTransactionId(newest, random.bytes(transactionIdRandomBytes));
    // probe: wakes-replay
    await sender.send(encodeCommitRequest(bare("abort", id, newest))).catch(ignore);
  };
}
