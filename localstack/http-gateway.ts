/**
 * Stands where API Gateway stands on AWS: an HTTP server on loopback that invokes a function per
 * request. Beside the function it serves `GET /.well-known/tidemark`, by which an SDK that knows
 * this one address finds the rest of the stack, `GET /openapi.json`, the function's contract, and
 * the stack's own route for tables.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as limits from "../core/limits.ts";
import {
  gatewayError,
  httpApiEvent,
  httpResponse,
  type HttpRequest,
  type HttpResponse,
} from "./http-event.ts";
import openApi from "../docs/openapi.json" with { type: "json" };
import { refuseOtherHosts } from "./host-names.ts";
import type { StackEndpoints } from "./process-messages.ts";
import { tablesPath } from "./table-route.ts";
import { gatewayDrainMsMax, gatewayRequestBytesMax } from "./limits.ts";

/** What `GET /.well-known/tidemark` returns (localstack/README.md). */
export type StackDescription = {
  readonly deployment: string;
  readonly region: string;
  readonly endpoints: StackEndpoints;
};

export type HttpGateway = {
  readonly port: number;
  /** From here on requests reach the function; until then they are answered with 503. */
  open(): void;
  /** Refuses new requests and waits for those under way, at most `gatewayDrainMsMax`. */
  close(): Promise<void>;
};

export type HttpGatewayOptions = {
  readonly port: number;
  readonly description: StackDescription;
  readonly invocationMsMax: number;
  readonly invoke: (event: unknown) => Promise<unknown>;
  /** Answers requests at `tablesPath`. */
  readonly answerTables: (request: HttpRequest) => Promise<HttpResponse>;
  readonly reportFailure: (cause: unknown) => void;
};

/** Rejects with Node's error (`EADDRINUSE`, `EACCES`) when the port cannot be had. */
export async function startHttpGateway(options: HttpGatewayOptions): Promise<HttpGateway> {
  const documents = new Map<string, unknown>([
    ["/.well-known/tidemark", options.description],
    ["/openapi.json", openApi],
  ]);
  let state: "starting" | "open" | "closing" = "starting";
  const server = createServer((request, response) => {
    const document = request.method === "GET" ? documents.get(request.url ?? "") : undefined;
    const answered =
      document !== undefined
        ? Promise.resolve(jsonResponse(document))
        : state !== "open"
          ? Promise.resolve(gatewayError(503, "Service Unavailable"))
          : request.url === tablesPath
            ? answerHere(request, options)
            : answer(request, options);
    answered
      .catch((cause: unknown) => {
        options.reportFailure(cause);
        return gatewayError(500, "Internal Server Error");
      })
      .then(
        (result) => {
          // A connection kept alive would hold up the close until the client tires of it.
          if (state === "closing") response.shouldKeepAlive = false;
          write(response, request, result);
        },
        (cause: unknown) => {
          options.reportFailure(cause);
          response.destroy();
        },
      );
  });
  refuseOtherHosts(server);
  await listen(server, options.port);
  return {
    port: (server.address() as AddressInfo).port,
    open() {
      state = "open";
    },
    async close() {
      state = "closing";
      const deadline = setTimeout(() => {
        server.closeAllConnections();
      }, gatewayDrainMsMax);
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeIdleConnections();
      });
      clearTimeout(deadline);
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function answer(
  incoming: IncomingMessage,
  options: HttpGatewayOptions,
): Promise<HttpResponse> {
  const body = await readBody(incoming);
  if (body === "too-large") return gatewayError(413, "Request Entity Too Large");
  const event = httpApiEvent(requestOf(incoming, body));
  if (JSON.stringify(event).length > limits.invocationPayloadBytesMax) {
    return gatewayError(413, "Request Entity Too Large");
  }
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<"timeout">((resolve) => {
    timer = setTimeout(() => {
      resolve("timeout");
    }, options.invocationMsMax);
  });
  try {
    const result = await Promise.race([
      options.invoke(event).then((value) => ({ value })),
      timeout,
    ]);
    if (result === "timeout") return gatewayError(503, "Service Unavailable");
    return httpResponse(result.value);
  } finally {
    clearTimeout(timer);
  }
}

async function answerHere(
  incoming: IncomingMessage,
  { answerTables }: HttpGatewayOptions,
): Promise<HttpResponse> {
  const body = await readBody(incoming);
  if (body === "too-large") return gatewayError(413, "Request Entity Too Large");
  return answerTables(requestOf(incoming, body));
}

async function readBody(incoming: IncomingMessage): Promise<Buffer | "too-large"> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A body that is too large is read to its end, so that the client gets to see the answer.
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= gatewayRequestBytesMax) chunks.push(chunk);
  }
  return bytes > gatewayRequestBytesMax ? "too-large" : Buffer.concat(chunks);
}

function requestOf(incoming: IncomingMessage, body: Buffer): HttpRequest {
  const headers: [string, string][] = [];
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    const name = incoming.rawHeaders[index] ?? "";
    headers.push([name.toLowerCase(), incoming.rawHeaders[index + 1] ?? ""]);
  }
  return {
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    headers,
    body,
    sourceIp: incoming.socket.remoteAddress ?? "127.0.0.1",
  };
}

function jsonResponse(value: unknown): HttpResponse {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status: 200, headers: [["content-type", "application/json"]], body };
}

function write(response: ServerResponse, request: IncomingMessage, result: HttpResponse): void {
  response.statusCode = result.status;
  for (const [name, value] of result.headers) response.appendHeader(name, value);
  response.setHeader("content-length", result.body.length);
  response.end(request.method === "HEAD" ? undefined : result.body);
}
