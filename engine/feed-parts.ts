/** What feeds read by, of one engine. */
import { OnDemand } from "../core/on-demand.ts";
import type { RunsTransactions } from "./attempts/guard.ts";
import type { FeedParts } from "./changes/changes.ts";
import type { EngineCore } from "./engine-core.ts";
import type { TransactionEngine } from "./types.ts";

const records = new OnDemand("records of BASE transactions", () => import("./base/store.ts"));

export function feedPartsOf(
  core: EngineCore,
  runner: RunsTransactions,
  transactions: Pick<TransactionEngine, "snapshot">,
): FeedParts {
  return {
    core,
    snapshot: (wish, body) => transactions.snapshot(wish, body),
    recordedBase: (base, wish) =>
      records.use(({ BaseStore }) => new BaseStore(core, runner).load(base, wish)),
  };
}
