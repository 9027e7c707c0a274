/**
 * Commands whose middleware is not sorted for each call: they say and do what the AWS SDK's own do.
 */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { PutRecordsCommand } from "@aws-sdk/client-kinesis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createAwsClients, type AwsClients } from "../../aws/clients.ts";
import { createClientDynamoDb } from "../../aws/dynamodb.ts";
import type { Handler, MiddlewareHost } from "../../aws/middleware.ts";
import { inKnownOrder, rememberOrder } from "../../aws/middleware-order.ts";
import type { Clock } from "../../core/ports.ts";

type Heard = { readonly headers: IncomingHttpHeaders; readonly body: string };

let server: Server;
let url: string;
let heard: Heard[] = [];
/** Of the answers to come; 0 is no answer at all. */
let statuses: number[] = [];
let clients: AwsClients;

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      heard.push({ headers: request.headers, body: Buffer.concat(chunks).toString("base64") });
      const status = statuses.shift() ?? 200;
      if (status === 0) return;
      response.statusCode = status;
      response.setHeader("content-type", request.headers["content-type"] ?? "");
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
});
beforeEach(() => {
  heard = [];
  statuses = [];
  clients = createAwsClients({ endpoint: url, callTriesMax: 3 });
});
afterEach(() => clients.close());
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const key = { id: { S: "a" } };
const input = { TableName: "items", Key: key };
const commands = {
  GetItem: () => new GetItemCommand({ ...input, ConsistentRead: true }),
  BatchGetItem: () => new BatchGetItemCommand({ RequestItems: { items: { Keys: [key] } } }),
  Query: () => new QueryCommand({ TableName: "items", KeyConditionExpression: "id = :id" }),
  PutItem: () =>
    new PutItemCommand({ TableName: "items", Item: { ...key, b: { B: Buffer.of(1) } } }),
};

/** What differs from call to call of the very same command. */
const ownOfACall = ["amz-sdk-invocation-id", "authorization", "x-amz-date"];

function said({ headers, body }: Heard): unknown {
  const kept = Object.entries(headers).filter(([name]) => !ownOfACall.includes(name));
  const signed = /SignedHeaders=[^,]*/.exec(headers.authorization ?? "")?.[0];
  return { headers: Object.fromEntries(kept), body, signed };
}

describe("a command in known order", () => {
  test.each(Object.entries(commands))("%s says what the SDK's own says", async (_, making) => {
    const { client } = await clients.dynamodb();
    // The type of the SDK's `send` knows no union of commands.
    const make = making as typeof commands.GetItem;
    await client.send(make());
    for (let n = 0; n < 2; n += 1) await client.send(inKnownOrder(client, make()));
    expect(heard).toHaveLength(3);
    const [asBefore, ...others] = heard.map(said);
    expect(asBefore).toMatchObject({ signed: expect.stringContaining("host") as string });
    for (const other of others) expect(other).toEqual(asBefore);
  });

  test("PutRecords of Kinesis, too", async () => {
    const { client } = await clients.kinesis();
    const make = () =>
      new PutRecordsCommand({
        StreamName: "commits",
        Records: [{ Data: Uint8Array.of(1, 2), PartitionKey: "t" }],
      });
    await client.send(make());
    await client.send(inKnownOrder(client, make()));
    expect(said(heard[1] as Heard)).toEqual(said(heard[0] as Heard));
  });

  test("is the SDK's own where the client was given", async () => {
    const given = new DynamoDBClient({ region: "us-east-1" });
    const command = commands.GetItem();
    const { middlewareStack } = command;
    expect(inKnownOrder(given, command).middlewareStack).toBe(middlewareStack);
    expect(Object.hasOwn(command, "resolveMiddleware")).toBe(false);
    given.destroy();
  });

  test("has no more than one middleware on a side of the signer", async () => {
    const { client } = await clients.dynamodb();
    const command: MiddlewareHost = inKnownOrder(client, commands.GetItem());
    const idle = ((next: Handler) => next) as never;
    const place = {
      name: "mine",
      relation: "after",
      toMiddleware: "httpSigningMiddleware",
    } as const;
    command.middlewareStack.addRelativeTo(idle, place);
    expect(() => {
      command.middlewareStack.addRelativeTo(idle, place);
    }).toThrow(/one middleware a side/);
  });
});

