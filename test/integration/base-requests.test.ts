/**
 * BASE transactions asked for over HTTP, of the API's own process, and begun by runners of another
 * one: what REST says of them is what has become of them.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import { type Client, createClient, defineBase, defineTable } from "../../sdk/index.ts";

type Seat = { readonly takenBy?: string };
type Order = { readonly seat: string; readonly customer: string; readonly cents: number };
type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

let stack: EmbeddedStack;
let db: Client;
const seats = defineTable<Seat, { id: string }>("seats", { key: "id" });
/** A payment that lasts until it is let through. */
let paid: Promise<void> = Promise.resolve();

const asOrder = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (input: unknown) => {
      const { seat, customer, cents } = input as Partial<Order>;
      return typeof cents === "number" && seat !== undefined && customer !== undefined
        ? { value: { seat, customer, cents } }
        : { issues: [{ message: "cents must be a number" }] };
    },
  },
};

const createOrder = defineBase("create-order", { input: asOrder }, async (base, order: Order) => {
  await base.step("reserve", async (tx) => {
    const seat = await tx.get(seats, order.seat);
    if (seat?.takenBy !== undefined) throw new RangeError(`seat ${order.seat} is taken`);
    tx.put(seats, { id: order.seat, takenBy: order.customer });
    return null;
  });
  await paid;
  await base.step("bill", (tx) => {
    tx.put(seats, { id: `bill ${base.id}`, takenBy: order.customer });
    return Promise.resolve(null);
  });
  return { paid: order.cents };
});

