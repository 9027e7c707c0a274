/** The web backend in the cloud in memory: what its callers are told when things go wrong. */
import { expect, test } from "vitest";
import { accounts } from "../../examples/bank/bank.ts";
import { createApp } from "../../examples/web-hono/app.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

async function openCloud() {
  const ledger = testTable("bank-ledger", { partitionKey: "accountId", sortKey: "entryId" });
  const cloud = await createTestCloud({ tables: [accounts, ledger] });
  cloud.seed(accounts, [
    { id: "ann", balanceCents: 100, overdraftCents: 0 },
    { id: "bob", balanceCents: 0, overdraftCents: 0 },
  ]);
  const process = cloud.startProcess("backend");
  const app = createApp(process.client);
  const transfer = async (key: string, amountCents = 60) => {
    const body = JSON.stringify({ source: "ann", target: "bob", amountCents });
    const headers = { "idempotency-key": key };
    const answer = await app.request("/transfers", { method: "POST", headers, body });
    return { answer, json: (await answer.json()) as Record<string, unknown> };
  };
  const balances = () => cloud.rows(accounts).map(({ balanceCents }) => balanceCents);
  return { cloud, process, app, transfer, balances };
}

test.each([
  ["committed", [40, 60], true],
  ["aborted", [40, 60], false],
] as const)(
  "an unknown outcome (%s) is 503; the lookup tells it, and the same key settles it",
  async (outcome, balancesThen, replayed) => {
    const { cloud, process, app, transfer, balances } = await openCloud();
    process.nextCommitUnknown(outcome);
    await cloud.run(async () => {
      const { answer, json } = await transfer("k");
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
      expect(json).toMatchObject({ code: "commit-unknown", status: 503 });
      const lookup = await app.request(json["outcome"] as string);
      expect(await lookup.json()).toEqual({ id: json["transactionId"], outcome });
      const again = await transfer("k");
      expect([again.answer.status, again.json]).toEqual([
        201,
        expect.objectContaining({ kind: "done", sourceBalanceCents: 40, replayed }),
      ]);
    });
    await cloud.settled();
    expect(balances()).toEqual(balancesThen);
  },
);

test("a conflict is no answer: the route runs again", async () => {
  const { cloud, transfer, balances } = await openCloud();
  cloud.conflictOn(accounts, "ann", { times: 2 });
  expect((await cloud.run(() => transfer("k"))).answer.status).toBe(201);
  expect(balances()).toEqual([40, 60]);
});

test("one that goes on and on is 409, and nothing is written", async () => {
  const { cloud, transfer, balances } = await openCloud();
  cloud.conflictOn(accounts, "ann", { times: 20 });
  const { answer, json } = await cloud.run(() => transfer("k"));
  expect([answer.status, answer.headers.get("retry-after"), json["code"]]).toEqual([
    409,
    "1",
    "conflict",
  ]);
  expect(balances()).toEqual([100, 0]);
});
