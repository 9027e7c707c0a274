/**
 * Many clients move money by commands, in bodies that swallow every error, among conflicts and
 * failing services. No attempt that something has gone wrong in is committed, so the sum stays; and
 * the history of all reads and writes is serializable.
 */
import {
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { checkHistory, createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { defineTable, type Client } from "../../sdk/index.ts";
import { startApplication } from "./application.ts";

const accounts = defineTable<{ readonly n: number }, { readonly pk: string; readonly sk: string }>(
  "rows",
  { key: ["pk", "sk"] },
);
const TableName = "rows";
const names = ["a", "b", "c", "d"];
const start = 10;

const { document } = await startApplication();
const key = (sk: string) => ({ pk: "p", sk });

async function lenient<Result>(sent: Promise<Result>): Promise<Result | undefined> {
  try {
    return await sent;
  } catch {
    return undefined;
  }
}

/** Moves one from an account to another, each way of doing so as likely. */
async function move(random: SeededRandom, from: string, to: string): Promise<void> {
  const change = (sk: string, by: number) => ({
    ...{ TableName, Key: key(sk), UpdateExpression: "ADD n :by" },
    ...(by < 0 ? { ConditionExpression: "n >= :one" } : {}),
    ExpressionAttributeValues: { ":by": by, ...(by < 0 ? { ":one": 1 } : {}) },
  });
  switch (random.integer(0, 2)) {
    case 0: {
      const taken = await lenient(document.send(new UpdateCommand(change(from, -1))));
      // An error that is swallowed here is a refusal, or has ended the attempt.
      if (taken !== undefined) await lenient(document.send(new UpdateCommand(change(to, 1))));
      return;
    }
    case 1: {
      const TransactItems = [{ Update: change(from, -1) }, { Update: change(to, 1) }];
      await lenient(document.send(new TransactWriteCommand({ TransactItems })));
      return;
    }
    default: {
      const get = async (sk: string): Promise<number> => {
        const found = await lenient(document.send(new GetCommand({ TableName, Key: key(sk) })));
        return (found?.Item?.["n"] as number | undefined) ?? 0;
      };
      const [left, right] = [await get(from), await get(to)];
      const put = (sk: string, n: number) =>
        lenient(document.send(new PutCommand({ TableName, Item: { ...key(sk), n } })));
      await Promise.all([put(from, left - 1), put(to, right + 1)]);
    }
  }
}

async function work(db: Client, random: SeededRandom): Promise<void> {
  for (let i = 0; i < 8; i += 1) {
    const first = random.integer(0, names.length - 1);
    const [from, ...others] = [...names.slice(first), ...names.slice(0, first)];
    const to = others[random.integer(0, others.length - 1)];
    if (from === undefined || to === undefined) continue;
    await lenient(
      db.transact(async () => {
        if (random.integer(0, 3) === 0) {
          const all = { KeyConditionExpression: "pk = :p", Limit: 2 };
          const values = { ExpressionAttributeValues: { ":p": "p" } };
          await lenient(document.send(new QueryCommand({ TableName, ...all, ...values })));
        }
        await move(random, from, to);
      }),
    );
  }
}

function total(cloud: TestCloud): number {
  return cloud.rows(accounts).reduce((sum, { n }) => sum + n, 0);
}

test.each(["1", "2", "3", "4", "5", "6"])("with seed %s", async (seed) => {
  const faults = { "service-error": 0.1, "answer-slow": 0.02, "log-throttled": 0.02 };
  const tables = [testTable(accounts)];
  const cloud = await createTestCloud({ seed, tables, faults, recordHistory: true });
  await cloud.run(() =>
    cloud.createClient("first").transact(async (tx) => {
      for (const sk of names) tx.put(accounts, key(sk), { n: start });
    }),
  );
  const random = new SeededRandom(seed);
  const clients = ["one", "two", "three"].map((name) => cloud.createClient(name));
  const working = () =>
    Promise.all(clients.map((db, i) => work(db, random.fork(`client ${i.toString()}`))));
  await cloud.run(working);
  expect(total(cloud)).toBe(start * names.length);
  expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
});
