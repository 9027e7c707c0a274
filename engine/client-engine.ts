/** The engine as the SDK has it: transactions, and what native operations beside them need. */
import type { ClientPorts } from "../core/ports.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import type { TakeSnapshot } from "./changes/changes.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { ClientEngine } from "./types.ts";

const feeds = new OnDemand("changes", () => import("./changes/changes.ts"));
const consumers = new OnDemand("consumers", () => import("./changes/consumer.ts"));
const natives = new OnDemand("native operations", () => import("./native-operations.ts"));

export function createClientEngine(ports: ClientPorts, options: EngineOptions = {}): ClientEngine {
  const core = new EngineCore(ports, options);
  const transactions = transactionEngineOf(core);
  const snapshot: TakeSnapshot = (wish, body) => transactions.snapshot(wish, body);
  return {
    ...transactions,
    changes: (wanted) =>
      feeds.use(({ ChangeFeed }) => Promise.resolve(new ChangeFeed(core, snapshot, wanted))),
    consume: (wanted, handle) =>
      consumers.use(({ consume }) => {
        core.assertOpen();
        return consume({ core, snapshot }, wanted, handle);
      }),
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
