/**
 * Interactive transactions of the REST API over several shards, from instance to instance, in the
 * simulated cloud: what they read is of one moment, they commit in all shards or in none, and no
 * split or join between two calls makes them miss a write.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { closeShard } from "../../aws/join-shard.ts";
import * as limits from "../../core/limits.ts";
import type { ShardNumber } from "../../core/types.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { ways } from "../engine/sharded/bank.ts";
import { sweep } from "../harness/sweep.ts";
import type { Answer, Caller } from "./fixtures/api-harness.ts";
import { shardsOf, startInstance, type Instance } from "./fixtures/sharded-api.ts";

const purses = testTable("purses", { partitionKey: "id", history: true });
const mixed = testTable("mixed", { partitionKey: "id", access: "mixed" });
const names = Array.from({ length: 40 }, (_, n) => `purse-${n.toString()}`);
const table = purses.name;

let cloud: TestCloud;
/** Purses of each shard, as they lie when a test begins. */
let of: ReadonlyMap<number, readonly string[]>;
let [here, there]: Instance[] = [];

async function start(options: Parameters<typeof createTestCloud>[0]): Promise<void> {
  cloud = await createTestCloud({ tables: [purses], ...options });
  const { commit } = options ?? {};
  [here, there] = ["here", "there"].map((name) =>
    startInstance(cloud, name, commit === undefined ? {} : { commit }),
  );
  await cloud.run(async () => {
    const writes = names.map((id) => put(id, 10));
    expect((await by(here)("/v1/transactions", { writes })).status).toBe(200);
    await lookAgain();
  });
}

async function lookAgain(): Promise<void> {
  const found = new Map<number, string[]>();
  for (const [id, shard] of await shardsOf(cloud, purses, names)) {
    found.set(shard, [...(found.get(shard) ?? []), id]);
  }
  of = found;
}

function by(instance: Instance | undefined): Caller {
  if (instance === undefined) throw new Error("no cloud was started");
  return instance.call;
}

/** The n-th purse of the shard. */
function purse(shard: number, n = 0): string {
  const found = of.get(shard)?.[n];
  if (found === undefined) throw new Error(`shard ${shard.toString()} has too few purses`);
  return found;
}

const put = (id: string, cents: number) => ({ op: "put", table, item: { id, cents } });
const get = (...ids: readonly string[]) => ({ gets: ids.map((id) => ({ table, key: { id } })) });
const centsIn = ({ body }: Answer): unknown[] =>
  (body["reads"] as { gets: ({ cents: number } | null)[] }).gets.map((each) => each?.cents);
const tokenIn = (answer: Answer): string => {
  expect(answer.status).toBe(200);
  return String(answer.body["transaction"]);
};
const receiptIn = ({ body }: Answer) =>
  body["receipt"] as { transactionId: string; commitTimestamp: number; replayed: boolean };

const begin = async (reads: object, instance = here): Promise<string> =>
  tokenIn(await by(instance)("/v1/transactions/begin", { reads }));
const read = (transaction: string, reads: object, instance = there): Promise<Answer> =>
  by(instance)("/v1/transactions/read", { transaction, reads });
const commit = (
  transaction: string,
  writes: readonly object[],
  {
    instance = there,
    key,
  }: { readonly instance?: Instance | undefined; readonly key?: string } = {},
): Promise<Answer> =>
  by(instance)(
    "/v1/transactions/commit",
    { transaction, writes },
    key === undefined ? {} : { headers: { "Idempotency-Key": key } },
  );

async function cents(...ids: readonly string[]): Promise<unknown[]> {
  return centsIn(await by(here)("/v1/snapshots", { reads: get(...ids) }));
}
async function writeNow(...writes: readonly object[]): Promise<void> {
  expect((await by(here)("/v1/transactions", { writes })).status).toBe(200);
}
const version = (token: string): number | undefined => Buffer.from(token, "base64url")[0];
const expectConflict = (answer: Answer): void => {
  expect(answer).toMatchObject({
    status: 409,
    body: { code: "conflict", retryable: true, outcome: "aborted" },
  });
};

