/** The plugin beside what a body begins and does not end with: none of it is the body's own. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { PutCommand } from "@aws-sdk/lib-dynamodb";
import { expect, test } from "vitest";
import { ConnectedClient } from "../../sdk/client.ts";
import { connect } from "../../sdk/connect.ts";
import { InvalidRequestError } from "../../sdk/index.ts";
import { counters, startApplication } from "./application.ts";

test("what a consumer of changes sends is DynamoDB's, whoever has begun it", async () => {
  const { cloud, db, document, sent } = await startApplication();
  const TableName = "counters";
  const handled: string[] = [];
  await cloud.run(async () => {
    await db.consume({ name: "copies", tables: [counters], until: "caught-up" }, async () => {});
    await db.transact(async (tx) => tx.put(counters, { id: "a", n: 1 }));
    await db.transact(async (tx) => {
      await db.consume(
        { name: "copies", tables: [counters], until: "caught-up" },
        async (change) => {
          for (const { key } of change.of(counters)) {
            handled.push(key.id);
            await document.send(new PutCommand({ TableName, Item: { id: "copy", n: 1 } }));
          }
        },
      );
      // Its position stands whatever becomes of this, and the change never comes again.
      tx.rollback();
    });
  });
  expect([handled, sent]).toEqual([["a"], ["PutItem"]]);
});

test("a client that a body is the first to use is connected outside of it", async () => {
  const { cloud, db, document, sent } = await startApplication();
  const connect = async (): Promise<never> => {
    await document.send(new PutCommand({ TableName: "counters", Item: { id: "a", n: 1 } }));
    throw new InvalidRequestError("region", "there is none");
  };
  const parts = { connect, marshall: {}, numbers: "number" } as const;
  await cloud.run(() =>
    db.transact(async () => {
      await new ConnectedClient(parts).snapshot(async () => 1).catch(() => undefined);
    }),
  );
  expect([sent, cloud.rows(counters)]).toEqual([["PutItem"], []]);
});

test("so is what a listener of `createClient` sends, wherever its events come about", async () => {
  const { cloud, db, document, sent } = await startApplication();
  const requestHandler = { handle: () => Promise.reject(new Error("nobody is there")) } as never;
  const dynamodb = new DynamoDBClient({ region: "eu-west-1", requestHandler, maxAttempts: 1 });
  const put = new PutCommand({ TableName: "counters", Item: { id: "a", n: 1 } });
  const { engine } = await connect({
    ...{ deployment: "dev", region: "eu-west-1", dynamodb },
    onEvent: () => {
      document.send(put).catch(() => undefined);
    },
  });
  let ended: Promise<unknown> | undefined;
  await cloud.run(() =>
    db.transact(async () => {
      ended = engine.transact({ deadlineMs: 50 }, async () => undefined).catch(() => undefined);
    }),
  );
  await ended;
  expect(new Set(sent)).toEqual(new Set(["PutItem"]));
});
