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
import type { EngineEvent } from "../engine/types.ts";
import {
  aBoolean,
  aFunction,
  anHttpUrl,
  anObject,
  aText,
  type Check,
  checkOptions,
  integerIn,
  oneOf,
} from "./check-options.ts";
import type { MarshallOptions } from "./marshall.ts";
import { numberPrototype, type Numbers } from "./numbers.ts";

export type { AwsCredentials };

/** Options whatever the deployment runs on. */
export type SharedClientOptions = {
  /**
   * Called with what happens: attempts, aborts with reason and key, commits with their phases.
   * Synchronously, so keep it short; what it throws is ignored, since watching must not decide.
   * Without it no event is even built.
   */
  readonly onEvent?: (event: EngineEvent) => void;
  readonly marshall?: MarshallOptions;
  /** How stored numbers come back. Default `"bigint-when-unsafe"`. */
  readonly numbers?: Numbers;
  /** Default: the AWS SDK's own chain; dummies for loopback addresses. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
  /** Tries of one AWS call inside the AWS SDK, the first included. Default 4. */
  readonly callTriesMax?: number;
  /** Longest one try of an AWS call may take. Default 5,000. */
  readonly callTimeoutMs?: number;
  /**
   * Whether a serializable transaction may read what another one of this process is about to
   * commit, and is then committed with it or run again: many read-modify-writes of one item then
   * share round trips, log entries and installs. Default true.
   */
  readonly chaining?: boolean;
  /** For tests: time and randomness of your own. */
  readonly clock?: Clock;
  readonly random?: Random;
};

/** An embedded stack, by its one address: it says itself where its parts are. */
export type EmbeddedClientOptions = SharedClientOptions & {
  /** Such as `"http://127.0.0.1:4600"`. */
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
  /** Default: what the AWS SDK finds in the environment. */
  readonly region?: string;
  /** Other addresses than AWS's (LocalStack: the same one for both). */
  readonly endpoints?: { readonly dynamodb?: string; readonly kinesis?: string };
  /**
   * Ready-made clients of AWS SDK v3. They stay yours to destroy; their retries and timeouts hold.
   */
  readonly dynamodb?: NonNullable<AwsClientOptions["dynamodb"]>;
  readonly kinesis?: NonNullable<AwsClientOptions["kinesis"]>;
};

export type ClientOptions = EmbeddedClientOptions | DeployedClientOptions;

const aDeployment: Check = (value) => {
  if (!(aText(value) === undefined)) return "must be the deployment's name";
  deploymentNames(value as string);
  return undefined;
};

const credentialsOrProvider: Check = (value) =>
  typeof value === "function" || typeof value === "object"
    ? undefined
    : "must be credentials or a function that fetches them";

const anAwsClient: Check = (value) =>
  typeof value === "object" && typeof (value as { send?: unknown } | null)?.send === "function"
    ? undefined
    : "must be a client of AWS SDK v3";

/** @throws InvalidRequestError naming the field. Loads and connects nothing. */
export function checkClientOptions(options: ClientOptions): void {
  checkOptions("", options, {
    endpoint: anHttpUrl,
    deployment: aDeployment,
    region: aText,
    endpoints: anObject,
    dynamodb: anAwsClient,
    kinesis: anAwsClient,
    credentials: credentialsOrProvider,
    onEvent: aFunction,
    marshall: anObject,
    numbers: (value) =>
      typeof value === "function" ? undefined : oneOf("number", "bigint-when-unsafe")(value),
    callTriesMax: integerIn({ min: 1, max: limits.callTriesMax }),
    callTimeoutMs: integerIn({ min: 1, max: limits.callTimeoutMsMax }),
    chaining: aBoolean,
    clock: anObject,
    random: anObject,
  });
  if (options.endpoints !== undefined) {
    checkOptions("endpoints", options.endpoints, { dynamodb: anHttpUrl, kinesis: anHttpUrl });
  }
  if (options.marshall !== undefined) {
    checkOptions("marshall", options.marshall, {
      removeUndefinedValues: aBoolean,
      convertEmptyValues: aBoolean,
      convertClassInstanceToMap: aBoolean,
    });
  }
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