describe.each(ways)("over four shards, by %s", (_, way) => {
  beforeEach(() => start({ ...way, shards: 4 }));

  test.each(["serializable", "snapshot"])(
    "what was read in two shards, call by call, is committed in them and a third (%s)",
    async (isolation) => {
      await cloud.run(async () => {
        const [a, b, c] = [purse(0), purse(1), purse(2)];
        const begun = await by(here)("/v1/transactions/begin", { isolation, reads: get(a) });
        const second = await read(tokenIn(begun), get(b));
        expect([...centsIn(begun), ...centsIn(second)]).toEqual([10, 10]);
        const done = await commit(tokenIn(second), [put(a, 5), put(b, 15), put(c, 0)]);
        expect(done.status).toBe(200);
        expect(await cents(a, b, c)).toEqual([5, 15, 0]);
        // It names a transaction that the logs know.
        const { transactionId, commitTimestamp } = receiptIn(done);
        const settled = await by(here)(`/v1/transactions/${transactionId}/outcome`, {});
        expect(settled.body).toEqual({ transactionId, outcome: "committed", commitTimestamp });
      });
    },
  );

  test.each([
    ["first", 0],
    ["second", 1],
  ])(
    "what was overwritten in the %s shard is a conflict, and nothing is written",
    async (_, at) => {
      await cloud.run(async () => {
        const token = tokenIn(await read(await begin(get(purse(0))), get(purse(1))));
        await writeNow(put(purse(at), 1));
        expectConflict(await commit(token, [put(purse(2), 99)]));
        expect(await cents(purse(2))).toEqual([10]);
      });
    },
  );

  test("a row that comes to a table that was scanned, in any shard, is a conflict", async () => {
    await cloud.run(async () => {
      const scans = [{ table, limit: 1_000 }];
      const token = await begin({ scans });
      await writeNow(put("purse-new", 1));
      expectConflict(await commit(token, [put(purse(2), 99)]));
    });
  });

  test("no answer shows a shard before a transfer and another one behind it", async () => {
    await cloud.run(async () => {
      const [a, b] = [purse(0), purse(3)];
      const token = await begin(get(a));
      await writeNow(put(a, 4), put(b, 16));
      expectConflict(await read(token, get(b)));
      // Nor does one that reads in a shard that it has read in.
      const other = tokenIn(await read(await begin(get(a)), get(b)));
      await writeNow(put(a, 3), put(purse(3, 1), 17));
      expectConflict(await read(other, get(purse(3, 1))));
    });
  });

  test("a condition that fails over what was never there at one moment is a conflict", async () => {
    await cloud.run(async () => {
      const [a, b] = [purse(0), purse(3)];
      const token = await begin(get(a, purse(3, 1)));
      const condition = { attributes: { cents: { eq: 10 } } };
      const conditions = [{ table, key: { id: b }, condition }];
      await writeNow(put(a, 4), put(b, 16));
      const refused = { transaction: token, conditions, writes: [put(a, 1)] };
      expectConflict(await by(there)("/v1/transactions/commit", refused));
      const now = await begin(get(a));
      const failed = await by(there)("/v1/transactions/commit", { ...refused, transaction: now });
      expect(failed).toMatchObject({ status: 412, body: { code: "condition-failed" } });
    });
  });

  test("one that writes nothing says whether all that it read was true at one moment", async () => {
    await cloud.run(async () => {
      const token = tokenIn(await read(await begin(get(purse(0))), get(purse(1))));
      expect(receiptIn(await commit(token, []))).toMatchObject({ transactionId: null });
      await writeNow(put(purse(1), 1));
      expectConflict(await commit(token, []));
    });
  });

  test("a repeat of a commit whose answer was lost gets that answer, from anybody", async () => {
    await cloud.run(async () => {
      const writes = [put(purse(0), 1), put(purse(1), 2)];
      const token = tokenIn(await read(await begin(get(purse(0))), get(purse(1))));
      const first = receiptIn(await commit(token, writes, { key: "k" }));
      const again = await commit(token, writes, { key: "k", instance: here });
      expect(again.headers.get("Idempotency-Replayed")).toBe("true");
      const { transactionId, commitTimestamp } = first;
      expect(receiptIn(again)).toMatchObject({ transactionId, commitTimestamp, replayed: true });
      for (const key of [undefined, "other"]) {
        const other = await commit(token, writes, key === undefined ? {} : { key });
        const { body } = other;
        expect(body).toMatchObject({ status: 409, code: "already-committed", transactionId });
      }
    });
  });

  test("of tokens that stem from one of them one commits, also of one without reads", async () => {
    await cloud.run(async () => {
      const token = await begin({});
      const tokens = await Promise.all([
        read(token, get(purse(0))).then(tokenIn),
        read(token, get(purse(1)), here).then(tokenIn),
      ]);
      const ends = await Promise.all(
        [token, ...tokens].map((each, n) => commit(each, [put(purse(n), n)])),
      );
      const done = ends.filter(({ status }) => status === 200);
      expect(done).toHaveLength(1);
      for (const each of [token, ...tokens]) {
        const late = await commit(each, [put(purse(3), 99)], { instance: here });
        const { transactionId } = receiptIn(done[0] as Answer);
        expect(late.body).toMatchObject({ code: "already-committed", transactionId });
      }
    });
  });

  test("an instance that dies at any moment of a commit leaves one that happens once", async () => {
    const outcomes = new Set<unknown>();
    await cloud.run(async () => {
      for (let n = 0; n < 30; n += sweep(3, 1)) {
        const [a, b, key] = [purse(0, 1), purse(1, 1), `dies-${n.toString()}`];
        const [from, to] = (await cents(a, b)) as [number, number];
        const token = tokenIn(await read(await begin(get(a)), get(b)));
        const writes = [put(a, from - 1), put(b, to + 1)];
        const { commit: prefers } = way;
        const dying = startInstance(cloud, key, prefers === undefined ? {} : { commit: prefers });
        // Its answer never comes.
        void commit(token, writes, { key, instance: dying });
        await cloud.clock.sleep(4 * n);
        dying.crash();
        let again = await commit(token, writes, { key });
        // It may meet what the dead one has left open, and is told to come again.
        while (again.status !== 200) {
          expect([202, 409, 503]).toContain(again.status);
          await cloud.clock.sleep(1_000);
          again = await commit(token, writes, { key, instance: here });
        }
        outcomes.add(receiptIn(again).replayed);
        expect(await cents(a, b)).toEqual([from - 1, to + 1]);
        const last = await commit(token, [put(a, 99)], { instance: here });
        const { transactionId } = receiptIn(again);
        expect(last.body).toMatchObject({ code: "already-committed", transactionId });
      }
    });
    // Some it had sent off, and some not.
    expect(outcomes).toEqual(new Set([true, false]));
  });

  test("what stands still in one shard keeps no call beyond its deadline", async () => {
    const hurried = startInstance(cloud, "hurried", {
      ...(way.commit === undefined ? {} : { commit: way.commit }),
      deadlineMs: 3_000,
    });
    await cloud.run(async () => {
      const token = tokenIn(await read(await begin(get(purse(0))), get(purse(1))));
      const writes = [put(purse(0), 1), put(purse(1), 2)];
      cloud.refuseCalls("dynamodb", 20_000);
      const beganMs = cloud.clock.monotonicMs();
      const late = await commit(token, writes, { instance: hurried, key: "k" });
      expect(cloud.clock.monotonicMs() - beganMs).toBeLessThanOrEqual(3_000);
      expect([202, 429, 503]).toContain(late.status);
      await cloud.clock.sleep(20_000);
      const done = await commit(token, writes, { key: "k" });
      expect(done.status).toBe(200);
      expect(await cents(purse(0), purse(1))).toEqual([1, 2]);
    });
  });
});

