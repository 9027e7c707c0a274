/**
 * The REST service: routes of schemas/rest/routes.ts on an engine. Stateless; every instance of a
 * deployment can take every call.
 */
import type { Context } from "hono";
import { cors } from "hono/cors";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type * as z from "zod";
import { CommitUnknownError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { TransactionId } from "../../core/types.ts";
import type { UnknownAnswer, UnknownLocalAnswer } from "../../schemas/rest/answers.ts";
import {
  idempotencyKeyHeader,
  idempotencyReplayedHeader,
  jsonType,
  problemType,
  routes,
} from "../../schemas/rest/routes.ts";
import { isLocalTransactionId } from "../../schemas/transaction-id.ts";
import type { Metrics } from "../shared/observability.ts";
import { BaseOperations, isWaiting } from "./base-operations.ts";
import { withDeadline, type Allowance, type DeadlineOptions } from "./deadline.ts";
import {
  allowedMethods,
  observe,
  readJson,
  readQuery,
  validated,
  type ApiEnvironment,
  type ApiLogger,
} from "./http.ts";
import { engineKeyOf } from "./idempotency.ts";
import { Operations, type CommittedAnswer, type OperationPorts } from "./operations.ts";
import { ApiProblem, problemOf } from "./problem.ts";

export type ApiOptions = OperationPorts & {
  readonly logger: ApiLogger;
  readonly metrics?: Metrics;
  /** Longest time to an answer; default and maximum `limits.restDeadlineMs`. */
  readonly deadlineMs?: number;
  /** Origins that browsers may call from. Default: none, no CORS headers at all. */
  readonly corsOrigins?: readonly string[];
};

/**
 * Routes are served by `fetch`; `ApiBindings` may be given per request (the Lambda handler does).
 */
export type Api = HonoBase<ApiEnvironment>;

export function createApi(options: ApiOptions): Api {
  // Hono's own choice among three routers takes 4 KB more, for nothing with a few routes.
  const app: Api = new HonoBase<ApiEnvironment>({ router: new TrieRouter() });
  const operations = new Operations(options);
  app.use(observe(options));
  if (options.corsOrigins !== undefined) app.use(crossOrigin(options.corsOrigins));
  app.onError((error, c) => answerError(error, c, options));
  app.notFound((c) => {
    const allowed = allowedMethods(c.req.path).join(", ");
    // Returned, not thrown: the router would carry a throw past the middleware.
    const refusal =
      allowed === ""
        ? new ApiProblem("not-found", "there is nothing at this path")
        : new ApiProblem(
            "method-not-allowed",
            `this path takes ${allowed}`,
            {},
            { Allow: allowed },
          );
    return answerError(refusal, c, options);
  });

  const bounded: Bounded = (c, outcome, work) =>
    withDeadline({ clock: options.clock, budgetMs: budgetOf(c, options), outcome }, work);

  post(app, routes.transaction, async (request, c) => {
    const idempotencyKey = keyOf(c);
    const answer = await bounded(c, "unknown", (allowance) =>
      operations.transact(request, { ...allowance, idempotencyKey }),
    );
    return committed(c, answer);
  });
  post(app, routes.commit, async (request, c) => {
    const idempotencyKey = keyOf(c);
    const answer = await bounded(c, "unknown", (allowance) =>
      operations.commit(request, { ...allowance, idempotencyKey }),
    );
    return committed(c, answer);
  });
  post(app, routes.begin, async (request, c) =>
    c.json(await bounded(c, "aborted", (allowance) => operations.begin(request, allowance))),
  );
  post(app, routes.read, async (request, c) =>
    c.json(await bounded(c, "aborted", (allowance) => operations.read(request, allowance))),
  );
  post(app, routes.snapshot, async (request, c) => {
    c.set("fixedTime", request.asOf !== undefined);
    return c.json(
      await bounded(c, "aborted", (allowance) => operations.snapshot(request, allowance)),
    );
  });
  app.post(routerPath(routes.outcome.path), async (c) => {
    const { id } = validated(routes.outcome.request.params, c.req.param());
    c.set("fixedTime", true);
    c.set("transactionId", id);
    return c.json(
      await bounded(c, "unknown", (allowance) =>
        operations.outcome(id as TransactionId, allowance),
      ),
    );
  });
  serveBases(app, { operations: new BaseOperations(options.engine), bounded });
  app.get(routes.health.path, async (c) => {
    const { deep } = validated(routes.health.request.query, readQuery(c));
    const health = await bounded(c, "aborted", (allowance) =>
      operations.health(deep === "true", allowance),
    );
    return c.json(health, health.status === "ok" ? 200 : 503);
  });
  return app;
}

type Bounded = <Result>(
  c: Context<ApiEnvironment>,
  outcome: DeadlineOptions["outcome"],
  work: (allowance: Allowance) => Promise<Result>,
) => Promise<Result>;

function serveBases(
  app: Api,
  { operations, bounded }: { readonly operations: BaseOperations; readonly bounded: Bounded },
): void {
  post(app, routes.requestBase, async (request, c) => {
    const answer = await bounded(c, "unknown", (allowance) =>
      operations.request(request, allowance),
    );
    return c.json(answer, isWaiting(answer.base) ? 202 : 200);
  });
  app.get(routes.base.path, async (c) => {
    const query = validated(routes.base.request.query, readQuery(c));
    return c.json(await bounded(c, "aborted", (allowance) => operations.look(query, allowance)));
  });
  app.delete(routes.cancelBase.path, async (c) => {
    const query = validated(routes.cancelBase.request.query, readQuery(c));
    return c.json(await bounded(c, "unknown", (allowance) => operations.cancel(query, allowance)));
  });
  app.get(routes.openBases.path, async (c) => {
    const query = validated(routes.openBases.request.query, readQuery(c));
    return c.json(await bounded(c, "aborted", (allowance) => operations.open(query, allowance)));
  });
  post(app, routes.resumeBase, async (request, c) =>
    c.json(await bounded(c, "unknown", (allowance) => operations.resume(request, allowance))),
  );
}

/** The routes that take the header take it alike. */
function keyOf(c: Context<ApiEnvironment>): string | undefined {
  const given = { [idempotencyKeyHeader]: c.req.header(idempotencyKeyHeader) };
  const headers = validated(routes.transaction.request.headers, given);
  return engineKeyOf(headers[idempotencyKeyHeader]);
}

type BodyRoute = {
  readonly path: string;
  readonly request: {
    readonly body: { readonly content: { readonly [jsonType]: { readonly schema: z.ZodType } } };
  };
};
type BodyOf<Route extends BodyRoute> = z.output<
  Route["request"]["body"]["content"][typeof jsonType]["schema"]
>;

function post<Route extends BodyRoute>(
  app: Api,
  route: Route,
  handle: (request: BodyOf<Route>, c: Context<ApiEnvironment>) => Promise<Response>,
): void {
  const { schema } = route.request.body.content[jsonType];
  app.post(route.path, async (c) => {
    const body = await readJson(c);
    return handle(validated(schema, body) as BodyOf<Route>, c);
  });
}

/** `{id}` as OpenAPI writes it, `:id` as the router does. */
function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** What is left until the answer must be out, by the host's account and by ours. */
function budgetOf(c: Context<ApiEnvironment>, { deadlineMs }: ApiOptions): number {
  const own = Math.min(deadlineMs ?? limits.restDeadlineMs, limits.restDeadlineMs);
  const remainingMs = c.get("bindings").remainingMs ?? Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(own, remainingMs - limits.restDeadlineMarginMs));
}

