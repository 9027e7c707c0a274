/** The change feed over one shard and over several, by every way that commits go. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  type ChangedRows,
  type Client,
  defineTable,
  InvalidRequestError,
} from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  bankTables,
  ids,
  move,
  moveAround,
  openAccounts,
  storedTotal,
  ways,
  wholeAmount,
} from "../sharded/bank.ts";
import { applied, expectInOrder, take } from "./feed.ts";

const notes = defineTable<{ readonly text: string }, { readonly id: string }>("notes", {
  key: "id",
});
const tables = [...bankTables, testTable("notes", { partitionKey: "id" })];
type Account = { readonly id: string; readonly amount: number };

let cloud: TestCloud;

/**
 * The last change of all: it has read in every shard, so that it counts above whatever any of them
 * holds. One that touches a single shard may count below what another one has acknowledged before.
 */
async function endBehindAll(client: Client): Promise<void> {
  await client.transact(async (tx) => {
    await tx.batchGet(accounts, ids);
    tx.put(notes, { id: "end", text: "over" });
  });
}

function rowsOf(next: IteratorResult<ChangedRows, void>): ChangedRows["rows"] {
  return next.done === true ? [] : next.value.rows;
}

const kinds = ways.flatMap(([name, way]) =>
  [1, 3].map((shards): [string, typeof way] => [`${name}, shards: ${shards}`, { ...way, shards }]),
);

describe.each(kinds)("changes, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, tables });
  });

  test("gives each transaction once, whole and in order, while they commit", async () => {
    const given = await cloud.run(async () => {
      const [client, reader] = [cloud.createClient("set-up"), cloud.createClient("reader")];
      const opened = client.transact((tx) => {
        for (const id of ids) tx.put(accounts, { id, amount: 10 });
        tx.put(notes, { id: "end", text: "opened" });
        return Promise.resolve();
      });
      const seen: Awaited<ReturnType<typeof take>> = [];
      const reading = (async () => {
        for await (const changes of reader.changes({ from: "oldest" })) {
          seen.push(changes);
          if (changes.of(notes).some(({ after }) => after?.text === "over")) return;
        }
      })();
      await opened;
      await moveAround(cloud, 12);
      await endBehindAll(client);
      await reading;
      return seen;
    });
    expectInOrder(given);
    expect(await cloud.settled()).toBe(true);
    const rows = [...applied<Account>(given, "accounts").values()];
    expect(rows.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      [...cloud.rows(accounts)].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    // A move is one transaction, wherever its two accounts lie: what is applied is always whole.
    for (let n = 1; n <= given.length; n += 1) {
      const amounts = [...applied<Account>(given.slice(0, n), "accounts").values()];
      expect(amounts.reduce((sum, { amount }) => sum + amount, 0)).toBe(wholeAmount);
    }
    expect(storedTotal(cloud)).toBe(wholeAmount);
  });

  test("goes on behind every position that it has given", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      await moveAround(cloud, 3);
      const all = await take(cloud.createClient("reader"), 8, { from: "oldest" });
      for (const [at, { position }] of all.entries()) {
        const rest = await take(cloud.createClient(`reader ${at}`), all.length - at - 1, {
          from: position,
        });
        expect(rest.map(({ transactionId }) => transactionId)).toEqual(
          all.slice(at + 1).map(({ transactionId }) => transactionId),
        );
      }
    });
  });

  test('begins "now" behind all that was acknowledged, and misses nothing after', async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const feed = client.changes({ from: "now" });
      const first = (async () => {
        for await (const changes of feed) return changes;
        return undefined;
      })();
      while (feed.position === undefined) await cloud.clock.sleep(5);
      await move(client, [ids[0] ?? "", ids[1] ?? ""]);
      const changed = (await first)?.of(accounts).map(({ key }) => key["id"]);
      expect(changed?.sort()).toEqual([ids[0], ids[1]]);
    });
  });

  test("says what stood there before, of an insert and a delete as well", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      for (const amount of [1, 2]) {
        await client.transact((tx) => {
          tx.put(accounts, { id: "a", amount });
          return Promise.resolve();
        });
      }
      await client.transact((tx) => {
        tx.delete(accounts, "a");
        return Promise.resolve();
      });
      const given = await take(client, 3, { from: "oldest", tables: [accounts], before: true });
      const seen = given.flatMap((changes) =>
        changes.of(accounts).map(({ before, after }) => [before?.amount, after?.amount]),
      );
      expect(seen).toEqual([
        [undefined, 1],
        [1, 2],
        [2, undefined],
      ]);
    });
  });

  test("passes by what is written to other tables, and its position with it", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      const put = (id: string) =>
        client.transact({ idempotencyKey: id }, (tx) => {
          tx.put(notes, { id, text: "t" });
          return Promise.resolve();
        });
      const { receipt } = await put("first");
      await openAccounts(client);
      const feed = client.changes({ from: "oldest", tables: [notes] });
      const iterator = feed[Symbol.asyncIterator]();
      const found = await iterator.next();
      // The idempotency entry is Tidemark's own, and no change of the application's.
      expect(rowsOf(found).map(({ table, key }) => [table, key])).toEqual([
        ["notes", { id: "first" }],
      ]);
      expect(found.done === true ? undefined : found.value.transactionId).toBe(
        receipt.transactionId,
      );
      const next = iterator.next();
      await cloud.clock.sleep(3_000);
      const [micros = ""] = feed.position?.split(".") ?? [];
      expect(Number(micros)).toBeGreaterThan(receipt.commitTimestamp ?? 0);
      await put("second");
      expect(rowsOf(await next).map(({ key }) => key["id"])).toEqual(["second"]);
      await iterator.return?.(undefined);
    });
  });

  test("ends with its signal, and with its client", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const stop = new AbortController();
      const stopped = take(client, 1, { from: "now", signal: stop.signal });
      const closed = take(client, 1, { from: "now" });
      const outcomes = Promise.allSettled([stopped, closed]);
      await cloud.clock.sleep(1_000);
      stop.abort(new Error("enough"));
      await cloud.clock.sleep(1_000);
      await client.close();
      const [first, second] = await outcomes;
      expect(first).toMatchObject({ status: "rejected", reason: { message: "enough" } });
      expect(second).toMatchObject({ reason: { code: "transaction-closed" } });
    });
  });
});