describe.each(ways)("while shards are split and joined, by %s", (_, way) => {
  beforeEach(() => start({ ...way, shards: 2, maySplit: true }));

  test.each([0, 1])("a split of shard %i that it has read in is a conflict", async (shard) => {
    await cloud.run(async () => {
      const token = tokenIn(await read(await begin(get(purse(0))), get(purse(1))));
      await cloud.splitShard(shard);
      // Also to an instance that has not heard of it yet.
      for (const instance of [here, there, startInstance(cloud, "new")]) {
        expectConflict(await commit(token, [put(purse(0), 99)], { instance }));
        expectConflict(await read(token, get(purse(0, 1)), instance));
      }
      expect(await cents(purse(0))).toEqual([10]);
    });
  });

  test("one that has read in other shards goes on, and writes in both halves", async () => {
    await cloud.run(async () => {
      const token = await begin(get(purse(0)));
      await cloud.splitShard(1);
      await lookAgain();
      const [low, high] = [purse(1), purse(2)];
      const second = await read(token, get(low, high));
      expect(centsIn(second)).toEqual([10, 10]);
      const done = await commit(tokenIn(second), [put(low, 1), put(high, 2), put(purse(0), 3)]);
      expect(done.status).toBe(200);
      expect(await cents(low, high, purse(0))).toEqual([1, 2, 3]);
    });
  });

  test("a split that comes while a call reads is not noticed, where nothing was read", async () => {
    await cloud.run(async () => {
      const token = await begin(get(purse(0)));
      const all = names.filter((name) => !(of.get(0) ?? []).includes(name));
      const [answer] = await Promise.all([read(token, get(...all)), cloud.splitShard(1)]);
      expect(centsIn(answer)).toEqual(all.map(() => 10));
      const begun = await Promise.all([begin(get(...all)), cloud.splitShard(0)]);
      expect(begun[0]).toBeTypeOf("string");
    });
  });

  test("what is written behind a split is missed by nobody who has read before it", async () => {
    await cloud.run(async () => {
      const token = tokenIn(await read(await begin(get(purse(0))), get(...(of.get(1) ?? []))));
      await cloud.splitShard(1);
      for (const id of of.get(1) ?? []) await writeNow(put(id, 7));
      expectConflict(await commit(token, [put(purse(0), 99)]));
      const last = startInstance(cloud, "last");
      expectConflict(await commit(token, [put(purse(0), 99)], { instance: last }));
    });
  });

  test("what its process has never heard of it reads in the log", async () => {
    await cloud.run(async () => {
      const kept = await begin(get(purse(0), purse(1)));
      const overtaken = await begin(get(purse(0), purse(1, 2)));
      await writeNow(put(purse(1, 2), 7));
      for (let n = 0; n < 3; n += 1) {
        await writeNow(put(purse(0, 1), n), put(purse(1, 1), n));
        await cloud.clock.sleep(10_000);
      }
      const instance = startInstance(cloud, "new");
      expectConflict(await commit(overtaken, [put(purse(0), 99)], { instance }));
      expect((await commit(kept, [put(purse(0), 1)], { instance })).status).toBe(200);
    });
  });

  test("a shard that is closing is read in, and its operator may be dead", async () => {
    await cloud.run(async () => {
      const token = await begin(get(purse(1)));
      const operator = cloud.world.startProcess("operator", { exact: true });
      await closeShard(cloud.deployment.portsOf(operator), { shard: 1 as ShardNumber });
      const answer = await read(token, get(purse(1, 1)));
      expect(centsIn(answer)).toEqual([10]);
    });
  });

  test("a fork of long ago is none to who began behind it, in whatever process", async () => {
    await cloud.run(async () => {
      await cloud.splitShard(1);
      await lookAgain();
      const token = await begin(get(purse(0), purse(1), purse(2)));
      // The watermark passes what was read: the tail of a new process begins above it.
      for (let n = 0; n < 3; n += 1) {
        await writeNow(put(purse(0, 1), n), put(purse(1, 1), n), put(purse(2, 1), n));
        await cloud.clock.sleep(10_000);
      }
      const instance = startInstance(cloud, "new");
      const done = await commit(token, [put(purse(2), 1)], { instance });
      expect(done.status).toBe(200);
    });
  });

  test("what was read in a shard that was joined is a conflict, and else it goes on", async () => {
    await cloud.run(async () => {
      const [inJoined, inHeir, inNone] = await Promise.all([
        begin(get(purse(1))),
        begin(get(purse(0))),
        begin({}),
      ]);
      const joined = purse(1);
      await cloud.joinShards(1);
      await writeNow(put(joined, 7));
      expectConflict(await commit(inJoined, [put(purse(0), 99)]));
      expectConflict(await commit(inHeir, [put(joined, 99)]));
      const answer = await read(inNone, get(joined, purse(0)));
      expect(centsIn(answer)).toEqual([7, 10]);
      const done = await commit(tokenIn(answer), [put(joined, 1), put(purse(0), 2)]);
      expect(done.status).toBe(200);
      expect(await cents(joined, purse(0))).toEqual([1, 2]);
    });
  });

  test("a commit into a shard that is being joined waits for its end, and is made", async () => {
    await cloud.run(async () => {
      const token = await begin(get(purse(0)));
      const [other] = [await begin({})];
      const joining = cloud.joinShards(1);
      await cloud.clock.sleep(5);
      const ends = await Promise.all([
        commit(other, [put(purse(1), 1)]),
        commit(token, [put(purse(1, 1), 2)], { instance: here }),
        joining,
      ]);
      expect(ends[0].status).toBe(200);
      // It has read in the heir, whose range has grown.
      expect([200, 409]).toContain(ends[1].status);
      expect(await cents(purse(1))).toEqual([1]);
    });
  });
});

