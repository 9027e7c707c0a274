/**
 * Commands that are under way when a conflict ends the attempt, or that the body has forgotten: the
 * process goes on.
 */
import { GetCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Transaction } from "../../sdk/index.ts";
import { counters, startApplication, type Application } from "./application.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(() => {
  process.off("unhandledRejection", note);
});

test("tx.send: waited for one after the other", async () => {
  const { cloud, db } = await startApplication();
  const get = (id: string) => new GetCommand({ TableName: "counters", Key: { id } });
  const other = cloud.createClient("other");
  let runs = 0;
  const { receipt } = await cloud.run(() =>
    db.transact(async (tx) => {
      runs += 1;
      await tx.send(get("a"));
      if (runs === 1) {
        await other.transact(async (own) => {
          own.put(counters, { id: "a", n: 1 });
          own.put(counters, { id: "b", n: 1 });
          own.put(counters, { id: "c", n: 1 });
        });
      }
      const [second, third] = [tx.send(get("b")), tx.send(get("c"))];
      await second;
      await third;
    }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect([runs, receipt.attempts, unhandled]).toEqual([2, 2, []]);
});

describe("an await that is missing fails the transaction and nothing else", () => {
  const get = new GetCommand({ TableName: "counters", Key: { id: "a" } });
  const put = new PutCommand({ TableName: "counters", Item: { id: "a", n: 1 } });
  const refused = new UpdateCommand({
    ...{ TableName: "counters", Key: { id: "a" }, UpdateExpression: "SET n = :n" },
    ...{ ConditionExpression: "n = :n", ExpressionAttributeValues: { ":n": 9 } },
  });

  test.each<[string, (app: Application, tx: Transaction) => unknown]>([
    ["a read", ({ document }) => document.send(get)],
    ["a write", ({ document }) => document.send(put)],
    ["a write whose condition fails", ({ document }) => document.send(refused)],
    ["a library's", async ({ document }) => [await document.send(get), await document.send(put)]],
    ["a helper's, by tx.send", async (_, tx) => [await tx.send(get), await tx.send(put)]],
  ])("of %s", async (_what, send) => {
    const app = await startApplication();
    const body = async (tx: Transaction) => void send(app, tx);
    await expect(app.cloud.run(() => app.db.transact(body))).rejects.toMatchObject({
      field: "body",
      message: /is an `await` missing/u,
    });
    await quiet();
    expect([unhandled, app.sent, app.cloud.rows(counters)]).toEqual([[], [], []]);
  });

  test("and what is sent after that is refused, and told", async () => {
    const { AsyncResource } = await import("node:async_hooks");
    const { cloud, db, document } = await startApplication();
    let late: (() => Promise<unknown>) | undefined;
    const failed = cloud.run(() =>
      db.transact(async () => {
        late = AsyncResource.bind(() => document.send(put));
        void document.send(get);
      }),
    );
    await expect(failed).rejects.toMatchObject({ field: "body" });
    await expect(late?.()).rejects.toMatchObject({ code: "transaction-closed" });
  });
});

/** Whatever was under way has come to its end. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
