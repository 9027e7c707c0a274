/**
 * REST through the cloud's own HTTP API: signed requests, the service's answers, and what the
 * gateway refuses.
 */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { callRest, deployedTarget } from "./target.ts";

const target = deployedTarget();
const run = randomBytes(4).toString("hex");
const key = (name: string) => ({ id: `${run}-${name}` });
const put = (name: string, balanceCents: number) => ({
  op: "put",
  table: "accounts",
  item: { ...key(name), balanceCents },
});
const get = (name: string) => ({ table: "accounts", key: key(name) });

async function balances(...names: readonly string[]): Promise<unknown[]> {
  const { status, body } = await callRest(target, "/v1/snapshots", {
    body: { reads: { gets: names.map(get) } },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  const { gets } = body["reads"] as { gets: ({ balanceCents?: number } | null)[] };
  return gets.map((item) => item?.balanceCents);
}

describe("REST", () => {
  test("commits a transaction and reads it back", async () => {
    const { status, body } = await callRest(target, "/v1/transactions", {
      body: { writes: [put("ann", 100), put("bob", 0)] },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect(await balances("ann", "bob")).toEqual([100, 0]);
  });

  test("commits over several requests, and finds the conflict of another in between", async () => {
    await callRest(target, "/v1/transactions", { body: { writes: [put("shared", 1)] } });
    const begun = await callRest(target, "/v1/transactions/begin");
    const read = await callRest(target, "/v1/transactions/read", {
      body: { transaction: begun.body["transaction"], reads: { gets: [get("shared")] } },
    });
    expect(read.status).toBe(200);
    await callRest(target, "/v1/transactions", { body: { writes: [put("shared", 2)] } });
    const late = await callRest(target, "/v1/transactions/commit", {
      body: { transaction: read.body["transaction"], writes: [put("shared", 3)] },
    });
    expect(late.status).toBe(409);
    expect(await balances("shared")).toEqual([2]);
  });

  test("answers a repeated request with the first result", async () => {
    const headers = { "Idempotency-Key": `${run}-once` };
    const body = { writes: [put("once", 1)] };
    const first = await callRest(target, "/v1/transactions", { body, headers });
    const second = await callRest(target, "/v1/transactions", { body, headers });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.headers.get("Idempotency-Replayed")).toBe("true");
  });

  test("says that it is well, down to the log", async () => {
    const { status, body } = await callRest(target, "/v1/health?deep=true", { method: "GET" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "ok" });
  });

  test("refuses a path that is none with a problem of its own", async () => {
    const { status, body } = await callRest(target, "/v1/nothing", { body: {} });
    expect(status).toBe(404);
    expect(body).toMatchObject({ code: "not-found" });
  });

  test("is closed to whoever does not sign", async () => {
    const { status } = await callRest(target, "/v1/health", { method: "GET", signed: false });
    expect(status).toBe(403);
  });
});
