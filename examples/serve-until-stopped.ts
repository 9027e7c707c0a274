/** A web example as a server of this machine, until Ctrl-C. */
import { once } from "node:events";
import { serve } from "@hono/node-server";
import { Option } from "commander";
import type { Hono } from "hono";

export function portOption(): Option {
  return new Option("--port <port>", "where to listen; 0 takes any free one")
    .argParser(Number)
    .default(3000);
}

/** Open requests are answered before it resolves. */
export async function serveUntilStopped(
  app: Pick<Hono, "fetch">,
  port: number,
  say: (address: string) => void,
): Promise<void> {
  const server = serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, (info) => {
    say(`http://127.0.0.1:${info.port}`);
  });
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  server.close();
  await once(server, "close");
}
