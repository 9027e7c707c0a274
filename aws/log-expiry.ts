/** When what lies in the log table may go. */
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";

/** The time at which DynamoDB may drop the item, seconds since the epoch. */
export function expiresAtSeconds(clock: Clock): string {
  return (Math.ceil(clock.nowMs() / 1000) + limits.logRetentionSeconds).toString();
}
