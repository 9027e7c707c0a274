/** A consumer of changes as a Lambda function. */
import { systemClock } from "../aws/system.ts";
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import {
  checkConsumeOptions,
  checkHandler,
  consumeChecks,
  type ConsumeOptions,
} from "./changes-options.ts";
import type { LooseCheck } from "./check-options.ts";
import type { Client } from "./client.ts";
import { inTime, type InvocationContext } from "./invocation.ts";
import type { ChangeHandler } from "./row-changes.ts";

const ours: LooseCheck = () => "left out: each invocation handles what there is, and ends in time";
const feedChecks = { ...consumeChecks, until: ours, signal: ours };

/**
 * A handler for a function that a schedule wakes, or a mapping of the commit stream, whose records
 * it does not look at: each invocation handles what there is, and ends in time. Of several at once
 * one is at it. An error of `handle` fails the invocation, and the change comes with the next one.
 * @example
 * const db = createClient({ deployment: "prod", region: "eu-central-1" });
 * export const handler = feedHandler(db, { name: "search", tables: [orders] }, async (change) => {
 *   for (const { key, after } of change.of(orders)) await index(key, after);
 * });
 * @throws InvalidRequestError at once, for an option that is missing, unknown or wrong, or is the
 * handler's own: `until` and `signal`.
 */
export function feedHandler(
  client: Pick<Client, "consume">,
  options: Omit<ConsumeOptions, "signal" | "until">,
  handle: ChangeHandler,
  clock: Pick<Clock, "sleep"> = systemClock,
): (event: unknown, context: InvocationContext) => Promise<void> {
  checkConsumeOptions(options, feedChecks);
  checkHandler(handle);
  return (_, context) =>
    inTime({ context, marginMs: limits.feedMarginMs }, clock, (signal) =>
      client.consume({ ...options, until: "caught-up", signal }, handle),
    );
}
