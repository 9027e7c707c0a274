/** Route handlers beside a stack; and that a module that is loaded anew makes no second client. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { serveRoutes } from "../../examples/web-routes/serve-routes.ts";
import { tidemark } from "../../examples/web-routes/tidemark-client.ts";
import { type ServedExample, serveBesideStack } from "./fixtures/served-example.ts";

let served: ServedExample;
beforeAll(async () => {
  served = await serveBesideStack((_db, stack) => {
    vi.stubEnv("TIDEMARK_ENDPOINT", stack.endpoint);
    return serveRoutes();
  });
}, 60_000);
afterAll(async () => {
  await tidemark().close();
  vi.unstubAllEnvs();
  await served.stop();
});

const buy = (key: string, ...seatIds: readonly string[]) =>
  served.ask("POST", "/orders", {
    headers: { "idempotency-key": key },
    body: { eventId: "matinee", customer: "Kim", seatIds },
  });

test("seats are bought once for each key, shown, and given back", async () => {
  const bought = await buy("k1", "A05", "A06");
  expect(bought).toMatchObject({ status: 201, json: { orderId: "web#k1", amountCents: 3_000 } });
  expect((await buy("k1", "A05", "A06")).json).toEqual(bought.json);
  const taken = await buy("k2", "A06", "A07");
  expect(taken).toMatchObject({ status: 422, json: { code: "not-free", seatIds: ["A06"] } });
  const path = "/orders/web%23k1";
  const paid = { seatIds: ["A05", "A06"], state: "paid", payment: "received" };
  expect(await served.ask("GET", path)).toMatchObject({ status: 200, json: paid });
  const cancelled = await served.ask("DELETE", path);
  expect(cancelled).toMatchObject({ status: 200, json: { refundedCents: 3_000 } });
  const refunded = { state: "cancelled", payment: "refunded" };
  expect((await served.ask("GET", path)).json).toMatchObject(refunded);
  expect((await buy("k3", "A06", "A07")).status).toBe(201);
});

test("of customers that want one seat at once one gets it", async () => {
  const answers = await Promise.all(["a", "b", "c", "d"].map((key) => buy(key, "A09")));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
  const { json } = await served.ask("GET", "/events/matinee");
  expect((json as { freeSeatIds: readonly string[] }).freeSeatIds).not.toContain("A09");
});

test("what is wrong, or not there, is a problem", async () => {
  expect(await buy("k4")).toMatchObject({ status: 400, json: { code: "invalid-request" } });
  expect(await buy("", "A11")).toMatchObject({ status: 400 });
  for (const path of ["/events/none", "/orders/none", "/nothing"]) {
    const { status, type } = await served.ask("GET", path);
    expect([path, status, type]).toEqual([path, 404, "application/problem+json"]);
  }
  expect((await served.ask("DELETE", "/orders/none")).status).toBe(404);
});

test("a module that is loaded anew, as development servers do, has the same client", async () => {
  vi.resetModules();
  const again = await import("../../examples/web-routes/tidemark-client.ts");
  expect(again.tidemark).not.toBe(tidemark);
  expect(again.tidemark()).toBe(tidemark());
});
