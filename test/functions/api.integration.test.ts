/**
 * The REST service on the real engine: two instances of one deployment, on real protocol servers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApi } from "../../functions/api/service.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { callerOf, type Answer, type Caller } from "./fixtures/api-harness.ts";

let deployment: LocalDeployment;
let accounts: string;
let entries: string;
/** Two instances that share nothing but the deployment; `hurried` gives up after two seconds. */
let here: Caller;
let there: Caller;
let hurried: Caller;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  const account = { name: "account", type: "S" } as const;
  accounts = (await stores.createTable("accounts", { partitionKey: account, history: true })).name;
  const sortKey = { name: "number", type: "N" } as const;
  const byKind = { name: "by-kind", partitionKey: { name: "kind", type: "S" } } as const;
  const entriesTable = { partitionKey: account, sortKey, indexes: [byKind] };
  entries = (await stores.createTable("entries", entriesTable)).name;
  const open = (deadlineMs?: number): Caller => {
    const { control, clock, random } = stores.ports;
    const logger = { info: () => undefined, error: () => undefined };
    const engine = deployment.openEngine();
    const bound = deadlineMs === undefined ? {} : { deadlineMs };
    return callerOf(createApi({ engine, control, clock, random, logger, ...bound }));
  };
  [here, there, hurried] = [open(), open(), open(2_000)];
});

afterAll(async () => {
  await deployment.stop();
});

const key = (account: string) => ({ table: accounts, key: { account } });
const keyed = (value: string) => ({ headers: { "Idempotency-Key": value } });
const receiptOf = (answer: Answer) =>
  answer.body["receipt"] as { transactionId: string; replayed: boolean; commitTimestamp: number };
const readsOf = (answer: Answer) =>
  answer.body["reads"] as {
    gets: unknown[];
    queries: { items: { number: number }[]; cursor?: string }[];
  };

async function deposit(balances: Readonly<Record<string, number>>): Promise<void> {
  const writes = Object.entries(balances).map(([account, balance]) => ({
    op: "put",
    table: accounts,
    item: { account, balance },
  }));
  const answer = await here("/v1/transactions", { writes });
  expect(answer.status).toBe(200);
}

async function balances(...names: readonly string[]): Promise<unknown[]> {
  const answer = await there("/v1/snapshots", { reads: { gets: names.map(key) } });
  return readsOf(answer).gets.map((item) => (item as { balance?: number } | null)?.balance);
}

function transfer(from: string, to: string, amount: number) {
  const condition = { attributes: { balance: { gte: amount } } };
  return {
    writes: [
      { op: "update", ...key(from), add: { balance: -amount }, condition },
      { op: "update", ...key(to), add: { balance: amount } },
    ],
  };
}

