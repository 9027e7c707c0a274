/**
 * What `createClient` takes, and its checks. Two ways to say where the deployment is: the one
 * address of an embedded stack, which tells the rest; or the deployment's name with whatever the
 * AWS SDK needs.
 */
import type { AwsClientOptions, AwsCredentials } from "../aws/clients.ts";
import { deploymentNames } from "../aws/names.ts";
import { InvalidRequestError } from "../core/errors.ts";
import * as limits from "../core/limits.ts";
import type { Clock, Random } from "../core/ports.ts";
import type { CommitPreference, EngineEvent } from "../engine/types.ts";
import {
  aBoolean,
  aFunction,
  anHttpUrl,
  anObject,
  aText,
  type Check,
  type Checks,
  checkOptions,
  integerIn,
  isText,
  type LooseCheck,
  oneOf,
} from "./check-options.ts";
import type { MarshallOptions } from "./marshall.ts";
import { numberPrototype, type Numbers } from "./numbers.ts";

export type { AwsCredentials };

/** Options whatever the deployment runs on. */
export type SharedClientOptions = {
  /**
   * Called with what happens: attempts, aborts with reason and key, commits with their phases. Runs
   * synchronously, so keep it short; what it throws is ignored, since watching must not decide.
   * Without it no event is even built.
   */
  readonly onEvent?: (event: EngineEvent) => void;
  /** How values are turned into DynamoDB's. */
  readonly marshall?: MarshallOptions;
  /** How stored numbers come back; or a function of their text. Default `"bigint-when-unsafe"`. */
  readonly numbers?: Numbers;
  /**
   * Whose rights count. Default: what the AWS SDK finds; dummies for loopback addresses.
   */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** Tries of one AWS call inside the AWS SDK, the first included. Default 4. */
  readonly callTriesMax?: number;
  /** Longest one try of an AWS call may take. Default 5,000. */
  readonly callTimeoutMs?: number;
  /**
   * Whether a serializable transaction may read what another one of this process is about to
   * commit. It is then committed with it or run again: many read-modify-writes of one item share
   * round trips, log entries and installs. Default true.
   */
  readonly chaining?: boolean;
  /**
   * Which way transactions are committed. `"express"`: by blocks that the client itself appends to
   * the commit log, in one round trip, with the right to do so; what no block takes goes by the
   * stream. `"stream"`: by requests that the oracle decides. `"auto"`: by what serves better, which
   * is the stream where the client may not append. Default `"auto"`.
   */
  readonly commit?: CommitPreference;
  /**
   * Whether this client keeps house in the background, by turns with others, where no function
   * does: it installs what clients that died have committed, and removes tombstones. For
   * deployments without a stream and without the function housekeeping, whose rights it needs
   * (docs/sdk.md). Runs until `close`. Default false.
   */
  readonly housekeeping?: boolean;
  /** Time of your own, for tests. Default: the machine's. */
  readonly clock?: Clock;
  /** Random numbers of your own, for tests. Default: the machine's. */
  readonly random?: Random;
};

/** An embedded stack, by its one address: it says itself where its parts are. */
export type EmbeddedClientOptions = SharedClientOptions & {
  /** The one address of an embedded stack, such as `"http://127.0.0.1:4600"`. */
  readonly endpoint: string;
  readonly deployment?: never;
  readonly region?: never;
  readonly endpoints?: never;
  readonly dynamodb?: never;
  readonly kinesis?: never;
};

/** A deployment on AWS, or on something that speaks its protocols. */
export type DeployedClientOptions = SharedClientOptions & {
  readonly endpoint?: never;
  /** The deployment's name, from which those of its stream and tables follow. */
  readonly deployment: string;
  /** The AWS region. Default: what the AWS SDK finds in the environment. */
  readonly region?: string;
  /** Other addresses than AWS's (LocalStack: the same one for both). */
  readonly endpoints?: { readonly dynamodb?: string; readonly kinesis?: string };
  /**
   * A ready-made client of AWS SDK v3, which stays yours to destroy. Its retries and timeouts hold.
   */
  readonly dynamodb?: NonNullable<AwsClientOptions["dynamodb"]>;
  /** The same for Kinesis. */
  readonly kinesis?: NonNullable<AwsClientOptions["kinesis"]>;
};

export type ClientOptions = EmbeddedClientOptions | DeployedClientOptions;

const aDeployment: Check<string> = (value) => {
  if (!isText(value)) return "the deployment's name";
  deploymentNames(value);
  return undefined;
};

const credentialsOrProvider: LooseCheck = (value) =>
  typeof value === "function" || anObject(value) === undefined
    ? undefined
    : "credentials or a function that fetches them";

const anAwsClient: LooseCheck = (value) =>
  typeof value === "object" && typeof (value as { send?: unknown } | null)?.send === "function"
    ? undefined
    : "a client of AWS SDK v3";

const numbers: LooseCheck = (value) =>
  typeof value === "function" ? undefined : oneOf("number", "bigint-when-unsafe")(value);

export const clientChecks = {
  endpoint: anHttpUrl,
  deployment: aDeployment,
  region: aText,
  endpoints: anObject,
  dynamodb: anAwsClient,
  kinesis: anAwsClient,
  credentials: credentialsOrProvider,
  onEvent: aFunction,
  marshall: anObject,
  numbers,
  callTriesMax: integerIn({ min: 1, max: limits.callTriesMax }),
  callTimeoutMs: integerIn({ min: 1, max: limits.callTimeoutMsMax }),
  chaining: aBoolean,
  commit: oneOf("auto", "express", "stream"),
  housekeeping: aBoolean,
  clock: anObject,
  random: anObject,
} satisfies Checks<ClientOptions>;

const endpointChecks = {
  dynamodb: anHttpUrl,
  kinesis: anHttpUrl,
} satisfies Checks<NonNullable<ClientOptions["endpoints"]>>;

export const marshallChecks = {
  removeUndefinedValues: aBoolean,
  convertEmptyValues: aBoolean,
  convertClassInstanceToMap: aBoolean,
} satisfies Checks<MarshallOptions>;

/** @throws InvalidRequestError naming the field. Loads and connects nothing. */
export function checkClientOptions(options: ClientOptions): void {
  checkOptions("", options, clientChecks);
  if (options.endpoints !== undefined) {
    checkOptions("endpoints", options.endpoints, endpointChecks);
  }
  if (options.marshall !== undefined) checkOptions("marshall", options.marshall, marshallChecks);
  if (options.numbers !== undefined) numberPrototype(options.numbers);
  if (options.endpoint === undefined) {
    if ((options.deployment as string | undefined) !== undefined) return;
    throw new InvalidRequestError(
      "deployment",
      "a client needs `deployment`, or `endpoint` for an embedded stack",
    );
  }
  for (const field of ["deployment", "region", "endpoints", "dynamodb", "kinesis"] as const) {
    if ((options as Readonly<Record<string, unknown>>)[field] === undefined) continue;
    throw new InvalidRequestError(
      field,
      `\`${field}\` cannot be combined with \`endpoint\`, since the stack there tells it`,
    );
  }
}
