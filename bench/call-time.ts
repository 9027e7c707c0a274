/**
 * Processor time that one call costs its caller, by three clients of the AWS SDK: the plain one;
 * the same without the middleware that aws/clients.ts takes out on loopback; and the one that
 * aws/clients.ts builds. They take turns on the same store, which runs in a process of its own, so
 * that what else the machine does falls on all of them.
 *
 *     npm run bench:calls [-- --rounds 60]
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import * as sdk from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../aws/clients.ts";
import { accountId, accountItem, benchTable } from "./bench-table.ts";
import { figure, Stopwatch } from "./measure.ts";

const TableName = benchTable.name;
const callsPerTurn = 240;
const concurrency = 16;
const roundsWarm = 4;
const clientNames = ["plain", "without idle middleware", "built here"] as const;

type ClientName = (typeof clientNames)[number];
type Clients = Readonly<Record<ClientName, sdk.DynamoDBClient>>;
type MakeCall = (client: sdk.DynamoDBClient) => Promise<unknown>;

const key = (n: number): Record<string, sdk.AttributeValue> => ({ id: { S: accountId(n) } });
const Item = { ...accountItem(0), version: { N: "1" } } as Record<string, sdk.AttributeValue>;

const calls: Readonly<Record<string, MakeCall>> = {
  PutItem: (client) =>
    client.send(
      new sdk.PutItemCommand({
        TableName,
        Item,
        ConditionExpression: "attribute_not_exists(#version) OR #version < :version",
        ExpressionAttributeNames: { "#version": "version" },
        ExpressionAttributeValues: { ":version": { N: "2" } },
      }),
    ),
  GetItem: (client) =>
    client.send(new sdk.GetItemCommand({ TableName, Key: key(0), ConsistentRead: true })),
  "BatchGetItem of 4": (client) => {
    const Keys = [0, 1, 2, 3].map(key);
    const RequestItems = { [TableName]: { Keys, ConsistentRead: true } };
    return client.send(new sdk.BatchGetItemCommand({ RequestItems }));
  },
};

async function createTable(client: sdk.DynamoDBClient): Promise<void> {
  await client.send(
    new sdk.CreateTableCommand({
      TableName,
      AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
      KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      BillingMode: "PAY_PER_REQUEST",
    }),
  );
  await sdk.waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1 }, { TableName });
  for (let n = 0; n < 4; n++) {
    const Item = accountItem(n) as Record<string, sdk.AttributeValue>;
    await client.send(new sdk.PutItemCommand({ TableName, Item }));
  }
}

/** Microseconds per call, the caller's own. */
async function turn(client: sdk.DynamoDBClient, call: MakeCall): Promise<number> {
  const watch = new Stopwatch();
  const perWorker = callsPerTurn / concurrency;
  const work = async (): Promise<void> => {
    for (let n = 0; n < perWorker; n++) await call(client);
  };
  watch.start();
  await Promise.all(Array.from({ length: concurrency }, work));
  watch.stop();
  return (watch.cpuMs * 1000) / callsPerTurn;
}

/** Rounds of one turn each, in an order that turns around: a drift of the machine cancels out. */
async function measure(clients: Clients, call: MakeCall, rounds: number): Promise<string[]> {
  const micros: Record<ClientName, number>[] = [];
  for (let round = -roundsWarm; round < rounds; round++) {
    const order = round % 2 === 0 ? clientNames : clientNames.toReversed();
    const spent: Record<ClientName, number> = {
      plain: 0,
      "without idle middleware": 0,
      "built here": 0,
    };
    for (const name of order) spent[name] = await turn(clients[name], call);
    if (round >= 0) micros.push(spent);
  }
  return clientNames.map((name) => {
    const { median } = figure(
      name,
      micros.map((spent) => spent[name]),
    );
    const ratio = figure(
      name,
      micros.map((spent) => spent[name] / spent.plain),
    ).median;
    return `${median.toFixed(0)} µs  × ${ratio.toFixed(2)}`;
  });
}

const { values } = parseArgs({ options: { rounds: { type: "string", default: "40" } } });
const store = fork(new URL("store-process.ts", import.meta.url));
const [port] = (await once(store, "message")) as [number];
const target = {
  endpoint: `http://127.0.0.1:${port.toString()}`,
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
};
const own = createAwsClients(target);
const plain = new sdk.DynamoDBClient(target);
const trimmed = new sdk.DynamoDBClient(target);
for (const name of ["logger", "getUserAgent", "recursionDetection"]) {
  trimmed.middlewareStack.remove(`${name}Middleware`);
}
try {
  await createTable(plain);
  const { client } = await own.dynamodb();
  const clients: Clients = { plain, "without idle middleware": trimmed, "built here": client };
  const line = (cells: readonly string[]): string => cells.map((cell) => cell.padEnd(26)).join("");
  console.log("processor time of the caller per call, median; × plain, median of the rounds\n");
  console.log(line(["", ...clientNames]));
  for (const [name, call] of Object.entries(calls)) {
    console.log(line([name, ...(await measure(clients, call, Number(values.rounds)))]));
  }
} finally {
  await own.close();
  for (const each of [plain, trimmed]) each.destroy();
  store.disconnect();
}
