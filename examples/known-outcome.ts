/**
 * What to do when a commit was sent and no decision came back in time. The money may have moved or
 * not; guessing would be wrong either way, and so would be simply running the body once more.
 */
import { type Client, CommitUnknownError } from "../sdk/index.ts";

/**
 * Runs a transaction that has an idempotency key; if its outcome stays unknown, settles that and runs it again. The key
 * makes this safe: what has committed returns its first result, what has not runs as if for the first time.
 * @throws CommitUnknownError when the second run ends unknown as well.
 */
export async function withKnownOutcome<Result>(
  db: Client,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    // Conflicts were already retried by `transact`. Every other error means: nothing was written.
    if (!(error instanceof CommitUnknownError)) throw error;
    await db.outcome(error.transactionId); // From here on it is decided, for good.
    return run();
  }
}
