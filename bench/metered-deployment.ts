/**
 * A deployment in this process on real protocol servers, each part with a meter of its own: the
 * application's client, the oracle's service, replay's service, the latter two driven by the
 * embedded stack's event source mapping. Replay runs only when told to: on AWS its batch window
 * lets clients install first, and here, where all share one thread, it would race them and every
 * install would be paid twice.
 */
import { createAwsClients } from "../aws/clients.ts";
import { createAwsPorts, type AwsPorts } from "../aws/ports.ts";
import { createTables } from "../aws/create-tables.ts";
import { provisionDeployment } from "../aws/provision.ts";
import { registerTables } from "../aws/register-tables.ts";
import { systemClock } from "../aws/system.ts";
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
import { meteredClients, type MeteredClients } from "./metered-clients.ts";

const deployment = "bench";
const region = "us-east-1";
/** Somewhat longer than the pause between a tail's looks at the watermark. */
const watermarkLookMs = 1_200;

export type MeteredDeployment = {
  readonly client: Client;
  /** `native` is for calls beside Tidemark. */
  readonly meters: Readonly<Record<"client" | "oracle" | "replay" | "native", MeteredClients>>;
  /** Batches handed to each function since the last `reset`. */
  readonly invocations: { oracle: number; replay: number };
  reset(): void;
  /**
   * Has the client's process learn the newest watermark, which it looks up once a second. Reads
   * under way when the watermark rises are made again: few in a steady load, but all of them where
   * all begin at that very moment.
   */
  settle(): Promise<void>;
  /** Runs replay until the watermark has passed the timestamp. */
  replay(timestamp: number): Promise<void>;
  stop(): Promise<void>;
};

/** On a store that is running already, or on one of its own. */
export async function startMeteredDeployment(
  store: { readonly dynamodb?: string } = {},
): Promise<MeteredDeployment> {
  const servers = await startProtocolServers();
  const endpoint = { ...servers.endpoint, ...store };
  const aws = {
    endpoint,
    region,
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
  await provisionDeployment({ ...aws, deployment });
  await createTables(aws, [benchTable]);
  await registerTables({ ...aws, deployment }, [benchTable]);
  const plain = createAwsClients(aws);
  await fillAccounts(await plain.dynamodb());

  const meters = {
    client: meteredClients(endpoint),
    oracle: meteredClients(endpoint),
    replay: meteredClients(endpoint),
    native: meteredClients(endpoint),
  };
  const portsOf = (meter: MeteredClients): AwsPorts =>
    createAwsPorts({ deployment, region, ...clientsOf(meter) });
  const observability = silentObservability;
  const oracle = createOracleService({ ...portsOf(meters.oracle), observability });
  const replay = createReplayService(portsOf(meters.replay), observability);
  const budgetOf = (role: "oracle" | "replay") => ({ remainingMs: () => timeLimitMs(role) });
  const invocations = { oracle: 0, replay: 0 };
  let replayedThrough = 0;
  const oracleMapping = await startMapping(plain, "oracle", new Map(), async (batch) => {
    invocations.oracle += 1;
    await oracle.handle(batch, budgetOf("oracle"));
  });
  const replayCheckpoints = new Map<string, Checkpoint>();
  const startReplay = (): ReturnType<typeof startMapping> =>
    startMapping(plain, "replay", replayCheckpoints, async (batch) => {
      invocations.replay += 1;
      const { unfinishedFrom, watermark } = await replay.handle(batch, budgetOf("replay"));
      replayedThrough = watermark.timestamp;
      const failures = unfinishedFrom === undefined ? [] : [{ itemIdentifier: unfinishedFrom }];
      return { batchItemFailures: failures };
    });
  const client = createClient({ deployment, region, ...clientsOf(meters.client) });
  return {
    client,
    meters,
    invocations,
    reset() {
      for (const meter of Object.values(meters)) meter.reset();
      Object.assign(invocations, { oracle: 0, replay: 0 });
    },
    settle: () => settle(client),
    async replay(timestamp) {
      const mapping = await startReplay();
      const giveUpMs = performance.now() + 30_000;
      while (replayedThrough < timestamp) {
        if (performance.now() > giveUpMs) throw new Error("replay does not come to an end");
        await systemClock.sleep(2);
      }
      await mapping.stop();
    },
    async stop() {
      await client.close();
      await oracleMapping.stop();
      for (const meter of Object.values(meters)) meter.close();
      await plain.close();
      await servers.stop();
    },
  };
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
  plain: ReturnType<typeof createAwsClients>,
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
