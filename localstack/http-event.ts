/**
 * HTTP requests as the events that an HTTP API (payload format 2.0) makes of them, and a function's
 * answers as HTTP responses, limits and failures included. No sockets here.
 */
import { randomUUID } from "node:crypto";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as limits from "../core/limits.ts";

export type HttpRequest = {
  readonly method: string;
  /** Path and query as the request line has them. */
  readonly target: string;
  /** Lower-case names and their values, in the order of arrival; a name may repeat. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly sourceIp: string;
};

export type HttpResponse = {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
};

/** Content types whose bodies an HTTP API passes on as text; every other body is base64. */
const textContent = /^(text\/|application\/(.*\+)?(json|xml|javascript|x-www-form-urlencoded)\b)/i;

export function httpApiEvent(request: HttpRequest): APIGatewayProxyEventV2 {
  const mark = request.target.indexOf("?");
  const path = mark === -1 ? request.target : request.target.slice(0, mark);
  const query = mark === -1 ? "" : request.target.slice(mark + 1);
  const headers = joined(request.headers.filter(([name]) => name !== "cookie"));
  const cookies = request.headers
    .filter(([name]) => name === "cookie")
    .flatMap(([, value]) => value.split(/;\s*/));
  const parameters = joined([...new URLSearchParams(query)]);
  const now = new Date();
  const isBase64Encoded = !textContent.test(headers["content-type"] ?? "text/plain");
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    ...(cookies.length === 0 ? {} : { cookies }),
    headers,
    ...(query === "" ? {} : { queryStringParameters: parameters }),
    requestContext: {
      accountId: "anonymous",
      apiId: "local",
      domainName: headers["host"] ?? "localhost",
      domainPrefix: "local",
      http: {
        method: request.method,
        path,
        protocol: "HTTP/1.1",
        sourceIp: request.sourceIp,
        userAgent: headers["user-agent"] ?? "",
      },
      requestId: randomUUID(),
      routeKey: "$default",
      stage: "$default",
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
    },
    ...(request.body.length === 0
      ? {}
      : { body: request.body.toString(isBase64Encoded ? "base64" : "utf8") }),
    isBase64Encoded: request.body.length > 0 && isBase64Encoded,
  };
}

/**
 * What the gateway makes of a function's answer. Anything without a status is a body of its own.
 */
export function httpResponse(answer: unknown): HttpResponse {
  if (answer === undefined) return gatewayError(500, "Internal Server Error");
  if (!isRecord(answer) || !("statusCode" in answer)) {
    const text = typeof answer === "string" ? answer : JSON.stringify(answer);
    return {
      status: 200,
      headers: [["content-type", "application/json"]],
      body: Buffer.from(text),
    };
  }
  const status = Number(answer["statusCode"]);
  if (!Number.isInteger(status) || status < 100 || status > 599) {
    return gatewayError(500, "Internal Server Error");
  }
  const body = answer["body"];
  const bytes =
    typeof body === "string"
      ? Buffer.from(body, answer["isBase64Encoded"] === true ? "base64" : "utf8")
      : Buffer.alloc(0);
  if (bytes.length > limits.invocationPayloadBytesMax)
    return gatewayError(500, "Internal Server Error");
  const headers: [string, string][] = [];
  for (const [name, value] of Object.entries(
    isRecord(answer["headers"]) ? answer["headers"] : {},
  )) {
    headers.push([name.toLowerCase(), String(value)]);
  }
  const cookies: unknown = answer["cookies"];
  if (Array.isArray(cookies)) {
    for (const cookie of cookies as readonly unknown[])
      headers.push(["set-cookie", String(cookie)]);
  }
  return { status, headers, body: bytes };
}

/** What the gateway itself answers. */
export function gatewayError(status: number, message: string): HttpResponse {
  return {
    status,
    headers: [["content-type", "application/json"]],
    body: Buffer.from(JSON.stringify({ message })),
  };
}

/** Repeated names become one, their values joined by commas. */
function joined(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  // Without a prototype, so that no name sent by a client can mean anything but itself.
  const values = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairs) {
    const before = values[name];
    values[name] = before === undefined ? value : `${before},${value}`;
  }
  return { ...values };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
