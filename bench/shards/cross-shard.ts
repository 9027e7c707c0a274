/**
 * What a commit over two shards takes beside one within a shard: two items read and written, ten
 * transactions a second from one process, as the projection's lone commit; on transactional tables,
 * and on mixed ones.
 */
import type { TableAccess } from "../../core/types.ts";
import type { CommitWay } from "../../engine/types.ts";
import type { Percentiles } from "../projection/latency-samples.ts";
import { accessing, runLoad, updating } from "./run-load.ts";
import { SpreadKeys } from "./spread-keys.ts";

export type CrossShardCase = { readonly seconds: number; readonly perSecond: number };

export type CrossShardRow = {
  readonly commit: CommitWay;
  readonly access: TableAccess;
  /** How many shards a transaction touches. */
  readonly touched: number;
  readonly samples: number;
  /** From the call until the commit is certain, and until it is installed. */
  readonly certain: Percentiles;
  readonly installed: Percentiles;
  /** Medians. */
  readonly phases: {
    readonly body: number;
    readonly certify: number;
    readonly install: number;
  };
};

const keys = 10_000;

export async function crossShardRow(
  { seed, seconds, perSecond }: CrossShardCase & { readonly seed: number },
  { commit, access, touched }: Pick<CrossShardRow, "commit" | "access" | "touched">,
): Promise<CrossShardRow> {
  const run = (ack: "certified" | "installed") =>
    runLoad({
      ...{ seed, shards: 2, deployment: { access } },
      load: async (deployment) => {
        const spread = await SpreadKeys.of(deployment, keys);
        return {
          ...{ commit, ack, seconds, processes: 1, warmUpSeconds: 3 },
          arrival: { kind: "open", perSecond },
          body: accessing((random) =>
            updating(touched === 1 ? spread.within(random, 0, 2) : spread.across(random, touched)),
          ),
        };
      },
    });
  const certain = await run("certified");
  const installed = await run("installed");
  const { body, certify, install } = installed.phases;
  return {
    ...{ commit, access, touched, samples: installed.latency.count },
    certain: certain.latency.percentiles,
    installed: installed.latency.percentiles,
    phases: {
      body: body.percentiles.p50,
      certify: certify.percentiles.p50,
      install: install.percentiles.p50,
    },
  };
}
