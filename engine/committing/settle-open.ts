/**
 * What becomes of a transaction that is prepared and stands in somebody's way
 * (docs/adr/0014-native-operations.md, Settle). Its client has a while to vote; then whoever waits
 * asks to abort it, which is a vote against. Either is a decision of the log, and the first one
 * stands: nothing here rests on a clock being right.
 */
import { CommitUnknownError, UnavailableError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock } from "../../core/ports.ts";
import type { TransactionId } from "../../core/types.ts";
import { follow, ignore, noLongerNeeded, orAborted } from "../concurrency.ts";
import type { TailFollower } from "../log/tail-follower.ts";

/**
 * Resolves when the log, as far as it is known here, has nothing open under the id.
 * @throws UnavailableError when its outcome could not be had in time.
 * @param other.met how many the same caller has met so far: it has more patience with each.
 * @param other.abort asks to abort it; resolves with its decision.
 */
export async function settleOpen(
  { clock, follower }: { readonly clock: Clock; readonly follower: TailFollower },
  other: {
    readonly id: TransactionId;
    readonly met: number;
    readonly abort: () => Promise<unknown>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { id, signal } = other;
  // Of two that vote each other down again and again, one is soon the more patient.
  const patienceMs = Math.min(
    limits.openPatienceMsMin * 2 ** (other.met - 1),
    limits.openPatienceMsMax,
  );
  const stays = await staysOpen({ clock, follower }, { id, patienceMs, signal });
  if (stays) await other.abort().catch(refuseUnknown);
}

/** Waits for its outcome. @returns whether it is open still when the patience is over. */
export async function staysOpen(
  { clock, follower }: { readonly clock: Clock; readonly follower: TailFollower },
  other: { readonly id: TransactionId; readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const { id, patienceMs, signal } = other;
  const isOpen = (): boolean => follower.tail.open.get(id) !== undefined;
  // An oracle has named it in a block that is folded: the tail is as new.
  if (!isOpen()) return false;
  const over = new AbortController();
  const unfollow = follow(over, signal);
  const verdict = follower.awaitVerdict(id, over.signal);
  verdict.catch(ignore);
  const patience = clock.sleep(patienceMs, over.signal);
  try {
    await Promise.race([verdict, patience]);
  } finally {
    patience.catch(ignore);
    unfollow();
    over.abort(noLongerNeeded);
  }
  if (isOpen()) await orAborted(follower.refresh(), signal);
  return isOpen();
}

/** What is not known is the outcome of that one: whoever waits for it has committed nothing. */
function refuseUnknown(cause: unknown): never {
  if (!(cause instanceof CommitUnknownError)) throw cause;
  const message = "a transaction that stood in the way was not decided in time";
  throw new UnavailableError(message, { cause });
}
