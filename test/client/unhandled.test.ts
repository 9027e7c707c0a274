/** Several commands that are under way when a conflict ends the attempt: the process goes on. */
import { GetCommand } from "@aws-sdk/lib-dynamodb";
import { afterEach, beforeEach, expect, test } from "vitest";
import { counters, startApplication } from "./application.ts";

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
