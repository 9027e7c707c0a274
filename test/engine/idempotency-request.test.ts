/**
 * One idempotency key for two requests: the second is refused, and nothing of it is run, however
 * the first came to its commit.
 */
import { beforeEach, describe, expect, test } from "vitest";
import {
  CommitUnknownError,
  defineTable,
  IdempotencyKeyReusedError,
  type Client,
  type TransactOptions,
} from "../../sdk/index.ts";
import { resultCodec } from "../../sdk/result-codec.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";

type Counter = { readonly value: number };
const counters = defineTable<Counter, { readonly id: string }>("counters", { key: "id" });
const isolations = ["serializable", "snapshot"] as const;

let cloud: TestCloud;
let bodies: number;

beforeEach(async () => {
  cloud = await createTestCloud({ tables: [counters] });
  cloud.seed(counters, [{ id: "a", value: 0 }]);
  bodies = 0;
});

/** Adds one under the key "k"; the result says for which request. */
async function add(client: Client, request: unknown, options: TransactOptions = {}) {
  const once = { idempotencyKey: "k", idempotencyRequest: request, ...options };
  const { result, receipt } = await client.transact(once, async (tx) => {
    bodies += 1;
    tx.put(counters, { id: "a", value: ((await tx.get(counters, "a"))?.value ?? 0) + 1 });
    return request;
  });
  return { result, replayed: receipt.replayed, attempts: receipt.attempts };
}

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe.each(isolations)("%s: another request under the same key", (isolation) => {
  const options = { isolation };

  test("is refused, and its body does not run", async () => {
    const client = cloud.createClient();
    await cloud.run(() => add(client, { amount: 1 }, options));
    const error = await failure(cloud.run(() => add(client, { amount: 2 }, options)));
    expect(error).toBeInstanceOf(IdempotencyKeyReusedError);
    expect(error).toMatchObject({
      code: "idempotency-key-reused",
      retryable: false,
      outcome: "aborted",
    });
    expect(bodies).toBe(1);
    expect(cloud.rows(counters)).toEqual([{ id: "a", value: 1 }]);
    // The request that the key belongs to is answered as before, by whatever process.
    const repeated = await cloud.run(() => add(cloud.createClient(), { amount: 1 }, options));
    expect(repeated).toMatchObject({ result: { amount: 1 }, replayed: true });
  });

  test("is refused when the first one needed several attempts", async () => {
    const client = cloud.createClient();
    cloud.conflictOn(counters, "a", { times: 3 });
    expect((await cloud.run(() => add(client, "first", options))).attempts).toBe(4);
    const error = await failure(cloud.run(() => add(client, "second", options)));
    expect(error).toBeInstanceOf(IdempotencyKeyReusedError);
    expect(bodies).toBe(4);
  });

  test("is refused by its next attempt when the other one commits meanwhile", async () => {
    const app = cloud.startProcess("app");
    const other = cloud.createClient("other");
    app.beforeNextCommit(async () => {
      await add(other, "other", options);
    });
    const error = await failure(cloud.run(() => add(app.client, "mine", options)));
    expect(error).toBeInstanceOf(IdempotencyKeyReusedError);
    expect(cloud.rows(counters)).toEqual([{ id: "a", value: 1 }]);
  });

  test.each(["committed", "aborted"] as const)(
    "after an unknown outcome that was %s, is refused only if the key is taken",
    async (outcome) => {
      const app = cloud.startProcess("app");
      app.nextCommitUnknown(outcome);
      const first = add(app.client, "first", { ...options, deadlineMs: 2_000 });
      expect(await failure(cloud.run(() => first))).toBeInstanceOf(CommitUnknownError);
      const second = await failure(cloud.run(() => add(app.client, "second", options)));
      const [taken, left] = outcome === "committed" ? ["first", "second"] : ["second", "first"];
      if (outcome === "committed") expect(second).toBeInstanceOf(IdempotencyKeyReusedError);
      else expect(second).toBeUndefined();
      const repeated = await cloud.run(() => add(app.client, taken, options));
      expect(repeated).toMatchObject({ result: taken, replayed: true });
      const refused = await failure(cloud.run(() => add(app.client, left, options)));
      expect(refused).toBeInstanceOf(IdempotencyKeyReusedError);
      await cloud.settled();
      expect(cloud.rows(counters)).toEqual([{ id: "a", value: 1 }]);
    },
  );

  test("at the same time in one process: one request is done, the other refused", async () => {
    const client = cloud.createClient();
    const requests = ["x", "y", "x", "y", "x", "y"];
    const results = await cloud.run(() =>
      Promise.allSettled(
        requests.map((request) => add(client, request, { ...options, attemptsMax: 100 })),
      ),
    );
    expect(cloud.rows(counters)).toEqual([{ id: "a", value: 1 }]);
    const done = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect(done).toHaveLength(3);
    expect(new Set(done.map(({ result }) => result)).size).toBe(1);
    expect(done.filter(({ replayed }) => !replayed)).toHaveLength(1);
    for (const each of results) {
      if (each.status === "rejected") expect(each.reason).toBeInstanceOf(IdempotencyKeyReusedError);
    }
  });
});

