/**
 * Everything that the engine needs from outside, on AWS: DynamoDB and Kinesis, or whatever speaks their protocols at the
 * endpoints given. Importing this module does no work and loads no AWS package; the first call does.
 */
import { limits } from "../core/limits.ts";
import type { Clock, Ports, Random } from "../core/ports.ts";
import { createAwsClients, type AwsClientOptions } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbCommitLog } from "./dynamodb-commit-log.ts";
import { createDynamoDbControlStore, type AwsControlStore } from "./dynamodb-control-store.ts";
import { createDynamoDbItemStore } from "./dynamodb-item-store.ts";
import { createDynamoDbVersionStore } from "./dynamodb-version-store.ts";
import { createKinesisCommitStream } from "./kinesis-commit-stream.ts";
import { deploymentNames, type DeploymentNames } from "./names.ts";
import { systemClock } from "./system-clock.ts";
import { systemRandom } from "./system-random.ts";

export type AwsPortsOptions = AwsClientOptions & {
  readonly deployment: string;
  /** How long superseded versions stay readable on tables with history. Default `limits.historyRetentionMsDefault`. */
  readonly historyRetentionMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
};

export type AwsPorts = Ports & {
  readonly names: DeploymentNames;
  readonly control: AwsControlStore;
  /** Destroys the clients built here; ready-made ones stay open. Calls under way fail. */
  close(): Promise<void>;
};

/** @throws InvalidRequestError for a deployment name or an endpoint that cannot be one. */
export function createAwsPorts(options: AwsPortsOptions): AwsPorts {
  const names = deploymentNames(options.deployment);
  const clients = createAwsClients(options);
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const dynamodb = createDynamoDb(clients.dynamodb);
  const control = createDynamoDbControlStore({ dynamodb, table: names.controlTable });
  return {
    names,
    clock,
    random,
    control,
    stream: createKinesisCommitStream({
      kinesis: clients.kinesis,
      clock,
      random,
      stream: names.stream,
      shardEntries: (callOptions) => control.shardEntries(callOptions),
    }),
    log: createDynamoDbCommitLog({ dynamodb, clock, table: names.logTable }),
    items: createDynamoDbItemStore({ dynamodb, clock, random }),
    versions: createDynamoDbVersionStore({
      dynamodb,
      clock,
      table: names.versionsTable,
      historyRetentionMs: options.historyRetentionMs ?? limits.historyRetentionMsDefault,
    }),
    close: clients.close,
  };
}
