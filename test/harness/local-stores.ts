/**
 * A provisioned deployment on real protocol servers, with its ports: what an engine or a function
 * needs to run in a test. Deployment and table names are unique, so that test files can share one
 * DynamoDB.
 */
import { randomBytes } from "node:crypto";
import { assert } from "../../core/assert.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { SequenceNumber, ShardId, TableAccess, TableDescription } from "../../core/types.ts";
import { createAwsPorts, type AwsPorts, type AwsPortsOptions } from "../../aws/ports.ts";
import {
  createTables,
  type IndexDefinition,
  type TableDefinition,
} from "../../aws/create-tables.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { registerTables } from "../../aws/register-tables.ts";
import { localIdentity, startLocalServers, type LocalServers } from "./local-servers.ts";
import { KeyHashes } from "../../schemas/key-hashes.ts";

/**
 * Key types by name; the table's own name is made unique. Default: `pk` (S), no sort key, no
 * history.
 */
export type LocalTable = {
  readonly partitionKey?: TableDescription["partitionKey"];
  readonly sortKey?: NonNullable<TableDescription["sortKey"]>;
  readonly history?: boolean;
  readonly access?: TableAccess;
  /** BASE transactions may use it. Default false. */
  readonly base?: boolean;
  readonly indexes?: readonly IndexDefinition[];
};

export type LocalStores = {
  readonly servers: LocalServers;
  readonly deployment: string;
  /** The first shard, and with the default of one shard the only one. */
  readonly shard: ShardId;
  readonly shards: readonly ShardId[];
  readonly ports: AwsPorts;
  /** Under the first shard's secret. */
  readonly hashes: KeyHashes;
  /**
   * Endpoint, region and credentials: for `createAwsPorts`, `createClient` or an AWS SDK client.
   */
  readonly clientOptions: typeof localIdentity & { readonly endpoint: LocalServers["endpoint"] };
  /** More ports to the same deployment, as another process would have; closed with the stores. */
  openPorts(options?: Partial<AwsPortsOptions>): AwsPorts;
  /** Creates a user table and enters it into the registry. */
  createTable(name: string, table?: LocalTable): Promise<TableDescription>;
  stop(): Promise<void>;
};

export async function startLocalStores(
  options: {
    readonly dataFolder?: string;
    /** Of the stream, and of the deployment itself. */
    readonly shardCount?: number;
    readonly shards?: number;
    /** False: tables alone. */
    readonly stream?: boolean;
    readonly ports?: Partial<AwsPortsOptions>;
  } = {},
): Promise<LocalStores> {
  const { dataFolder } = options;
  const servers = await startLocalServers(dataFolder === undefined ? {} : { dataFolder });
  const suffix = randomBytes(5).toString("hex");
  const deployment = `test-${suffix}`;
  const clientOptions = { ...localIdentity, endpoint: servers.endpoint };
  const opened: AwsPorts[] = [];
  const openPorts = (extra: Partial<AwsPortsOptions> = {}): AwsPorts => {
    const made = createAwsPorts({ ...clientOptions, ...options.ports, ...extra, deployment });
    opened.push(made);
    return made;
  };
  const shardCount = options.shardCount ?? 1;
  const { stream } = options;
  const shards = await provisionDeployment({
    ...{ ...clientOptions, deployment, shardCount, stream },
    shards: options.shards,
  });
  const shard = shards[0];
  assert(shard !== undefined, "a deployment has a shard");
  const ports = openPorts();
  const hashes = new KeyHashes(await ports.control.keyHasher(shard));
  return {
    servers,
    deployment,
    shard,
    shards,
    ports,
    hashes,
    clientOptions,
    openPorts,
    async createTable(name, table = {}) {
      const definition: TableDefinition = {
        name: `${name}-${suffix}`,
        partitionKey: table.partitionKey ?? { name: "pk", type: "S" },
        ...(table.sortKey === undefined ? {} : { sortKey: table.sortKey }),
        ...(table.indexes === undefined ? {} : { indexes: table.indexes }),
      };
      await createTables(clientOptions, [definition]);
      const description: TableDescription = {
        name: definition.name,
        partitionKey: definition.partitionKey,
        ...(definition.sortKey === undefined ? {} : { sortKey: definition.sortKey }),
        history: table.history ?? false,
        access: table.access ?? "transactional",
      };
      const { base } = table;
      await registerTables({ ...clientOptions, deployment }, [{ ...description, base }]);
      return description;
    },
    async stop() {
      await Promise.all(opened.map((each) => each.close()));
      await servers.stop();
    },
  };
}

/** Records that the stream holds for certain. */
export async function recordsAt(
  { ports }: { readonly ports: Pick<AwsPorts, "stream"> },
  at: { readonly shard: ShardId; readonly from: SequenceNumber; readonly recordsMax?: number },
): Promise<readonly StreamRecord[]> {
  const { recordsMax = 10 } = at;
  const read = await ports.stream.read(at.shard, at.from, { recordsMax });
  assert(read.kind === "found", `record ${at.from} is in the stream, and was ${read.kind}`);
  return read.records;
}
