/**
 * What a deployment without a stream needs done beside its clients: replay of every shard's log,
 * then the reaper, which goes by the watermark that replay has moved. Both services are those of
 * the functions of their names.
 */
import type { Ports } from "../../core/ports.ts";
import { reap, type ReaperReport } from "../reaper/service.ts";
import type { ReplayResult, ReplayService } from "../replay/service.ts";
import { callOptions, type InvocationBudget } from "../shared/invocation-budget.ts";
import type { Observability } from "../shared/observability.ts";

export type HousekeepingParts = {
  readonly ports: Pick<Ports, "clock" | "items" | "mixed" | "control">;
  readonly replay: ReplayService;
  readonly observability: Observability;
  /** False: replay alone. Default true. */
  readonly withReaper?: boolean;
};

export type HousekeepingReport = {
  readonly replayed: readonly ReplayResult[];
  /** Undefined where the reaper did not run. */
  readonly reaped: ReaperReport | undefined;
};

/**
 * One run over all shards. May be cut anywhere and may overlap another run.
 * @throws what replay or the reaper throws first; a shard that replay cannot go on with holds up
 * neither the others nor the reaper.
 */
export async function keepHouse(
  { ports, replay, observability, withReaper = true }: HousekeepingParts,
  budget: InvocationBudget,
): Promise<HousekeepingReport> {
  const failures: unknown[] = [];
  const replayed: ReplayResult[] = [];
  for (const shard of await ports.control.shards(callOptions(budget))) {
    try {
      replayed.push(await replay.handle({ shard, records: [] }, budget));
    } catch (error) {
      observability.log.error("a shard's log could not be replayed", { shard, error });
      failures.push(error);
    }
  }
  const reaped = withReaper ? await reap({ ports, observability, budget }) : undefined;
  if (failures.length > 0) throw failures[0];
  return { replayed, reaped };
}
