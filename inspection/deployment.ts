/**
 * A deployment as the command line looks at it: its map, its registry and its logs, through clients
 * that refuse to write.
 */
import { createAwsClients, type AwsClients } from "../aws/clients.ts";
import { isInMap, mapOf } from "../aws/dynamodb-control-store.ts";
import { awsPortsOn, type AwsPorts } from "../aws/ports.ts";
import { readingOnly } from "../aws/reading-only.ts";
import { InvalidRequestError, StoreError } from "../core/errors.ts";
import type { ShardMap, ShardRange } from "../core/shard-map.ts";
import type { Registry, ShardId, ShardNumber, TableDescription } from "../core/types.ts";
import { KeyHashes } from "../schemas/key-hashes.ts";
import { target } from "../sdk/connect.ts";
import type { ClientOptions } from "../sdk/tables.ts";

/** One shard: the name of its log, and how its hashes are made. */
export type ShardLog = {
  readonly shard: ShardId;
  readonly number: ShardNumber;
  /** Of the upper 32 bits of its partitions' hashes. */
  readonly range: ShardRange;
  /** The hash key of the stream to which its records are sent. */
  readonly startingHashKey: string;
  readonly hashes: KeyHashes;
};

export type Deployment = {
  readonly name: string;
  /** Where it is, for people. */
  readonly place: string;
  /** An embedded stack, whose tables the user has not made by Terraform. */
  readonly isLocal: boolean;
  readonly ports: AwsPorts;
  /** The clients below the ports, for what no port asks. */
  readonly clients: AwsClients;
  readonly registry: Registry;
  readonly map: ShardMap;
  /** By their numbers. */
  readonly logs: readonly ShardLog[];
  close(): Promise<void>;
};

export type Connection = Pick<
  Deployment,
  "name" | "place" | "isLocal" | "ports" | "clients" | "close"
>;

/** Runs on an open deployment, and closes it however that ends. */
export async function withDeployment<Result>(
  where: ClientOptions,
  use: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  const connection = await connectTo(where);
  try {
    return await use(await opened(connection));
  } finally {
    await connection.close();
  }
}

/** Knows how to get there, and has asked nothing of the stores yet. */
export async function connectTo(where: ClientOptions): Promise<Connection> {
  const found = await target(where);
  const clients = readingOnly(createAwsClients(found));
  const ports = awsPortsOn(clients, found);
  const region = found.region ?? process.env["AWS_REGION"];
  const onAws = region === undefined ? "on AWS" : `in ${region}`;
  return {
    name: found.deployment,
    place: where.endpoint === undefined ? onAws : `at ${where.endpoint}`,
    isLocal: where.endpoint !== undefined,
    ports,
    clients,
    close: () => ports.close(),
  };
}

/** @throws InvalidRequestError where there is no such deployment, or it is not provisioned. */
export async function opened(connection: Connection): Promise<Deployment> {
  const { control } = connection.ports;
  const [registry, entries] = await present(connection, () =>
    Promise.all([control.registry(), control.shardEntries()]),
  );
  // Those that are about to be split off have no log yet.
  const map = mapOf(entries);
  if (map === undefined) {
    throw new InvalidRequestError(
      "deployment",
      `the deployment "${connection.name}" has no shard: it is not provisioned; ` +
        "`terraform apply` does it, or `tidemark start`",
    );
  }
  const logs = entries
    .filter(isInMap)
    .map(async ({ shard, number, startingHashKey }): Promise<ShardLog> => {
      const hashes = new KeyHashes(await control.keyHasher(shard));
      return { shard, number, range: map.rangeOf(number), startingHashKey, hashes };
    });
  return { ...connection, registry, map, logs: await Promise.all(logs) };
}

async function present<Result>(
  { name, ports }: Connection,
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "ResourceNotFoundException")) throw error;
    throw new InvalidRequestError(
      "deployment",
      `there is no deployment "${name}" here: its table ${ports.names.controlTable} does not ` +
        "exist; look at the deployment's name, the region and the account",
    );
  }
}

/** @throws InvalidRequestError naming the tables that there are. */
export function tableNamed(
  { registry }: Pick<Deployment, "registry">,
  name: string,
): TableDescription {
  const found = registry.tables.find((table) => table.name === name);
  if (found !== undefined) return found;
  const known = registry.tables.map((table) => table.name).sort();
  const those = known.length === 0 ? "none is" : `registered are ${known.join(", ")}`;
  throw new InvalidRequestError("table", `table "${name}" is not registered; ${those}`);
}

/** @throws InvalidRequestError for a number that no shard has. */
export function logsOf(
  { logs }: Pick<Deployment, "logs">,
  number: number | undefined,
): readonly ShardLog[] {
  if (number === undefined) return logs;
  const found = logs.filter((log) => log.number === number);
  if (found.length > 0) return found;
  const known = logs.map((log) => log.number).join(", ");
  throw new InvalidRequestError("shard", `there is no shard ${number}; there are: ${known}`);
}
