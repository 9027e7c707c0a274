/**
 * A runner of BASE transactions as a Lambda function, over real stores: invocations go on with what
 * processes have left, and tell what needs somebody in lines for CloudWatch.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EmbeddedStack, startEmbeddedStack } from "../../localstack/embedded-stack.ts";
import {
  baseRunnerHandler,
  type Client,
  createClient,
  defineBase,
  defineTable,
} from "../../sdk/index.ts";

const seats = defineTable<{ readonly takenBy: string }, { readonly id: string }>("runner-seats", {
  key: "id",
});

let stack: EmbeddedStack;
/** Of the function: it lives on from one invocation to the next. */
let db: Client;
let lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  const partitionKey = { name: "id", type: "S" } as const;
  stack = await startEmbeddedStack({
    sampleTables: false,
    tables: [{ name: "runner-seats", partitionKey, history: true, base: true }],
  });
  db = createClient({ endpoint: stack.endpoint });
}, 60_000);

afterAll(async () => {
  await db.close();
  await stack.stop();
});

/** Takes a seat in two steps, with what happens between them. */
const orderThat = (between: () => Promise<void>) =>
  defineBase("order", async (base, seat: string) => {
    const take = (takenBy: string) =>
      base.step(takenBy, async (tx) => {
        tx.put(seats, { id: seat, takenBy });
        return Promise.resolve(null);
      });
    await take("somebody");
    await between();
    await take(base.id);
    return seat;
  });
const order = orderThat(() => Promise.resolve());

/** Its process ends behind the first step. */
async function left(id: string): Promise<void> {
  const leaving = createClient({ endpoint: stack.endpoint });
  const waiting = orderThat(() => new Promise(() => undefined));
  await leaving.base(waiting, `seat of ${id}`, { id });
  await leaving.close();
}

async function invoke(...handlers: readonly [typeof order]): Promise<void> {
  lines = [];
  const sink = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const handler = baseRunnerHandler(db, { handlers, takeOverMs: 100, pollMs: 20, sink });
  await handler(
    { source: "aws.events" },
    { getRemainingTimeInMillis: () => 60_000, functionName: "tidemark-local-base-runner" },
  );
}

const isOpen = async (id: string) => (await db.openBases()).some((each) => each.id === id);
const takenBy = (id: string) => db.snapshot((reads) => reads.get(seats, `seat of ${id}`));

describe("a runner as a function", { timeout: 60_000 }, () => {
  test("goes on with what was left, once, and has nothing to tell", async () => {
    await left("a");
    expect(await takenBy("a")).toBeUndefined();
    await invoke(order);
    expect(await isOpen("a")).toBe(false);
    expect(await takenBy("a")).toMatchObject({ takenBy: "a" });
    const status = await db.baseOf(order, "a").status();
    expect(status).toMatchObject({ phase: "ended", steps: 2, isReleased: true });
    await invoke(order);
    expect(lines).toEqual([]);
  });

  test("tells what it has no handler for, and what is parked, each time", async () => {
    await left("b");
    const newer = defineBase("order", { version: 2 }, (_, seat: string) => Promise.resolve(seat));
    const of = { base: "order", id: "b", FunctionName: "tidemark-local-base-runner" };
    await invoke(newer);
    expect(lines).toMatchObject([{ ...of, trouble: "no-handler", BaseWithoutHandler: 1 }]);

    // It takes another way, so it is parked at once.
    const changed = defineBase("order", (_, seat: string) => Promise.resolve(seat));
    await invoke(changed);
    expect(lines).toMatchObject([
      {
        ...of,
        BaseHandlerFailed: 1,
        cause: expect.stringMatching(/^HandlerChangedError: /) as string,
      },
      { ...of, BaseParked: 1 },
    ]);
    await invoke(order);
    expect(lines).toMatchObject([{ ...of, trouble: "parked", BaseParked: 1 }]);

    expect(await db.baseOf(order, "b").resume()).toBe(true);
    await invoke(order);
    expect([await isOpen("b"), await takenBy("b")]).toEqual([
      false,
      { id: "seat of b", takenBy: "b" },
    ]);
  });

  test("leaves what it is at when its time is up, and the next one ends it", async () => {
    await left("c");
    let isBegun = false;
    const slow = orderThat(() => {
      isBegun = true;
      return new Promise(() => undefined);
    });
    const frozen = createClient({ endpoint: stack.endpoint });
    const told: string[] = [];
    const sink = (line: string) => told.push(line);
    const options = { handlers: [slow], takeOverMs: 100, pollMs: 20, sink };
    // A little of it is left beyond what is kept back.
    const context = { getRemainingTimeInMillis: () => 6_500 };
    await baseRunnerHandler(frozen, options)({}, context);
    expect(isBegun).toBe(true);
    expect(await isOpen("c")).toBe(true);
    await invoke(order);
    expect(await takenBy("c")).toMatchObject({ takenBy: "c" });
    await frozen.close();
    // That its process ended is no failure of the handler.
    expect(told).toEqual([]);
  });
});
