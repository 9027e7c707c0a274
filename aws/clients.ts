/**
 * The AWS SDK clients, built on first use. Importing this module loads no AWS package (cold start,
 * bundle size), and a process that never writes never loads Kinesis.
 */
import type * as DynamoDbSdk from "@aws-sdk/client-dynamodb";
import type { DynamoDBClient, DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import type * as KinesisSdk from "@aws-sdk/client-kinesis";
import type { KinesisClient, KinesisClientConfig } from "@aws-sdk/client-kinesis";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import { markOwned, refusePlugged } from "../core/plugged-clients.ts";
import { rememberOrder } from "./middleware-order.ts";

export type DynamoDbHandle = { readonly sdk: typeof DynamoDbSdk; readonly client: DynamoDBClient };
export type KinesisHandle = { readonly sdk: typeof KinesisSdk; readonly client: KinesisClient };

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

export type AwsClientOptions = {
  /** Default: what the AWS SDK finds in the environment; `us-east-1` for loopback endpoints. */
  readonly region?: string | undefined;
  /** One URL for both services, or one each. Default: AWS. */
  readonly endpoint?:
    | string
    | { readonly dynamodb?: string | undefined; readonly kinesis?: string | undefined }
    | undefined;
  /**
   * Default: the AWS SDK's chain; fixed dummies for loopback endpoints when the environment names
   * none.
   */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>) | undefined;
  /**
   * A ready-made client; it stays the caller's to destroy, and its own timeouts and retries hold.
   */
  readonly dynamodb?: DynamoDBClient | undefined;
  readonly kinesis?: KinesisClient | undefined;
  /**
   * Packages and clients that are loaded already: nothing is imported, and every other option is
   * ignored.
   */
  readonly handles?:
    | { readonly dynamodb: DynamoDbHandle; readonly kinesis: KinesisHandle }
    | undefined;
  /** Tries of one call, the first included. Default `limits.callTriesDefault`. */
  readonly callTriesMax?: number | undefined;
  /** Longest one try may take. Default `limits.callTimeoutMsDefault`. */
  readonly callTimeoutMs?: number | undefined;
};

export type AwsClients = {
  /** Builds on the first call; the same handle from then on. */
  readonly dynamodb: () => Promise<DynamoDbHandle>;
  readonly kinesis: () => Promise<KinesisHandle>;
  /** Destroys the clients that were built here, and only those. */
  readonly close: () => Promise<void>;
};

/**
 * LocalStack takes these for its default account; DynamoDB Local and the embedded servers take any.
 */
const dummyCredentials: AwsCredentials = { accessKeyId: "test", secretAccessKey: "test" };

/**
 * @throws InvalidRequestError (on first use) for a malformed endpoint or an AWS package that is not
 * installed.
 */
export function createAwsClients(options: AwsClientOptions): AwsClients {
  const { handles } = options;
  if (handles !== undefined) {
    return {
      dynamodb: () => Promise.resolve(handles.dynamodb),
      kinesis: () => Promise.resolve(handles.kinesis),
      close: () => Promise.resolve(),
    };
  }
  const endpoints = serviceEndpoints(options);
  const opened: { destroy(): void }[] = [];
  const own = <Client extends { destroy(): void }>(client: Client): Client => {
    opened.push(client);
    return client;
  };
  return {
    dynamodb: lazily(async () => {
      const sdk = await load("@aws-sdk/client-dynamodb", () => import("@aws-sdk/client-dynamodb"));
      if (options.dynamodb !== undefined) {
        refusePlugged(options.dynamodb);
        markOwned(options.dynamodb);
        return { sdk, client: options.dynamodb };
      }
      const config = dynamoDbConfig(options, endpoints.dynamodb);
      return { sdk, client: own(lightened(new sdk.DynamoDBClient(config), endpoints.dynamodb)) };
    }),
    kinesis: lazily(async () => {
      const sdk = await load("@aws-sdk/client-kinesis", () => import("@aws-sdk/client-kinesis"));
      const config = await kinesisConfig(options, endpoints.kinesis);
      if (options.kinesis !== undefined) await assertSpoken(options.kinesis);
      return {
        sdk,
        client: options.kinesis ?? own(lightened(new sdk.KinesisClient(config), endpoints.kinesis)),
      };
    }),
    close: () => {
      for (const client of opened.splice(0)) client.destroy();
      return Promise.resolve();
    },
  };
}

/** Closes the clients that it gives, however their use ends. */
export async function withAwsClients<Result>(
  options: AwsClientOptions,
  use: (clients: AwsClients) => Promise<Result>,
): Promise<Result> {
  const clients = createAwsClients(options);
  try {
    return await use(clients);
  } finally {
    await clients.close();
  }
}

type OwnClient = {
  readonly config: object;
  readonly middlewareStack: { remove(name: string): boolean };
};

/**
 * Takes out middleware that works for nobody: the logger's, which prepares every input and output
 * for a log that these clients do not have (8 % of a call's processor time); and on loopback, where
 * nobody reads them, the headers that describe the client to AWS (9 %). What is left copies less
 * slowly (`layOut`, 15 %), and is not sorted for each call (middleware-order.ts).
 */