describe("tokens", () => {
  test("of one shard are what they were, and go on where it was split, if they may", async () => {
    await start({ maySplit: true });
    await cloud.run(async () => {
      const empty = await begin({});
      const used = await begin(get(purse(0)));
      // Version, key id, 41 bytes of a head, a name, one hash, nothing mixed, and the signature.
      expect(Buffer.from(empty, "base64url")).toHaveLength(9 + 25 + 16 + 3 + 32);
      expect(Buffer.from(used, "base64url")).toHaveLength(9 + 25 + 16 + 8 + 3 + 32);
      expect([version(empty), version(used)]).toEqual([3, 3]);
      await cloud.splitShard(0);
      await lookAgain();
      expectConflict(await read(used, get(purse(0))));
      const both = await read(empty, get(purse(0), purse(1)));
      expect(centsIn(both)).toEqual([10, 10]);
      expect(version(tokenIn(both))).toBe(4);
      expect((await commit(tokenIn(both), [put(purse(1), 1)])).status).toBe(200);
      const next = await begin(get(purse(1)));
      expect((await commit(next, [put(purse(0), 2)])).status).toBe(200);
    });
  });

  test("of several shards are signed, small, and of one deployment", async () => {
    await start({ shards: 4 });
    await cloud.run(async () => {
      const token = await begin(get(...names));
      const bytes = Buffer.from(token, "base64url");
      expect(bytes).toHaveLength(9 + 1 + 7 + 16 + 1 + 4 * 11 + names.length * 8 + 3 + 32);
      for (let bit = 0; bit < bytes.length * 8; bit += 7) {
        const changed = Buffer.from(bytes);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const answer = await commit(changed.toString("base64url"), [put(purse(0), 99)]);
        expect(answer).toMatchObject({ status: 422, body: { code: "invalid-token" } });
      }
      await cloud.clock.sleep(limits.transactionAgeMsMax + 1);
      expect(await commit(token, [put(purse(0), 99)])).toMatchObject({
        status: 410,
        body: { code: "transaction-closed" },
      });
      expect(await cents(purse(0))).toEqual([10]);
    });
  });

  test("a transaction of one shard of several is prepared in no other one", async () => {
    await start({ shards: 4, commit: "stream" });
    await cloud.run(async () => {
      for (let n = 0; n < 5; n += 1) {
        const token = await begin(get(purse(2, n)));
        expect((await commit(token, [put(purse(2, n), n)])).status).toBe(200);
      }
      await cloud.clock.sleep(5_000);
    });
    expect(cloud.deployment.metrics.get("PartsCommitted") ?? 0).toBe(4);
  });
});

