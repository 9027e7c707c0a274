/** A runner of BASE transactions as a Lambda function. */
import { systemClock, writeLine } from "../aws/system.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { Clock } from "../core/ports.ts";
import type { BaseTrouble } from "../engine/base/types.ts";
import { type BaseRunnerOptions, checkRunnerOptions, runnerChecks } from "./base-runner-options.ts";
import { aFunction, type LooseCheck } from "./check-options.ts";
import type { Client } from "./client.ts";
import { inTime, type InvocationContext } from "./invocation.ts";

export type BaseRunnerFunctionOptions = Omit<BaseRunnerOptions, "signal" | "until"> & {
  /**
   * Takes each trouble of an invocation as a line: a metric of CloudWatch, with name, id and
   * version beside it. Default: standard output, where CloudWatch finds it.
   */
  readonly sink?: (line: string) => void;
};

const ours: LooseCheck = () => "left out: each invocation goes on with what is left, in its time";
const functionChecks = { ...runnerChecks, until: ours, signal: ours, sink: aFunction };

const lines = new OnDemand("lines of a runner", () => import("./base-trouble-line.ts"));

/**
 * A handler for a function that a schedule wakes: each invocation goes on with BASE transactions
 * that no process is at, until nothing is left or its time is nearly up, and the next one goes on
 * from there. Several may run at once. What a handler of a BASE transaction throws is kept with
 * that, and fails no invocation: metrics, `onTrouble` and `npx tidemark base` tell of it.
 * @example
 * const db = createClient({ deployment: "prod", region: "eu-central-1" });
 * export const handler = baseRunnerHandler(db, { handlers: [createOrder] });
 * @throws InvalidRequestError at once, for an option that is missing, unknown or wrong, or is the
 * handler's own: `until` and `signal`.
 */
export function baseRunnerHandler(
  client: Pick<Client, "baseRunner">,
  options: BaseRunnerFunctionOptions,
  clock: Pick<Clock, "sleep" | "nowMs"> = systemClock,
): (event: unknown, context: InvocationContext) => Promise<void> {
  checkRunnerOptions(options, functionChecks);
  const { sink = writeLine, onTrouble, ...runner } = options;
  return (_, context) =>
    inTime({ context, marginMs: limits.baseRunnerMarginMs }, clock, async (signal) => {
      const { TroubleLines } = await lines.load();
      const told = new TroubleLines({ functionName: context.functionName, clock, sink });
      const tell = (trouble: BaseTrouble): void => {
        told.tell(trouble);
        onTrouble?.(trouble);
      };
      try {
        await client.baseRunner({ ...runner, onTrouble: tell, until: "caught-up", signal });
      } catch (error) {
        // What it was at when its time was up the next one finds again, and whatever ails that.
        if (!signal.aborted) throw error;
      } finally {
        told.end();
      }
    });
}