describe.each(ways)("a shard that is split under the feed, by %s", (_, way) => {
  test("is followed into both parts, and nothing comes twice", async () => {
    cloud = await createTestCloud({ ...way, tables, maySplit: true });
    const all = await cloud.run(async () => {
      const client = cloud.createClient("set-up");
      await openAccounts(client);
      const marker = client.changes({ from: "oldest" });
      const seen: Awaited<ReturnType<typeof take>> = [];
      const reading = (async () => {
        for await (const changes of marker) {
          seen.push(changes);
          if (changes.of(notes).length > 0) return;
        }
      })();
      const splits = async (): Promise<void> => {
        await cloud.clock.sleep(150);
        await cloud.splitShard(0);
        await cloud.splitShard(1);
      };
      await Promise.all([moveAround(cloud, 15), splits()]);
      await endBehindAll(client);
      await reading;
      const again = await take(cloud.createClient("late"), seen.length, { from: "oldest" });
      expect(again.map(({ position }) => position)).toEqual(seen.map(({ position }) => position));
      return seen;
    });
    expectInOrder(all);
    await cloud.settled();
    const amounts = [...applied<Account>(all, "accounts").values()].map(({ amount }) => amount);
    expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(wholeAmount);
    const stored = new Map(cloud.rows(accounts).map(({ id, amount }) => [id, amount]));
    for (const { id, amount } of applied<Account>(all, "accounts").values()) {
      expect(stored.get(id)).toBe(amount);
    }
  });
});

describe.each(ways)("a shard that is joined under the feed, by %s", (_, way) => {
  test("is followed into the other one, by who was there and by who comes later", async () => {
    cloud = await createTestCloud({ ...way, tables, shards: 2, maySplit: true });
    const all = await cloud.run(async () => {
      const client = cloud.createClient("set-up");
      await openAccounts(client);
      const seen: Awaited<ReturnType<typeof take>> = [];
      const reading = (async () => {
        for await (const changes of client.changes({ from: "oldest" })) {
          seen.push(changes);
          if (changes.of(notes).length > 0) return;
        }
      })();
      const joining = (async () => {
        await cloud.clock.sleep(150);
        await cloud.joinShards(1);
      })();
      await Promise.all([moveAround(cloud, 10), joining]);
      await endBehindAll(client);
      await reading;
      const again = await take(cloud.createClient("late"), seen.length, { from: "oldest" });
      expect(again.map(({ position }) => position)).toEqual(seen.map(({ position }) => position));
      const next = take(cloud.createClient("later"), 1, { from: seen.at(-1)?.position ?? "" });
      await move(client, [ids[0] ?? "", ids[1] ?? ""]);
      expect((await next)[0]?.of(accounts)).toHaveLength(2);
      return seen;
    });
    expectInOrder(all);
    const amounts = [...applied<Account>(all, "accounts").values()].map(({ amount }) => amount);
    expect(amounts.reduce((sum, amount) => sum + amount, 0)).toBe(wholeAmount);
  });
});

test.each([
  [{ from: "yesterday" }, "from"],
  [{ from: -1 }, "from"],
  [{ tables: [] }, "tables"],
  [{ tables: ["accounts"] }, "tables"],
  [{ pollMs: 0 }, "pollMs"],
  [{ form: "now" }, "form"],
])("%j is refused", async (options, field) => {
  cloud = await createTestCloud({ tables });
  const taken = take(cloud.createClient(), 1, options as never);
  await expect(taken).rejects.toMatchObject({ code: "invalid-request", field });
});

test("what stood before, of a table without history, is refused by name", async () => {
  cloud = await createTestCloud({ tables });
  await cloud.run(async () => {
    const taken = take(cloud.createClient(), 1, { tables: [notes], before: true });
    await expect(taken).rejects.toThrow(InvalidRequestError);
    await expect(take(cloud.createClient(), 1, { tables: [defineTable("nots")] })).rejects.toThrow(
      /nots/,
    );
  });
});
