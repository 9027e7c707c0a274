/**
 * Real protocol servers for tests, on free loopback ports. Where the environment names a DynamoDB
 * endpoint (the DynamoDB Local suite), that one serves instead of dynalite and outlives the tests;
 * names must then be unique.
 */
import { startProtocolServers } from "../../localstack/protocol-servers.ts";

export type LocalServers = {
  readonly endpoint: { readonly dynamodb: string; readonly kinesis: string };
  /**
   * Whether DynamoDB is shared with other test files, and is more than dynalite can do (TTL,
   * transactions).
   */
  readonly dynamoDbLocal: boolean;
  stop(): Promise<void>;
};

/** A client's options for these servers, whatever the environment of the test run says. */
export const localIdentity = {
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
} as const;

/** The DynamoDB that the environment names: other test files use it, too. */
export function sharedDynamoDb(): string | undefined {
  return process.env["TIDEMARK_TEST_DYNAMODB_ENDPOINT"];
}

export async function startLocalServers(
  options: { readonly dataFolder?: string } = {},
): Promise<LocalServers> {
  const servers = await startProtocolServers(options);
  const shared = sharedDynamoDb();
  return {
    endpoint: { ...servers.endpoint, ...(shared === undefined ? {} : { dynamodb: shared }) },
    dynamoDbLocal: shared !== undefined,
    stop: servers.stop,
  };
}
