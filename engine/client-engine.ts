/** The engine as the SDK has it: transactions, and what native operations beside them need. */
import type { ClientPorts } from "../core/ports.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { ChangesOptions } from "./changes/types.ts";
import type { ClientEngine } from "./types.ts";

const feeds = new OnDemand("changes", () => import("./changes/feeds.ts"));
const natives = new OnDemand("native operations", () => import("./native-operations.ts"));

export function createClientEngine(ports: ClientPorts, options: EngineOptions = {}): ClientEngine {
  const core = new EngineCore(ports, options);
  const transactions = transactionEngineOf(core);
  return {
    ...transactions,
    changes: (wanted) =>
      feeds.use(({ ChangeFeed }) =>
        Promise.resolve(new ChangeFeed(core, transactions.snapshot, wanted)),
      ),
    consume: (wanted, handle) =>
      feeds.use(({ ChangeFeed, consume }) => {
        core.assertOpen();
        const feedFrom = (from: ChangesOptions["from"]): InstanceType<typeof ChangeFeed> =>
          new ChangeFeed(core, transactions.snapshot, { ...wanted, from });
        return consume({ ports, feedFrom }, wanted, handle);
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
