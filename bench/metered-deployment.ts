/**
 * A deployment in this process on real protocol servers, each part with a meter of its own: the
 * application's client, the oracle's service, replay's service, the latter two driven by the
 * embedded stack's event source mapping. Replay runs only when told to: on AWS its batch window
 * lets clients install first, and here, where all share one thread, it would race them and every
 * install would be paid twice. Its records wake it for what came by the stream; what clients have
 * appended themselves no record tells of, and a turn of its schedule finds it.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createAwsPorts, type AwsPorts } from "../aws/ports.ts";
import { createTables } from "../aws/create-tables.ts";
import { provisionDeployment } from "../aws/provision.ts";
import { registerTables } from "../aws/register-tables.ts";
import { systemClock } from "../aws/system.ts";
import type { ShardId, TableAccess } from "../core/types.ts";
import type { CommitPreference } from "../engine/types.ts";
import { createOracleService } from "../functions/oracle/service.ts";
import { createReplayService } from "../functions/replay/service.ts";
import { parseKinesisEvent, type ShardBatch } from "../functions/shared/kinesis-event.ts";
import { batchSettings, timeLimitMs } from "../functions/shared/settings.ts";
import { silentObservability } from "../functions/shared/silent-observability.ts";
import { startEventSourceMapping } from "../localstack/event-source-mapping.ts";
import { kinesisStreamReader } from "../localstack/kinesis-stream-reader.ts";
import { startProtocolServers } from "../localstack/protocol-servers.ts";
import type { Checkpoint } from "../localstack/shard-consumer.ts";
import { createClient, type Client } from "../sdk/index.ts";
import { benchTable, fillAccounts } from "./bench-table.ts";
import { drivenReplay } from "./driven-replay.ts";
import { meteredClients, type MeteredClients } from "./metered-clients.ts";

type AwsClients = ReturnType<typeof createAwsClients>;

const deployment = "bench";
const region = "us-east-1";
/** Somewhat longer than the pause between a tail's looks at the watermark. */
const watermarkLookMs = 1_200;

export type MeteredDeployment = {
  readonly commit: CommitPreference;
  readonly client: Client;
  /** `native` is for calls beside Tidemark. */
  readonly meters: Readonly<Record<"client" | "oracle" | "replay" | "native", MeteredClients>>;
  /** Of each function since the last `reset`: batches, and turns of its schedule. */
  readonly invocations: { oracle: number; replay: number };
  reset(): void;
  /**
   * Has the client's process learn the newest watermark, which it looks up once a second. Reads
   * under way when the watermark rises are made again: few in a steady load, but all of them where
   * all begin at that very moment.
   */
  settle(): Promise<void>;
  /**
   * Runs replay until the watermark has passed the timestamp: by its records up to the newest
   * commit of the stream, and by turns of its schedule from there.
   */
  replay(timestamp: number): Promise<void>;
  stop(): Promise<void>;
};

