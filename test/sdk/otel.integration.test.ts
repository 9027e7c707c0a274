/** Spans of transactions on an embedded stack, by the clock of OpenTelemetry's SDK. */
import { context, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, defineTable } from "../../sdk/index.ts";
import { otelSpans } from "../../sdk/otel.ts";
import { SeenSpans } from "./fixtures/seen-spans.ts";

let stack: EmbeddedStack;
const spans = new SeenSpans();

beforeAll(async () => {
  stack = await startEmbeddedStack();
});

afterAll(async () => {
  spans.close();
  await stack.stop();
});

test("requests that run at once have each their own transaction below them", async () => {
  const accounts = defineTable<{ balanceCents: number }, { id: string }>("bank-accounts");
  const attributes = { "db.namespace": "embedded" };
  const onEvent = otelSpans({ tracer: spans.tracer, attributes });
  const db = createClient({ endpoint: stack.endpoint, onEvent });
  const request = (id: string) =>
    spans.tracer.startActiveSpan(`POST /${id}`, async (span) => {
      await db.transact(async (tx) => {
        const row = await tx.get(accounts, id);
        tx.put(accounts, { id, balanceCents: (row?.balanceCents ?? 0) + 1 });
      });
      const active = trace.getSpan(context.active());
      span.setAttribute("still", active === span);
      span.end();
    });
  await Promise.all(["ann", "bob", "eve"].map(request));
  await db.close();
  const requests = spans.all.filter(({ name }) => name.startsWith("POST"));
  expect(requests.map(({ attributes }) => attributes["still"])).toEqual([true, true, true]);
  const calls = spans.named("tidemark.transact");
  expect(calls.map(({ parentSpanContext }) => parentSpanContext?.spanId).sort()).toEqual(
    requests.map((span) => span.spanContext().spanId).sort(),
  );
  for (const call of calls) {
    expect(call.attributes).toMatchObject({
      "db.namespace": "embedded",
      "tidemark.outcome": "committed",
    });
    const inside = spans.all.filter(
      (span) => span.spanContext().traceId === call.spanContext().traceId,
    );
    expect(inside.map(({ name }) => name.replace("tidemark.", "")).slice(1)).toEqual([
      ...["transact", "attempt", "body", "certify", "install"],
    ]);
  }
});
