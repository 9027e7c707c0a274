/** How deployments commit in which BASE transactions are tested. */
import type { TestCloudOptions } from "../../../testing/index.ts";
import { ways } from "../sharded/bank.ts";

/** A lock lies in another shard than its item, as it happens: there a step is over several. */
export const baseWays: readonly [string, TestCloudOptions][] = [
  ...ways,
  ["blocks of their own over three shards", { commit: "express", shards: 3 }],
  ["the stream over three shards", { commit: "stream", shards: 3 }],
];
