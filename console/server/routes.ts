/**
 * The console's addresses: its page, what the page asks for as JSON, the live stream, and orders to
 * make faults. Everything is checked before it is used, and every answer is bounded.
 */
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { InvalidRequestError, TransactionError } from "../../core/errors.ts";
import { isBaseRecordsTable } from "../../core/own-tables.ts";
import type { Timestamp } from "../../core/types.ts";
import { publicError } from "../../engine/public-error.ts";
import * as limits from "../limits.ts";
import type { About, FaultState, Step, TrafficConflict, WireError } from "../wire.ts";
import { basePage, basesPage } from "./bases.ts";
import { contendedKeys } from "./contended.ts";
import type { Feed } from "./feed.ts";
import { FeedLooks } from "./feeds.ts";
import { guarded, type Door } from "./guard.ts";
import { tableLine } from "./lines.ts";
import { logPage } from "./log-page.ts";
import type { Page } from "./page.ts";
import type { Sight } from "./sight.ts";
import { storyOf } from "./story.ts";
import { diffOf, itemOf, rowsAt } from "./tables.ts";

/** What only the embedded stack of this process gives. */
export type Breaker = {
  state(): FaultState;
  /** @throws InvalidRequestError for what cannot be done. */
  order(order: unknown): Promise<void>;
  /** What its clients have told of a transaction, and of conflicts. */
  course(id: string): readonly Step[];
  conflicts(): readonly TrafficConflict[];
};

export type RouteParts = {
  readonly sight: Sight;
  readonly feed: Feed;
  readonly page: () => Promise<Page>;
  /** Of the package. */
  readonly version: string;
  readonly door: () => Door;
  readonly breaker: Breaker | undefined;
  readonly report: (error: unknown) => void;
};

const micros = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const moment = z.union([z.literal("now"), micros]);
const short = z.string().min(1).max(limits.queryCharactersMax);
const cursor = short.optional();
const partition = short.optional();

const queries = {
  log: z.object({ shard: z.coerce.number().int().min(0), before: micros.optional() }),
  conflicts: z.object({
    window: z.coerce.number().int().min(1_000).max(limits.contentionWindowMsMax),
    table: short.optional(),
  }),
  rows: z.object({
    at: moment.default("now"),
    limit: z.coerce.number().int().min(1).max(limits.rowsMax).default(limits.rowsDefault),
    ...{ cursor, partition },
  }),
  diff: z.object({ from: micros, to: moment.default("now"), cursor, partition }),
  item: z.object({ key: short }),
  base: z.object({ name: short, id: short }),
};

export function consoleApp(parts: RouteParts): Hono {
  const { sight, feed, page, version, door, breaker, report } = parts;
  const app = new Hono();
  app.use(guarded(door));
  app.onError((error, c) => failed(error, c, report));
  app.notFound((c) => refused(c, 404, { code: "not-found", message: "there is nothing here" }));

  app.get("/", async (c) => {
    const { html, policy } = await page();
    c.header("content-security-policy", policy);
    return c.html(html);
  });
  // Asked for by browsers, of every page.
  app.get("/favicon.ico", (c) => c.body(null, 204));
  app.get("/api/about", async (c) =>
    c.json({ ...(await about(sight, breaker !== undefined)), version }),
  );
  app.get("/api/events", (c) => events(c, feed));
  app.get("/api/log", async (c) => {
    const { shard, before } = asked(queries.log, c);
    return c.json(await logPage(sight, { shard, before }));
  });
  app.get("/api/conflicts", async (c) => {
    const { window: windowMs, table } = asked(queries.conflicts, c);
    const traffic = breaker?.conflicts() ?? [];
    return c.json(await contendedKeys(sight, { windowMs, table }, traffic));
  });
  app.get("/api/transactions/:id", async (c) => {
    const id = c.req.param("id");
    return c.json(await storyOf(await sight.seen(), id, breaker?.course(id)));
  });
  app.get("/api/tables/:table/rows", async (c) => {
    const { at, ...wanted } = asked(queries.rows, c);
    const request = { ...wanted, table: c.req.param("table"), at: momentOf(at) };
    return c.json(await rowsAt(sight, request));
  });
  app.get("/api/tables/:table/diff", async (c) => {
    const { from, to, ...wanted } = asked(queries.diff, c);
    const moments = { from: from as Timestamp, to: momentOf(to) };
    return c.json(await diffOf(sight, { ...wanted, ...moments, table: c.req.param("table") }));
  });
  app.get("/api/tables/:table/item", async (c) => {
    const { key } = asked(queries.item, c);
    return c.json(await itemOf(sight, { table: c.req.param("table"), key }));
  });
  const feedLooks = new FeedLooks(sight);
  app.get("/api/feeds", async (c) => c.json(await feedLooks.page()));
  app.get("/api/bases", async (c) => c.json(await basesPage(sight)));
  app.get("/api/bases/one", async (c) => c.json(await basePage(sight, asked(queries.base, c))));
  const bounded = bodyLimit({
    maxSize: limits.orderBytesMax,
    onError: (c) => {
      const message = `an order has at most ${limits.orderBytesMax} bytes`;
      return refused(c, 413, { code: "invalid-request", field: "body", message });
    },
  });
  app.post("/api/faults", bounded, async (c) => {
    if (breaker === undefined) {
      throw new InvalidRequestError(
        "faults",
        "faults are made in the embedded stack of `tidemark start` alone, by the console that it " +
          "starts itself",
      );
    }
    await breaker.order(await jsonOf(c));
    return c.json(breaker.state());
  });
  return app;
}

