/**
 * The REST service over mixed tables, beside native writers, on real protocol servers
 * (docs/adr/0014-native-operations.md; I10): one request, one transaction. What spans several
 * requests is api-mixed-interactive.integration.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ports } from "../../core/ports.ts";
import type { TableDescription } from "../../core/types.ts";
import { createApi } from "../../functions/api/service.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { Native } from "../integration/mixed/native.ts";
import { key, number, text } from "../integration/support.ts";
import { callerOf, type Caller } from "./fixtures/api-harness.ts";

let deployment: LocalDeployment;
let native: Native;
let rows: TableDescription;
let plain: TableDescription;
let call: Caller;

function open(ports: Partial<Ports> = {}): Caller {
  const { control, clock, random } = deployment.stores.ports;
  const logger = { info: () => undefined, error: () => undefined };
  const engine = deployment.openEngine({ ports });
  return callerOf(createApi({ engine, control, clock, random, logger }));
}

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  [rows, plain] = await Promise.all([
    stores.createTable("rows", { access: "mixed" }),
    stores.createTable("plain"),
  ]);
  native = new Native(stores);
  call = open();
});

afterAll(async () => {
  native.close();
  await deployment.stop();
});

const of = (pk: string, table = rows) => ({ table: table.name, key: { pk } });
const put = (pk: string, n: number, table = rows) => {
  return { op: "put", table: table.name, item: { pk, n } };
};

describe("one request over mixed tables", () => {
  test("on one item it is committed locally, and says so instead of an id", async () => {
    const answer = await call("/v1/transactions", { writes: [put("one", 1)] });
    expect(answer.status).toBe(200);
    expect(answer.body["receipt"]).toMatchObject({
      ...{ local: true, transactionId: null, commitTimestamp: null, installed: true },
      ...{ attempts: 1, replayed: false },
    });
    expect(answer.headers.has("Location")).toBe(false);
    expect(await native.get(rows, key("one"))).toMatchObject({ n: number(1) });
  });

  test("updates under a condition count natively written values, also locally", async () => {
    await native.put(rows, { ...key("stock"), n: number(5) });
    const take = (by: number) => ({
      returnItems: true,
      writes: [
        {
          ...{ op: "update", ...of("stock"), add: { n: -by } },
          condition: { attributes: { n: { gte: by } } },
        },
      ],
    });
    const taken = await call("/v1/transactions", take(3));
    expect(taken.body).toMatchObject({
      written: [{ pk: "stock", n: 2 }],
      receipt: { local: true },
    });
    await native.addUnaware(rows, key("stock"), -1);
    const refused = await call("/v1/transactions", take(2));
    expect(refused).toMatchObject({
      status: 412,
      body: { condition: { currentItem: { pk: "stock", n: 1 } } },
    });
  });

  test("with an Idempotency-Key one item goes by the log: it has an outcome", async () => {
    const request = { writes: [put("keyed", 1)] };
    const options = { headers: { "Idempotency-Key": "mixed-1" } };
    const first = await call("/v1/transactions", request, options);
    expect(first.body["receipt"]).not.toHaveProperty("local");
    const { transactionId } = first.body["receipt"] as { transactionId: string };
    const settled = await call(`/v1/transactions/${transactionId}/outcome`, {});
    expect(settled.body).toMatchObject({ outcome: "committed" });
    const repeat = await call("/v1/transactions", request, options);
    expect(repeat.body["receipt"]).toMatchObject({ transactionId, replayed: true });
  });

  test("over several items, and beside transactional tables, it goes by the log", async () => {
    await native.put(rows, { ...key("from"), n: number(10) });
    const answer = await call("/v1/transactions", {
      reads: { gets: [of("from")] },
      writes: [
        { op: "update", ...of("from"), add: { n: -4 } },
        { op: "update", ...of("to", plain), add: { n: 4 } },
      ],
    });
    expect(answer.body).toMatchObject({
      reads: { gets: [{ pk: "from", n: 10 }] },
      receipt: { installed: true, commitTimestamp: expect.any(Number) as number },
    });
    expect(await native.get(rows, key("from"))).toMatchObject({ n: number(6) });
  });

  test("what always loses to native writers is told as a native conflict", async () => {
    const { ports } = deployment.stores;
    let n = 0;
    const harassed = open({
      mixed: {
        ...ports.mixed,
        fence: async (request, options) => {
          n += 1;
          await native.put(rows, { ...key("hot"), n: number(n) });
          return ports.mixed.fence(request, options);
        },
      },
    });
    await native.put(rows, { ...key("hot"), n: number(0) });
    const answer = await harassed("/v1/transactions", {
      writes: [{ op: "update", ...of("hot"), add: { n: 100 } }, put("beside", 1)],
    });
    expect(answer).toMatchObject({
      status: 409,
      body: {
        ...{ code: "conflict", retryable: true, outcome: "aborted" },
        conflict: { table: rows.name, key: { pk: "hot" }, on: "key", foundBy: "native" },
      },
    });
    expect(answer.headers.has("Retry-After")).toBe(true);
    const beside = await call("/v1/snapshots", { reads: { gets: [of("beside")] } });
    expect(beside.body["reads"]).toMatchObject({ gets: [null] });
  });

  test("a local commit whose answer is lost sends nobody to its outcome", async () => {
    const { ports } = deployment.stores;
    const deaf = open({
      mixed: {
        ...ports.mixed,
        writeLocally: () => Promise.resolve({ kind: "unknown", cause: new Error("lost") }),
      },
    });
    const answer = await deaf("/v1/transactions", { writes: [put("lost", 1)] });
    expect(answer).toMatchObject({ status: 202, body: { outcome: "unknown", local: true } });
    expect(answer.body).not.toHaveProperty("transactionId");
    expect(answer.body).not.toHaveProperty("settle");
    expect(answer.headers.has("Location")).toBe(false);
  });
});

describe("snapshots of mixed tables", () => {
  test("show what stands there now, whoever has written it", async () => {
    await native.put(rows, { ...key("left"), by: text("native") });
    await call("/v1/transactions", { writes: [put("right", 2)] });
    const answer = await call("/v1/snapshots", { reads: { gets: [of("left"), of("right")] } });
    expect(answer.body["reads"]).toMatchObject({
      gets: [
        { pk: "left", by: "native" },
        { pk: "right", n: 2 },
      ],
    });
  });

  test.each(["asOf", "maxStalenessMs"] as const)("%s is refused by name", async (field) => {
    const now = await call("/v1/snapshots", { reads: {} });
    const value = field === "asOf" ? now.body["readTimestamp"] : 1_000;
    const answer = await call("/v1/snapshots", { [field]: value, reads: { gets: [of("left")] } });
    expect(answer).toMatchObject({
      status: 422,
      body: {
        ...{ code: "invalid-request", field },
        detail: expect.stringContaining("is mixed") as string,
      },
    });
  });
});
