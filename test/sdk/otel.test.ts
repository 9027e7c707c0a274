/** Spans by OpenTelemetry's own SDK, of transactions in a test cloud. */
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError, ConflictError, defineBase, defineTable } from "../../sdk/index.ts";
import { otelSpans } from "../../sdk/otel.ts";
import { createTestCloud, testTable, type TestClientOptions } from "../../testing/index.ts";
import { SeenSpans } from "./fixtures/seen-spans.ts";

const accounts = defineTable<{ cents: number }, { id: string }>("accounts", { key: "id" });
const secret = "a-value-that-nobody-may-see";

let spans: SeenSpans;
beforeEach(() => {
  spans = new SeenSpans();
});
afterEach(() => {
  spans.close();
});

async function shop(options: TestClientOptions & { readonly shards?: number } = {}) {
  const { shards, ...client } = options;
  const cloud = await createTestCloud({
    tables: [accounts],
    ...(shards === undefined ? {} : { shards }),
  });
  cloud.seed(accounts, [{ id: secret, cents: 1 }]);
  const { tracer } = spans;
  const onEvent = otelSpans({ tracer, nowMs: () => cloud.clock.nowMs() });
  const app = cloud.startProcess("app", { onEvent, ...client });
  const increment = (options: object = {}, id = secret) =>
    app.client.transact(options, async (tx) => {
      const row = await tx.get(accounts, id);
      tx.put(accounts, { id, cents: (row?.cents ?? 0) + 1 });
    });
  return { cloud, app, increment };
}

const whole = [
  "tidemark.transact",
  "  tidemark.attempt",
  "    tidemark.body",
  "    tidemark.certify",
  "    tidemark.install",
];
/** Over and over: what has ended. */
const below = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

