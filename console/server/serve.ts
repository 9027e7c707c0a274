/** The console's server: on loopback, alone with this machine's user. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { systemRandom } from "../../aws/system.ts";
import type { Clock, Random } from "../../core/ports.ts";
import { listenFailure } from "../../localstack/listen-failure.ts";
import { StackError } from "../../localstack/stack-error.ts";
import type { ClientOptions } from "../../sdk/tables.ts";
import { Feed } from "./feed.ts";
import { builtPage, loadPage, type Page } from "./page.ts";
import { consoleApp, type Breaker } from "./routes.ts";
import { Sight } from "./sight.ts";

export type ConsoleOptions = {
  readonly where: ClientOptions;
  readonly clock: Clock;
  /** Of the package, which the page shows. */
  readonly version: string;
  readonly random?: Random;
  /** 0 takes any free one. */
  readonly port: number;
  /** Takes any free one where that one is taken. */
  readonly mayMove: boolean;
  /** By which a user chooses another. */
  readonly option: string;
  /** Of the embedded stack that this process runs. */
  readonly breaker?: Breaker | undefined;
  /** A defect of the console's. */
  readonly report: (error: unknown) => void;
};

export type RunningConsole = {
  readonly port: number;
  /** With the token: it opens everything. */
  readonly url: string;
  close(): Promise<void>;
};

const tokenBytes = 16;
const runBytes = 6;

/** Connects to nothing yet: that waits for who looks. @throws StackError for the port. */
export async function serveConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const { where, clock, version, breaker, report, random = systemRandom } = options;
  const token = hex(random, tokenBytes);
  const sight = new Sight(where, clock);
  const faults = breaker && (() => breaker.state());
  const feed = new Feed({ sight, run: hex(random, runBytes), faults, report });
  let page: Promise<Page> | undefined;
  let port = 0;
  const app = consoleApp({
    ...{ sight, feed, version, breaker, report },
    page: () => {
      page ??= loadPage(builtPage());
      return page;
    },
    // Of a deployment on AWS it shows what its user's credentials can read.
    door: () => ({ port, token, isLocked: !sight.isLocal }),
  });
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
  }) as Server;
  port = await listening(server, options);
  return {
    port,
    url: `http://127.0.0.1:${port}/#token=${token}`,
    async close() {
      await feed.close();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      });
      await sight.close();
    },
  };
}

async function listening(
  server: Server,
  { port, mayMove, option }: Pick<ConsoleOptions, "port" | "mayMove" | "option">,
): Promise<number> {
  try {
    await listen(server, port);
  } catch (error) {
    if (!mayMove || port === 0) {
      const failure = listenFailure(error, { port, option });
      throw new StackError(failure.reason, failure.message, { cause: error });
    }
    await listen(server, 0);
  }
  return (server.address() as AddressInfo).port;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function hex(random: Random, length: number): string {
  return Buffer.from(random.bytes(length)).toString("hex");
}
