/**
 * REST beside BASE transactions, on real protocol servers: no call sees the inside of an open one,
 * or writes over what it holds (Salt isolation; engine/base).
 */
import { DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toSdkItem } from "../../aws/attribute-values.ts";
import { openKey } from "../../engine/base/open-list.ts";
import { recordPartition } from "../../engine/base/record.ts";
import type { TableDescription } from "../../core/types.ts";
import { createApi } from "../../functions/api/service.ts";
import { createClient, defineBase, defineTable, type Client } from "../../sdk/index.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { callerOf, type Answer, type Caller } from "./fixtures/api-harness.ts";

let deployment: LocalDeployment;
let rows: TableDescription;
let sorted: TableDescription;
let client: Client;
/** Instances that share nothing but the deployment. */
let here: Caller;
let there: Caller;

function open(deadlineMs?: number): Caller {
  const { control, clock, random } = deployment.stores.ports;
  const logger = { info: () => undefined, error: () => undefined };
  const engine = deployment.openEngine();
  const limit = deadlineMs === undefined ? {} : { deadlineMs };
  return callerOf(createApi({ engine, control, clock, random, logger, ...limit }));
}

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  rows = await stores.createTable("rows", { history: true, base: true });
  sorted = await stores.createTable("sorted", {
    ...{ sortKey: { name: "sk", type: "S" }, history: true, base: true },
  });
  const { region, credentials, endpoint: endpoints } = stores.clientOptions;
  const { deployment: name } = stores;
  client = createClient({ deployment: name, region, credentials, endpoints, commit: "stream" });
  here = open();
  there = open();
}, 60_000);

afterAll(async () => {
  await client.close();
  await deployment.stop();
});

const of = (pk: string, table = rows) => ({ table: table.name, key: { pk } });
const put = (pk: string, n: number) => ({ op: "put", table: rows.name, item: { pk, n } });
const tokenOf = (answer: Answer): string => {
  expect(answer.status).toBe(200);
  return String(answer.body["transaction"]);
};
const begin = (reads: object, by = here) => by("/v1/transactions/begin", { reads });
const readOn = (transaction: string, reads: object) =>
  there("/v1/transactions/read", { transaction, reads });
const commit = (transaction: string, writes: readonly object[], by = there) =>
  by("/v1/transactions/commit", { transaction, writes });
const readsOf = (answer: Answer) => {
  expect(answer.status).toBe(200);
  return answer.body["reads"] as { gets: readonly unknown[]; queries: readonly unknown[] };
};
const snapshot = async (reads: object) => readsOf(await here("/v1/snapshots", { reads }));

function expectHeldBy(answer: Answer, id: string): void {
  expect(answer).toMatchObject({
    status: 409,
    body: { code: "base-open", outcome: "aborted", retryable: true },
  });
  expect(answer.body["detail"]).toMatch(
    new RegExp(`^BASE transaction held/${id} is open since 2.*, and has made 1 step;`),
  );
  expect(answer.headers.get("retry-after")).toBe("2");
}

/** One that has written the item, and has read another one, and goes on when it is let. */
async function held(id: string): Promise<{ release: () => Promise<void> }> {
  const row = defineTable<{ readonly n: number }, { pk: string }>(rows.name, { key: "pk" });
  const line = defineTable<{ readonly n: number }, { pk: string; sk: string }>(sorted.name, {
    key: ["pk", "sk"],
  });
  await client.transact(async (tx) => {
    tx.put(row, { pk: `${id} written`, n: 1 });
    tx.put(row, { pk: `${id} read`, n: 1 });
    await Promise.resolve();
  });
  let go: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    go = resolve;
  });
  const definition = defineBase("held", async (base, _: null) => {
    await base.step("first", async (tx) => {
      await tx.get(row, `${id} read`);
      tx.put(row, { pk: `${id} written`, n: 2 });
      tx.put(line, { pk: `${id} lines`, sk: "a", n: 2 });
      return null;
    });
    await gone;
    return null;
  });
  const { accepted } = await client.base(definition, null, { id });
  return {
    release: async () => {
      go();
      await accepted.result();
    },
  };
}

