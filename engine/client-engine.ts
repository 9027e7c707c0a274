/** The engine as the SDK has it: transactions, and what native operations beside them need. */
import type { ClientPorts } from "../core/ports.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { feedPartsOf } from "./feed-parts.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { ClientEngine } from "./types.ts";

const feeds = new OnDemand("changes", () => import("./changes/changes.ts"));
const consumers = new OnDemand("consumers", () => import("./changes/consumer.ts"));
const basing = new OnDemand("BASE transactions", () => import("./base/base-engine.ts"));
const natives = new OnDemand("native operations", () => import("./native-operations.ts"));

export function createClientEngine(ports: ClientPorts, options: EngineOptions = {}): ClientEngine {
  const core = new EngineCore(ports, options);
  const runner = new AttemptRunner(core);
  const transactions = transactionEngineOf(core, runner);
  let bases: ReturnType<ClientEngine["base"]> | undefined;
  const feedParts = feedPartsOf(core, runner, transactions);
  return {
    ...transactions,
    changes: (wanted) =>
      feeds.use(({ ChangeFeed }) => Promise.resolve(new ChangeFeed(feedParts, wanted))),
    consume: (wanted, handle) =>
      consumers.use(({ consume }) => {
        core.assertOpen();
        return consume(feedParts, wanted, handle);
      }),
    base: () => {
      bases ??= basing.use(({ BaseTransactions }) =>
        Promise.resolve(new BaseTransactions(core, runner)),
      );
      return bases;
    },
    close: async () => {
      await (await bases)?.close();
      await transactions.close();
    },
    native: {
      mixedTables: () =>
        core.run({}, (call) => natives.use(({ mixedTables }) => mixedTables(core, call))),
      clearFence: (at) =>
        core.run({ deadlineMs: limits.nativeClearMsMax }, (call) =>
          natives.use(({ clearFence }) => clearFence(core, call, at)),
        ),
    },
  };
}