describe("mixed tables in a deployment of several shards", () => {
  const item = (id: string, cents: number) => ({ ...put(id, cents), table: mixed.name });
  const gets = (...ids: readonly string[]) => ids.map((id) => ({ table: mixed.name, key: { id } }));

  test("are read and written in all of them, call after call", async () => {
    await start({ shards: 4, tables: [purses, mixed] });
    await cloud.run(async () => {
      const at = await shardsOf(cloud, mixed, names);
      const a = names[0] ?? "";
      const b = names.find((each) => at.get(each) !== at.get(a)) ?? "";
      const token = await begin({ gets: gets(a) });
      const again = tokenIn(await read(token, { gets: gets(b) }));
      expect((await commit(again, [item(a, 1), item(b, 2), put(purse(0), 3)])).status).toBe(200);
      const stored = await by(there)("/v1/snapshots", { reads: { gets: gets(a, b) } });
      expect(centsIn(stored)).toEqual([1, 2]);
      const stale = tokenIn(await read(await begin({ gets: gets(a) }), { gets: gets(b) }));
      await writeNow(item(b, 4));
      expectConflict(await commit(stale, [item(a, 3)]));
    });
  });

  test("are scanned over all of them, and a row that comes since is a conflict", async () => {
    await start({ shards: 4, tables: [purses, mixed] });
    await cloud.run(async () => {
      for (const name of names.slice(0, 4)) await writeNow(item(name, 1));
      const scan = { scans: [{ table: mixed.name }] };
      const token = await begin(scan);
      await writeNow(item(names[5] ?? "", 1));
      expectConflict(await commit(token, [put(purse(0), 9)]));
      const fresh = await begin(scan);
      expect((await commit(fresh, [put(purse(0), 9)])).status).toBe(200);
    });
  });
});