test("middleware that a client is given later runs as well, until it is taken away", async () => {
  const { client } = await clients.dynamodb();
  const runs: string[] = [];
  await client.send(inKnownOrder(client, commands.GetItem()));
  for (const step of ["initialize", "finalizeRequest", "deserialize"] as const) {
    const noting = (next: Handler) => (args: object) => {
      runs.push(step);
      return next(args);
    };
    client.middlewareStack.add(noting as never, { step, name: step, priority: "low" } as never);
  }
  await client.send(inKnownOrder(client, commands.GetItem()));
  expect(runs).toEqual(["initialize", "finalizeRequest", "deserialize"]);
  client.middlewareStack.remove("finalizeRequest");
  await client.send(inKnownOrder(client, commands.GetItem()));
  expect(runs.slice(3)).toEqual(["initialize", "deserialize"]);
});

/** As the instrumentation of OpenTelemetry does. */
test("who wraps what the SDK's stacks resolve to sees each call, and its command", async () => {
  const { client } = await clients.dynamodb();
  const seen: unknown[] = [];
  const { concat } = client.middlewareStack;
  client.middlewareStack.concat = (other) => {
    const stack = concat(other);
    const { resolve } = stack;
    stack.resolve = (handler, context) => {
      const resolved = resolve(handler, context);
      return async (args) => {
        seen.push(args);
        return resolved(args);
      };
    };
    return stack;
  };
  const sent = Array.from({ length: 3 }, () => inKnownOrder(client, commands.GetItem()));
  for (const command of sent) await client.send(command);
  expect(seen).toEqual(sent);
  expect(heard).toHaveLength(3);
});

describe("a call through a client that was built here", () => {
  const clock = (nowMs: () => number): Clock => ({
    nowMs,
    monotonicMs: nowMs,
    sleep: () => Promise.resolve(),
  });
  const item = { TableName: "items", Item: key };

  test("signs each of its tries anew, and none after its deadline", async () => {
    statuses = [500, 500];
    let looks = 0;
    const inTime = { clock: clock(() => (looks += 1)), beforeMs: 100 };
    const dynamodb = createClientDynamoDb(clients.dynamodb);
    expect(await dynamodb.put(item, undefined, inTime)).toBe("done");
    expect([looks, heard.length]).toEqual([3, 3]);
    statuses = [500, 500];
    const late = { clock: clock(() => (looks += 50)), beforeMs: 100 };
    await expect(dynamodb.put(item, undefined, late)).rejects.toMatchObject({
      fault: "unavailable",
    });
    expect(heard).toHaveLength(4);
  });

  test("keeps its deadline to itself, whoever calls beside it", async () => {
    const dynamodb = createClientDynamoDb(clients.dynamodb);
    const late = dynamodb.put(item, undefined, { clock: clock(() => 2), beforeMs: 1 });
    const others = Array.from({ length: 8 }, () => dynamodb.put(item));
    await expect(late).rejects.toThrow(/sign/);
    expect(await Promise.all(others)).toEqual(others.map(() => "done"));
    expect(heard).toHaveLength(8);
  });

  test("is cut off when its signal aborts, and others are not", async () => {
    statuses = [0, 0];
    const dynamodb = createClientDynamoDb(clients.dynamodb);
    const given = new AbortController();
    const other = new AbortController();
    const reason = new Error("enough");
    const cut = dynamodb.get(input, { signal: given.signal });
    const left = dynamodb.get(input, { signal: other.signal });
    let isOver = false;
    left.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    await new Promise<void>((resolve) => {
      server.once("request", (request) => {
        request.once("end", () => {
          resolve();
        });
      });
    });
    given.abort(reason);
    await expect(cut).rejects.toBe(reason);
    expect(isOver).toBe(false);
    other.abort(reason);
    await expect(left).rejects.toBe(reason);
  });
});

test("a client whose order is remembered keeps its stack", () => {
  const client = new DynamoDBClient({ region: "us-east-1" });
  const before = client.middlewareStack.identify();
  rememberOrder(client);
  expect(client.middlewareStack.identify()).toEqual(before);
  expect(client.middlewareStack.clone().identify()).toEqual(before);
  client.destroy();
});
