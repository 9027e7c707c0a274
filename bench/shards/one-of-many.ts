/** What a process reads that uses one shard, in a deployment of one and of many. */
import type { CommitPreference } from "../../engine/types.ts";
import { accessing, runLoad, updating } from "./run-load.ts";
import { SpreadKeys } from "./spread-keys.ts";

export type OneOfManyCase = {
  readonly shards: readonly number[];
  readonly perSecond: number;
  readonly seconds: number;
};

export type OneOfManyRow = {
  readonly commit: CommitPreference;
  readonly shards: number;
  readonly commits: number;
  /** Per commit: of its looks at logs, and of all that it reads. */
  readonly logReadUnits: number;
  readonly readUnits: number;
  readonly calls: number;
};

const keys = 20_000;

export async function oneOfManyRow(
  { seed, perSecond, seconds }: Omit<OneOfManyCase, "shards"> & { readonly seed: number },
  { commit, shards }: Pick<OneOfManyRow, "commit" | "shards">,
): Promise<OneOfManyRow> {
  const { usage, usageCommits } = await runLoad({
    ...{ seed, shards },
    load: async (deployment) => {
      const spread = await SpreadKeys.of(deployment, keys);
      return {
        ...{ commit, seconds, processes: 1, warmUpSeconds: 3 },
        arrival: { kind: "open", perSecond },
        body: accessing((random) => updating(spread.within(random, shards - 1, 2))),
      };
    },
  });
  const { queryReadUnits, readUnits, calls } = usage.client;
  const per = (figure: number): number => figure / Math.max(1, usageCommits);
  return {
    ...{ commit, shards, commits: usageCommits },
    logReadUnits: per(queryReadUnits),
    readUnits: per(readUnits),
    calls: per(calls),
  };
}
