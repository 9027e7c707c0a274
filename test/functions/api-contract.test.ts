/**
 * The contract as a whole: every status that a route declares is one that it can give, and nothing
 * that a request may hold is without a bound.
 */
import { describe, expect, test } from "vitest";
import {
  diskFullCode,
  SnapshotTooOldError,
  StoreError,
  UnavailableError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import { routes, type RouteName } from "../../schemas/rest/routes.ts";
import { openApiText } from "../../scripts/openapi.ts";
import { memoryApi, type Answer, type MemoryApi } from "./fixtures/api-harness.ts";

const account = { account: "ada" };
const put = { op: "put", table: "accounts", item: { ...account, balanceCents: 1 } };
const absent = { table: "accounts", key: account, condition: { exists: true } };
const gets = [{ table: "accounts", key: account }];
const order = { name: "order", id: "1" };
const keyed = { headers: { "Idempotency-Key": "k" } };
const tooLarge = "x".repeat(limits.restRequestBytesMax + 1);
const throttled = new UnavailableError("x", { cause: new StoreError("throttled", "x") });
const unavailable = new UnavailableError("x");
const diskFull = new StoreError("throttled", "x", { code: diskFullCode });

type Step = (api: MemoryApi) => Promise<Answer>;

/** Every call of the engine fails so. */
function failing(error: Error, send: Step): Step {
  return (api) => {
    const fail = (): Promise<never> => Promise.reject(error);
    const { engine } = api;
    Object.assign(engine, { transact: fail, snapshot: fail, begin: fail, resume: fail });
    engine.outcome = fail;
    engine.bases = fail;
    return send(api);
  };
}

/** The same of routes without a body. */
function queried(path: string, method = "GET"): Record<number, Step> {
  const late = (error: Error): Step =>
    failing(error, ({ call }) => call(path, undefined, { method }));
  return {
    429: late(throttled),
    500: late(new Error("a fault of ours")),
    503: late(unavailable),
    507: late(diskFull),
  };
}

async function begun({ call }: MemoryApi): Promise<string> {
  return String((await call("/v1/transactions/begin", {})).body["transaction"]);
}

/** How each route comes to each status that has to do with a body of this kind. */
function bodied(path: string, body: (api: MemoryApi) => Promise<object>): Record<number, Step> {
  const good: Step = async (api) => api.call(path, await body(api));
  const late = (error: Error): Step => {
    return async (api) => {
      const request = await body(api);
      return failing(error, ({ call }) => call(path, request))(api);
    };
  };
  return {
    200: good,
    400: ({ call }) => call(path, "{"),
    413: ({ call }) => call(path, tooLarge),
    415: ({ call }) => call(path, "{}", { headers: { "Content-Type": "text/plain" } }),
    422: ({ call }) => call(path, { unknown: 1 }),
    429: late(throttled),
    500: late(new Error("a fault of ours")),
    503: late(unavailable),
    507: late(diskFull),
  };
}

const conflicts: Step = async ({ call, engine }) => {
  const transaction = await begun({ call } as MemoryApi);
  const read = await call("/v1/transactions/read", { transaction, reads: { gets } });
  await call("/v1/transactions", { writes: [put] });
  engine.faults.length = 0;
  return call("/v1/transactions/commit", { ...read.body, ...overwrite(read) });
};
const overwrite = (read: Answer) => ({
  transaction: read.body["transaction"],
  readTimestamp: undefined,
  expiresAt: undefined,
  reads: undefined,
  writes: [put],
});
const expired =
  (path: string, rest: object): Step =>
  async (api) => {
    const transaction = await begun(api);
    api.clock.advance(limits.transactionAgeMsMax + 1);
    return api.call(path, { transaction, ...rest });
  };
const unknown =
  (path: string, body: (api: MemoryApi) => Promise<object>): Step =>
  async (api) => {
    const request = await body(api);
    api.engine.faults.push("unknown-committed");
    return api.call(path, request, keyed);
  };
const tooOld = new SnapshotTooOldError("overwritten");
const one = (): Promise<object> => Promise.resolve({ writes: [put] });
const commit = async (api: MemoryApi): Promise<object> => ({
  transaction: await begun(api),
  writes: [put],
});
const read = async (api: MemoryApi): Promise<object> => ({
  transaction: await begun(api),
  reads: { gets },
});
const id = `060a24181e4000${"0".repeat(18)}`;
const settle = (of = id): Step => {
  return ({ call }) => call(`/v1/transactions/${of}/outcome`, {});
};

const ways: Readonly<Record<RouteName, Readonly<Record<number, Step>>>> = {
  transaction: {
    ...bodied("/v1/transactions", one),
    202: unknown("/v1/transactions", one),
    409: failing(tooOld, ({ call }) => call("/v1/transactions", { writes: [put] })),
    412: ({ call }) => call("/v1/transactions", { conditions: [absent] }),
  },
  begin: {
    ...bodied("/v1/transactions/begin", () => Promise.resolve({ reads: { gets } })),
    409: failing(tooOld, ({ call }) => call("/v1/transactions/begin", {})),
  },
  read: {
    ...bodied("/v1/transactions/read", read),
    409: async (api) => {
      const request = await read(api);
      return failing(tooOld, ({ call }) => call("/v1/transactions/read", request))(api);
    },
    410: expired("/v1/transactions/read", { reads: {} }),
  },
  commit: {
    ...bodied("/v1/transactions/commit", commit),
    202: unknown("/v1/transactions/commit", commit),
    409: conflicts,
    410: expired("/v1/transactions/commit", {}),
    412: async (api) =>
      api.call("/v1/transactions/commit", {
        transaction: await begun(api),
        conditions: [absent],
      }),
  },
  snapshot: {
    ...bodied("/v1/snapshots", () => Promise.resolve({ reads: { gets } })),
    409: failing(tooOld, ({ call }) => call("/v1/snapshots", { reads: {} })),
    410: failing(tooOld, ({ call }) =>
      call("/v1/snapshots", { reads: {}, asOf: limits.momentMicrosMin }),
    ),
  },
  outcome: {
    200: settle(),
    202: async (api) => {
      api.engine.faults.push("unknown-aborted");
      const sent = await api.call("/v1/transactions", { writes: [put] });
      const { CommitUnknownError } = await import("../../core/errors.ts");
      const lost = new CommitUnknownError("x", String(sent.body["transactionId"]) as never);
      return failing(lost, settle())(api);
    },
    410: settle("0".repeat(32)),
    422: settle("f".repeat(32)),
    429: failing(throttled, settle()),
    500: failing(new Error("a fault of ours"), settle()),
    503: failing(unavailable, settle()),
    507: failing(diskFull, settle()),
  },
  requestBase: {
    ...bodied("/v1/base", () => Promise.resolve(order)),
    200: async (api) => {
      (await api.engine.bases()).put({ name: "order", id: "1" }, {});
      return api.call("/v1/base", order);
    },
    202: ({ call }) => call("/v1/base", order),
  },
  base: {
    ...queried("/v1/base?name=order&id=1"),
    200: async (api) => {
      await api.call("/v1/base", order);
      return api.call("/v1/base?name=order&id=1");
    },
    404: ({ call }) => call("/v1/base?name=order&id=1"),
    422: ({ call }) => call("/v1/base?name=order"),
  },
  cancelBase: {
    ...queried("/v1/base?name=order&id=1", "DELETE"),
    200: async (api) => {
      await api.call("/v1/base", order);
      return api.call("/v1/base?name=order&id=1", undefined, { method: "DELETE" });
    },
    404: ({ call }) => call("/v1/base?name=order&id=1", undefined, { method: "DELETE" }),
    409: async (api) => {
      (await api.engine.bases()).put({ name: "order", id: "1" }, {});
      return api.call("/v1/base?name=order&id=1", undefined, { method: "DELETE" });
    },
    422: ({ call }) => call("/v1/base?id=1", undefined, { method: "DELETE" }),
  },
  openBases: {
    ...queried("/v1/base/open"),
    200: ({ call }) => call("/v1/base/open?name=order&limit=7"),
    422: ({ call }) => call("/v1/base/open?limit=101"),
  },
  resumeBase: {
    ...bodied("/v1/base/resume", () => Promise.resolve({ name: "order", id: "1" })),
    200: async (api) => {
      (await api.engine.bases()).put({ name: "order", id: "1" }, { phase: "parked" });
      return api.call("/v1/base/resume", { name: "order", id: "1" });
    },
    404: ({ call }) => call("/v1/base/resume", { name: "order", id: "1" }),
  },
  health: {
    200: ({ call }) => call("/v1/health?deep=true"),
    422: ({ call }) => call("/v1/health?deep=maybe"),
    503: failing(unavailable, ({ call }) => call("/v1/health?deep=true")),
  },
};

describe("the statuses that a route declares", () => {
  const declared = Object.entries(routes).flatMap(([name, { responses }]) =>
    Object.keys(responses).map((status): [RouteName, number] => [
      name as RouteName,
      Number(status),
    ]),
  );

  test.each(declared)("%s can answer %i", async (name, status) => {
    const step = ways[name][status];
    // The caller holds every answer against what the route declares for its status.
    expect((await step?.(memoryApi()))?.status).toBe(status);
  });

  test("are all that these ways lead to", () => {
    const reached = Object.entries(ways).flatMap(([name, steps]) =>
      Object.keys(steps).map((status) => [name, Number(status)]),
    );
    expect(reached.sort()).toEqual(declared.sort());
  });
});

type Schema = Readonly<Record<string, unknown>>;

/** What of a schema a caller could make as large as he likes. */
function unbounded(schema: Schema, at: string, seen: ReadonlySet<string>): readonly string[] {
  const has = (...names: readonly string[]): boolean => names.some((name) => name in schema);
  const below = (name: string, inner: unknown): readonly string[] =>
    unbounded(inner as Schema, `${at}.${name}`, seen);
  if (typeof schema["$ref"] === "string") {
    const name = schema["$ref"].split("/").at(-1) ?? "";
    if (seen.has(name)) return [];
    return unbounded(components[name] ?? {}, name, new Set([...seen, name]));
  }
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((name) =>
    ((schema[name] ?? []) as readonly unknown[]).flatMap((each) => below(name, each)),
  );
  const missing = (...names: readonly string[]): readonly string[] =>
    has(...names) ? [] : [`${at}: ${names.join(" or ")}`];
  const additional = schema["additionalProperties"];
  switch (schema["type"]) {
    case "string":
      return [...parts, ...missing("maxLength", "enum", "const", "pattern")];
    case "integer":
    case "number":
      return [...parts, ...missing("minimum"), ...missing("maximum")];
    case "array":
      return [...parts, ...missing("maxItems"), ...below("items", schema["items"] ?? {})];
    case "object":
      return [
        ...parts,
        ...Object.entries((schema["properties"] ?? {}) as Record<string, unknown>).flatMap(
          ([name, each]) => below(name, each),
        ),
        ...(additional === false || additional === undefined
          ? []
          : [...missing("maxProperties"), ...below("*", additional)]),
        ...(additional === undefined ? [`${at}: additionalProperties`] : []),
      ];
    default:
      return parts;
  }
}

const { components, paths } = ((): {
  components: Record<string, Schema>;
  paths: Record<string, Record<string, { requestBody?: object; parameters?: readonly object[] }>>;
} => {
  const document = JSON.parse(openApiText()) as {
    components: { schemas: Record<string, Schema> };
    paths: Record<string, Record<string, object>>;
  };
  return { components: document.components.schemas, paths: document.paths };
})();

test("a request has a bound everywhere, but for items, which have DynamoDB's", () => {
  // Their format is a member of the request; functions/api/plan.ts and the engine bound them.
  const items = new Set(["Item", "Value"]);
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ requestBody, parameters = [] }) => {
      const body = (requestBody as { content?: Record<string, { schema: Schema }> } | undefined)
        ?.content?.["application/json"]?.schema;
      const schemas = parameters.map((each) => (each as { schema: Schema }).schema);
      return [...schemas, ...(body === undefined ? [] : [body])].flatMap((schema) =>
        unbounded(schema, path, items),
      );
    }),
  );
  expect(found).toEqual([]);
  const open: Schema = { type: "array", items: { type: "string" } };
  expect(unbounded(open, "x", items)).toEqual([
    "x: maxItems",
    "x.items: maxLength or enum or const or pattern",
  ]);
});
