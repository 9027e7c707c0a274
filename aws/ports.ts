/**
 * Everything that the functions need from outside, on AWS: what a client needs (client-ports.ts),
 * and the rest of the log, the tables and the control table. Importing this module does no work and
 * loads no AWS package; the first call does.
 */
import type { Ports } from "../core/ports.ts";
import { clientPortsOn, type AwsClientPorts, type AwsPortsOptions } from "./client-ports.ts";
import { createAwsClients, type AwsClients } from "./clients.ts";
import { createDynamoDb } from "./dynamodb.ts";
import { createDynamoDbCommitLog } from "./dynamodb-commit-log.ts";
import { createDynamoDbControlStore, type AwsControlStore } from "./dynamodb-control-store.ts";
import { createDynamoDbItemStore } from "./dynamodb-item-store.ts";
import { deploymentNames, type DeploymentNames } from "./names.ts";
import { createShardOwners, type ShardOwners } from "./shard-owners.ts";

export type { AwsPortsOptions } from "./client-ports.ts";

export type AwsPorts = Ports &
  Pick<AwsClientPorts, "feeds"> & {
    readonly names: DeploymentNames;
    readonly control: AwsControlStore;
    readonly shardOwners: ShardOwners;
    /** Destroys the clients built here; ready-made ones stay open. Calls under way fail. */
    close(): Promise<void>;
  };

/** @throws InvalidRequestError for a deployment name or an endpoint that cannot be one. */
export function createAwsPorts(options: AwsPortsOptions): AwsPorts {
  return awsPortsOn(createAwsClients(options), options);
}

/** As `createAwsPorts`, on clients that others may share. */
export function awsPortsOn(clients: AwsClients, options: AwsPortsOptions): AwsPorts {
  const names = deploymentNames(options.deployment);
  const shared = clientPortsOn(clients, options);
  const { clock, random } = shared;
  const dynamodb = createDynamoDb(clients.dynamodb);
  const log = createDynamoDbCommitLog({ dynamodb, clock, table: names.logTable });
  const control = createDynamoDbControlStore({ dynamodb, clock, log, table: names.controlTable });
  return {
    ...shared,
    names,
    control,
    shardOwners: createShardOwners({
      kinesis: clients.kinesis,
      stream: names.stream,
      shardEntries: (callOptions) => control.shardEntries(callOptions),
    }),
    log,
    items: createDynamoDbItemStore({ dynamodb, clock, random }),
  };
}