async function jsonOf(c: Context): Promise<unknown> {
  try {
    return (await c.req.json()) as unknown;
  } catch {
    throw new InvalidRequestError("body", "the body is no JSON");
  }
}

function momentOf(at: "now" | number): Timestamp | undefined {
  return at === "now" ? undefined : (at as Timestamp);
}

async function about(sight: Sight, canBreak: boolean): Promise<Omit<About, "version">> {
  const { deployment } = await sight.seen();
  const { name, place, registry, logs } = deployment;
  const nowMs = sight.clock.nowMs();
  const tables = registry.tables
    // Nobody but Tidemark reads it.
    .filter((table) => !isBaseRecordsTable(table.name))
    .map((table) => tableLine(deployment, table, nowMs));
  return {
    ...{ deployment: name, place, nowMs, canBreak },
    streamless: registry.streamless === true,
    isLocal: sight.isLocal,
    tables: tables.sort((a, b) => (a.name < b.name ? -1 : 1)),
    retentionMs: registry.retention.retentionMs,
    shards: logs.length,
  };
}

/**
 * One event after the other, as fast as it is read: who reads slowly is behind, and not a queue.
 * Comments in between show a connection that is gone.
 */
function events(c: Context, feed: Feed): Response | Promise<Response> {
  // Nobody reads the stream of such an answer, and nobody ends it: it would look for ever.
  if (c.req.method === "HEAD") return c.body(null, 200, { "content-type": "text/event-stream" });
  if (feed.watchers >= limits.watchersMax) {
    const message = `${limits.watchersMax} pages look already: close one`;
    return refused(c, 503, { code: "unavailable", message });
  }
  const last = c.req.header("last-event-id");
  return streamSSE(c, async (stream) => {
    const left = new AbortController();
    stream.onAbort(() => {
      left.abort();
    });
    for await (const { id, data } of feed.watch(last, left.signal)) {
      if (stream.aborted || stream.closed) return;
      await stream.writeSSE({ id, data });
    }
  });
}

/** @throws InvalidRequestError naming the parameter. */
function asked<Shape extends z.ZodType>(schema: Shape, c: Context): z.infer<Shape> {
  const parsed = schema.safeParse(c.req.query());
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "query";
  throw new InvalidRequestError(field, `\`${field}\`: ${issue?.message ?? "is wrong"}`);
}

function refused(
  c: Context,
  status: 400 | 404 | 409 | 413 | 500 | 503,
  error: WireError["error"],
): Response {
  return c.json({ error } satisfies WireError, status);
}

function failed(thrown: Error, c: Context, report: RouteParts["report"]): Response {
  const error = publicError(thrown);
  if (!(error instanceof TransactionError)) {
    report(thrown);
    const message = "the console has met a fault of its own; its log tells more";
    return refused(c, 500, { code: "internal", message });
  }
  const { code, message } = error;
  if (error instanceof InvalidRequestError) {
    return refused(c, 400, { code, field: error.field, message });
  }
  return refused(c, error.code === "snapshot-too-old" ? 409 : 503, { code, message });
}