function lightened<Client extends OwnClient>(client: Client, endpoint: string | undefined): Client {
  const { middlewareStack } = client;
  middlewareStack.remove("loggerMiddleware");
  if (isLoopback(endpoint)) {
    middlewareStack.remove("getUserAgentMiddleware");
    middlewareStack.remove("recursionDetectionMiddleware");
  }
  layOut(client.config);
  rememberOrder(client);
  return client;
}

/**
 * In every call serializer, deserializer, endpoint and signer copy the client's whole configuration
 * (`{ ...config }`). The AWS SDK assembles it in so many steps that V8 keeps its fifty properties
 * in a hash table, and a copy takes 20 µs. When the properties of its heir are enumerated, V8 lays
 * a prototype out as a record, and a copy takes 2 µs. Only that changes: names, values, order and
 * accessors are what they were, and an engine that does otherwise is just slower.
 */
function layOut(config: object): void {
  for (const name in Object.create(config) as object) if (name) return;
}

/**
 * A ready-made Kinesis client speaks HTTP/2 unless it was given another handler, and every
 * stand-in without TLS speaks HTTP/1.1 only: its calls would fail one by one, or hang.
 */
async function assertSpoken({ config }: KinesisClient): Promise<void> {
  const endpoint = await config.endpoint?.();
  const { metadata } = config.requestHandler as { metadata?: { handlerProtocol?: string } };
  if (endpoint?.protocol !== "http:" || metadata?.handlerProtocol !== "h2") return;
  throw new InvalidRequestError(
    "kinesis",
    `the KinesisClient speaks HTTP/2 to http://${endpoint.hostname}, where HTTP/1.1 is spoken; ` +
      "make it with `requestHandler: new NodeHttpHandler()` of @smithy/node-http-handler, or " +
      "give `endpoints` in place of `kinesis`",
  );
}

type Endpoints = { readonly dynamodb: string | undefined; readonly kinesis: string | undefined };

function serviceEndpoints(options: AwsClientOptions): Endpoints {
  const { endpoint } = options;
  const endpoints =
    typeof endpoint === "string"
      ? { dynamodb: endpoint, kinesis: endpoint }
      : { dynamodb: endpoint?.dynamodb, kinesis: endpoint?.kinesis };
  for (const url of [endpoints.dynamodb, endpoints.kinesis]) {
    if (url !== undefined && !/^https?:\/\/[^/]/.test(url)) {
      throw new InvalidRequestError("endpoint", `"${url}" is not an http or https URL`);
    }
  }
  return endpoints;
}

function isLoopback(endpoint: string | undefined): boolean {
  if (endpoint === undefined) return false;
  const host = new URL(endpoint).hostname;
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

type SharedConfig = Pick<
  DynamoDBClientConfig & KinesisClientConfig,
  "region" | "endpoint" | "credentials" | "maxAttempts"
>;

function sharedConfig(options: AwsClientOptions, endpoint: string | undefined): SharedConfig {
  const local = isLoopback(endpoint);
  const environment = process.env;
  const region =
    options.region ??
    environment["AWS_REGION"] ??
    environment["AWS_DEFAULT_REGION"] ??
    (local ? "us-east-1" : undefined);
  const named = environment["AWS_ACCESS_KEY_ID"] ?? environment["AWS_PROFILE"];
  const credentials =
    options.credentials ?? (local && named === undefined ? dummyCredentials : undefined);
  return {
    maxAttempts: options.callTriesMax ?? limits.callTriesDefault,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentials === undefined ? {} : { credentials }),
  };
}

function dynamoDbConfig(
  options: AwsClientOptions,
  endpoint: string | undefined,
): DynamoDBClientConfig {
  const agent = { keepAlive: true, maxSockets: limits.socketsMax };
  return {
    ...sharedConfig(options, endpoint),
    requestHandler: {
      connectionTimeout: limits.connectTimeoutMs,
      requestTimeout: options.callTimeoutMs ?? limits.callTimeoutMsDefault,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: agent,
    },
  };
}

/**
 * Kinesis speaks HTTP/2 on AWS, which is the client's default; its stand-ins speak HTTP/1 only. The
 * handler for those is taken from a DynamoDB client, whose default it is: importing the handler's
 * own package would make an indirect dependency of the AWS SDK a direct one of every application.
 */
async function kinesisConfig(
  options: AwsClientOptions,
  endpoint: string | undefined,
): Promise<KinesisClientConfig> {
  const shared = sharedConfig(options, endpoint);
  const requestTimeout = options.callTimeoutMs ?? limits.callTimeoutMsDefault;
  if (endpoint === undefined) return { ...shared, requestHandler: { requestTimeout } };
  const sdk = await load("@aws-sdk/client-dynamodb", () => import("@aws-sdk/client-dynamodb"));
  const donor = new sdk.DynamoDBClient(dynamoDbConfig(options, endpoint));
  return { ...shared, requestHandler: donor.config.requestHandler };
}

/** One promise for all callers; a failed build is tried again by the next call. */
function lazily<Handle>(build: () => Promise<Handle>): () => Promise<Handle> {
  let built: Promise<Handle> | undefined;
  return () => {
    built ??= build().catch((error: unknown) => {
      built = undefined;
      throw error;
    });
    return built;
  };
}

async function load<Module>(name: string, importModule: () => Promise<Module>): Promise<Module> {
  try {
    return await importModule();
  } catch (error) {
    throw new InvalidRequestError(
      "dependencies",
      `the package ${name} could not be loaded; install it beside tidemark`,
      { cause: error },
    );
  }
}
