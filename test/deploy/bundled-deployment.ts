/**
 * A deployment whose functions are the built zips, each in a process of its own behind a call
 * recorder, with the settings of the Terraform module; stores are real protocol servers, mappings
 * those of localstack/. What Terraform's `apply` leaves behind, on one machine.
 */
import { createAwsClients } from "../../aws/clients.ts";
import { deploymentNames, type DeploymentNames } from "../../aws/names.ts";
import { createAwsPorts, type AwsPorts } from "../../aws/ports.ts";
import { createTables, type TableDefinition } from "../../aws/create-tables.ts";
import { systemTables } from "../../aws/provision.ts";
import { baseRecordsKeys, baseRecordsTable } from "../../core/base-tables.ts";
import { systemClock } from "../../aws/system.ts";
import { historyRetentionMsDefault as historyRetentionMs } from "../../core/limits.ts";
import type {
  LogPosition,
  ShardId,
  ShardNumber,
  TableAccess,
  Timestamp,
} from "../../core/types.ts";
import {
  startEventSourceMapping,
  type EventSourceMapping,
} from "../../localstack/event-source-mapping.ts";
import { kinesisStreamReader } from "../../localstack/kinesis-stream-reader.ts";
import {
  batchSettings,
  functionRoles,
  timeLimitMs,
  type FunctionRole,
} from "../../functions/shared/settings.ts";
import { functionEnvironment } from "../../localstack/module-settings.ts";
import type { Checkpoint } from "../../localstack/shard-consumer.ts";
import { bundleFunction } from "../../scripts/function-bundles.ts";
import { localIdentity, startLocalServers, type LocalServers } from "../harness/local-servers.ts";
import { startCallRecorder, type CallRecorder } from "./call-recorder.ts";
import { lambdaProcess, type InvocationOutcome, type LambdaProcess } from "./lambda-process.ts";
import { sampleHashSecret } from "../../testing/sample-hashes.ts";

export type BundledDeployment = {
  readonly names: DeploymentNames;
  readonly shard: ShardId;
  readonly functions: Readonly<Record<FunctionRole, LambdaProcess>>;
  readonly recorders: Readonly<Record<FunctionRole, CallRecorder>>;
  /** Not recorded: for looking and arranging. */
  readonly ports: AwsPorts;
  readonly servers: LocalServers;
  /** A client process of its own, recorded. */
  openClient(): Promise<{ readonly ports: AwsPorts; readonly recorder: CallRecorder }>;
  /** Begins, or goes on after `pause`, from the checkpoint. */
  resume(role: "oracle" | "replay"): Promise<void>;
  pause(role: "oracle" | "replay"): Promise<void>;
  /** The function's result. @throws Error when it failed. */
  invoke(role: FunctionRole, event: unknown): Promise<unknown>;
  stop(): Promise<void>;
};

const deployment = "bundled";
const streamOrigin = {
  region: "us-east-1",
  streamArn: `arn:aws:kinesis:us-east-1:123456789012:stream/tidemark-${deployment}-commits`,
  roleArn: `arn:aws:iam::123456789012:role/tidemark-${deployment}-us-east-1-oracle`,
};

/**
 * Creates and registers the tables, as the module does; no mapping runs yet.
 * @param options.deployment its name, where several may share a store; default: the one that
 * recorded events name.
 * @param options.createdAt the deployment's first watermark, for events that were recorded before
 * today.
 */
export async function startBundledDeployment(
  tables: readonly (TableDefinition & {
    readonly history: boolean;
    readonly access?: TableAccess;
    /** BASE transactions may use it. */
    readonly base?: boolean;
  })[],
  options: { readonly deployment?: string; readonly createdAt?: Timestamp } = {},
): Promise<BundledDeployment> {
  const name = options.deployment ?? deployment;
  const names = deploymentNames(name);
  const servers = await startLocalServers();
  const aws = { ...localIdentity, endpoint: servers.endpoint };
  await makeStream(aws, names.stream);
  // As the module does: provision may make no table.
  const records = tables.some(({ base }) => base === true)
    ? [{ name: baseRecordsTable(names.controlTable), ...baseRecordsKeys }]
    : [];
  await createTables(aws, [...systemTables(names), ...records, ...tables]);
  const mixed = tables.filter(({ access }) => access === "mixed").map(({ name: each }) => each);
  const recorders = {} as Record<FunctionRole, CallRecorder>;
  const functions = {} as Record<FunctionRole, LambdaProcess>;
  for (const role of functionRoles) {
    recorders[role] = await startCallRecorder(servers.endpoint, names, { mixed });
    functions[role] = await functionProcess(role, recorders[role].url, { deployment: name });
  }
  const ports = createAwsPorts({ ...aws, deployment: name });
  const mappings = bundledMappings({ aws, names, functions });
  if (options.createdAt !== undefined) await makeFirstShard(ports, options.createdAt);
  const closing: (() => Promise<void>)[] = [() => ports.close()];
  const invoke: BundledDeployment["invoke"] = async (role, event) =>
    resultOf(await functions[role].invoke(event));
  const registered = tables.map((table) => ({
    ...{ name: table.name, history: table.history },
    ...(table.access === undefined ? {} : { access: table.access }),
    ...(table.base === undefined ? {} : { base: table.base }),
  }));
  await invoke("provision", { tables: registered, historyRetentionMs });
  const [shard] = await ports.control.shards();
  if (shard === undefined) throw new Error("the provision function listed no shard");
  return {
    names,
    shard,
    functions,
    recorders,
    ports,
    servers,
    async openClient() {
      const recorder = await startCallRecorder(servers.endpoint, names, { mixed });
      const client = createAwsPorts({ ...localIdentity, endpoint: recorder.url, deployment: name });
      closing.push(async () => {
        await client.close();
        await recorder.stop();
      });
      return { ports: client, recorder };
    },
    ...mappings,
    invoke,
    async stop() {
      await mappings.pause("oracle");
      await mappings.pause("replay");
      await Promise.all(Object.values(functions).map((each) => each.stop()));
      await Promise.all(closing.map((close) => close()));
      await Promise.all(Object.values(recorders).map((each) => each.stop()));
      await servers.stop();
    },
  };
}

