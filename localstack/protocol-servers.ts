/**
 * DynamoDB and Kinesis on loopback, in this process: dynalite and kinesalite, started together and
 * stopped together. Without a data folder they keep everything in memory and forget it.
 */
import { join } from "node:path";
import { startProtocolServer, type ProtocolServer } from "./protocol-server.ts";

export type ProtocolServers = {
  /** As `createAwsPorts` and `createClient` take it. */
  readonly endpoint: { readonly dynamodb: string; readonly kinesis: string };
  /** Finishes requests under way, closes the stores. Safe to call twice. */
  stop(): Promise<void>;
};

export type ProtocolServersOptions = {
  /** Kept over restarts; one process at a time. Absent: memory. */
  readonly dataFolder?: string | undefined;
  /** 0 or absent: any free port. */
  readonly dynamodbPort?: number | undefined;
  readonly kinesisPort?: number | undefined;
};

/** Rejects with Node's own error when a port is taken; then neither server is left running. */
export async function startProtocolServers(
  options: ProtocolServersOptions = {},
): Promise<ProtocolServers> {
  const { dataFolder } = options;
  const folder = (name: string): string | undefined =>
    dataFolder === undefined ? undefined : join(dataFolder, name);
  const dynamodb = await startProtocolServer({
    service: "dynamodb",
    port: options.dynamodbPort ?? 0,
    folder: folder("dynamodb"),
  });
  const kinesis = await startProtocolServer({
    service: "kinesis",
    port: options.kinesisPort ?? 0,
    folder: folder("kinesis"),
  }).catch(async (error: unknown) => {
    await close(dynamodb);
    throw error;
  });
  let stopped: Promise<void> | undefined;
  return {
    endpoint: {
      dynamodb: `http://127.0.0.1:${dynamodb.port.toString()}`,
      kinesis: `http://127.0.0.1:${kinesis.port.toString()}`,
    },
    stop: () => {
      stopped ??= Promise.all([close(dynamodb), close(kinesis)]).then(() => undefined);
      return stopped;
    },
  };
}

/** dynalite reports a clean shutdown as the error `null`. */
async function close(server: ProtocolServer): Promise<void> {
  try {
    await server.close();
  } catch (error) {
    if (error !== null) throw error;
  }
}
