/**
 * Transactions that meet, in one shard and in several: at a load that one shard carries with ease,
 * over fewer and fewer keys.
 */
import type { CommitPreference } from "../../engine/types.ts";
import type { Percentiles } from "../projection/latency-samples.ts";
import { accessing, apart, runLoad } from "./run-load.ts";
import { differentItems } from "./spread-keys.ts";

export type ContentionCase = {
  readonly shards: readonly number[];
  readonly keys: readonly number[];
  readonly perSecond: number;
  readonly seconds: number;
};

export type ContentionRow = {
  readonly commit: CommitPreference;
  readonly shards: number;
  readonly keys: number;
  readonly committedPerSecond: number;
  readonly latency: Percentiles;
  /** Runs of bodies per commit: those that a conflict ended, and those that were voted down. */
  readonly conflictsPerCommit: number;
  readonly votedDownPerCommit: number;
};

export async function contentionRow(
  { seed, perSecond, seconds }: Omit<ContentionCase, "shards" | "keys"> & { readonly seed: number },
  { commit, shards, keys }: Pick<ContentionRow, "commit" | "shards" | "keys">,
): Promise<ContentionRow> {
  let conflicts = 0;
  let votedDown = 0;
  let commits = 0;
  const { committedPerSecond, latency } = await runLoad({
    ...{ seed, shards },
    load: () => ({
      ...{ commit, seconds, processes: 2, warmUpSeconds: 4 },
      arrival: { kind: "open", perSecond },
      body: accessing((random) => apart(differentItems(random, 8, keys), 4)),
      onEvent: (event) => {
        if (event.kind === "committed") commits += 1;
        if (event.kind !== "attempt-aborted") return;
        if (event.reason === "conflict") conflicts += 1;
        // In a world without faults nothing else is unavailable.
        if (event.reason === "unavailable") votedDown += 1;
      },
    }),
  });
  return {
    ...{ commit, shards, keys, committedPerSecond, latency: latency.percentiles },
    conflictsPerCommit: conflicts / Math.max(1, commits),
    votedDownPerCommit: votedDown / Math.max(1, commits),
  };
}
