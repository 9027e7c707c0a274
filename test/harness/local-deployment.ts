/**
 * A whole deployment inside a test process: real protocol servers, and the real services of oracle
 * and replay, driven by the embedded stack's own event source mapping. Each function can be
 * stopped, started again, delayed and made to run twice.
 */
import { createAwsClients } from "../../aws/clients.ts";
import type { StreamWish } from "../../aws/stream-wish.ts";
import { provisionDeployment } from "../../aws/provision.ts";
import { untilReady } from "../../aws/resource-calls.ts";
import { systemClock } from "../../aws/system.ts";
import { InvalidRequestError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports.ts";
import { createEngine } from "../../engine/engine.ts";
import type { EngineOptions } from "../../engine/engine-core.ts";
import type { Engine } from "../../engine/types.ts";
import { createOracleService } from "../../functions/oracle/service.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import { parseKinesisEvent, type ShardBatch } from "../../functions/shared/kinesis-event.ts";
import { batchSettings, timeLimitMs } from "../../functions/shared/settings.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startEventSourceMapping } from "../../localstack/event-source-mapping.ts";
import { kinesisStreamReader } from "../../localstack/kinesis-stream-reader.ts";
import type { Checkpoint, MappingReport } from "../../localstack/shard-consumer.ts";
import { recorded, startHistoryExport } from "./history-export.ts";
import { startLocalStores, type LocalStores } from "./local-stores.ts";

export type LocalFunction = {
  /** Begins, or goes on after `stop`, from the checkpoint. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Its stream is gone: the next one is read from its beginning. */
  forget(): void;
  /** Failed batches and reads since the beginning. */
  readonly reports: readonly MappingReport[];
};

export type LocalDeployment = {
  readonly stores: LocalStores;
  readonly oracle: LocalFunction;
  readonly replay: LocalFunction;
  /**
   * A client process of its own: own ports, own tail. Closed with the deployment. It commits by the
   * stream unless it is told otherwise: what the functions make of that is what most tests look at.
   */
  openEngine(options?: EngineOptions & { readonly ports?: Partial<Ports> }): Engine;
  /** Replay, as its schedule runs it: without a batch. */
  runReplay(): Promise<void>;
  /**
   * Gives the deployment a stream, or takes it away, as an operator does: by what provisioning
   * runs. Clients may commit meanwhile. Both functions run afterwards where there is a stream, and
   * stand still where there is none.
   */
  switchStream(isOn: boolean): Promise<void>;
  stop(): Promise<void>;
};

export type Invoke = (batch: ShardBatch) => Promise<unknown>;

/** What to do instead of calling the service directly: call it twice, late, with half a batch … */
export type Interpose = (batch: ShardBatch, invoke: Invoke) => Promise<unknown>;

export type LocalDeploymentOptions = {
  readonly oracle?: Interpose;
  readonly replay?: Interpose;
  /** Functions not started; a test starts them itself. */
  readonly stopped?: readonly ("oracle" | "replay")[];
  /** Of a deployment that is there already, and stop with this one. */
  readonly stores?: LocalStores;
};

type StreamRole = "oracle" | "replay";

export async function startLocalDeployment(
  options: LocalDeploymentOptions = {},
): Promise<LocalDeployment> {
  const stores = options.stores ?? (await startLocalStores());
  const finishHistory = startHistoryExport(stores);
  const engines: Engine[] = [];
  const observability = silentObservability;
  const budgetOf = (role: StreamRole) => ({ remainingMs: () => timeLimitMs(role) });
  const oracleService = createOracleService({ ...stores.openPorts(), observability });
  const replayService = createReplayService(stores.openPorts(), observability);
  const oracle = localFunction(stores, "oracle", options.oracle, (batch) =>
    oracleService.handle(batch, budgetOf("oracle")),
  );
  const replay = localFunction(stores, "replay", options.replay, async (batch) => {
    const { unfinishedFrom } = await replayService.handle(batch, budgetOf("replay"));
    const failures = unfinishedFrom === undefined ? [] : [{ itemIdentifier: unfinishedFrom }];
    return { batchItemFailures: failures };
  });
  const runReplay = async (): Promise<void> => {
    await replayService.handle({ shard: stores.shard, records: [] }, budgetOf("replay"));
  };
  if (options.stopped?.includes("oracle") !== true) await oracle.start();
  if (options.stopped?.includes("replay") !== true) await replay.start();
  return {
    stores,
    oracle,
    replay,
    runReplay,
    async switchStream(isOn) {
      if (!isOn) {
        await closeStream(stores, runReplay);
        await Promise.all([oracle.stop(), replay.stop()]);
        await deleteStream(stores);
      }
      await provision(stores, { stream: isOn });
      if (!isOn) return;
      for (const each of [oracle, replay]) {
        each.forget();
        await each.start();
      }
    },
    openEngine({ ports = {}, ...engineOptions } = {}) {
      const engine = recorded(
        stores,
        createEngine({ ...stores.openPorts(), ...ports }, { commit: "stream", ...engineOptions }),
      );
      engines.push(engine);
      return engine;
    },
    async stop() {
      await Promise.all(engines.map((engine) => engine.close()));
      await finishHistory();
      await oracle.stop();
      await replay.stop();
      await stores.stop();
    },
  };
}

function provision(
  { clientOptions, deployment }: LocalStores,
  options: { readonly stream: StreamWish },
): Promise<unknown> {
  return provisionDeployment({ ...clientOptions, deployment, ...options });
}

/** As an operator does who tries again until the stream is drained. */
async function closeStream(stores: LocalStores, runReplay: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await provision(stores, { stream: "closing" });
      return;
    } catch (error) {
      if (!(error instanceof InvalidRequestError)) throw error;
      // Its mapping wakes replay for records only, and behind the closing none need come.
      await runReplay();
    }
  }
}

