/** Calls that a middleware of the application's lets wait are of whoever has sent them. */
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { beforeEach, expect, test } from "vitest";
import { counters, startApplication, type Application } from "./application.ts";

let app: Application;
/** Calls that wait. */
let waiting: (() => void)[];

beforeEach(async () => {
  app = await startApplication();
  waiting = [];
  app.wire.middlewareStack.add(
    (next) => (args) =>
      new Promise((resolve) => {
        waiting.push(() => {
          resolve(next(args));
        });
      }),
    { step: "build", name: "waiting" },
  );
});

function goOn(): void {
  for (const call of waiting.splice(0)) call();
}

const put = (id: string) =>
  app.wire.send(
    new PutItemCommand({ TableName: "counters", Item: { id: { S: id }, n: { N: "1" } } }),
  );

/** Whatever was sent waits. */
const soon = () => new Promise((resolve) => setImmediate(resolve));

test("in no context they are none of DynamoDB's", async () => {
  const pump = setInterval(goOn, 1);
  await app.cloud.run(() =>
    app.db.transact(async (tx) => {
      await put("a");
      tx.rollback();
    }),
  );
  clearInterval(pump);
  expect([app.sent, app.cloud.rows(counters)]).toEqual([[], []]);
});

test("in another transaction they are none of its own", async () => {
  await app.cloud.run(async () => {
    let isWaiting = (): void => undefined;
    const waits = new Promise<void>((resolve) => {
      isWaiting = resolve;
    });
    const first = app.db.transact(async (tx) => {
      const sent = put("a");
      await soon();
      isWaiting();
      await sent;
      tx.rollback();
    });
    await waits;
    await app.db.transact(async () => {
      const own = put("b");
      await soon();
      goOn();
      await own;
    });
    await first;
  });
  expect([app.sent, app.cloud.rows(counters)]).toEqual([[], [{ id: "b", n: 1 }]]);
});

test("outside of all transactions they are DynamoDB's", async () => {
  const outside = put("a");
  await soon();
  await app.cloud.run(() =>
    app.db.transact(async () => {
      goOn();
      await outside;
    }),
  );
  expect([app.sent, app.cloud.rows(counters)]).toEqual([["PutItem"], []]);
});
