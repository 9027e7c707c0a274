/**
 * The process of one function: imports the Lambda handler that is deployed to AWS and drives it by
 * what drives it there: a mapping of the commit stream, a schedule, or HTTP. The supervisor keeps
 * the mapping's checkpoints, so whoever kills this process makes its last batch come again, no
 * more.
 */
import { pathToFileURL } from "node:url";
import { pino, type Logger } from "pino";
import { createAwsClients, type AwsClients } from "../aws/clients.ts";
import { systemClock } from "../aws/system.ts";
import { startEventSourceMapping, type EventSourceMapping } from "./event-source-mapping.ts";
import { startHttpGateway, type HttpGateway } from "./http-gateway.ts";
import { kinesisStreamReader } from "./kinesis-stream-reader.ts";
import {
  handlerOf,
  invocationContext,
  localAccountId,
  scheduledEvent,
  type Handler,
} from "./lambda-runtime.ts";
import { listenFailure } from "./listen-failure.ts";
import { linkToSupervisor, type ProcessLink } from "./process-link.ts";
import type { EventSource, HostSettings } from "./process-messages.ts";
import type { Checkpoint, MappingReport } from "./shard-consumer.ts";
import { answerTables } from "./table-route.ts";
import { quietFailuresMax } from "./limits.ts";

/** Something that drives the handler once the stack is complete. */
type Driver = { go(): void; wake?(): void; stop(): Promise<void> };

type Host = {
  readonly settings: HostSettings;
  readonly handler: Handler;
  readonly link: ProcessLink;
  readonly log: Logger;
  readonly aws: AwsClients;
  readonly invoke: (event: unknown) => Promise<unknown>;
};

const [name = "function", handlerFile = ""] = process.argv.slice(2);

linkToSupervisor(name, (link) => {
  // Loading the handler takes longest; the settings arrive meanwhile.
  const loading = import(pathToFileURL(handlerFile).href) as Promise<unknown>;
  loading.catch(() => undefined);
  const drivers: Driver[] = [];
  let aws: AwsClients | undefined;
  return {
    async onMessage(message) {
      switch (message.kind) {
        case "settings": {
          if (message.settings.kind !== "host") throw new Error("settings of another process");
          const { settings } = message;
          aws = createAwsClients({ endpoint: settings.endpoints, region: settings.region });
          const handler = handlerOf(await loading, handlerFile);
          const host = hostOf({ settings, handler, link, aws });
          const ports: Record<string, number> = {};
          for (const source of settings.sources) {
            const driver = await startDriver(source, host);
            if (driver === undefined) return;
            drivers.push(driver);
            if (driver.port !== undefined) ports[source.kind] = driver.port;
          }
          link.send({ kind: "ready", ports });
          break;
        }
        case "go":
          for (const driver of drivers) driver.go();
          break;
        case "wake":
          for (const driver of drivers) driver.wake?.();
          break;
        case "throttle":
          // The stores' alone.
          break;
      }
    },
    async onStop() {
      await Promise.all(drivers.map((driver) => driver.stop()));
      await aws?.close();
    },
  };
});

function hostOf(parts: Omit<Host, "log" | "invoke">): Host {
  const { settings, handler } = parts;
  const identity = {
    name: `tidemark-${settings.deployment}-${settings.function}`,
    region: settings.region,
    invocationMsMax: settings.invocationMsMax,
  };
  const log = pino({ level: process.env["TIDEMARK_LOG_LEVEL"] ?? "info", base: null });
  return { ...parts, log, invoke: (event) => handler(event, invocationContext(identity)) };
}

/** Undefined when the source cannot start, which has been reported. */
async function startDriver(
  source: EventSource,
  host: Host,
): Promise<(Driver & { readonly port?: number }) | undefined> {
  switch (source.kind) {
    case "stream":
      return streamDriver(source, host);
    case "schedule":
      return scheduleDriver(source, host);
    case "http":
      return httpDriver(host);
  }
}

