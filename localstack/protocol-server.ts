/**
 * Starts dynalite (DynamoDB) or kinesalite (Kinesis), which are CommonJS and come without types.
 */
import { createRequire } from "node:module";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { refuseOtherHosts } from "./host-names.ts";
import { throttled } from "./throttled.ts";

export type ProtocolServer = {
  readonly port: number;
  readonly server: Server;
  /** Refuses so many of a hundred calls from now on, as for want of throughput. */
  throttle(percent: number): void;
  /** Waits for requests under way, then closes the database. */
  close(): Promise<void>;
};

type Options = {
  readonly path?: string;
  readonly createTableMs?: number;
  readonly deleteTableMs?: number;
  readonly updateTableMs?: number;
  readonly createStreamMs?: number;
  readonly deleteStreamMs?: number;
  readonly updateStreamMs?: number;
  readonly shardLimit?: number;
};

const require = createRequire(import.meta.url);
const packages = { dynamodb: "dynalite", kinesis: "kinesalite" } as const;

/** Rejects with Node's error when the port cannot be had. */
export async function startProtocolServer({
  service,
  port,
  folder,
}: {
  readonly service: keyof typeof packages;
  readonly port: number;
  /** Undefined: in memory. */
  readonly folder: string | undefined;
}): Promise<ProtocolServer> {
  const create = require(packages[service]) as (options: Options) => Server;
  const server = create({
    ...(folder === undefined ? {} : { path: folder }),
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
    createStreamMs: 0,
    deleteStreamMs: 0,
    updateStreamMs: 0,
    shardLimit: 100,
  });
  const throttle = throttled(server, service);
  refuseOtherHosts(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    server,
    throttle,
    async close() {
      await new Promise<void>((resolve, reject) => {
        // Both packages put their own in place of Node's method, and call back with null for
        // success.
        server.close((error?: Error | null) => {
          if (error === undefined || error === null) resolve();
          else reject(error);
        });
        server.closeAllConnections();
      });
    },
  };
}
