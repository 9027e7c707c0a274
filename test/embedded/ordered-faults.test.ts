/** Faults that somebody orders: processes that stand still, and stores that refuse calls. */
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createStackLog } from "../../localstack/stack-log.ts";
import { createClient, defineTable, type Client } from "../../sdk/index.ts";

const accounts = defineTable<{ readonly cents: number }, { id: string }>("rows", { key: "id" });

let stack: EmbeddedStack;
let byStream: Client;
let express: Client;
let log = "";

beforeAll(async () => {
  stack = await startEmbeddedStack({
    sampleTables: false,
    tables: [{ name: "rows", partitionKey: { name: "id", type: "S" }, history: false }],
    log: createStackLog({
      level: "warn",
      format: "json",
      output: { write: (text: string) => (log += text) },
    }),
  });
  byStream = createClient({ endpoint: stack.endpoint, commit: "stream" });
  express = createClient({ endpoint: stack.endpoint, commit: "express" });
}, 60_000);

afterAll(async () => {
  await Promise.all([byStream.close(), express.close()]);
  await stack.stop();
});

async function put(client: Client, id: string): Promise<void> {
  await client.transact({ deadlineMs: 60_000 }, async (tx) => {
    tx.put(accounts, { id, cents: 1 });
  });
}

describe("a process that stands still", () => {
  test("does nothing until it may go on, and then all that it was given", async () => {
    await put(byStream, "first");
    expect(stack.freeze("oracle")).toBe(true);
    expect(stack.states).toMatchObject({ oracle: "frozen", replay: "running" });
    let isDone = false;
    const waiting = put(byStream, "by the stream").then(() => (isDone = true));
    await put(express, "beside it");
    expect(isDone).toBe(false);
    stack.resume("oracle");
    await waiting;
    expect(stack.states["oracle"]).toBe("running");
  });

  test("can be killed, and is then started again like any other", async () => {
    stack.freeze("replay");
    await stack.kill("replay");
    await stack.waitReady("replay");
    expect(stack.states["replay"]).toBe("running");
  });

  test("has to be one of the stack's, and to be there", async () => {
    expect(() => stack.freeze("nobody")).toThrow(RangeError);
    expect(() => {
      stack.resume("nobody");
    }).toThrow(RangeError);
    await stack.kill("reaper");
    expect([stack.states["reaper"], stack.freeze("reaper")]).toEqual(["starting", false]);
    await stack.waitReady("reaper");
    stack.resume("reaper");
  });

  test("stops in order with the stack", async () => {
    const other = await startEmbeddedStack({ sampleTables: false, logLevel: "silent" });
    other.freeze("replay");
    await other.stop();
    expect(other.processes).toEqual({});
  });
});

describe("stores that refuse calls", () => {
  test("refuse the share that was ordered, evenly, as AWS does, until it is over", async () => {
    const client = new DynamoDBClient({
      endpoint: stack.endpoints.dynamodb,
      region: stack.region,
      credentials: { accessKeyId: "local", secretAccessKey: "local" },
      maxAttempts: 1,
    });
    onTestFinished(() => {
      client.destroy();
    });
    const refused = async (calls: number): Promise<number> => {
      let count = 0;
      for (let at = 0; at < calls; at += 1) {
        await client.send(new ListTablesCommand({})).catch((error: unknown) => {
          expect(error).toMatchObject({ name: "ProvisionedThroughputExceededException" });
          count += 1;
        });
      }
      return count;
    };
    stack.throttle(100);
    // The order reaches the process by a channel of its own.
    while ((await refused(1)) === 0);
    expect(await refused(5)).toBe(5);
    stack.throttle(0);
    while ((await refused(1)) > 0);
    expect(await refused(5)).toBe(0);
  });

  test("do not keep transactions from committing, only from being quick", async () => {
    stack.throttle(40);
    for (const client of [express, byStream]) await put(client, "throttled");
    stack.throttle(0);
  });
});

test("nothing had to be killed that was not ordered to be", () => {
  expect(log).not.toContain("did not stop within");
});
