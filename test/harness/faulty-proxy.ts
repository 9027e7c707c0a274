/**
 * A loopback HTTP server between a client and a protocol server that fails on command: answers with
 * errors, hangs, cuts connections before or after the effect. Faults are queued per operation and
 * used up one request each.
 */
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Fault =
  /** The server never sees the request; the connection is cut. */
  | { readonly kind: "cut-before" }
  /** The server does what was asked; the connection is cut instead of the answer. */
  | { readonly kind: "cut-after" }
  /** The server never sees the request, and no answer comes. */
  | { readonly kind: "hang" }
  /** The server does what was asked; no answer comes. */
  | { readonly kind: "hang-after" }
  | { readonly kind: "answer"; readonly status: number; readonly body: unknown }
  /** The true answer's body, changed. */
  | { readonly kind: "rewrite"; readonly change: (body: unknown) => unknown };

export type FaultyProxy = {
  readonly url: string;
  /**
   * The next requests of this operation (`PutItem`, `PutRecords`, …) meet these faults, in order.
   */
  fail(operation: string, ...faults: readonly Fault[]): void;
  /** Requests seen so far, faults included. */
  seen(operation: string): number;
  /** Parsed bodies of the requests seen. */
  bodies(operation: string): readonly unknown[];
  /** Forgets faults and counts. */
  reset(): void;
  stop(): Promise<void>;
};

/** An AWS error as both services spell it. */
export function awsError(status: number, name: string): Fault {
  return { kind: "answer", status, body: { __type: name, message: `scripted ${name}` } };
}

/** @param delayMs before each request is passed on: a machine that is slow at everything. */
export async function startFaultyProxy(targetUrl: string, delayMs = 0): Promise<FaultyProxy> {
  const faults = new Map<string, Fault[]>();
  const requests = new Map<string, unknown[]>();
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await collect(incoming);
    const operation = String(incoming.headers["x-amz-target"]).split(".")[1] ?? "";
    const seen = requests.get(operation) ?? [];
    seen.push(parsed(body));
    requests.set(operation, seen);
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const fault = faults.get(operation)?.shift();
    switch (fault?.kind) {
      case "hang":
        return;
      case "cut-before":
        outgoing.destroy();
        return;
      case "answer":
        answer(outgoing, fault.status, Buffer.from(JSON.stringify(fault.body)), incoming);
        return;
      case "cut-after":
        await forward(targetUrl, incoming, body);
        outgoing.destroy();
        return;
      case "hang-after":
        await forward(targetUrl, incoming, body);
        return;
      case "rewrite": {
        const real = await forward(targetUrl, incoming, body);
        const changed = Buffer.from(JSON.stringify(fault.change(parsed(real.body))));
        answer(outgoing, real.status, changed, incoming);
        return;
      }
      case undefined: {
        const real = await forward(targetUrl, incoming, body);
        answer(outgoing, real.status, real.body, incoming);
      }
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port.toString()}`,
    fail(operation, ...more) {
      faults.set(operation, [...(faults.get(operation) ?? []), ...more]);
    },
    seen: (operation) => requests.get(operation)?.length ?? 0,
    bodies: (operation) => requests.get(operation) ?? [],
    reset() {
      faults.clear();
      requests.clear();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parsed(body: Buffer): unknown {
  return body.length === 0 ? undefined : (JSON.parse(body.toString()) as unknown);
}

function forward(
  targetUrl: string,
  incoming: IncomingMessage,
  body: Buffer,
): Promise<{ readonly status: number; readonly body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = { ...incoming.headers, connection: "close" };
    const onward = request(
      targetUrl,
      { method: incoming.method ?? "POST", headers },
      (response) => {
        collect(response).then(
          (answerBody) => resolve({ status: response.statusCode ?? 500, body: answerBody }),
          reject,
        );
      },
    );
    onward.on("error", reject);
    onward.end(body);
  });
}

function answer(
  outgoing: ServerResponse,
  status: number,
  body: Buffer,
  incoming: IncomingMessage,
): void {
  outgoing.writeHead(status, {
    "content-type": incoming.headers["content-type"] ?? "application/x-amz-json-1.0",
    "content-length": body.length,
  });
  outgoing.end(body);
}
