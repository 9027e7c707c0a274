/**
 * The stack listens on loopback, so it trusts whoever reaches it. A web page must not: its own name
 * may come to mean 127.0.0.1 while it is open (DNS rebinding), and then a browser lets it read what
 * it asks for. Such a request still carries the page's name as its host.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";

/** Names by which this machine is reached, from containers on it too. */
const localNames =
  /^(?:(?:[\w-]+\.)*localhost|127\.0\.0\.1|\[::1\]|host\.docker\.internal)(?::\d+)?$/i;

export function isLocalHost(host: string | undefined): boolean {
  return host === undefined || localNames.test(host);
}

/** Answers requests for other hosts with 421, before anything else of the server sees them. */
export function refuseOtherHosts(server: Server): void {
  const listeners = server.listeners("request") as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    if (isLocalHost(request.headers.host)) {
      for (const listener of listeners) listener.call(server, request, response);
      return;
    }
    request.resume();
    response.writeHead(421, { "Content-Type": "application/json" });
    const message =
      "this server is for this machine alone: call it as localhost or 127.0.0.1, not by another " +
      "name (header Host)";
    response.end(JSON.stringify({ message }));
  });
}
