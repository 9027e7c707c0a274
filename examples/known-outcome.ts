/**
 * What to do when a commit was sent and no decision came back in time. The money may have moved or
 * not; guessing would be wrong either way, and so would be simply running the body once more.
 */
import { type Client, CommitUnknownError } from "../sdk/index.ts";

/**
 * Runs a transaction that has an idempotency key. If its outcome stays unknown, settles it: what
 * has committed returns its result, since the key makes the same call return the first one; what
 * has not runs again.
 * @throws CommitUnknownError when the outcome cannot be learned now. Every other error means:
 * nothing was written.
 */
export async function withKnownOutcome<Result>(
  db: Client,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    // Conflicts were already retried by `transact`.
    if (!(error instanceof CommitUnknownError)) throw error;
    try {
      // From the answer on it is decided, for good.
      if ((await db.outcome(error.transactionId)) === "committed") return await run();
    } catch {
      // Whatever failed here: the first run may have committed, and the caller must know.
      throw error;
    }
    return run();
  }
}
