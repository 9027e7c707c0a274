/**
 * Reading one moment of the past in several shards: a log says what counts at or below it only once
 * it has come so far itself (docs/adr/0015-many-shards.md, The past). One that is quiet is brought
 * there by a request that decides nothing of anybody's: to abort an id that was made up for it.
 */
import { CommitUnknownError, StoreError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { ClientPorts } from "../../core/ports.ts";
import type { Timestamp } from "../../core/types.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../../schemas/transaction-id.ts";
import type { Call } from "../call.ts";
import { orAborted } from "../concurrency.ts";
import type { ShardSession } from "../shard-session.ts";
import { abortIn } from "./settle-outcome.ts";

/** Resolves when the tail has come to the moment. @throws the signal's reason; StoreError. */
export async function reach(
  ports: ClientPorts,
  session: ShardSession,
  { moment, call }: { readonly moment: Timestamp; readonly call: Call },
): Promise<void> {
  const { follower } = session;
  const { signal } = call;
  await orAborted(follower.refresh(), signal);
  // mutant: as-of-above-the-log
  while (follower.tail.newest < moment) {
    // probe: log-brought-up-for-the-past
    await bringUp(ports, session, call);
    if (follower.tail.newest >= moment) return;
    await ports.clock.sleep(limits.reachPauseMs, signal);
    await orAborted(follower.refresh(), signal);
  }
}

/** Who may not write waits until others do. */
async function bringUp(ports: ClientPorts, session: ShardSession, call: Call): Promise<void> {
  const { newest } = session.follower.tail;
  const id = makeTransactionId(newest, ports.random.bytes(transactionIdRandomBytes));
  const { signal, options } = call;
  try {
    await abortIn(ports, session, { id, from: newest, signal, call: options });
  } catch (error) {
    signal.throwIfAborted();
    // What became of an id that was made up need not be known.
    const isTriedAgain =
      error instanceof StoreError ||
      error instanceof UnavailableError ||
      error instanceof CommitUnknownError;
    if (!isTriedAgain) throw error;
  }
}
