/** The reaper's own setting in a function's environment; what all functions share is in functions/shared. */
import { limits } from "../../core/limits.ts";

/**
 * `TIDEMARK_HISTORY_RETENTION_MS`: how long superseded versions stay readable. It must not be shorter than what
 * installers save them for; the default is the same on both sides.
 * @throws RangeError when it is not a positive whole number.
 */
export function historyRetentionFrom(
  variables: Readonly<Record<string, string | undefined>>,
): number {
  const text = variables["TIDEMARK_HISTORY_RETENTION_MS"];
  // Deployment tools set unused variables to the empty text.
  if (text === undefined || text === "") return limits.historyRetentionMsDefault;
  const milliseconds = Number(text);
  if (!Number.isSafeInteger(milliseconds) || milliseconds <= 0) {
    throw new RangeError(
      `TIDEMARK_HISTORY_RETENTION_MS is "${text}"; it takes a positive number of milliseconds`,
    );
  }
  return milliseconds;
}