async function streamDriver(
  source: Extract<EventSource, { kind: "stream" }>,
  { settings, link, log, aws, invoke }: Host,
): Promise<Driver> {
  const reader = kinesisStreamReader(await aws.kinesis(), settings.stream);
  const checkpoints = new Map<string, Checkpoint>(Object.entries(settings.checkpoints));
  const arn = `arn:aws:kinesis:${settings.region}:${localAccountId}:stream/${settings.stream}`;
  let mapping: EventSourceMapping | undefined;
  return {
    go() {
      mapping = startEventSourceMapping(
        {
          origin: {
            region: settings.region,
            streamArn: arn,
            roleArn: `arn:aws:iam::${localAccountId}:role/tidemark-${settings.function}`,
          },
          batchSize: source.batchSize,
          windowMs: source.windowMs,
          partialBatchResponse: source.partialBatchResponse,
          invocationMsMax: settings.invocationMsMax,
          // The stores tell of every write, so polling is a safety net and may be rare.
          pollMsMin: 100,
          pollMsMax: 1_000,
          retryMsMin: 5,
          retryMsMax: 1_000,
        },
        {
          clock: systemClock,
          reader,
          invoke,
          loadCheckpoint: (shardId) => checkpoints.get(shardId),
          saveCheckpoint: (shardId, checkpoint) => {
            checkpoints.set(shardId, checkpoint);
            link.send({ kind: "checkpoint", shardId, checkpoint });
          },
          report: (report) => {
            reportMapping(log, report);
          },
        },
      );
      mapping.finished.catch((error: unknown) => {
        // A defect of the mapping: let the supervisor start this process anew.
        process.nextTick(() => {
          throw error;
        });
      });
    },
    wake() {
      mapping?.wake();
    },
    async stop() {
      await mapping?.stop();
    },
  };
}

function reportMapping(log: Logger, report: MappingReport): void {
  const { kind, cause, ...fields } = report;
  const err = cause instanceof Error ? cause : undefined;
  const because = err?.message ?? String(cause);
  // The first failures of a batch or a read are everyday events (replay ahead of the oracle, a
  // store that is being restarted); only one that lasts deserves attention.
  const level = report.failures <= quietFailuresMax ? "debug" : "warn";
  if (kind === "batch-failed") log[level]({ ...fields, err }, `batch comes again: ${because}`);
  else log[level]({ ...fields, err }, `the stream could not be read: ${because}`);
}

/** Never two scheduled invocations at once; a tick that falls into one is dropped. */
function scheduleDriver(
  source: Extract<EventSource, { kind: "schedule" }>,
  { settings, log, invoke }: Host,
): Driver {
  const stopping = new AbortController();
  let running = Promise.resolve();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await invoke(scheduledEvent(settings.function, settings.region));
      } catch (err) {
        const because = err instanceof Error ? err.message : String(err);
        log.warn({ err }, `scheduled run failed: ${because}`);
      }
      await systemClock.sleep(source.everyMs, stopping.signal).catch(() => undefined);
    }
  };
  return {
    go() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function httpDriver({
  settings,
  link,
  log,
  invoke,
}: Host): Promise<(Driver & { readonly port: number }) | undefined> {
  const { deployment, region, endpoints } = settings;
  let gateway: HttpGateway;
  try {
    gateway = await startHttpGateway({
      port: settings.httpPort,
      description: { deployment, region, endpoints },
      invocationMsMax: settings.invocationMsMax,
      invoke,
      answerTables: (request) => answerTables(request, { endpoint: endpoints, region, deployment }),
      reportFailure: (err) => {
        log.error({ err }, `request failed: ${err instanceof Error ? err.message : String(err)}`);
      },
    });
  } catch (error) {
    const failure = listenFailure(error, { port: settings.httpPort, option: "--api-port" });
    link.fail(failure.reason, failure.message);
    return undefined;
  }
  return {
    port: gateway.port,
    go() {
      gateway.open();
    },
    async stop() {
      await gateway.close();
    },
  };
}
