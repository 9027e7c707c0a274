/**
 * A client of the AWS SDK that sends nothing: commands are serialized and answers read by it, and
 * what it is given answers in DynamoDB's place.
 */
export type OfflineClient = { send(command: object): Promise<unknown> };

type Steps = { readonly counted: unknown; readonly answered: unknown };

export async function offlineClient({ counted, answered }: Steps): Promise<OfflineClient> {
  const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
  const client = new DynamoDBClient({
    region: "us-east-1",
    // Nobody is there.
    endpoint: "http://127.0.0.1:1",
    credentials: { accessKeyId: "none", secretAccessKey: "none" },
    maxAttempts: 1,
  });
  client.middlewareStack.add(counted as never, {
    ...({ step: "initialize", priority: "high", name: "tidemarkCounted" } as const),
  });
  client.middlewareStack.add(answered as never, {
    ...({ step: "deserialize", priority: "low", name: "tidemarkAnswered" } as const),
  });
  return { send: (command) => client.send(command as never) };
}

/** A command for a client to do something. */
export async function anyCommand(): Promise<object> {
  const { GetItemCommand } = await import("@aws-sdk/client-dynamodb");
  return new GetItemCommand({ TableName: "none", Key: { id: { S: "none" } } });
}
