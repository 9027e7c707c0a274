/** A real client of the AWS SDK, at a server that says what time it is. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { watchStoreDates } from "../../aws/store-dates.ts";
import type { DatedAnswer } from "../../core/ports.ts";

type Answer = { readonly status: number; readonly date?: string; readonly body: object };

let server: Server;
let client: DynamoDBClient;
let answers: Answer[] = [];
let told: DatedAnswer[] = [];
let localMs = 0;

/** Of this machine: the SDK takes another time for a skewed clock, and repeats the call. */
const second = new Date().toUTCString();
const refusal = { __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException" };
const failure = { __type: "com.amazonaws.dynamodb.v20120810#InternalServerError" };

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = answers.shift() ?? { status: 200, body: {} };
    request.resume().on("end", () => {
      response.sendDate = false;
      response.statusCode = answer.status;
      response.setHeader("content-type", "application/x-amz-json-1.0");
      if (answer.date !== undefined) response.setHeader("Date", answer.date);
      response.end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  client = new DynamoDBClient({
    region: "us-east-1",
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    maxAttempts: 2,
  });
  const clock = { monotonicMs: () => (localMs += 5) };
  watchStoreDates(client, clock, (date) => told.push(date));
});
beforeEach(() => {
  told = [];
  localMs = 0;
});
afterAll(() => {
  client.destroy();
  server.close();
});

const get = new GetItemCommand({ TableName: "t", Key: { k: { S: "a" } } });

test("an answer's date comes with the times around it", async () => {
  answers = [{ status: 200, date: second, body: {} }];
  await client.send(get);
  expect(told).toEqual([{ sentMs: 5, receivedMs: 10, dateMs: Date.parse(second) }]);
});

test("a refused put is dated as well: it is what a lost position costs", async () => {
  answers = [{ status: 400, date: second, body: refusal }];
  const put = client.send(new PutItemCommand({ TableName: "t", Item: { k: { S: "a" } } }));
  await expect(put).rejects.toMatchObject({ name: "ConditionalCheckFailedException" });
  expect(told).toEqual([{ sentMs: 5, receivedMs: 10, dateMs: Date.parse(second) }]);
});

test("each try of a repeated call is told by itself", async () => {
  answers = [
    { status: 500, date: second, body: failure },
    { status: 200, date: second, body: {} },
  ];
  await client.send(get);
  expect(told.map(({ sentMs, receivedMs }) => [sentMs, receivedMs])).toEqual([
    [5, 10],
    [15, 20],
  ]);
});

test("each of those who share a client is told by its own clock, until it has enough", async () => {
  const others: DatedAnswer[] = [];
  const clock = { monotonicMs: () => 1_000 };
  const unwatch = watchStoreDates(client, clock, (date) => others.push(date));
  answers = [200, 200].map((status) => ({ status, date: second, body: {} }));
  await client.send(get);
  expect(told).toEqual([{ sentMs: 5, receivedMs: 10, dateMs: Date.parse(second) }]);
  expect(others).toEqual([{ sentMs: 1_000, receivedMs: 1_000, dateMs: Date.parse(second) }]);
  unwatch();
  await client.send(get);
  expect(told).toHaveLength(2);
  expect(others).toHaveLength(1);
});

test.each([
  ["no date", undefined],
  ["none that can be read", "yesterday"],
])("an answer with %s tells nothing", async (_, date) => {
  answers = [{ status: 200, body: {}, ...(date === undefined ? {} : { date }) }];
  await client.send(get);
  expect(told).toEqual([]);
});
