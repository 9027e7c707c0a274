/** The stream of commit records, where no Terraform makes it: local stacks and tests. */
import type { Clock } from "../core/ports.ts";
import type { KinesisHandle } from "./clients.ts";
import { outputUnless, untilReady } from "./resource-calls.ts";

export type StreamParts = {
  readonly kinesis: KinesisHandle;
  readonly clock: Clock;
  readonly name: string;
  /** An existing stream keeps its shards. */
  readonly shardCount: number;
};

/** Creates the stream unless it exists, and waits until it is usable. */
export async function createStream(parts: StreamParts): Promise<void> {
  const { clock, name: StreamName, shardCount: ShardCount } = parts;
  const { sdk, client } = parts.kinesis;
  await outputUnless({
    operation: `CreateStream ${StreamName}`,
    unless: "ResourceInUseException",
    send: () => client.send(new sdk.CreateStreamCommand({ StreamName, ShardCount })),
  });
  const isReady = async (): Promise<boolean> => {
    const output = await outputUnless({
      operation: "DescribeStreamSummary",
      unless: "ResourceNotFoundException",
      send: () => client.send(new sdk.DescribeStreamSummaryCommand({ StreamName })),
    });
    return output?.StreamDescriptionSummary?.StreamStatus === "ACTIVE";
  };
  await untilReady({ clock, what: `stream ${StreamName}`, isReady });
}