describe("otelSpans", () => {
  test("refuses options that are unknown or wrong, by name", () => {
    for (const [field, options] of [
      ["tracers", { tracers: {} }],
      ["tracer", { tracer: 1 }],
      ["tracer", { tracer: null }],
      ["tracer", { tracer: {} }],
      ["tracer", { tracer: { startSpan: {} } }],
      ["attributes", { attributes: [] }],
      ["nowMs", { nowMs: 1 }],
    ] as const) {
      const use = () => otelSpans(options as never);
      expect(use).toThrow(expect.objectContaining({ field }));
    }
  });

  test("says what a tracer has to have", () => {
    const use = () => otelSpans({ tracer: trace } as never);
    expect(use).toThrow("`tracer` must be a tracer of OpenTelemetry, which has `startSpan`");
  });

  test("a commit is a span with its attempt, and that one's phases one after another", async () => {
    const { cloud, increment } = await shop();
    const { receipt } = await cloud.run(() => increment());
    await cloud.settled();
    expect(spans.tree).toEqual(whole);
    const [transact, attempt, body, certify, install] = spans.all;
    expect(transact).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
    });
    expect(transact?.attributes).toMatchObject({
      "db.system.name": "aws.dynamodb",
      "db.operation.name": "transact",
      "tidemark.isolation": "serializable",
      "tidemark.outcome": "committed",
      "tidemark.attempts": 1,
      "tidemark.transaction.id": receipt.transactionId,
      "tidemark.commit_timestamp": receipt.commitTimestamp,
    });
    expect(attempt?.attributes).toMatchObject({ "tidemark.attempt": 1 });
    expect(body?.attributes).toMatchObject({ "tidemark.reads": 1, "tidemark.writes": 1 });
    expect(certify?.events.map(({ name }) => name)).toEqual(["tidemark.sent"]);
    expect(install?.attributes).toMatchObject({ "tidemark.whole": true });
    const ms = (time: readonly [number, number]): number => time[0] * 1e3 + time[1] / 1e6;
    const spent = spans.all.map(({ duration }) => ms(duration));
    const { bodyMs, certifyMs, installMs } = receipt.phases;
    // Whole milliseconds, of a clock of its own.
    [bodyMs + certifyMs + installMs, bodyMs, certifyMs, installMs].forEach((phaseMs, i) => {
      expect(Math.abs((spent[i + 1] ?? 0) - phaseMs)).toBeLessThanOrEqual(1);
    });
    expect(body?.endTime).toEqual(certify?.startTime);
    expect(certify?.endTime).toEqual(install?.startTime);
    expect(install?.endTime).toEqual(transact?.endTime);
  });

  test("the span that is active where it is called is its parent, for each of many", async () => {
    const { cloud, increment } = await shop();
    const request = (name: string) => {
      const span = spans.tracer.startSpan(name, { startTime: cloud.clock.nowMs() });
      return context.with(trace.setSpan(context.active(), span), async () => {
        await increment({}, name);
        span.end(cloud.clock.nowMs());
      });
    };
    await cloud.run(() => Promise.all([request("GET /a"), request("GET /b")]));
    await cloud.settled();
    expect(spans.tree).toEqual(["GET /a", ...below(whole), "GET /b", ...below(whole)]);
  });

  test("a run that met a conflict is an attempt with an error, and the call is fine", async () => {
    const { cloud, increment } = await shop();
    cloud.conflictOn(accounts, secret, { times: 2 });
    await cloud.run(() => increment());
    await cloud.settled();
    expect(spans.named("tidemark.transact")).toHaveLength(1);
    const attempts = spans.named("tidemark.attempt");
    const seen = attempts.map(({ attributes, status }) => [attributes["error.type"], status.code]);
    const lost = ["conflict", SpanStatusCode.ERROR];
    expect(seen).toEqual([lost, lost, [undefined, SpanStatusCode.UNSET]]);
    expect(attempts[0]?.attributes).toMatchObject({
      "tidemark.conflict.table": "accounts",
      "tidemark.conflict.on": "key",
    });
    expect(spans.named("tidemark.transact")[0]?.attributes).toMatchObject({
      "tidemark.attempts": 3,
      "tidemark.outcome": "committed",
    });
    expect(spans.named("tidemark.transact")[0]?.status.code).toBe(SpanStatusCode.UNSET);
  });

  test("one that gives up after conflicts is an error that names them", async () => {
    const { cloud, increment } = await shop();
    cloud.conflictOn(accounts, secret);
    const gaveUp = cloud.run(() => increment({ attemptsMax: 1 }));
    await expect(gaveUp).rejects.toBeInstanceOf(ConflictError);
    expect(spans.tree.slice(0, 2)).toEqual([
      "tidemark.transact: conflict",
      "  tidemark.attempt: conflict",
    ]);
    const [transact] = spans.all;
    expect(transact?.attributes).toMatchObject({ "tidemark.outcome": "aborted" });
    expect(transact?.status.code).toBe(SpanStatusCode.ERROR);
  });

  test("an error of the body is told by its class, and what it says by nobody", async () => {
    const { cloud, app } = await shop();
    class OutOfStock extends Error {
      override readonly name = "OutOfStock";
    }
    const failed = cloud.run(() =>
      app.client.transact(async (tx) => {
        await tx.get(accounts, secret);
        throw new OutOfStock(secret);
      }),
    );
    await expect(failed).rejects.toBeInstanceOf(OutOfStock);
    expect(spans.tree).toEqual([
      "tidemark.transact: OutOfStock",
      "  tidemark.attempt: body-threw",
      "    tidemark.body",
    ]);
  });

  test("an unknown outcome is neither committed nor aborted", async () => {
    const { cloud, app, increment } = await shop();
    app.nextCommitUnknown("committed");
    const unknown = cloud.run(() => increment({ deadlineMs: 5_000 }));
    await expect(unknown).rejects.toBeInstanceOf(CommitUnknownError);
    expect(spans.tree).toEqual([
      "tidemark.transact: commit-unknown",
      "  tidemark.attempt: commit-unknown",
      "    tidemark.body",
      "    tidemark.certify",
    ]);
    expect(spans.all[0]?.attributes).toMatchObject({ "tidemark.outcome": "unknown" });
    expect(spans.all[1]?.attributes["tidemark.transaction.id"]).toMatch(/^[0-9a-f]{32}$/u);
  });

  test("what is never reached is a call without attempts", async () => {
    const { cloud, increment } = await shop();
    cloud.refuseCalls("dynamodb", 60_000);
    await expect(cloud.run(() => increment({ deadlineMs: 1_000 }))).rejects.toThrow();
    expect(spans.tree).toEqual(["tidemark.transact: unavailable"]);
  });

  test("those that are certified as one have each their own spans, of one id", async () => {
    const { cloud, increment } = await shop();
    await cloud.run(() => Promise.all(Array.from({ length: 5 }, () => increment())));
    await cloud.settled();
    expect(spans.named("tidemark.transact")).toHaveLength(5);
    const committed = spans.named("tidemark.install");
    expect(committed).toHaveLength(5);
    const joined = spans.all.filter(({ events }) =>
      events.some(({ name }) => name === "tidemark.joined"),
    );
    expect(joined.length).toBeGreaterThan(0);
    const ids = spans
      .named("tidemark.transact")
      .map(({ attributes }) => attributes["tidemark.transaction.id"]);
    expect(new Set(ids).size).toBeLessThan(5);
  });

  test("who does not wait for installs has a span that outlives the call", async () => {
    const { cloud, increment } = await shop();
    await cloud.run(() => increment({ ack: "certified" }));
    await cloud.settled();
    expect(spans.tree).toEqual(whole);
    const [transact] = spans.all;
    const [install] = spans.named("tidemark.install");
    const end = ([s, n]: readonly [number, number]): number => s * 1e9 + n;
    expect(end(install!.endTime)).toBeGreaterThan(end(transact!.endTime));
  });

  test("reads are read-only calls without a commit, and a repeat is replayed", async () => {
    const { cloud, app, increment } = await shop();
    await cloud.run(async () => {
      await app.client.snapshot((s) => s.get(accounts, secret));
      await app.client.transact((tx) => tx.get(accounts, secret));
      for (let i = 0; i < 2; i += 1) await increment({ idempotencyKey: "once" });
    });
    await cloud.settled();
    const calls = spans.all.filter(({ parentSpanContext }) => parentSpanContext === undefined);
    const outcomes = calls.map(({ name, attributes }) => [name, attributes["tidemark.outcome"]]);
    expect(outcomes).toEqual([
      ["tidemark.snapshot", "read-only"],
      ["tidemark.transact", "read-only"],
      ["tidemark.transact", "committed"],
      ["tidemark.transact", "replayed"],
    ]);
    expect(spans.named("tidemark.certify")).toHaveLength(1);
    // The key's own row is read, and written.
    const bodies = spans.named("tidemark.body").map(({ attributes }) => attributes);
    expect(bodies[2]).toMatchObject({ "tidemark.reads": 2, "tidemark.writes": 2 });
  });

  test("of several shards there is one certification and one install", async () => {
    const { cloud, app } = await shop({ shards: 4 });
    await cloud.run(() =>
      app.client.transact((tx) => {
        for (let i = 0; i < 12; i += 1) tx.put(accounts, { id: `a${i}`, cents: i });
        return Promise.resolve();
      }),
    );
    await cloud.settled();
    expect(spans.tree).toEqual(whole);
  });

  test("a step of a BASE transaction is a call, the upkeep of its records is none", async () => {
    const cloud = await createTestCloud({ tables: [testTable(accounts, { base: true })] });
    const { tracer } = spans;
    const onEvent = otelSpans({ tracer, nowMs: () => cloud.clock.nowMs() });
    const { client } = cloud.startProcess("app", { onEvent });
    const pay = defineBase("pay", async (steps, id: string) => {
      await steps.step("take", async (tx) => {
        tx.put(accounts, { id, cents: 1 });
      });
      await steps.step("give", async (tx) => {
        tx.put(accounts, { id, cents: 2 });
      });
    });
    await cloud.run(async () => {
      const started = await client.base(pay, "a", { id: "pay-1" });
      await started.accepted.result();
    });
    await cloud.settled();
    const calls = spans.all.filter(({ parentSpanContext }) => parentSpanContext === undefined);
    const steps = calls.map(({ name, attributes }) => [name, attributes["tidemark.base.step"]]);
    expect(steps).toEqual([
      ["tidemark.step", "take"],
      ["tidemark.step", "give"],
    ]);
  });

  test("events tell a call from its start to its end, by one number", async () => {
    const told = new Map<number, string[]>();
    const { cloud, increment } = await shop({
      onEvent: (event) => {
        if ("call" in event) told.set(event.call, [...(told.get(event.call) ?? []), event.kind]);
      },
    });
    await cloud.run(async () => {
      await increment();
      await increment({ ack: "certified" });
    });
    await cloud.settled();
    const begins = ["call-started", "attempt-started", "body-ended", "sent", "certified"];
    expect([...told.values()]).toEqual([
      [...begins, "installed", "committed"],
      [...begins, "committed", "installed"],
    ]);
  });

  test("no span, in whatever goes wrong, has a key or a value of an item", async () => {
    const { cloud, app, increment } = await shop();
    cloud.conflictOn(accounts, secret);
    await cloud.run(() => increment());
    app.nextCommitUnknown("aborted");
    await cloud.run(() => increment({ deadlineMs: 5_000 })).catch(() => undefined);
    await cloud.settled();
    const texts = spans.all.map(({ name, attributes, events, status }) =>
      JSON.stringify({ name, attributes, events, status }),
    );
    expect(texts.length).toBeGreaterThan(5);
    for (const text of texts) expect(text).not.toContain(secret);
  });
});
