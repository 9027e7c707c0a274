/** Joining a shard of a deployment that is named, for whoever has no ports to it. */
import { createAwsPorts, type AwsPortsOptions } from "../../aws/ports.ts";
import type { JoinRequest } from "../../aws/join-shard.ts";
import { silentObservability } from "../shared/silent-observability.ts";
import { joinShard, type Join } from "./join-shard.ts";

/** @throws as `joinShard`. */
export async function joinShardOf(options: AwsPortsOptions, request: JoinRequest): Promise<Join> {
  const ports = createAwsPorts(options);
  try {
    return await joinShard({ ports, observability: silentObservability }, request);
  } finally {
    await ports.close();
  }
}
