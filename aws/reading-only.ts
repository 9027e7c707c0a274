/**
 * Clients that send nothing but reads, whatever is asked of them: what looks at a deployment has
 * them, so that no mistake of its own changes anything there.
 */
import { InvalidRequestError } from "../core/errors.ts";
import type { AwsClients } from "./clients.ts";

const reads: ReadonlySet<string> = new Set(
  [
    ...["GetItem", "BatchGetItem", "Query", "Scan"],
    ...["DescribeTable", "DescribeTimeToLive"],
    ...["GetShardIterator", "GetRecords", "ListShards", "DescribeStreamSummary"],
  ].map((operation) => `${operation}Command`),
);

type Handler = (args: object) => Promise<object>;
type Guard = (next: Handler, context: { readonly commandName?: string }) => Handler;

/** As any client of the AWS SDK takes middleware. */
type Guarded = {
  readonly middlewareStack: {
    add(
      middleware: never,
      options: {
        readonly name: string;
        readonly step: "initialize";
        readonly priority: "high";
        readonly override: true;
      },
    ): void;
  };
};

/** The same clients, each of which refuses to write from its first use on. */
export function readingOnly(clients: AwsClients): AwsClients {
  return {
    dynamodb: async () => guarded(await clients.dynamodb()),
    kinesis: async () => guarded(await clients.kinesis()),
    close: () => clients.close(),
  };
}

const known = new WeakSet<object>();

function guarded<Handle extends { readonly client: Guarded }>(handle: Handle): Handle {
  const { client } = handle;
  if (known.has(client)) return handle;
  known.add(client);
  client.middlewareStack.add(guard as never, {
    name: "tidemarkReadsOnly",
    step: "initialize",
    priority: "high",
    override: true,
  });
  return handle;
}

const guard: Guard = (next, { commandName = "a command without a name" }) => {
  return (args) => {
    if (reads.has(commandName)) return next(args);
    throw new InvalidRequestError(
      "write",
      `${commandName} would write, and this command only reads`,
    );
  };
};
