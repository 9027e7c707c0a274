/**
 * A named consumer of changes: how far it has come stands in the control table, so that it goes on
 * there after a crash, wherever it runs. What it has done since it last said so comes again: at
 * least once.
 *
 * One process is at it at a time. Who is holds it for a while, and says so again before that is
 * over; whoever comes meanwhile waits. Holding goes by clocks, and only bounds what is done twice:
 * each put takes the turn of the one before, so of two that are at it the slower one finds out.
 *
 *               hold                    put: done              released, at its end
 *     waiting ────────▶ at it, position ─────────▶ at it ... ──────────────────────▶ waiting
 *                            └── put: another's turn ──▶ waiting
 */
import { assert } from "../../core/assert.ts";
import { StoreError, TransactionError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { waitBackoff } from "../backoff.ts";
import { ChangeFeed, type FeedParts } from "./changes.ts";
import { FeedHold, TakenOverError } from "./feed-hold.ts";
import type { CommittedChanges, ConsumeOptions, FeedRound } from "./types.ts";

type Handle = (changes: CommittedChanges, at: FeedRound) => Promise<void>;

const retryBackoff = { baseMs: 200, capMs: 10_000 };

/**
 * Handles changes until the signal is aborted, or all has been handled that there is.
 * @throws what the handler throws, once the position before that change is kept.
 * @throws ChangesExpiredError, InvalidRequestError, CorruptDataError as the feed does. What is
 * worth another try is tried again.
 */
export async function consume(
  parts: FeedParts,
  options: ConsumeOptions,
  handle: Handle,
): Promise<void> {
  const { clock, random, feeds } = parts.core.ports;
  assert(feeds !== undefined, "whoever consumes has a store of positions");
  const { signal, until } = options;
  let isLetIn = false;
  for (let failures = 0; signal?.aborted !== true;) {
    const hold = new FeedHold(feeds, options, { clock, random });
    try {
      if (!isLetIn) await parts.core.ready();
      const isHeld = await hold.take(signal);
      isLetIn = true;
      if (!isHeld) {
        // probe: feed-held-by-another
        if (until === "caught-up") return;
        await clock.sleep(limits.feedWaitMs, signal);
        continue;
      }
      await handleHeld(parts, options, {
        hold,
        handle: async (changes, at) => {
          await handle(changes, at);
          failures = 0;
        },
      });
      if (until === "caught-up") return;
    } catch (error) {
      if (isStopped(error, signal)) return;
      if (error instanceof TakenOverError) continue;
      if (error instanceof HandlerError) {
        // A handler may well give up by the same signal.
        if (isStopped(error.cause, signal)) return;
        throw error.cause;
      }
      if (!isWorthAnother(error)) throw error;
      // One that was never let in is set up wrongly, and says so; later it waits for rights, too.
      const isRefused = error instanceof StoreError && error.fault === "rejected";
      if (until === "caught-up" || (isRefused && !isLetIn)) throw error;
      await waitBackoff({ clock, random }, { backoff: retryBackoff, attempt: failures++, signal })
        // Stopped meanwhile: that is how it ends, here as anywhere else.
        .catch((reason: unknown) => {
          if (!isStopped(reason, signal)) throw reason;
        });
    }
  }
}

async function handleHeld(
  parts: FeedParts,
  options: ConsumeOptions,
  { hold, handle }: { readonly hold: FeedHold; readonly handle: Handle },
): Promise<void> {
  const renewing = hold.renewing();
  const { first, until, signal } = options;
  const isFirst = hold.position === undefined;
  const feed = new ChangeFeed(
    { ...parts, placeField: isFirst ? "first" : "position" },
    { ...options, from: hold.position ?? first },
  );
  try {
    for await (const look of feed.looks()) {
      // Else one to whom nothing comes would never hear that its feed was moved.
      hold.assertHeld();
      // mutant: feed-keeps-what-is-not-handled
      if (typeof look === "object") await handled(look, (change) => handle(change, hold));
      if (look !== "passed") hold.noteSuccess();
      // Also of what was passed by: else who is asked for little never comes on.
      // mutant: feed-keeps-no-position-of-rare-changes
      hold.position = feed.position;
      await hold.keepNowAndThen();
      if (signal?.aborted === true) return;
      if (look === "caught-up" && until === "caught-up") return;
    }
  } catch (error) {
    const cause = error instanceof HandlerError ? error.cause : error;
    if (!isStopped(cause, signal) && !(error instanceof TakenOverError)) hold.noteFailure(cause);
    throw error;
  } finally {
    await renewing.stop();
    await hold.release();
  }
}

/** What a handler throws is the caller's, whatever it looks like. */
class HandlerError extends Error {}

async function handled(
  changes: CommittedChanges,
  handle: (changes: CommittedChanges) => Promise<void>,
): Promise<void> {
  try {
    await handle(changes);
  } catch (cause) {
    throw new HandlerError("a handler of changes has failed", { cause });
  }
}

function isStopped(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

function isWorthAnother(error: unknown): boolean {
  return error instanceof StoreError || (error instanceof TransactionError && error.retryable);
}
