/** A Lambda function that goes on with BASE transactions whose process is gone. */
import { beforeEach, expect, test } from "vitest";
import { baseRunnerHandler, defineBase, defineTable, type BaseTrouble } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";

const orders = defineTable<{ readonly steps: number }, { readonly id: string }>("orders", {
  key: "id",
});
const tables = [testTable("orders", { partitionKey: "id", history: true, base: true })];

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await createTestCloud({ tables });
});

/** As many steps as it is told, with a pause after each. */
const stepping = () =>
  defineBase("stepping", async (base, { steps }: { readonly steps: number }) => {
    for (let step = 1; step <= steps; step += 1) {
      await base.step(`step ${step}`, async (tx) => {
        tx.put(orders, { id: base.id, steps: step });
        return Promise.resolve(null);
      });
      await cloud.clock.sleep(4_000);
    }
    return null;
  });

/** Begun by a process that ends after the first step. */
async function left(id: string, steps: number): Promise<void> {
  const client = cloud.createClient(`began ${id}`);
  await client.base(stepping(), { steps }, { id });
  void client.close();
  await cloud.clock.sleep(2_000);
}

const stepsOf = (id: string) => cloud.rows(orders).find((row) => row.id === id)?.steps;
const invocation = { getRemainingTimeInMillis: () => 60_000 };

test("an invocation goes on with what was left, and ends when nothing is left", async () => {
  await cloud.run(async () => {
    await left("a", 3);
    const client = cloud.createClient("function");
    const options = { handlers: [stepping()], takeOverMs: 1_000 };
    const handler = baseRunnerHandler(client, options, cloud.clock);
    const beganMs = cloud.clock.monotonicMs();
    await handler({}, invocation);
    expect(cloud.clock.monotonicMs() - beganMs).toBeLessThan(30_000);
    expect(await client.openBases()).toEqual([]);
    const idleMs = cloud.clock.monotonicMs();
    await handler({}, invocation);
    expect(cloud.clock.monotonicMs() - idleMs).toBeLessThan(5_000);
  });
  expect(stepsOf("a")).toBe(3);
});

test("it ends before its time is up, and the next invocation goes on", async () => {
  await cloud.run(async () => {
    await left("b", 12);
    const client = cloud.createClient("function");
    const options = { handlers: [stepping()], takeOverMs: 1_000 };
    const handler = baseRunnerHandler(client, options, cloud.clock);
    const beganMs = cloud.clock.monotonicMs();
    await handler({}, { getRemainingTimeInMillis: () => 20_000 });
    const tookMs = cloud.clock.monotonicMs() - beganMs;
    expect(tookMs).toBeGreaterThan(14_000);
    expect(tookMs).toBeLessThan(20_000);
    expect(await client.openBases()).toMatchObject([{ id: "b", phase: "running" }]);
    await handler({}, invocation);
    expect(await client.openBases()).toEqual([]);
  });
  expect(stepsOf("b")).toBe(12);
});

test("what has no handler in it is told, and is no reason to stay or to fail", async () => {
  await cloud.run(async () => {
    await left("c", 2);
    const told: BaseTrouble[] = [];
    const lines: string[] = [];
    const other = defineBase("other", () => Promise.resolve(null));
    const handler = baseRunnerHandler(
      cloud.createClient("function"),
      {
        handlers: [other],
        onTrouble: (trouble) => told.push(trouble),
        sink: (line) => lines.push(line),
      },
      cloud.clock,
    );
    await handler({}, { ...invocation, functionName: "tidemark-shop-base-runner" });
    expect(told).toEqual([{ kind: "no-handler", name: "stepping", id: "c", version: 1 }]);
    const ofFunction = { FunctionName: "tidemark-shop-base-runner" };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        ...metricOf("BaseWithoutHandler", ["FunctionName"]),
        ...{ trouble: "no-handler", base: "stepping", id: "c", version: 1, ...ofFunction },
      },
    ]);
  });
});

test("a handler's failures are metrics, and what is parked is one again each time", async () => {
  await cloud.run(async () => {
    const failing = defineBase("failing", { parkAfterMs: 1_000 }, async (base, _: null) => {
      await base.step("first", () => Promise.resolve(null));
      throw new RangeError("no such card");
    });
    const client = cloud.createClient("began");
    await client.base(failing, null, { id: "d" });
    await cloud.clock.sleep(5_000);
    await client.close();
    const lines: Record<string, unknown>[] = [];
    const handler = baseRunnerHandler(
      cloud.createClient("function"),
      {
        ...{ handlers: [failing], takeOverMs: 1_000 },
        sink: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
      },
      cloud.clock,
    );
    await handler({}, invocation);
    const of = { base: "failing", id: "d", version: 1 };
    expect(lines).toEqual([
      {
        ...metricOf("BaseHandlerFailed"),
        ...{ trouble: "handler-failed", ...of, cause: "RangeError: no such card" },
      },
      { ...metricOf("BaseParked"), trouble: "parked", ...of },
    ]);
    await handler({}, invocation);
    expect(lines.slice(2)).toMatchObject([{ BaseParked: 1, ...of }]);
  });
});

test("of many asked for in vain a hundred have lines, and one counts the others", async () => {
  await cloud.run(async () => {
    const client = cloud.createClient("client");
    const unknown = defineBase("unknown", (_: unknown, __: string) => Promise.resolve(null));
    await Promise.all(
      Array.from({ length: 130 }, (_, n) =>
        client.requestBase(unknown, "x".repeat(100), { id: n.toString() }),
      ),
    );
    const lines: Record<string, unknown>[] = [];
    const told: BaseTrouble[] = [];
    const handler = baseRunnerHandler(
      client,
      {
        handlers: [stepping()],
        onTrouble: (trouble) => told.push(trouble),
        sink: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
      },
      cloud.clock,
    );
    await handler({}, invocation);
    expect([lines.length, told.length]).toEqual([101, 130]);
    const counted = lines.map((line) => line["BaseWithoutHandler"] as number);
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(130);
    expect(lines.at(-1)).toEqual({
      ...{ ...metricOf("BaseWithoutHandler"), BaseWithoutHandler: 30 },
      ...{ trouble: "no-handler", more: 30 },
    });
  });
});

const metricOf = (name: string, dimensions: readonly string[] = []) => ({
  _aws: {
    Timestamp: expect.any(Number) as number,
    CloudWatchMetrics: [
      { Namespace: "Tidemark", Dimensions: [dimensions], Metrics: [{ Name: name, Unit: "Count" }] },
    ],
  },
  [name]: 1,
});

test.each<[string, object]>([
  ["sink", { handlers: [stepping()], sink: "log" }],
  ["handlers", {}],
  ["handlers", { handlers: [] }],
  ["takeOverMs", { handlers: [stepping()], takeOverMs: 1 }],
  ["takeoverMs", { handlers: [stepping()], takeoverMs: 1_000 }],
  ["until", { handlers: [stepping()], until: "caught-up" }],
  ["signal", { handlers: [stepping()], signal: new AbortController().signal }],
  ["options", null as never],
])("`%s` that is missing, unknown, wrong or the handler's own is refused at once", (field, of) => {
  const make = () => baseRunnerHandler(cloud.createClient(), of as never, cloud.clock);
  expect(make).toThrow(expect.objectContaining({ code: "invalid-request", field }));
});