/** What is void is taken away meanwhile, which may be a conflict, as anything that was read. */
async function untilCommitted(attempt: () => Promise<Answer>): Promise<void> {
  for (;;) {
    const { status, body } = await attempt();
    if (status === 200) return;
    expect([status, body["code"]]).toEqual([409, "conflict"]);
  }
}

describe("in one call", () => {
  test("reads show the state before, and the new one once it is released", async () => {
    const base = await held("a");
    const reads = {
      gets: [of("a written")],
      queries: [{ table: sorted.name, partitionKey: "a lines" }],
    };
    expect(await snapshot(reads)).toMatchObject({
      gets: [{ pk: "a written", n: 1 }],
      queries: [{ items: [] }],
    });
    await base.release();
    expect(await snapshot(reads)).toMatchObject({
      gets: [{ pk: "a written", n: 2 }],
      queries: [{ items: [{ sk: "a", n: 2 }] }],
    });
  });

  test("both wait, up to the request's deadline, which ends it: the answer names it", async () => {
    const base = await held("b");
    const impatient = open(4_000);
    const writes = [put("b written", 9)];
    const reads = { gets: [of("b written")] };
    const [unwritten, unread] = await Promise.all([
      impatient("/v1/transactions", { writes }),
      impatient("/v1/transactions", { reads }),
    ]);
    expectHeldBy(unwritten, "b");
    expectHeldBy(unread, "b");
    const waiting = there("/v1/transactions", { writes });
    await base.release();
    expect((await waiting).status).toBe(200);
    expect(await snapshot({ gets: [of("b written")] })).toMatchObject({ gets: [{ n: 9 }] });
  });
});

describe("over several calls", () => {
  test("what an open one has written is not read, nor in a page: the answer names it", async () => {
    const base = await held("c");
    expectHeldBy(await begin({ gets: [of("c written")] }), "c");
    const page = { queries: [{ table: sorted.name, partitionKey: "c lines" }] };
    expectHeldBy(await begin(page), "c");
    const token = tokenOf(await begin({ gets: [of("c read")] }));
    expectHeldBy(await readOn(token, { gets: [of("c written")] }), "c");
    await base.release();
    await untilCommitted(async () => {
      const later = await begin({ gets: [of("c written")], ...page });
      expect(readsOf(later)).toMatchObject({ gets: [{ n: 2 }], queries: [{ items: [{ n: 2 }] }] });
      return commit(tokenOf(later), [put("c written", 3)]);
    });
    expect(await snapshot({ gets: [of("c written")] })).toMatchObject({ gets: [{ n: 3 }] });
  });

  test.each(["written", "read"])("what an open one has %s is not written", async (what) => {
    const id = `d-${what}`;
    const base = await held(id);
    const token = tokenOf(await begin({ gets: [of("another")] }));
    const writes = [put(`${id} ${what}`, 7)];
    expectHeldBy(await commit(token, writes), id);
    expectHeldBy(
      await there("/v1/transactions/commit", { transaction: token, writes, returnItems: true }),
      id,
    );
    await base.release();
    await untilCommitted(async () => commit(tokenOf(await begin({ gets: [] })), writes));
    expect(await snapshot({ gets: [of(`${id} ${what}`)] })).toMatchObject({ gets: [{ n: 7 }] });
  });

  test("what was read before an open one has written it is a conflict at the commit", async () => {
    const token = tokenOf(await begin({ gets: [of("e written")] }));
    const base = await held("e");
    expect(await commit(token, [put("e beside", 1)])).toMatchObject({
      status: 409,
      body: { code: "conflict" },
    });
    await base.release();
  });

  test("a commit repeated under its key finds its answer, whatever is open by then", async () => {
    const token = tokenOf(await begin({ gets: [of("another")] }));
    const body = { transaction: token, writes: [put("f written", 5)] };
    const options = { headers: { "idempotency-key": "f" } };
    const first = await there("/v1/transactions/commit", body, options);
    expect(first.status).toBe(200);
    const base = await held("f");
    const again = await here("/v1/transactions/commit", body, options);
    expect(again.status).toBe(200);
    expect(again.body["receipt"]).toMatchObject({ replayed: true });
    await base.release();
  });

  test("with snapshot isolation such tables are refused", async () => {
    const answer = await here("/v1/transactions/begin", {
      ...{ isolation: "snapshot", reads: { gets: [of("another")] } },
    });
    expect(answer).toMatchObject({ status: 422, body: { field: "isolation" } });
  });
});

