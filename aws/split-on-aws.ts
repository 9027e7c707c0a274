/** Splitting a shard of a deployment that is named, for whoever has no ports to it. */
import { createAwsClients } from "./clients.ts";
import { awsPortsOn, type AwsPortsOptions } from "./ports.ts";
import { splitShard, type Split, type SplitRequest } from "./split-shard.ts";

/** @throws as `splitShard`. */
export async function splitShardOf(
  options: AwsPortsOptions,
  request: SplitRequest,
): Promise<Split> {
  const clients = createAwsClients(options);
  const ports = awsPortsOn(clients, options);
  try {
    const { streamless } = await ports.control.registry();
    const carrier =
      streamless === true
        ? undefined
        : { kinesis: await clients.kinesis(), stream: ports.names.stream };
    return await splitShard({ ...ports, carrier }, request);
  } finally {
    await ports.close();
  }
}
