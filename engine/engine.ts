/**
 * The engine: transactions from begin to receipt, over ports. Retries what conflicts; never runs a body again while
 * the outcome of its last run is unknown. Used by the SDK and by the REST service.
 */
import type { Ports } from "../core/ports.ts";
import { AttemptRunner } from "./attempt-runner.ts";
import { begin, resume } from "./detached.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { settleOutcome } from "./outcome.ts";
import type { Engine } from "./types.ts";

export function createEngine(ports: Ports, options: EngineOptions = {}): Engine {
  const core = new EngineCore(ports, options);
  const runner = new AttemptRunner(core, options);
  return {
    transact: (wish, body, codec) =>
      core.run(wish, (call) => runner.transact(call, { wish, body, codec })),
    snapshot: (wish, body) => core.run(wish, (call) => runner.snapshot(call, { wish, body })),
    begin: (wish) => begin(core, wish),
    resume: (state, wish) => resume(core, state, wish),
    outcome: (id, wish = {}) =>
      core.run(wish, async (call) => {
        const { session, emit } = await core.services(call);
        return settleOutcome(ports, session, {
          id,
          signal: call.signal,
          call: call.options,
          onSent: (transactionId, resend) => emit?.({ kind: "sent", transactionId, resend }),
        });
      }),
    close: () => core.close(),
  };
}
