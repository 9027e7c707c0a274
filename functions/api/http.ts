/**
 * The HTTP side of the service that is the same for every route: request id, security headers,
 * access log, reading and validating bodies.
 */
import type { Context, MiddlewareHandler } from "hono";
import type * as z from "zod";
import { InvalidRequestError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { Clock, Random } from "../../core/ports.ts";
import type { ProblemCode } from "../../schemas/rest/answers.ts";
import type { LimitExceeded } from "../../schemas/rest/bounded.ts";
import { isJsonObject, type ItemFormat, unsafeNumber } from "../../schemas/rest/items.ts";
import { findJsonTextFault } from "../../schemas/rest/json-text.ts";
import { routes } from "../../schemas/rest/routes.ts";
import type { Log, Metrics } from "../shared/observability.ts";
import type { MetricOf } from "../shared/metric-names.ts";
import { ApiProblem } from "./problem.ts";

export type ApiLogger = Pick<Log, "info" | "error">;

/** What the host knows of one request. */
export type ApiBindings = {
  /** Until the host gives up on the invocation. */
  readonly remainingMs?: number;
  /** The host's own id of the request; a caller's X-Request-Id goes first. */
  readonly requestId?: string;
  /** Whom the host's authorizer has let in, for the log. */
  readonly caller?: string | undefined;
};

export type ApiEnvironment = {
  Bindings: ApiBindings;
  Variables: {
    bindings: ApiBindings;
    requestId: string;
    format: ItemFormat;
    fixedTime: boolean;
    code: ProblemCode | "commit-unknown" | undefined;
    transactionId: string | undefined;
    incident: string | undefined;
  };
};

const securityHeaders = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=31536000",
  "X-Content-Type-Options": "nosniff",
} as const;

const requestIdPattern = /^[\w.:=+/-]{1,128}$/;

/** Outermost: sets the request's variables, and when it is answered adds headers and logs it. */
export function observe(options: {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: ApiLogger;
  readonly metrics?: Metrics;
  readonly corsOrigins?: readonly string[];
}): MiddlewareHandler<ApiEnvironment> {
  const { clock, random, logger, metrics } = options;
  return async (c, next) => {
    const startedMs = clock.monotonicMs();
    // Absent when the application is called without a host.
    const bindings = (c.env as ApiBindings | undefined) ?? {};
    const given = c.req.header("x-request-id") ?? bindings.requestId;
    const requestId =
      given !== undefined && requestIdPattern.test(given)
        ? given
        : Buffer.from(random.bytes(12)).toString("hex");
    c.set("bindings", bindings);
    c.set("requestId", requestId);
    c.set("format", "json");
    c.set("fixedTime", false);
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) c.res.headers.set(name, value);
    if (options.corsOrigins !== undefined) c.res.headers.delete("Cross-Origin-Resource-Policy");
    c.res.headers.set("X-Request-Id", requestId);
    const durationMs = clock.monotonicMs() - startedMs;
    const code = c.get("code");
    metrics?.milliseconds("RestDuration", durationMs);
    metrics?.count(requestMetric(c.res.status, code), 1);
    // Neither keys nor items: what is stored is not the log's business.
    logger.info("request", {
      requestId,
      caller: bindings.caller,
      method: c.req.method,
      path: c.req.path,
      status: c.res.status,
      durationMs,
      code,
      transactionId: c.get("transactionId"),
      incident: c.get("incident"),
    });
  };
}

/**
 * The body as a JSON value in which nothing was lost.
 * @throws ApiProblem for a body that is too large, of another type, or not JSON;
 * InvalidRequestError for a number that would be rounded.
 */
export async function readJson(c: Context<ApiEnvironment>): Promise<unknown> {
  requireJsonType(c.req.header("content-type"));
  const text = decodeUtf8(await readBody(c.req.raw));
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "not JSON";
    throw new ApiProblem("malformed-request", `the body is not JSON: ${shorten(reason)}`);
  }
  requireFaithful(text);
  // Known from here on, so that problems are written the way the caller reads items.
  if (isJsonObject(parsed) && parsed["format"] === "dynamodb") c.set("format", "dynamodb");
  return parsed;
}

/**
 * What stands behind the question mark, to the letter: what is taken back or looked up by a name
 * that was guessed may be another one's.
 * @throws InvalidRequestError for a parameter that stands twice, or is no UTF-8 in percent signs.
 */
export function readQuery({ req }: Context<ApiEnvironment>): Readonly<Record<string, string>> {
  const { search } = new URL(req.url);
  const found = new Map<string, string>();
  for (const pair of search.slice(1).split("&").filter(Boolean)) {
    const at = pair.includes("=") ? pair.indexOf("=") : pair.length;
    const name = decodePart(pair.slice(0, at), "query");
    const field = shorten(name);
    if (found.has(name))
      throw new InvalidRequestError(field, `${field}: stands twice in the query`);
    found.set(name, decodePart(pair.slice(at + 1), field));
  }
  return Object.fromEntries(found);
}

function decodePart(text: string, field: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    const message = `${field}: is no UTF-8 in percent signs; write a percent sign itself as %25`;
    throw new InvalidRequestError(field, message);
  }
}