/** Provisioning keeps a shard that is there. */
async function makeFirstShard({ control }: AwsPorts, timestamp: Timestamp): Promise<void> {
  const entry = {
    shard: "shardId-000000000000" as ShardId,
    number: 0 as ShardNumber,
    from: 0,
    startingHashKey: "0",
    hashSecret: sampleHashSecret,
  };
  await control.addShard(entry, { position: 0 as LogPosition, timestamp, cursor: undefined });
}

/** One zip in a process of its own, as the module sets it up. */
export async function functionProcess(
  role: FunctionRole,
  endpoint: string,
  change: {
    readonly deployment?: string;
    /** Beside what every function is given. */
    readonly variables?: Readonly<Record<string, string>>;
  } = {},
): Promise<LambdaProcess> {
  const { zip } = await bundleFunction(role);
  return lambdaProcess({
    zip,
    name: `tidemark-${deployment}-${role}`,
    timeoutMs: timeLimitMs(role),
    environment: {
      ...functionEnvironment({
        deployment: change.deployment ?? deployment,
        endpoint: { dynamodb: endpoint, kinesis: endpoint },
        logLevel: "DEBUG",
      }),
      ...change.variables,
    },
  });
}

/** @throws Error when the invocation failed or timed out. */
function resultOf(outcome: InvocationOutcome): unknown {
  if (outcome.kind === "result") return outcome.result;
  throw new Error(outcome.kind === "timeout" ? "timed out" : `${outcome.name}: ${outcome.message}`);
}

async function makeStream(
  aws: Parameters<typeof createAwsClients>[0],
  StreamName: string,
): Promise<void> {
  const clients = createAwsClients(aws);
  const { sdk, client } = await clients.kinesis();
  await client.send(new sdk.CreateStreamCommand({ StreamName, ShardCount: 1 }));
  await sdk.waitUntilStreamExists({ client, maxWaitTime: 30, minDelay: 1 }, { StreamName });
  await clients.close();
}

function bundledMappings(parts: {
  readonly aws: Parameters<typeof createAwsClients>[0];
  readonly names: DeploymentNames;
  readonly functions: Readonly<Record<FunctionRole, LambdaProcess>>;
}): Pick<BundledDeployment, "resume" | "pause"> {
  const checkpoints = new Map<string, Checkpoint>();
  const running = new Map<FunctionRole, { mapping: EventSourceMapping; close(): Promise<void> }>();
  return {
    async resume(role) {
      if (running.has(role)) return;
      const clients = createAwsClients(parts.aws);
      const mapping = startEventSourceMapping(
        {
          origin: streamOrigin,
          ...batchSettings(role),
          invocationMsMax: timeLimitMs(role),
          pollMsMin: 1,
          pollMsMax: 20,
          retryMsMin: 5,
          retryMsMax: 200,
        },
        {
          clock: systemClock,
          reader: kinesisStreamReader(await clients.kinesis(), parts.names.stream),
          invoke: async (event) => resultOf(await parts.functions[role].invoke(event)),
          loadCheckpoint: (shard) => checkpoints.get(`${role} ${shard}`),
          saveCheckpoint: (shard, checkpoint) => checkpoints.set(`${role} ${shard}`, checkpoint),
          report: () => undefined,
        },
      );
      running.set(role, { mapping, close: () => clients.close() });
    },
    async pause(role) {
      const found = running.get(role);
      running.delete(role);
      await found?.mapping.stop();
      await found?.close();
    },
  };
}
