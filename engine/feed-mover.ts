/**
 * The engine as an operator of feeds has it, who moves and removes what consumers have kept. Apart
 * from the client's (client-engine.ts): no application does that, so none carries the code.
 */
import { assert } from "../core/assert.ts";
import type { ClientPorts } from "../core/ports.ts";
import { AttemptRunner } from "./attempts/attempt-runner.ts";
import { MovedFeeds } from "./changes/moved-feeds.ts";
import type { MovesFeeds } from "./changes/types.ts";
import { EngineCore } from "./engine-core.ts";
import { feedPartsOf } from "./feed-parts.ts";
import { transactionEngineOf } from "./transaction-engine.ts";

export type FeedMover = { readonly feeds: MovesFeeds; close(): Promise<void> };

export function createFeedMover(ports: ClientPorts): FeedMover {
  assert(ports.feeds !== undefined, "whoever moves feeds has a store of positions");
  const core = new EngineCore(ports, {});
  const runner = new AttemptRunner(core);
  const transactions = transactionEngineOf(core, runner);
  return {
    feeds: new MovedFeeds(feedPartsOf(core, runner, transactions), ports.feeds),
    close: () => transactions.close(),
  };
}