async function deleteStream({ clientOptions, ports }: LocalStores): Promise<void> {
  const clients = createAwsClients(clientOptions);
  try {
    const { client, sdk } = await clients.kinesis();
    const StreamName = ports.names.stream;
    await client.send(new sdk.DeleteStreamCommand({ StreamName }));
    const isReady = async (): Promise<boolean> => {
      const { StreamNames = [] } = await client.send(new sdk.ListStreamsCommand({}));
      return !StreamNames.includes(StreamName);
    };
    await untilReady({ clock: systemClock, what: `the end of stream ${StreamName}`, isReady });
  } finally {
    await clients.close();
  }
}

function localFunction(
  stores: LocalStores,
  role: StreamRole,
  interpose: Interpose | undefined,
  invoke: Invoke,
): LocalFunction {
  const checkpoints = new Map<string, Checkpoint>();
  const reports: MappingReport[] = [];
  let stopRunning: (() => Promise<void>) | undefined;
  return {
    reports,
    forget: () => {
      checkpoints.clear();
    },
    async start() {
      if (stopRunning !== undefined) return;
      const clients = createAwsClients(stores.clientOptions);
      const stream = stores.ports.names.stream;
      const mapping = startEventSourceMapping(
        {
          origin: {
            region: "us-east-1",
            streamArn: `arn:aws:kinesis:us-east-1:000000000000:stream/${stream}`,
            roleArn: "arn:aws:iam::000000000000:role/test",
          },
          ...batchSettings(role, {
            windowMs: { value: 0, because: "tests wait for the watermark again and again" },
          }),
          invocationMsMax: timeLimitMs(role),
          pollMsMin: 1,
          pollMsMax: 20,
          retryMsMin: 5,
          retryMsMax: 200,
        },
        {
          clock: systemClock,
          reader: kinesisStreamReader(await clients.kinesis(), stream),
          invoke: (event) => {
            const batch = parseKinesisEvent(event);
            if (batch === undefined) return Promise.resolve(undefined);
            return interpose === undefined ? invoke(batch) : interpose(batch, invoke);
          },
          loadCheckpoint: (shard) => checkpoints.get(shard),
          saveCheckpoint: (shard, checkpoint) => checkpoints.set(shard, checkpoint),
          report: (report) => reports.push(report),
        },
      );
      stopRunning = async () => {
        await mapping.stop();
        await clients.close();
      };
    },
    async stop() {
      const stop = stopRunning;
      stopRunning = undefined;
      await stop?.();
    },
  };
}
