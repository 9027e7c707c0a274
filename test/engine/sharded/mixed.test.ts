/** Transactions over mixed tables and several shards, beside native operations. */
import { GetItemCommand, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tidemarkNative } from "../../../native/index.ts";
import { CommitUnknownError, defineTable, UnavailableError } from "../../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../../testing/index.ts";
import {
  accounts,
  diesAfter,
  endsOfTheDead,
  ids,
  move,
  moveAround,
  openAccounts,
  total,
  ways,
  wholeAmount,
} from "./bank.ts";

let cloud: TestCloud;

const totals = defineTable<{ readonly n: number }, { readonly id: string }>("totals", {
  key: "id",
});

const seats = defineTable<
  { readonly taken: boolean },
  { readonly hall: string; readonly seat: number },
  "hall"
>("seats", { key: ["hall", "seat"] });
const halls = ["blue", "green", "red", "white", "yellow"];

const tables = [
  testTable("accounts", { partitionKey: "id", access: "mixed" }),
  testTable("seats", {
    partitionKey: "hall",
    sortKey: { name: "seat", type: "N" },
    access: "mixed",
  }),
  testTable("totals", { partitionKey: "id", history: true }),
];
const patient = { attemptsMax: 200, deadlineMs: 60_000 };

/** An item as it is stored, with what Tidemark keeps in it. */
async function stored(id: string): Promise<object | undefined> {
  const { Item } = await cloud.dynamodb.send(
    new GetItemCommand({ TableName: "accounts", Key: { id: { S: id } } }),
  );
  return Item;
}

function sumStored(): number {
  return cloud.rows(accounts).reduce((sum, { amount }) => sum + amount, 0);
}

/** A process whose own operations are aware of transactions. */
function awareProcess(): ReturnType<TestCloud["startProcess"]> {
  const app = cloud.startProcess("app");
  app.dynamodb.middlewareStack.use(tidemarkNative({ client: app.client }));
  return app;
}

