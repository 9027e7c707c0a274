/**
 * What a client needs from outside, on AWS: DynamoDB and Kinesis, or whatever speaks their
 * protocols at the endpoints given. Importing this module does no work and loads no AWS package;
 * the first call does.
 */
import { OnDemand } from "../core/on-demand.ts";
import type { MixedItemStore } from "../core/mixed-items-port.ts";
import type { CallOptions, ClientPorts, Clock, Random } from "../core/ports.ts";
import { createAwsClients, type AwsClientOptions, type AwsClients } from "./clients.ts";
import { createClientDynamoDb } from "./dynamodb.ts";
import { createClientCommitLog } from "./dynamodb-commit-log.ts";
import type { BatchGetParts } from "./dynamodb-batch-get.ts";
import { createDynamoDbControlReader } from "./dynamodb-control-store.ts";
import { createClientItemStore } from "./dynamodb-item-store.ts";
import { createKinesisCommitStream } from "./kinesis-commit-stream.ts";
import { deploymentNames } from "./names.ts";
import { systemClock, systemRandom } from "./system.ts";
import { systemDigest } from "./system-digest.ts";

const dates = new OnDemand("store dates", () => import("./store-dates.ts"));
const mixedItems = new OnDemand("mixed tables", () => import("./dynamodb-mixed-items.ts"));
const feeds = new OnDemand("feeds", () => import("./control-feeds.ts"));
const history = new OnDemand("history", () => import("./dynamodb-version-store.ts"));

export type AwsPortsOptions = AwsClientOptions & {
  readonly deployment: string;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
};

export type AwsClientPorts = ClientPorts & {
  /** Destroys the clients built here; ready-made ones stay open. Calls under way fail. */
  close(): Promise<void>;
};

/** @throws InvalidRequestError for a deployment name or an endpoint that cannot be one. */
export function createAwsClientPorts(options: AwsPortsOptions): AwsClientPorts {
  return clientPortsOn(createAwsClients(options), options);
}

/** As `createAwsClientPorts`, on clients that others may share. */
export function clientPortsOn(clients: AwsClients, options: AwsPortsOptions): AwsClientPorts {
  const names = deploymentNames(options.deployment);
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const dynamodb = createClientDynamoDb(clients.dynamodb);
  const log = createClientCommitLog({ dynamodb, clock, table: names.logTable });
  const control = createDynamoDbControlReader({ dynamodb, log, table: names.controlTable });
  const { kinesis } = clients;
  const { stream } = names;
  const shardEntries = (callOptions?: CallOptions) => control.shardEntries(callOptions);
  let unwatch: (() => void) | undefined;
  const feedParts = { dynamodb, table: names.controlTable };
  const versions = { dynamodb, clock, table: names.versionsTable };
  return {
    clock,
    random,
    digest: systemDigest,
    control,
    stream: createKinesisCommitStream({ kinesis, clock, random, stream, shardEntries }),
    log,
    watchDates: (tell) =>
      dates.use(async ({ watchStoreDates }) => {
        unwatch = watchStoreDates((await clients.dynamodb()).client, clock, tell);
      }),
    feeds: {
      read: (name, options) => feeds.use(({ readFeed }) => readFeed(feedParts, name, options)),
      put: (name, state, options) =>
        feeds.use(({ putFeed }) => putFeed(feedParts, { ...state, name }, options)),
      enlist: (name, options) =>
        feeds.use(({ enlistFeed }) => enlistFeed(feedParts, name, options)),
      list: (namesMax, options) =>
        feeds.use(({ listFeeds }) => listFeeds(feedParts, namesMax, options)),
    },
    items: createClientItemStore({ dynamodb, clock, random }),
    mixed: mixedOnDemand({ dynamodb, clock, random }),
    versions: {
      save: (entry, options) => history.use(({ save }) => save(versions, entry, options)),
      find: (table, key, at, options) =>
        history.use(({ find }) => find(versions, { table, key, at }, options)),
    },
    close: () => {
      unwatch?.();
      return clients.close();
    },
  };
}

/** Most deployments have no mixed table. */
function mixedOnDemand(parts: BatchGetParts): MixedItemStore {
  let store: MixedItemStore | undefined;
  const use = <Answer>(call: (to: MixedItemStore) => Promise<Answer>): Promise<Answer> =>
    mixedItems.use(({ createDynamoDbMixedItems }) =>
      call((store ??= createDynamoDbMixedItems(parts))),
    );
  return {
    read: (at, options) => use((to) => to.read(at, options)),
    readAll: (addresses, options) => use((to) => to.readAll(addresses, options)),
    query: (request, options) => use((to) => to.query(request, options)),
    scan: (request, options) => use((to) => to.scan(request, options)),
    fence: (request, options) => use((to) => to.fence(request, options)),
    install: (request, options) => use((to) => to.install(request, options)),
    cleanUp: (request, options) => use((to) => to.cleanUp(request, options)),
    stamp: (request, options) => use((to) => to.stamp(request, options)),
    writeLocally: (request, options) => use((to) => to.writeLocally(request, options)),
  };
}