async function call(path: string, body?: object, method?: string): Promise<Answer> {
  const response = await fetch(`${stack.endpoint}${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

const ask = (id: string, input: object) => call("/v1/base", { name: "create-order", id, input });
const look = (id: string) => call(`/v1/base?name=create-order&id=${encodeURIComponent(id)}`);
const cancel = (id: string) =>
  call(`/v1/base?name=create-order&id=${encodeURIComponent(id)}`, undefined, "DELETE");
const orderOf = (seat: string): Order => ({ seat, customer: "ada", cents: 45 });

async function untilPhase(id: string, phase: string): Promise<Answer["body"]> {
  for (;;) {
    const { body } = await look(id);
    if (body["phase"] === phase) return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function running<Result>(task: () => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const runner = db.baseRunner({ handlers: [createOrder], pollMs: 50, signal: stop.signal });
  try {
    return await task();
  } finally {
    stop.abort();
    await runner;
  }
}

beforeAll(async () => {
  const key = { name: "id", type: "S" } as const;
  const table = { name: "seats", partitionKey: key, history: true, base: true };
  stack = await startEmbeddedStack({ sampleTables: false, tables: [table] });
  db = createClient({ endpoint: stack.endpoint });
}, 60_000);

afterAll(async () => {
  await db.close();
  await stack.stop();
});

describe("over HTTP", { timeout: 60_000 }, () => {
  test("one that is asked for waits, is begun by a runner, and ends with its result", async () => {
    let pay: () => void = () => undefined;
    paid = new Promise((resolve) => {
      pay = resolve;
    });
    const asked = await ask("1/ü", orderOf("1A"));
    expect(asked).toMatchObject({ status: 202, body: { isNew: true } });
    expect(await ask("1/ü", orderOf("1A"))).toMatchObject({ status: 202, body: { isNew: false } });
    expect(await ask("1/ü", orderOf("1B"))).toMatchObject({
      ...{ status: 422, body: { code: "base-id-reused", field: "id" } },
    });
    expect((await call("/v1/base/open")).body).toMatchObject({
      ...{ all: 1, bases: [{ id: "1/ü", phase: "requested" }] },
    });
    await db.transact(async (tx) => tx.put(seats, { id: "free", takenBy: "nobody waits" }));
    await running(async () => {
      expect(await untilPhase("1/ü", "running")).toMatchObject({ steps: 1, failures: 0 });
      expect(await cancel("1/ü")).toMatchObject({ status: 409, body: { code: "base-begun" } });
      const seen = { reads: { gets: [{ table: "seats", key: { id: "1A" } }] } };
      expect((await call("/v1/snapshots", seen)).body["reads"]).toMatchObject({ gets: [null] });
      pay();
      expect(await untilPhase("1/ü", "released")).toMatchObject({ steps: 2, result: { paid: 45 } });
      expect((await call("/v1/snapshots", seen)).body["reads"]).toMatchObject({
        gets: [{ id: "1A", takenBy: "ada" }],
      });
    });
    expect(await ask("1/ü", orderOf("1A"))).toMatchObject({
      ...{ status: 200, body: { isNew: false, base: { phase: "released", result: { paid: 45 } } } },
    });
  });

  test("a first step that refuses, and an input that does not hold, are told as such", async () => {
    await db.transact(async (tx) => tx.put(seats, { id: "2A", takenBy: "bob" }));
    expect((await ask("2", orderOf("2A"))).status).toBe(202);
    expect((await ask("3", { seat: "3A", customer: "ada", cents: "45" })).status).toBe(202);
    await running(async () => {
      expect(await untilPhase("2", "refused")).toMatchObject({
        steps: 0,
        refusal: { step: "reserve", name: "RangeError", message: "seat 2A is taken" },
      });
      const { refusal } = (await untilPhase("3", "refused")) as { refusal: object };
      expect(refusal).toMatchObject({ name: "InvalidRequestError" });
      expect(refusal).not.toHaveProperty("step");
    });
    await expect(db.baseOf(createOrder, "2").result()).rejects.toMatchObject({
      ...{ code: "base-refused", refusal: { step: "reserve", name: "RangeError" } },
    });
    expect((await call("/v1/base/open")).body).toEqual({ all: 0, bases: [] });
  });

  test("one that is taken back never begins, and no copy of its request begins it", async () => {
    await ask("4", orderOf("4A"));
    expect(await cancel("4")).toMatchObject({ status: 200, body: { phase: "cancelled" } });
    expect(await cancel("4")).toMatchObject({ status: 200, body: { phase: "cancelled" } });
    expect(await ask("4", orderOf("4A"))).toMatchObject({
      ...{ status: 200, body: { isNew: false, base: { phase: "cancelled" } } },
    });
    await db.baseRunner({ handlers: [createOrder], until: "caught-up", pollMs: 50 });
    expect((await look("4")).body).toMatchObject({ phase: "cancelled", steps: 0 });
    expect(await db.snapshot((reads) => reads.get(seats, "4A"))).toBeUndefined();
    expect((await cancel("5")).status).toBe(404);
  });

  test("one that is parked stands first in the list, and goes on when it is resumed", async () => {
    const options = { input: asOrder, parkAfterMs: 100 };
    const failing = defineBase("create-order", options, async (base, order: Order) => {
      await base.step("reserve", (tx) => {
        tx.put(seats, { id: order.seat, takenBy: order.customer });
        return Promise.resolve(null);
      });
      throw new TypeError("a bug");
    });
    await ask("6", orderOf("6A"));
    const caughtUp = { takeOverMs: 100, pollMs: 20, until: "caught-up" } as const;
    await db.baseRunner({ handlers: [failing], ...caughtUp });
    await ask("7", orderOf("7A"));
    expect((await call("/v1/base/open?limit=1")).body).toMatchObject({
      all: 2,
      bases: [{ id: "6", phase: "parked", failure: "TypeError: a bug" }],
    });
    paid = Promise.resolve();
    const resumed = await call("/v1/base/resume", { name: "create-order", id: "6" });
    expect(resumed).toMatchObject({ status: 200, body: { isResumed: true } });
    await db.baseRunner({ handlers: [createOrder], ...caughtUp });
    expect((await look("6")).body).toMatchObject({ phase: "released", result: { paid: 45 } });
    expect((await look("7")).body).toMatchObject({ phase: "released" });
  });
});
