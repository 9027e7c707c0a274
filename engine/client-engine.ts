/** The engine as the SDK has it: transactions, and what native operations beside them need. */
import { assert } from "../core/assert.ts";
import type { ClientPorts } from "../core/ports.ts";
import * as limits from "../core/limits.ts";
import { OnDemand } from "../core/on-demand.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import type { FeedParts } from "./changes/changes.ts";
import { EngineCore, type EngineOptions } from "./engine-core.ts";
import { transactionEngineOf } from "./transaction-engine.ts";
import type { ClientEngine } from "./types.ts";

const feeds = new OnDemand("changes", () => import("./changes/changes.ts"));
const consumers = new OnDemand("consumers", () => import("./changes/consumer.ts"));
const movedFeeds = new OnDemand("moved feeds", () => import("./changes/moved-feeds.ts"));
const basing = new OnDemand("BASE transactions", () => import("./base/base-engine.ts"));
const records = new OnDemand("records of BASE transactions", () => import("./base/store.ts"));
const natives = new OnDemand("native operations", () => import("./native-operations.ts"));

export function createClientEngine(ports: ClientPorts, options: EngineOptions = {}): ClientEngine {
  const core = new EngineCore(ports, options);
  const runner = new AttemptRunner(core);
  const transactions = transactionEngineOf(core, runner);
  let bases: ReturnType<ClientEngine["base"]> | undefined;
  const feedParts: FeedParts = {
    core,
    snapshot: (wish, body) => transactions.snapshot(wish, body),
    recordedBase: (base, wish) =>
      records.use(({ BaseStore }) => new BaseStore(core, runner).load(base, wish)),
  };
  return {
    ...transactions,
    changes: (wanted) =>
      feeds.use(({ ChangeFeed }) => Promise.resolve(new ChangeFeed(feedParts, wanted))),
    consume: (wanted, handle) =>
      consumers.use(({ consume }) => {
        core.assertOpen();
        return consume(feedParts, wanted, handle);
      }),
    feeds: () =>
      movedFeeds.use(({ MovedFeeds }) => {
        assert(ports.feeds !== undefined, "whoever moves feeds has a store of positions");
        return Promise.resolve(new MovedFeeds(feedParts, ports.feeds));
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