/** On the store at an address, or on one of its own. */
export async function startMeteredDeployment({
  commit,
  access,
  dynamodb,
}: {
  readonly commit: CommitPreference;
  /** Of the table. */
  readonly access: TableAccess;
  readonly dynamodb: string | undefined;
}): Promise<MeteredDeployment> {
  const servers = await startProtocolServers();
  const endpoint = { ...servers.endpoint, ...(dynamodb === undefined ? {} : { dynamodb }) };
  const aws = { endpoint, region, credentials: { accessKeyId: "local", secretAccessKey: "local" } };
  const plain = createAwsClients(aws);
  const shard = await provision(aws, plain, access);
  const meters = {
    client: meteredClients(endpoint),
    oracle: meteredClients(endpoint),
    replay: meteredClients(endpoint),
    native: meteredClients(endpoint),
  };
  const invocations = { oracle: 0, replay: 0 };
  const oracleMapping = await startOracle(plain, meters.oracle, () => (invocations.oracle += 1));
  const checkpoints = new Map<string, Checkpoint>();
  const replay = drivenReplay(createReplayService(portsOf(meters.replay), silentObservability), {
    shard,
    startMapping: (invoke) =>
      startMapping(plain, "replay", checkpoints, async (batch) => {
        const { unfinishedFrom } = await invoke(batch);
        const failures = unfinishedFrom === undefined ? [] : [{ itemIdentifier: unfinishedFrom }];
        return { batchItemFailures: failures };
      }),
    onInvoked: () => (invocations.replay += 1),
  });
  let ofStream = 0;
  const client = createClient({
    ...{ deployment, region, commit, ...clientsOf(meters.client) },
    onEvent: (event) => {
      if (event.kind !== "certified" || event.via !== "stream") return;
      ofStream = Math.max(ofStream, event.commitTimestamp);
    },
  });
  return {
    ...{ commit, client, meters, invocations },
    reset() {
      for (const meter of Object.values(meters)) meter.reset();
      Object.assign(invocations, { oracle: 0, replay: 0 });
    },
    settle: () => settle(client),
    replay: (timestamp) => replay.run({ ofStream, timestamp }),
    async stop() {
      await client.close();
      await oracleMapping.stop();
      for (const meter of Object.values(meters)) meter.close();
      await plain.close();
      await servers.stop();
    },
  };
}

/** The shard of a new deployment whose table is filled. */
async function provision(
  aws: Parameters<typeof createTables>[0],
  plain: AwsClients,
  access: TableAccess,
): Promise<ShardId> {
  const [shard] = await provisionDeployment({ ...aws, deployment });
  if (shard === undefined) throw new Error("a deployment without a shard");
  await createTables(aws, [benchTable]);
  await registerTables({ ...aws, deployment }, [{ ...benchTable, access }]);
  await fillAccounts(await plain.dynamodb());
  return shard;
}

function startOracle(
  plain: AwsClients,
  meter: MeteredClients,
  onInvoked: () => void,
): ReturnType<typeof startMapping> {
  const service = createOracleService({ ...portsOf(meter), observability: silentObservability });
  return startMapping(plain, "oracle", new Map(), async (batch) => {
    onInvoked();
    await service.handle(batch, { remainingMs: () => timeLimitMs("oracle") });
  });
}

function portsOf(meter: MeteredClients): AwsPorts {
  return createAwsPorts({ deployment, region, ...clientsOf(meter) });
}

function clientsOf({
  dynamodb,
  kinesis,
}: MeteredClients): Pick<MeteredClients, "dynamodb" | "kinesis"> {
  return { dynamodb, kinesis };
}

async function settle(client: Client): Promise<void> {
  await systemClock.sleep(watermarkLookMs);
  await client.snapshot(() => Promise.resolve());
  await systemClock.sleep(watermarkLookMs / 10);
}

async function startMapping(
  plain: AwsClients,
  role: "oracle" | "replay",
  checkpoints: Map<string, Checkpoint>,
  invoke: (batch: ShardBatch) => Promise<unknown>,
): Promise<{ stop(): Promise<void> }> {
  const stream = `tidemark-${deployment}-commits`;
  return startEventSourceMapping(
    {
      origin: {
        region,
        streamArn: `arn:aws:kinesis:${region}:000000000000:stream/${stream}`,
        roleArn: "arn:aws:iam::000000000000:role/bench",
      },
      ...batchSettings(role, {
        windowMs: { value: 0, because: "replay is run once all is there, and is waited for" },
      }),
      invocationMsMax: timeLimitMs(role),
      pollMsMin: 1,
      pollMsMax: 5,
      retryMsMin: 5,
      retryMsMax: 200,
    },
    {
      clock: systemClock,
      reader: kinesisStreamReader(await plain.kinesis(), stream),
      invoke: (event) => {
        const batch = parseKinesisEvent(event);
        return batch === undefined ? Promise.resolve(undefined) : invoke(batch);
      },
      loadCheckpoint: (shard) => checkpoints.get(shard),
      saveCheckpoint: (shard, checkpoint) => checkpoints.set(shard, checkpoint),
      report: () => undefined,
    },
  );
}
