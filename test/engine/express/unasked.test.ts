/** A lone writer begins without a look at the log, and is strict all the same. */
import { expect, test } from "vitest";
import type { BodyTransaction, ClientEngine } from "../../../engine/types.ts";
import { createTestCloud, type TestCloud } from "../../../testing/index.ts";
import { countersTable } from "../increments.ts";
import { keyOf, numberIn, startCounting } from "./counting-engine.ts";

type Body<Result> = (tx: BodyTransaction) => Promise<Result>;

function increment(id: string): Body<number> {
  return async (tx) => {
    const n = numberIn(await tx.get("counters", keyOf(id))) + 1;
    tx.put("counters", { ...keyOf(id), n: { N: n.toString() } });
    return n;
  };
}

async function run<Result>(engine: ClientEngine, body: Body<Result>): Promise<Result> {
  return (await engine.transact({ ack: "certified" }, body)).result;
}

/** Two processes: one has been alone for a while, and the other is about to commit. */
async function startTwo() {
  const cloud = await createTestCloud({ tables: [countersTable] });
  const lone = startCounting(cloud, "lone");
  // What it has written stands in the log alone for a while: the tables do not give it away.
  const other = startCounting(cloud, "other", { neverInstalls: true });
  return { cloud, lone, other };
}

async function aloneForAWhile(cloud: TestCloud, lone: ClientEngine): Promise<void> {
  for (const pauseMs of [1_000, 1_000, 1_000, 100]) {
    await run(lone, increment("a"));
    await cloud.world.time.sleep(pauseMs);
  }
}

test("a lone writer asks the log nothing: a read, a put", async () => {
  const { cloud, lone } = await startTwo();
  const calls = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    const before = { ...lone.calls };
    expect(await run(lone, increment("b"))).toBe(1);
    const { looks, puts, reads } = lone.calls;
    return { looks: looks - before.looks, puts: puts - before.puts, reads: reads - before.reads };
  });
  expect(calls).toEqual({ looks: 0, puts: 1, reads: 1 });
});

test("nor after a while in which it did nothing, if it was alone for longer before", async () => {
  const { cloud, lone } = await startTwo();
  const looks = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    await cloud.world.time.sleep(20_000);
    await run(lone, increment("b"));
    await cloud.world.time.sleep(1_000);
    const before = lone.calls.looks;
    await run(lone, increment("b"));
    return lone.calls.looks - before;
  });
  expect(looks).toBe(0);
});

test("who is not alone any more counts what the other has committed", async () => {
  const { cloud, lone, other } = await startTwo();
  const [n, looks] = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    await run(other, increment("a"));
    const beaten = await run(lone, increment("a"));
    const before = lone.calls.looks;
    await run(lone, increment("a"));
    return [beaten, lone.calls.looks - before];
  });
  expect(n).toBe(6);
  expect(looks).toBe(1);
});

test("a body that may run only once looks, and meets no conflict for want of it", async () => {
  const { cloud, lone, other } = await startTwo();
  const n = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    await run(other, increment("a"));
    return (await lone.transact({ attemptsMax: 1 }, increment("a"))).result;
  });
  expect(n).toBe(6);
});

class NotEnough extends Error {}

/** Takes one away; refuses where none is left. */
const takeOne: Body<number> = async (tx) => {
  const n = numberIn(await tx.get("counters", keyOf("stock")));
  if (n === 0) throw new NotEnough();
  tx.put("counters", { ...keyOf("stock"), n: { N: (n - 1).toString() } });
  return n - 1;
};

test("a body that throws has seen what was acknowledged before it began", async () => {
  const { cloud, lone, other } = await startTwo();
  const left = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    await run(other, increment("stock"));
    return run(lone, takeOne);
  });
  expect(left).toBe(0);
});

test("its own error arrives where nothing has changed, after a look", async () => {
  const { cloud, lone } = await startTwo();
  const looks = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    const before = lone.calls.looks;
    await expect(run(lone, takeOne)).rejects.toThrow(NotEnough);
    return lone.calls.looks - before;
  });
  expect(looks).toBe(1);
});

test("a body that writes nothing has seen what was acknowledged before it began", async () => {
  const { cloud, lone, other } = await startTwo();
  const n = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    await run(other, increment("a"));
    return run(lone, async (tx) => numberIn(await tx.get("counters", keyOf("a"))));
  });
  expect(n).toBe(5);
});

test("who reads between its commits looks beside its reads", async () => {
  const { cloud, lone } = await startTwo();
  const looks = await cloud.run(async () => {
    await aloneForAWhile(cloud, lone);
    const read: Body<number> = async (tx) => numberIn(await tx.get("counters", keyOf("a")));
    await run(lone, read);
    const before = lone.calls.looks;
    await run(lone, increment("a"));
    return lone.calls.looks - before;
  });
  expect(looks).toBe(1);
});