describe("REST on a deployment", () => {
  test("names the indexes that there are, and why a prefix of a number cannot be", async () => {
    const ask = (query: object) =>
      here("/v1/snapshots", { reads: { queries: [{ table: entries, ...query }] } });
    const index = { name: "by-king", partitionKey: "kind" };
    expect(await ask({ index, partitionKey: "a" })).toMatchObject({
      status: 422,
      body: {
        field: "index",
        detail: `table "${entries}" has no index "by-king"; registered are: by-kind`,
      },
    });
    expect(await ask({ partitionKey: "ada", sortKey: { beginsWith: "1" } })).toMatchObject({
      status: 422,
      body: {
        field: "number",
        detail: expect.stringMatching(/`beginsWith` is for strings.*number/) as string,
      },
    });
  });

  test("transfers, and refuses what the condition forbids with the item as stored", async () => {
    await deposit({ ada: 500, bob: 0 });
    const done = await here("/v1/transactions", transfer("ada", "bob", 300));
    expect(done.status).toBe(200);
    const refused = await there("/v1/transactions", transfer("ada", "bob", 300));
    expect(refused.status).toBe(412);
    expect(refused.body["condition"]).toMatchObject({
      currentItem: { account: "ada", balance: 200 },
    });
    expect(await balances("ada", "bob")).toEqual([200, 300]);
  });

  test("concurrent transfers over both instances conserve money and never overdraw", async () => {
    const names = ["c1", "c2", "c3", "c4"];
    await deposit(Object.fromEntries(names.map((name) => [name, 100])));
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) => {
        const from = names[index % 4] ?? "";
        const to = names[(index * 7 + 1) % 4] ?? "";
        if (from === to) return here("/v1/health");
        return (index % 2 === 0 ? here : there)("/v1/transactions", transfer(from, to, 30));
      }),
    );
    for (const { status } of answers) expect([200, 409, 412]).toContain(status);
    const left = (await balances(...names)) as number[];
    expect(left.reduce((sum, each) => sum + each, 0)).toBe(400);
    expect(Math.min(...left)).toBeGreaterThanOrEqual(0);
  });

  test("an interactive transaction moves between instances, loses to a faster writer", async () => {
    await deposit({ ida: 10, joe: 0 });
    const begun = await here("/v1/transactions/begin", { reads: { gets: [key("ida")] } });
    const read = await there("/v1/transactions/read", {
      transaction: begun.body["transaction"],
      reads: { gets: [key("joe")] },
    });
    expect(readsOf(read).gets).toEqual([{ account: "joe", balance: 0 }]);
    const { transaction } = read.body;
    const writes = [{ op: "put", table: accounts, item: { account: "joe", balance: 10 } }];
    await there("/v1/transactions", transfer("ida", "joe", 1));
    const lost = await here("/v1/transactions/commit", { transaction, writes });
    expect(lost.body).toMatchObject({ status: 409, code: "conflict", retryable: true });

    const again = await there("/v1/transactions/begin", { reads: { gets: [key("joe")] } });
    const won = await here("/v1/transactions/commit", {
      transaction: again.body["transaction"],
      writes,
    });
    expect(won.status).toBe(200);
    expect(await balances("ida", "joe")).toEqual([9, 10]);
  });

  test("a row that enters a queried partition is a conflict; pages go on by cursor", async () => {
    const row = (number: number) => ({ op: "put", table: entries, item: { account: "q", number } });
    await here("/v1/transactions", { writes: [row(1), row(2), row(3)] });
    const query = { table: entries, partitionKey: "q", sortKey: { lte: 10 }, limit: 2 };
    const first = await here("/v1/transactions/begin", { reads: { queries: [query] } });
    const [page] = readsOf(first).queries;
    const second = await there("/v1/transactions/read", {
      transaction: first.body["transaction"],
      reads: { queries: [{ ...query, cursor: page?.cursor }] },
    });
    const rows = [...(page?.items ?? []), ...(readsOf(second).queries[0]?.items ?? [])];
    expect(rows.map(({ number }) => number)).toEqual([1, 2, 3]);
    await there("/v1/transactions", { writes: [row(4)] });
    const commit = await here("/v1/transactions/commit", {
      transaction: second.body["transaction"],
      writes: [{ op: "put", table: accounts, item: { account: "sum", balance: 3 } }],
    });
    expect(commit.status).toBe(409);
    expect(await balances("sum")).toEqual([undefined]);
  });

  test("a repeated key gets its first answer from another instance too", async () => {
    await deposit({ kim: 100, leo: 0 });
    const request = { ...transfer("kim", "leo", 100), returnItems: true };
    const first = await here("/v1/transactions", request, keyed("it-1"));
    const repeat = await there("/v1/transactions", request, keyed("it-1"));
    expect(repeat.headers.get("Idempotency-Replayed")).toBe("true");
    expect(repeat.body["written"]).toEqual(first.body["written"]);
    expect(receiptOf(repeat)).toMatchObject({
      transactionId: receiptOf(first).transactionId,
      commitTimestamp: receiptOf(first).commitTimestamp,
    });
    const other = await there("/v1/transactions", transfer("leo", "kim", 1), keyed("it-1"));
    expect(other.body["code"]).toBe("idempotency-key-reused");

    const begun = await here("/v1/transactions/begin", { reads: { gets: [key("leo")] } });
    const back = { transaction: begun.body["transaction"], ...transfer("leo", "kim", 100) };
    const committed = await here("/v1/transactions/commit", back, keyed("it-2"));
    expect(committed.status).toBe(200);
    const again = await there("/v1/transactions/commit", back, keyed("it-2"));
    expect(again.status).toBe(200);
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    expect(receiptOf(again).transactionId).toBe(receiptOf(committed).transactionId);
    const reused = await here("/v1/transactions/commit", { ...back, writes: [] }, keyed("it-2"));
    expect(reused.body["code"]).toBe("idempotency-key-reused");
    expect(await balances("kim", "leo")).toEqual([100, 0]);
  });

  test("two equal commits at once with one key both succeed and happen once", async () => {
    await deposit({ max: 50, ned: 0 });
    const begun = await here("/v1/transactions/begin", { reads: { gets: [key("max")] } });
    const request = { transaction: begun.body["transaction"], ...transfer("max", "ned", 50) };
    const answers = await Promise.all([
      here("/v1/transactions/commit", request, keyed("it-3")),
      there("/v1/transactions/commit", request, keyed("it-3")),
    ]);
    // One of them may be told to come again; then it finds the other's answer.
    for (const { status } of answers) expect([200, 409]).toContain(status);
    const final = await there("/v1/transactions/commit", request, keyed("it-3"));
    expect(receiptOf(final).replayed).toBe(true);
    expect(await balances("max", "ned")).toEqual([0, 50]);
  });

  test("a snapshot as of an earlier answer sees that state on a table with history", async () => {
    await deposit({ old: 1 });
    const before = await here("/v1/snapshots", { reads: { gets: [key("old")] } });
    await deposit({ old: 2 });
    const asOf = before.body["readTimestamp"];
    const answer = await there("/v1/snapshots", { asOf, reads: { gets: [key("old")] } });
    expect(answer.body["readTimestamp"]).toBe(asOf);
    expect(readsOf(answer).gets).toEqual([{ account: "old", balance: 1 }]);
  });

  test("long numbers, sets and binary go through the store exactly, in both formats", async () => {
    const item = {
      account: "exact",
      long: { $typed: { N: "12345678901234567890123456789012345678" } },
      tiny: { $typed: { N: "0.00000000000000000000000000000000001" } },
      tags: { $typed: { SS: ["a", "b"] } },
      bytes: { $typed: { B: "AAEC/w==" } },
      map: { list: [1, "two", null, false, { deep: 0.1 }] },
    };
    await here("/v1/transactions", { writes: [{ op: "put", table: accounts, item }] });
    const plain = await there("/v1/snapshots", { reads: { gets: [key("exact")] } });
    const expected = { ...item, tiny: expect.anything() as unknown };
    expect(readsOf(plain).gets[0]).toEqual(expected);
    const typed = await there("/v1/snapshots", {
      format: "dynamodb",
      reads: { gets: [{ table: accounts, key: { account: { S: "exact" } } }] },
    });
    expect(readsOf(typed).gets[0]).toMatchObject({
      long: item.long.$typed,
      bytes: { B: "AAEC/w==" },
    });
  });

  test("an unknown outcome is settled to what the tables say", async () => {
    await deposit({ una: 0 });
    await deployment.oracle.stop();
    const write = {
      writes: [{ op: "put", table: accounts, item: { account: "una", balance: 1 } }],
    };
    const unknown = await hurried("/v1/transactions", write);
    expect(unknown.status).toBe(202);
    await deployment.oracle.start();
    const settle = unknown.headers.get("Location") ?? "";
    const settled = await here(settle, {});
    expect(settled.status).toBe(200);
    const committed = settled.body["outcome"] === "committed";
    expect(await balances("una")).toEqual([committed ? 1 : 0]);
    expect((await there(settle, {})).body).toEqual(settled.body);
  });

  test("is deeply healthy; refuses unknown tables and reserved attributes by name", async () => {
    expect((await here("/v1/health?deep=true")).body["status"]).toBe("ok");
    const nowhere = { reads: { gets: [{ table: "nowhere", key: { account: "a" } }] } };
    expect((await here("/v1/transactions", nowhere)).status).toBe(422);
    const reserved = [{ op: "put", table: accounts, item: { account: "a", _v: 1 } }];
    const answer = await here("/v1/transactions", { writes: reserved });
    expect(answer.body).toMatchObject({ status: 422, code: "invalid-request" });
    const misfit = { reads: { gets: [{ table: accounts, key: { account: 1 } }] } };
    expect((await there("/v1/snapshots", misfit)).status).toBe(422);
  });
});

describe("Lambda handler", () => {
  test("serves the deployment that its environment names", async () => {
    const { stores } = deployment;
    Object.assign(process.env, {
      TIDEMARK_DEPLOYMENT: stores.deployment,
      TIDEMARK_ENDPOINT_DYNAMODB: stores.clientOptions.endpoint.dynamodb,
      TIDEMARK_ENDPOINT_KINESIS: stores.clientOptions.endpoint.kinesis,
      TIDEMARK_LOG_LEVEL: "SILENT",
      POWERTOOLS_METRICS_DISABLED: "true",
    });
    const { handler } = await import("../../functions/api/handler.ts");
    const { default: event } = await import("./fixtures/http-api-event.json");
    await deposit({ lam: 5 });
    const body = JSON.stringify({ reads: { gets: [key("lam")] } });
    const context = { awsRequestId: "a-1", getRemainingTimeInMillis: () => 29_000 };
    const result = await handler({ ...event, body }, context);
    expect(result.statusCode).toBe(200);
    const { reads } = JSON.parse(result.body ?? "") as { reads: { gets: unknown } };
    expect(reads.gets).toEqual([{ account: "lam", balance: 5 }]);
  });
});
