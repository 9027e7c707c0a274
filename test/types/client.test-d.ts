/**
 * What the compiler knows of the client: options that exclude one another, results and receipts.
 */
import {
  DynamoDBClient,
  PutItemCommand,
  type PutItemCommandOutput,
} from "@aws-sdk/client-dynamodb";
import { GetCommand, type GetCommandOutput } from "@aws-sdk/lib-dynamodb";
import { KinesisClient } from "@aws-sdk/client-kinesis";
import { describe, expectTypeOf, test } from "vitest";
import {
  type Attributes,
  type Client,
  createClient,
  defineTable,
  type ErrorCode,
  type Receipt,
  type Timestamp,
  type TransactionError,
  type TransactionId,
} from "../../sdk/index.ts";
import { emfMetrics } from "../../sdk/emf.ts";

declare const db: Client;

describe("createClient", () => {
  test("takes one address, or a deployment with what AWS needs", () => {
    createClient({ endpoint: "http://127.0.0.1:4600" });
    createClient({ deployment: "dev", region: "eu-west-1" });
    createClient({
      deployment: "dev",
      dynamodb: new DynamoDBClient({}),
      kinesis: new KinesisClient({}),
      onEvent: emfMetrics({ namespace: "Shop", sink: () => undefined }),
      numbers: (text) => ({ text }),
    });
  });

  test("does not take both, neither, or an unknown option", () => {
    // @ts-expect-error: the stack at the endpoint says its deployment itself
    createClient({ endpoint: "http://127.0.0.1:4600", deployment: "dev" });
    // @ts-expect-error: neither is given
    createClient({ region: "eu-west-1" });
    // @ts-expect-error: there is no such option
    createClient({ deployment: "dev", regoin: "eu-west-1" });
    // @ts-expect-error: a client, not its name
    createClient({ deployment: "dev", dynamodb: "client" });
  });
});

describe("transact", () => {
  test("returns the body's result and a receipt, with or without options", () => {
    expectTypeOf(db.transact(async () => 7)).resolves.toEqualTypeOf<{
      readonly result: number;
      readonly receipt: Receipt;
    }>();
    expectTypeOf(db.transact({ ack: "certified" }, async () => "x")).resolves.toExtend<{
      result: string;
    }>();
  });

  test("a rolled back result is one of the body's results, as narrow as it was given", () => {
    const bought = db.transact(async (tx) =>
      tx.attempt > 1 ? tx.rollback("sold out") : { seats: 2 },
    );
    expectTypeOf(bought).resolves.toExtend<{ result: "sold out" | { seats: number } }>();
    expectTypeOf(db.transact(async (tx) => tx.rollback())).resolves.toExtend<{
      result: undefined;
    }>();
  });

  test("commands of either kind are answered with what the AWS SDK says", () => {
    const put = new PutItemCommand({ TableName: "rows", Item: { id: { S: "a" } } });
    const get = new GetCommand({ TableName: "rows", Key: { id: "a" } });
    expectTypeOf(db.transact((tx) => tx.send(put))).resolves.toExtend<{
      result: PutItemCommandOutput;
    }>();
    expectTypeOf(db.transact((tx) => tx.client.send(get))).resolves.toExtend<{
      result: GetCommandOutput;
    }>();
    // @ts-expect-error: an input is no command
    void db.transact((tx) => tx.send({ TableName: "rows" }));
  });

  test("a receipt may have no commit timestamp: there may be nothing to commit", () => {
    expectTypeOf<Receipt["commitTimestamp"]>().toEqualTypeOf<Timestamp | undefined>();
    expectTypeOf<Receipt["transactionId"]>().toEqualTypeOf<TransactionId | undefined>();
  });

  test("wrong options do not compile", () => {
    // @ts-expect-error: no such isolation level
    void db.transact({ isolation: "read-committed" }, async () => 1);
    // @ts-expect-error: no such option
    void db.transact({ retries: 3 }, async () => 1);
    // @ts-expect-error: a body is asynchronous
    void db.transact(() => 1);
  });
});

describe("changes", () => {
  test("a row's key and what stands there have the types of its table", async () => {
    const lines = defineTable<{ sku: string }, { order: string; line: number }, "order">("lines");
    const bare = defineTable<{ value: string }>("settings");
    await db.consume({ name: "index", tables: [lines] }, async (change) => {
      for (const { key, after } of change.of(lines)) {
        expectTypeOf(key).toEqualTypeOf<{ order: string; line: number }>();
        expectTypeOf(after?.sku).toEqualTypeOf<string | undefined>();
      }
      expectTypeOf(change.of(bare)[0]?.key).toEqualTypeOf<Attributes | undefined>();
      expectTypeOf(change.rows[0]?.key).toEqualTypeOf<Attributes | undefined>();
    });
  });
});

describe("snapshot and outcome", () => {
  test("a snapshot returns the body's result itself", () => {
    expectTypeOf(db.snapshot(async () => 7)).resolves.toEqualTypeOf<number>();
  });

  test("staleness and a moment exclude one another", () => {
    void db.snapshot({ maxStalenessMs: 1_000 }, async () => 1);
    void db.snapshot({ asOf: new Date(0) }, async () => 1);
    void db.snapshot({ asOf: 1 as Timestamp }, async () => 1);
    // @ts-expect-error: one or the other
    void db.snapshot({ asOf: new Date(0), maxStalenessMs: 1 }, async () => 1);
    // @ts-expect-error: there is no such option
    void db.snapshot({ idempotencyKey: "k" }, async () => 1);
  });

  test("an outcome is one of two", () => {
    expectTypeOf(db.outcome("id")).resolves.toEqualTypeOf<"committed" | "aborted">();
  });

  test("an error tells its code and outcome", () => {
    expectTypeOf<TransactionError["code"]>().toEqualTypeOf<ErrorCode>();
    expectTypeOf<TransactionError["outcome"]>().toEqualTypeOf<"aborted" | "unknown">();
  });
});
