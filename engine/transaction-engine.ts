/**
 * Transactions from begin to receipt, over ports. Retries what conflicts; never runs a body again
 * while the outcome of its last run is unknown.
 */
import { OnDemand } from "../core/on-demand.ts";
import type { ShardEntry } from "../core/shard-map.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import { orAborted } from "./concurrency.ts";
import type { EngineCore } from "./engine-core.ts";
import type { AskedOutcome } from "./outcome.ts";
import type { TransactionEngine } from "./types.ts";

const sharded = new OnDemand("outcomes", () => import("./sharded/settle-outcome.ts"));
const outcomes = new OnDemand("outcomes", () => import("./outcome.ts"));

export function transactionEngineOf(
  core: EngineCore,
  runner = new AttemptRunner(core),
): TransactionEngine {
  return {
    transact: (options, body, codec) =>
      core.run(options, (call) => runner.transact(call, { options, body, codec })),
    snapshot: (options, body) =>
      core.run(options, (call) => runner.snapshot(call, { options, body })),
    outcome: (id, options = {}) =>
      core.run(options, async (call) => {
        const { sessions, emit } = await core.services(call);
        call.phase = "settling";
        const asked: AskedOutcome = {
          id,
          signal: call.signal,
          call: call.options,
          onSent: (transactionId, how) => emit?.({ kind: "sent", transactionId, ...how }),
        };
        const lone = (): ShardEntry | undefined => sessions.lone;
        const first = lone();
        if (first !== undefined) {
          const { session } = await orAborted(sessions.of(first.number), call.signal);
          await orAborted(session.follower.refresh(), call.signal);
          const { settleOutcome } = await orAborted(outcomes.load(), call.signal);
          if (lone() !== undefined) {
            const outcome = await settleOutcome(core.ports, session, asked);
            // Split meanwhile, another shard may hold it.
            if (outcome.kind === "committed" || lone() !== undefined) return outcome;
          }
        }
        const { settleInShards } = await orAborted(sharded.load(), call.signal);
        return settleInShards({ ports: core.ports, sessions }, asked);
      }),
    close: () => core.close(),
  };
}