test("members of one chain keep each its own request", async () => {
  const client = cloud.createClient();
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`);
  const all = (suffix: string) =>
    cloud.run(() =>
      Promise.all(
        keys.map((key) =>
          failure(add(client, key + suffix, { idempotencyKey: key, attemptsMax: 100 })),
        ),
      ),
    );
  expect(await all("")).toEqual(keys.map(() => undefined));
  expect(await all("")).toEqual(keys.map(() => undefined));
  for (const error of await all("!")) expect(error).toBeInstanceOf(IdempotencyKeyReusedError);
  expect(cloud.rows(counters)).toEqual([{ id: "a", value: 20 }]);
});

test("a call that names no request is compared with nothing", async () => {
  const client = cloud.createClient();
  await cloud.run(() => add(client, undefined));
  expect((await cloud.run(() => add(client, "late"))).replayed).toBe(true);
  await cloud.run(() => add(client, "named", { idempotencyKey: "other" }));
  const unnamed = await cloud.run(() => add(client, undefined, { idempotencyKey: "other" }));
  expect(unnamed).toMatchObject({ result: "named", replayed: true });
});

describe("two requests", () => {
  const isSame = (one: unknown, other: unknown): boolean => {
    const kept = resultCodec<number>("number", one).encode(1);
    try {
      return resultCodec<number>("number", other).decode(kept) === 1;
    } catch (error) {
      expect(error).toBeInstanceOf(IdempotencyKeyReusedError);
      return false;
    }
  };

  test.each<[unknown, unknown]>([
    ["a", "a"],
    [
      { a: 1, b: { c: 2, d: [3] } },
      { b: { d: [3], c: 2 }, a: 1 },
    ],
    [{ a: 1, gone: undefined }, { a: 1 }],
    [new Set(["a", "b"]), new Set(["b", "a"])],
    [new Set([Uint8Array.of(1), Uint8Array.of(2)]), new Set([Buffer.of(2), Buffer.of(1)])],
    [{ SS: ["a", "b"] }, { SS: ["a", "b"] }],
    [5n, 5],
    [new Map([["a", 1]]), { a: 1 }],
    [null, null],
  ])("%o and %o are the same", (one, other) => {
    expect(isSame(one, other)).toBe(true);
  });

  test.each<[unknown, unknown]>([
    ["a", "b"],
    ["1", 1],
    [null, ""],
    [
      [1, 2],
      [2, 1],
    ],
    [{ SS: ["a", "b"] }, { SS: ["b", "a"] }],
    [{ a: 1 }, { a: 1, b: 2 }],
    [Uint8Array.of(1), Uint8Array.of(2)],
    [new Map([["a", 1]]), new Map([["a", 2]])],
    [new Set(["1"]), new Set([1])],
    [2n ** 70n, 2n ** 70n + 1n],
  ])("%o and %o differ", (one, other) => {
    expect(isSame(one, other)).toBe(false);
  });
});

test.each<[string, TransactOptions]>([
  ["idempotencyRequest", { idempotencyRequest: "without a key" }],
  ["idempotencyRequest", { idempotencyKey: "k", idempotencyRequest: () => 1 }],
  ["idempotencyRequest.at", { idempotencyKey: "k", idempotencyRequest: { at: new Date(0) } }],
])("refuses as `%s` what cannot be compared, before the body runs", async (field, options) => {
  const refused = cloud.run(() =>
    cloud.createClient().transact(options, () => Promise.reject(new Error("it ran"))),
  );
  await expect(refused).rejects.toMatchObject({ code: "invalid-request", field });
});