describe("the table of their records is nobody's:", () => {
  const table = () => `tidemark-${deployment.stores.deployment}-base`;
  const key = { pk: "state#order/1", sk: "-" };
  const reads = (): readonly object[] => [
    { gets: [{ table: table(), key }] },
    { queries: [{ table: table(), partitionKey: key.pk }] },
    { scans: [{ table: table() }] },
  ];
  const writes = (): readonly object[] => [
    { op: "put", table: table(), item: { ...key, phase: "released" } },
    { op: "delete", table: table(), key },
    { op: "update", table: table(), key, set: { phase: "released" } },
  ];

  function expectRefused({ status, body }: Answer): void {
    expect([status, body["field"]]).toEqual([422, "table"]);
    expect(body["detail"]).toMatch(/is Tidemark's own: it holds what is recorded of BASE/);
  }

  test("no read names it", async () => {
    const transaction = tokenOf(await begin({}));
    for (const each of reads()) {
      expectRefused(await here("/v1/snapshots", { reads: each }));
      expectRefused(await here("/v1/snapshots", { reads: each, maxStalenessMs: 1_000 }));
      expectRefused(await here("/v1/transactions", { reads: each, writes: [] }));
      expectRefused(await begin(each));
      expectRefused(await readOn(transaction, each));
    }
  });

  test("no write names it", async () => {
    const transaction = tokenOf(await begin({}));
    for (const each of writes()) {
      expectRefused(await here("/v1/transactions", { writes: [each] }));
      const isolation = "snapshot";
      expectRefused(await here("/v1/transactions", { isolation, writes: [each] }));
      expectRefused(await commit(transaction, [each]));
    }
  });
});

describe("rows of its records that nothing of Tidemark has written", () => {
  const work = defineBase("work", async (base, _: null) => {
    await base.step("first", () => Promise.resolve(null));
    return null;
  });

  beforeAll(async () => {
    const { stores } = deployment;
    const records = `tidemark-${stores.deployment}-base`;
    for (const id of ["whole", "entry", "head"]) await client.requestBase(work, null, { id });
    const entry = openKey("work/entry");
    const dynamodb = new DynamoDBClient({
      ...stores.clientOptions,
      endpoint: stores.servers.endpoint.dynamodb,
    });
    const key = { pk: { S: recordPartition("work/head") }, sk: { S: "-" } };
    for (const item of [
      { ...entry, _v: { S: "x" } },
      { ...key, _v: { N: "0.5" } },
    ]) {
      await dynamodb.send(new PutItemCommand({ TableName: records, Item: toSdkItem(item) }));
    }
    dynamodb.destroy();
  });

  test("are listed first, by their keys, and hide nothing else", async () => {
    const listed = await here("/v1/base/open?name=work", undefined);
    expect(listed.status).toBe(200);
    expect(listed.body["all"]).toBe(3);
    const found = listed.body["bases"] as readonly Record<string, unknown>[];
    expect(found.map(({ phase }) => phase)).toEqual(["damaged", "damaged", "requested"]);
    expect(found[2]).toMatchObject({ id: "whole", steps: 0 });
    for (const [id, part] of [
      ["entry", '"sk":{"S":"work/entry"}'],
      ["head", '"pk":{"S":"base#work/head"}'],
    ] as const) {
      const one = found.find((each) => each["id"] === id);
      expect(one?.["failure"]).toContain(part);
      expect(one).not.toHaveProperty("since");
    }
  });

  test.each([
    ["entry", '"sk":{"S":"work/entry"}'],
    ["head", '"pk":{"S":"base#work/head"}'],
  ])("are told of by their keys where one is looked up: %s", async (id, part) => {
    const one = await there(`/v1/base?name=work&id=${id}`, undefined);
    expect(one).toMatchObject({ status: 200, body: { name: "work", id, phase: "damaged" } });
    expect(one.body["failure"]).toContain(part);
  });
});
