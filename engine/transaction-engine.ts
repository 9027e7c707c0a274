/**
 * Transactions from begin to receipt, over ports. Retries what conflicts; never runs a body again
 * while the outcome of its last run is unknown.
 */
import { OnDemand } from "../core/on-demand.ts";
import { AttemptRunner } from "./attempt-runner.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";
import type { TransactionEngine } from "./types.ts";

const outcomes = new OnDemand("outcomes", () => import("./outcome.ts"));

export function transactionEngineOf(core: EngineCore): TransactionEngine {
  const runner = new AttemptRunner(core);
  return {
    transact: (options, body, codec) =>
      core.run(options, (call) => runner.transact(call, { options, body, codec })),
    snapshot: (options, body) =>
      core.run(options, (call) => runner.snapshot(call, { options, body })),
    outcome: (id, options = {}) =>
      core.run(options, async (call) => {
        const { session, emit } = await core.services(call);
        call.phase = "settling";
        const { settleOutcome } = await orAborted(outcomes.load(), call.signal);
        return settleOutcome(core.ports, session, {
          id,
          signal: call.signal,
          call: call.options,
          onSent: (transactionId, how) => emit?.({ kind: "sent", transactionId, ...how }),
        });
      }),
    close: () => core.close(),
  };
}