function committed(c: Context<ApiEnvironment>, answer: CommittedAnswer): Response {
  const { transactionId, replayed } = answer.receipt;
  if (transactionId !== null) c.set("transactionId", transactionId);
  if (replayed) c.header(idempotencyReplayedHeader, "true");
  return c.json(answer);
}

function answerError(error: Error, c: Context<ApiEnvironment>, options: ApiOptions): Response {
  if (error instanceof CommitUnknownError) return answerUnknown(error, c);
  const requestId = c.get("requestId");
  const problem = problemOf(error, {
    requestId,
    format: c.get("format"),
    fixedTime: c.get("fixedTime"),
    makeIncident: () => {
      const incident = Buffer.from(options.random.bytes(8)).toString("hex");
      options.logger.error("request failed", { incident, requestId, error });
      return incident;
    },
  });
  c.set("code", problem.body.code);
  if (problem.body.incident !== undefined) c.set("incident", problem.body.incident);
  return c.body(JSON.stringify(problem.body), problem.status, {
    ...problem.headers,
    "Content-Type": problemType,
  });
}

function answerUnknown(
  { transactionId, code, outcome }: CommitUnknownError,
  c: Context<ApiEnvironment>,
): Response {
  c.set("code", code);
  if (isLocalTransactionId(transactionId)) {
    const answer: UnknownLocalAnswer = {
      ...{ outcome, code, local: true },
      detail:
        "the answer to the one write of the one item was lost; no log tells whether it has " +
        "happened: read the item",
    };
    return c.json(answer, 202);
  }
  const settle = routes.outcome.path.replace("{id}", transactionId);
  const answer: UnknownAnswer = {
    ...{ outcome, code, transactionId, settle },
    detail:
      "the request was sent and no decision was seen in time; settle the outcome, or repeat " +
      "with the same Idempotency-Key",
  };
  c.set("transactionId", transactionId);
  return c.json(answer, 202, { Location: settle });
}

function crossOrigin(origins: readonly string[]) {
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: ["Content-Type", idempotencyKeyHeader, "X-Request-Id"],
    exposeHeaders: [idempotencyReplayedHeader, "Retry-After", "X-Request-Id", "Location"],
    maxAge: 600,
  });
}
