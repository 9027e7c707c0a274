/** Splitting a shard of a deployment that is named, for whoever has no ports to it. */
import { createAwsClients, type AwsClients } from "./clients.ts";
import { awsPortsOn, type AwsPorts, type AwsPortsOptions } from "./ports.ts";
import { splitShard, type Split, type SplitParts, type SplitRequest } from "./split-shard.ts";

/** @throws as `splitShard`. */
export async function splitShardOf(
  options: AwsPortsOptions,
  request: SplitRequest,
): Promise<Split> {
  const clients = createAwsClients(options);
  const ports = awsPortsOn(clients, options);
  try {
    return await splitShard(await splitPartsOn(clients, ports), request);
  } finally {
    await ports.close();
  }
}

/** What a split needs, for whoever has ports; whether there is a stream, the registry says now. */
export async function splitPartsOn(clients: AwsClients, ports: AwsPorts): Promise<SplitParts> {
  const { streamless } = await ports.control.registry();
  if (streamless === true) return { ...ports, carrier: undefined };
  return { ...ports, carrier: { kinesis: await clients.kinesis(), stream: ports.names.stream } };
}
