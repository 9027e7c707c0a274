/** A runner of BASE transactions as a Lambda function. */
import { systemClock } from "../aws/system.ts";
import * as limits from "../core/limits.ts";
import type { Clock } from "../core/ports.ts";
import type { BaseRunnerOptions } from "./base.ts";
import type { Client } from "./client.ts";
import { inTime, type InvocationContext } from "./invocation.ts";

/**
 * A handler for a function that a schedule wakes: each invocation goes on with BASE transactions
 * that no process is at, until nothing is left or its time is nearly up, and the next one goes on
 * from there. Several may run at once. What a handler of a BASE transaction throws is kept with
 * that, and fails no invocation: `onTrouble` and `npx tidemark base` tell of it.
 * @example
 * const db = createClient({ deployment: "prod", region: "eu-central-1" });
 * export const handler = baseRunnerHandler(db, { handlers: [createOrder] });
 */
export function baseRunnerHandler(
  client: Pick<Client, "baseRunner">,
  options: Omit<BaseRunnerOptions, "signal" | "until">,
  clock: Pick<Clock, "sleep"> = systemClock,
): (event: unknown, context: InvocationContext) => Promise<void> {
  return (_, context) =>
    inTime({ context, marginMs: limits.baseRunnerMarginMs }, clock, async (signal) => {
      try {
        await client.baseRunner({ ...options, until: "caught-up", signal });
      } catch (error) {
        // What it was at when its time was up the next one finds again, and whatever ails that.
        if (!signal.aborted) throw error;
      }
    });
}