describe.each(ways)("mixed tables over four shards, by %s", (_, way) => {
  beforeEach(async () => {
    cloud = await createTestCloud({ ...way, shards: 4, tables });
  });

  afterEach(async () => {
    await cloud.settled();
    await cloud.run(async () => {
      const items = await Promise.all(ids.map((id) => stored(id)));
      // What was fenced is installed, or the fence is taken away.
      expect(items.filter((item) => item !== undefined && "_f" in item)).toEqual([]);
    });
  });

  test("money that is moved across shards is neither lost nor made, at any moment", async () => {
    const sums: number[] = [];
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const reader = cloud.createClient("reader");
      const read = async (): Promise<void> => {
        for (let i = 0; i < 5; i += 1) {
          await cloud.clock.sleep(60);
          const { result } = await reader.transact(patient, (tx) => total(tx.scan(accounts)));
          sums.push(result);
        }
      };
      await Promise.all([read(), moveAround(cloud, 6)]);
    });
    await cloud.settled();
    expect(new Set(sums)).toEqual(new Set([wholeAmount]));
    expect(sumStored()).toBe(wholeAmount);
  });

  test("counts of native updates and of transactions over all shards are all kept", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const app = awareProcess();
      const natives = ids.slice(0, 6).map(async (id, n) => {
        for (let i = 0; i < 6; i += 1) {
          await cloud.clock.sleep(15 + 7 * n);
          await app.dynamodb.send(
            new UpdateItemCommand({
              ...{ TableName: "accounts", Key: { id: { S: id } } },
              UpdateExpression: "ADD amount :one",
              ExpressionAttributeValues: { ":one": { N: "1" } },
            }),
          );
        }
      });
      const client = cloud.createClient("adding");
      const adding = async (): Promise<void> => {
        for (let i = 0; i < 5; i += 1) {
          await client.transact(patient, async (tx) => {
            const rows = await tx.batchGet(accounts, ids);
            const last = await tx.get(totals, "all");
            for (const [n, row] of rows.entries()) {
              tx.put(accounts, { id: ids[n] ?? "", amount: (row?.amount ?? 0) + 1 });
            }
            tx.put(totals, { id: "all", n: (last?.n ?? 0) + ids.length });
          });
        }
      };
      await Promise.all([...natives, adding()]);
    });
    await cloud.settled();
    expect(cloud.rows(totals)).toEqual([{ id: "all", n: 5 * ids.length }]);
    expect(sumStored()).toBe(wholeAmount + 36 + 5 * ids.length);
  });

  test("no reader sees of two native writes the second one alone", async () => {
    const seen: (readonly number[])[] = [];
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const app = awareProcess();
      const put = (id: string, amount: number): Promise<unknown> =>
        app.dynamodb.send(
          new PutItemCommand({
            TableName: "accounts",
            Item: { id: { S: id }, amount: { N: amount.toString() } },
          }),
        );
      const writing = async (): Promise<void> => {
        for (let n = 11; n < 26; n += 1) {
          await put("account-0", n);
          await put("account-1", n);
          await cloud.clock.sleep(250);
        }
      };
      const reading = async (name: string, writes: boolean): Promise<void> => {
        const client = cloud.createClient(name);
        for (let i = 0; i < 12; i += 1) {
          const { result } = await client.transact(patient, async (tx) => {
            const first = await tx.get(accounts, "account-0");
            await cloud.clock.sleep(40);
            const second = await tx.get(accounts, "account-1");
            if (writes) tx.put(totals, { id: name, n: i });
            return [first?.amount ?? 0, second?.amount ?? 0];
          });
          seen.push(result);
        }
      };
      await Promise.all([writing(), reading("one", true), reading("other", false)]);
    });
    expect(seen.filter(([first = 0, second = 0]) => first < second)).toEqual([]);
    expect(new Set(seen.map(([first]) => first)).size).toBeGreaterThan(2);
  });

  // What was read of mixed tables is read again; of the other table its log alone tells.
  test.each(["first", "last"] as const)(
    "who only reads, another table's row %s, sees all of a commit or nothing",
    async (when) => {
      await cloud.run(async () => {
        await openAccounts(cloud.createClient("set-up"));
        const writer = cloud.createClient("writer");
        const reader = cloud.createClient("reader");
        for (const [n, id] of ids.slice(0, 4).entries()) {
          const others = ids.filter((each) => each !== id);
          const { result, receipt } = await reader.transact(patient, async (tx) => {
            let total = when === "first" ? await tx.get(totals, "all") : undefined;
            // Each shard is looked at by now, and none again while the body runs.
            await tx.batchGet(accounts, others);
            if (when === "last") total = await tx.get(totals, "all");
            if (tx.attempt === 1) {
              await writer.transact((txn) => {
                txn.put(accounts, { id, amount: 100 + n });
                txn.put(totals, { id: "all", n: 100 + n });
                return Promise.resolve();
              });
            }
            return [total?.n, (await tx.get(accounts, id))?.amount];
          });
          expect(result).toEqual([100 + n, 100 + n]);
          expect(receipt.attempts).toBe(2);
        }
      });
    },
  );

  test("what dead clients leave between their places and their votes ends as one", async () => {
    const dyingAtMs = Array.from({ length: 14 }, (_, n) => 4 * (n + 1));
    expect(await endsOfTheDead(cloud, dyingAtMs)).toContain("aborted");
  });

  test("whoever meets what a dead client left settles it, natively, too", async () => {
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      const app = awareProcess();
      for (let atMs = 6; atMs < 60; atMs += 6) {
        await diesAfter(cloud, atMs, (client) => move(client, ["account-2", "account-9"]));
        await app.dynamodb.send(
          new UpdateItemCommand({
            ...{ TableName: "accounts", Key: { id: { S: "account-9" } } },
            UpdateExpression: "ADD amount :one",
            ExpressionAttributeValues: { ":one": { N: "1" } },
          }),
        );
        await move(cloud.createClient(), ["account-9", "account-2"]);
      }
    });
    await cloud.settled();
    expect(sumStored()).toBe(wholeAmount + 9);
  });

  test("an idempotency key does the work once, in whichever shard its entry lies", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const pair = ["account-1", "account-2"] as const;
      for (let i = 0; i < 3; i += 1) await move(client, pair, { idempotencyKey: "once" });
      const { result } = await client.transact((tx) => tx.batchGet(accounts, [...pair]));
      expect(result.map((row) => row?.amount)).toEqual([9, 11]);
    });
  });

  test("rows are deleted, made again, and scanned", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      await client.transact((tx) => {
        for (const id of ids.slice(0, 6)) tx.delete(accounts, id);
        return Promise.resolve();
      });
      const count = async (): Promise<number> => {
        const { result } = await client.transact(async (tx) => {
          let rows = 0;
          for await (const _row of tx.scan(accounts)) rows += 1;
          return rows;
        });
        return result;
      };
      expect(await count()).toBe(6);
      await openAccounts(client);
      expect(await count()).toBe(12);
    });
  });

  test("what was given up before its vote is aborted, and known to be", async () => {
    const ends = new Set<string>();
    await cloud.run(async () => {
      await openAccounts(cloud.createClient("set-up"));
      for (let deadlineMs = 10; deadlineMs < 260; deadlineMs += 25) {
        const client = cloud.createClient(`hurried ${deadlineMs.toString()}`);
        const put = client.transact({ deadlineMs, attemptsMax: 1 }, (tx) => {
          for (const id of ids) tx.put(accounts, { id, amount: 1_000 + deadlineMs });
          return Promise.resolve();
        });
        const error: unknown = await put.then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        const other = cloud.createClient("other");
        const outcome =
          error === undefined
            ? "committed"
            : error instanceof CommitUnknownError
              ? await other.outcome(error.transactionId)
              : "aborted";
        const { result } = await other.transact(patient, (tx) => tx.batchGet(accounts, ids));
        const written = result.filter((row) => row?.amount === 1_000 + deadlineMs);
        expect(written).toHaveLength(outcome === "committed" ? ids.length : 0);
        ends.add(error instanceof UnavailableError ? "given up" : outcome);
      }
    });
    expect(ends).toContain("committed");
    expect(ends).toContain("given up");
  });

  test("who counts rows by a scan and adds one bars all others that do", async () => {
    const counted: number[] = [];
    await cloud.run(async () => {
      const adding = async (name: string): Promise<void> => {
        const client = cloud.createClient(name);
        for (let i = 0; i < 4; i += 1) {
          const { result } = await client.transact(patient, async (tx) => {
            let rows = 0;
            for await (const _row of tx.scan(accounts)) rows += 1;
            tx.put(accounts, { id: `${name} ${i.toString()}`, amount: 1 });
            return rows;
          });
          counted.push(result);
        }
      };
      await Promise.all(["a", "b", "c", "d"].map((name) => adding(name)));
    });
    expect(counted.sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, n) => n));
  });

  test.each(["serializable", "snapshot"] as const)(
    "of halls in several shards, queried, each seat is sold once (%s)",
    async (isolation) => {
      const sold: string[] = [];
      await cloud.run(async () => {
        await cloud.createClient("set-up").transact((tx) => {
          for (const hall of halls) {
            for (const seat of [1, 2]) tx.put(seats, { hall, seat, taken: false });
          }
          return Promise.resolve();
        });
        const buying = async (name: string): Promise<void> => {
          const client = cloud.createClient(name);
          for (let i = 0; i < 2; i += 1) {
            // One seat in each hall, or none.
            const { result } = await client.transact({ ...patient, isolation }, async (tx) => {
              const free: { hall: string; seat: number }[] = [];
              for (const hall of halls) {
                const rows = await tx.query(seats, { where: { hall } }).all();
                const seat = rows.find(({ taken }) => !taken);
                if (seat !== undefined) free.push(seat);
              }
              if (free.length < halls.length) return [];
              for (const { hall, seat } of free) tx.put(seats, { hall, seat, taken: true });
              return free.map(({ hall, seat }) => `${hall} ${seat.toString()}`);
            });
            sold.push(...result);
          }
        };
        await Promise.all(["a", "b", "c"].map((name) => buying(name)));
      });
      expect(sold).toHaveLength(2 * halls.length);
      expect(new Set(sold).size).toBe(sold.length);
    },
  );

  test("the outcome of an id is had, and stands", async () => {
    await cloud.run(async () => {
      const client = cloud.createClient();
      await openAccounts(client);
      const { receipt } = await client.transact((tx) => {
        for (const id of ids) tx.put(accounts, { id, amount: 1 });
        return Promise.resolve();
      });
      const { transactionId } = receipt;
      expect(receipt.local).toBeUndefined();
      if (transactionId !== undefined)
        expect(await client.outcome(transactionId)).toBe("committed");
    });
  });
});