/**
 * @throws InvalidRequestError naming the first field that is wrong, with all of them as its cause.
 */
export function validated<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const { issues } = result.error;
  const known = "shape" in schema ? Object.keys(schema.shape as object) : [];
  const errors = issues
    .flatMap((issue) => faultsOf(issue, known))
    .slice(0, limits.restErrorsMax)
    .map(({ field, message }) => ({ field: shorten(field), message: shorten(message) }));
  const [first] = errors;
  const field = first?.field ?? "";
  const detail = `${field === "" ? "the request" : field}: ${first?.message ?? "is not valid"}`;
  const limit = issues.map(exceededBy).find((each) => each !== undefined);
  if (limit !== undefined) {
    throw new ApiProblem("transaction-too-large", detail, { outcome: "aborted", field, limit });
  }
  throw new ApiProblem("invalid-request", detail, { outcome: "aborted", field, errors });
}

/** @param known members of the body itself. */
function faultsOf(
  issue: z.core.$ZodIssue,
  known: readonly string[],
): readonly { readonly field: string; readonly message: string }[] {
  if (issue.code !== "unrecognized_keys") {
    return [{ field: fieldOf(issue.path), message: issue.message }];
  }
  const remedy = issue.path.length === 0 ? `; known are: ${known.join(", ")}` : "";
  return issue.keys.slice(0, limits.restErrorsMax).map((key) => ({
    field: fieldOf([...issue.path, key]),
    message: `there is no such member${remedy}`,
  }));
}

/** Methods that some route takes at this path. */
export function allowedMethods(path: string): readonly string[] {
  return Object.values(routes)
    .filter((route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path))
    .map((route) => route.method.toUpperCase());
}

function exceededBy(issue: z.core.$ZodIssue): LimitExceeded | undefined {
  return issue.code === "custom"
    ? (issue.params?.["exceeded"] as LimitExceeded | undefined)
    : undefined;
}

function requireJsonType(contentType: string | undefined): void {
  const [type = "", ...parameters] = (contentType ?? "").toLowerCase().split(";");
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith("charset="));
  const isJson = /^application\/(?:[\w.-]+\+)?json$/.test(type.trim());
  if (isJson && (charset === undefined || /^charset="?utf-8"?$/.test(charset))) return;
  throw new ApiProblem("unsupported-media-type", "send application/json in UTF-8");
}

/** Each request counts under one name, by what an operator would do about it. */
function requestMetric(status: number, code: string | undefined): MetricOf<"Count"> {
  if (code === "commit-unknown") return "RestUnknown";
  if (status < 400) return "RestSucceeded";
  if (code === "conflict") return "RestConflict";
  if (status === 429) return "RestThrottled";
  return status < 500 ? "RestRefused" : "RestFailed";
}

/** Stops reading at the limit, whatever the sender declared. */
async function readBody(request: Request): Promise<Uint8Array> {
  requireBytesAtMost(Number(request.headers.get("content-length") ?? 0));
  const chunks: Uint8Array[] = [];
  let byteLength = 0;
  for await (const chunk of request.body ?? []) {
    const bytes = chunk as Uint8Array;
    byteLength += bytes.byteLength;
    requireBytesAtMost(byteLength);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function requireBytesAtMost(actual: number): void {
  const max = limits.restRequestBytesMax;
  if (actual <= max) return;
  const detail = `the body has more than the ${max.toString()} bytes that a request may have`;
  throw new ApiProblem("request-too-large", detail, {
    outcome: "aborted",
    limit: { name: "restRequestBytesMax", max, actual },
  });
}

/**
 * A gateway that hands bodies on as text has put U+FFFD in place of what was no UTF-8, so the
 * character itself is not believed. JSON has another way to write it.
 */
function decodeUtf8(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  if (!text.includes("\uFFFD")) return text.startsWith("\uFEFF") ? text.slice(1) : text;
  throw new ApiProblem(
    "malformed-request",
    "the body is not UTF-8, or has the character U+FFFD, which gateways put in place of what is " +
      "not; write it as \\ufffd",
  );
}

function requireFaithful(text: string): void {
  const fault = findJsonTextFault(text);
  if (fault === undefined) return;
  const { kind, field, token } = fault;
  if (kind === "lossy-number") throw unsafeNumber(token, field);
  if (kind === "half-pair") {
    const message = `${field}: has half a surrogate pair, which UTF-8 cannot carry`;
    throw new InvalidRequestError(field, message);
  }
  if (kind === "reserved-name") {
    throw new InvalidRequestError(field, `${field}: no attribute can be named "${token}" here`);
  }
  const detail =
    kind === "too-deep"
      ? `the body is nested deeper than ${limits.restJsonDepthMax.toString()} levels`
      : `"${shorten(token)}" stands twice in one object`;
  throw new ApiProblem("malformed-request", detail, { field });
}

function fieldOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, part) => {
    if (typeof part === "number") return `${field}[${part.toString()}]`;
    return field === "" ? part.toString() : `${field}.${part.toString()}`;
  }, "");
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 199)}…` : text;
}
