/** The web backend beside a stack, over real HTTP and the stores' real protocols. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../examples/web-hono/app.ts";
import { type ServedExample, serveBesideStack } from "./fixtures/served-example.ts";

let served: ServedExample;
beforeAll(async () => {
  served = await serveBesideStack((db) => createApp(db));
}, 60_000);
afterAll(async () => {
  await served.stop();
});

const transfer = (order: object | string, key?: string) =>
  served.ask("POST", "/transfers", {
    ...{ body: order },
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
  });

test("an account is opened once, and shown with the entries that explain it", async () => {
  const opening = { balanceCents: 500, overdraftCents: 0 };
  const opened = await served.ask("PUT", "/accounts/w1", { body: opening });
  expect(opened).toMatchObject({ status: 201, json: { id: "w1", ...opening } });
  const again = await served.ask("PUT", "/accounts/w1", { body: { ...opening, balanceCents: 9 } });
  expect(again).toMatchObject({ status: 200, json: opening });
  const entries = [{ accountId: "w1", entryId: "deposit", amountCents: 500 }];
  expect((await served.ask("GET", "/accounts/w1")).json).toEqual({ id: "w1", ...opening, entries });
});

test("a transfer moves money once for each key, whoever repeats the call", async () => {
  await served.ask("PUT", "/accounts/w2", { body: { balanceCents: 500, overdraftCents: 0 } });
  await served.ask("PUT", "/accounts/w3", { body: { balanceCents: 0, overdraftCents: 0 } });
  const order = { source: "w2", target: "w3", amountCents: 200 };
  const answers = await Promise.all([transfer(order, "k2"), transfer(order, "k2")]);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 201, json: { kind: "done", sourceBalanceCents: 300 } });
  }
  const { json } = await transfer(order, "k2");
  expect(json).toMatchObject({ replayed: true });
  const { transactionId } = json as { readonly transactionId: string };
  expect((await served.ask("GET", `/transactions/${transactionId}`)).json).toEqual({
    ...{ id: transactionId, outcome: "committed" },
  });
  const other = await transfer({ ...order, amountCents: 1 }, "k2");
  expect(other).toMatchObject({ status: 422, json: { code: "idempotency-key-reused" } });
  expect((await served.ask("GET", "/accounts/w3")).json).toMatchObject({ balanceCents: 200 });
});

test.each([
  [{ source: "dora", target: "emil", amountCents: 99_999_999 }, "a", 422, "overdraft"],
  [{ source: "dora", target: "nobody", amountCents: 1 }, "b", 422, "unknown-account"],
  [{ source: "dora", target: "emil", amountCents: 1 }, undefined, 400, "idempotency-key-missing"],
  [{ source: "dora", target: "emil", amountCents: 1 }, "two words", 400, "idempotency-key-missing"],
  [{ source: "dora", target: "dora", amountCents: 1 }, "c", 400, "invalid-request"],
  ["{", "d", 400, "not-json"],
] as const)("%j under the key %s is %i, %s", async (order, key, status, code) => {
  const answer = await transfer(order, key);
  expect(answer).toMatchObject({ status, type: "application/problem+json", json: { code } });
});

test("what is wrong with a body is said field by field; what is not there is 404", async () => {
  const { json } = await transfer({ source: "dora", target: "", amountCents: -1 }, "e");
  expect(json).toMatchObject({ issues: [{ field: "target" }, { field: "amountCents" }] });
  for (const path of ["/accounts/nobody", "/nothing", "/transactions/x"]) {
    const answer = await served.ask("GET", path);
    expect([path, answer.status, answer.type]).toEqual([path, 404, "application/problem+json"]);
  }
});
