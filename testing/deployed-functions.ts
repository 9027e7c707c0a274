/** Tidemark's functions as a simulated deployment runs them: the services that are deployed. */
import type { AwsPorts } from "../aws/ports.ts";
import { compareSequenceNumbers } from "../core/sequence-number.ts";
import type { ShardId } from "../core/types.ts";
import { keepHouse } from "../functions/housekeeping/service.ts";
import { rebuildBoundsDefault } from "../functions/oracle/rebuild.ts";
import { createOracleService } from "../functions/oracle/service.ts";
import { reap } from "../functions/reaper/service.ts";
import { createReplayService, type ReplayBatch } from "../functions/replay/service.ts";
import { carriedBatches, handleEach } from "../functions/shared/carried-batches.ts";
import type { Observability } from "../functions/shared/observability.ts";
import { timeLimitMs, type FunctionRole } from "../functions/shared/settings.ts";
import type { FunctionDefinition, SimulatedFunction } from "./kernel/simulated-function.ts";
import type { SimulatedProcess } from "./kernel/simulated-process.ts";
import type { BatchAnswer, ShardBatch } from "./kernel/stream-mapping.ts";
import type { DeploymentOptions } from "./deployment-options.ts";

/** A source of work for replay that is not a batch: look at every shard. */
export type ReplayWork = ShardBatch | undefined;

export type DeployedFunctions = {
  readonly oracle: SimulatedFunction<ShardBatch, BatchAnswer>;
  readonly replay: SimulatedFunction<ReplayWork, BatchAnswer>;
  readonly reaper: SimulatedFunction<undefined, unknown>;
  readonly housekeeping: SimulatedFunction<undefined, unknown>;
};

export type DeploymentParts = {
  readonly options: DeploymentOptions;
  /** All that its Kinesis shard carries at first. */
  readonly shards: readonly ShardId[];
  readonly observability: Observability;
  readonly portsOf: (process: SimulatedProcess) => AwsPorts;
  readonly define: <Event, Answer>(
    definition: FunctionDefinition<Event, Answer>,
  ) => SimulatedFunction<Event, Answer>;
};

export function deployedFunctions({
  options,
  shards: owners,
  observability,
  portsOf,
  define,
}: DeploymentParts): DeployedFunctions {
  const { oracle = {} } = options;
  const limitOf = (role: FunctionRole): number => options.functionTimeLimitMs ?? timeLimitMs(role);
  return {
    oracle: define({
      name: "oracle",
      timeLimitMs: oracle.timeLimitMs ?? limitOf("oracle"),
      start: (process) => {
        const ports = portsOf(process);
        const service = createOracleService({
          ...ports,
          observability,
          rebuildBounds: {
            ...rebuildBoundsDefault,
            blocksMax: oracle.rebuildBlocksMax ?? rebuildBoundsDefault.blocksMax,
            pageBlocksMax: oracle.rebuildPageBlocksMax ?? rebuildBoundsDefault.pageBlocksMax,
          },
        });
        return async ({ records }: ShardBatch, context) => {
          const carried = { ownersOf: carriedBy(ports, owners), records };
          const batches = await carriedBatches(ports.control, carried, {});
          await handleEach(batches, (batch) => service.handle(batch, context));
          return {};
        };
      },
    }),
    replay: define({
      name: "replay",
      timeLimitMs: limitOf("replay"),
      start: (process) => {
        const ports = portsOf(process);
        const service = createReplayService(ports, observability);
        const swept = async (): Promise<readonly ReplayBatch[]> =>
          (await ports.control.shards()).map((shard) => ({ shard, records: [] }));
        return async (work: ReplayWork, context) => {
          const carried = { ownersOf: carriedBy(ports, owners), records: work?.records ?? [] };
          const batches =
            work === undefined ? await swept() : await carriedBatches(ports.control, carried, {});
          const ends = await handleEach(batches, (batch) => service.handle(batch, context));
          return { unfinishedFrom: earliest(ends) };
        };
      },
    }),
    reaper: define({
      name: "reaper",
      timeLimitMs: limitOf("reaper"),
      start: (process) => {
        const ports = portsOf(process);
        return (_event: undefined, { remainingMs }) =>
          reap({ ports, observability, budget: { remainingMs } });
      },
    }),
    housekeeping: define({
      name: "housekeeping",
      timeLimitMs: limitOf("housekeeping"),
      start: (process) => {
        const ports = portsOf(process);
        const replay = createReplayService(ports, observability);
        return (_event: undefined, { remainingMs }) =>
          keepHouse({ ports, replay, observability }, { remainingMs });
      },
    }),
  };
}

/** One Kinesis shard carries them all. */
function carriedBy({ control }: AwsPorts, first: readonly ShardId[]) {
  return (again: boolean) => (again ? control.shards() : Promise.resolve(first));
}

/** From where on the batch has to be delivered again, for all of its logs. */
function earliest(
  ends: readonly Awaited<ReturnType<ReturnType<typeof createReplayService>["handle"]>>[],
): BatchAnswer["unfinishedFrom"] {
  return ends.flatMap(({ unfinishedFrom }) => unfinishedFrom ?? []).sort(compareSequenceNumbers)[0];
}
