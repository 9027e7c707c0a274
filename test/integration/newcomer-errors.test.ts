/** Mistakes of the first hour, each answered by a typed error that names field and remedy. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { KinesisClient } from "@aws-sdk/client-kinesis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  createClient,
  defineBase,
  defineTable,
  type Client,
  type ClientOptions,
  type Transaction,
} from "../../sdk/index.ts";
import { startProtocolServers, type ProtocolServers } from "../../localstack/protocol-servers.ts";
import { provisionDeployment } from "../../aws/provision.ts";

let servers: ProtocolServers;
const accounts = defineTable("accounts", { key: "id" });
const credentials = { accessKeyId: "any", secretAccessKey: "any" };

beforeAll(async () => {
  servers = await startProtocolServers();
  const { endpoint } = servers;
  await provisionDeployment({ endpoint, region: "us-east-1", credentials, deployment: "dev" });
});

afterAll(() => servers.stop());

function client(options: Partial<ClientOptions> = {}) {
  const { endpoint: endpoints } = servers;
  const base = { deployment: "dev", region: "us-east-1", credentials, endpoints };
  const db = createClient({ ...base, ...options } as ClientOptions);
  onTestFinished(() => db.close());
  return db;
}

const noted = defineBase("note", (base, _: null) => base.step("one", () => Promise.resolve(1)));
const firstCalls: readonly [string, (db: Client) => Promise<unknown>][] = [
  ["transact", (db) => db.transact((tx) => tx.get(accounts, "a"))],
  ["base", (db) => db.base(noted, null, { id: "1" })],
  ["openBases", (db) => db.openBases()],
  ["baseRunner", (db) => db.baseRunner({ handlers: [noted] })],
  ["consume", (db) => db.consume({ name: "index" }, () => Promise.resolve())],
];

describe.each(firstCalls)("told by %s at once, and not waited for:", (_name, call) => {
  test("a deployment that is not there is named, with the table that is missing", async () => {
    await expect(call(client({ deployment: "prod" }))).rejects.toMatchObject({
      code: "invalid-request",
      field: "deployment",
      message: expect.stringMatching(/tidemark-prod-control does not exist.*region/) as string,
    });
  });

  test("rights that are missing", async () => {
    const dynamodb = new DynamoDBClient({
      ...{ endpoint: servers.endpoint.dynamodb, region: "us-east-1", credentials },
    });
    onTestFinished(() => {
      dynamodb.destroy();
    });
    const denied = Object.assign(new Error("not authorized"), { name: "AccessDeniedException" });
    dynamodb.middlewareStack.add(() => () => Promise.reject(denied), { step: "initialize" });
    await expect(call(client({ dynamodb }))).rejects.toMatchObject({
      code: "invalid-request",
      message: expect.stringMatching(/AccessDeniedException/) as string,
    });
  });
});

test("a Kinesis client of HTTP/2 where nobody speaks that is refused at first use", async () => {
  const kinesis = new KinesisClient({
    ...{ endpoint: servers.endpoint.kinesis, region: "us-east-1", credentials },
  });
  onTestFinished(() => {
    kinesis.destroy();
  });
  await expect(
    provisionDeployment({ endpoint: servers.endpoint, kinesis, deployment: "dev" }),
  ).rejects.toMatchObject({
    code: "invalid-request",
    field: "kinesis",
    message: expect.stringMatching(/NodeHttpHandler/) as string,
  });
});

test("a moment in the future is refused, but not that of a clock slightly ahead", async () => {
  const db = client();
  const read = (aheadMs: number) =>
    db.snapshot({ asOf: new Date(Date.now() + aheadMs) }, () => Promise.resolve("read"));
  await expect(read(3_600_000)).rejects.toMatchObject({ code: "invalid-request", field: "asOf" });
  expect(await read(1_000)).toBe("read");
});

describe("a table given by its name", () => {
  const name = "accounts" as never;
  test.each<[string, (tx: Transaction) => unknown]>([
    ["get", (tx) => tx.get(name, "a" as never)],
    ["batchGet", (tx) => tx.batchGet(name, ["a"] as never)],
    ["put", (tx) => tx.put(name, { id: "a" } as never)],
    ["update", (tx) => tx.update(name, "a" as never, {} as never)],
    ["delete", (tx) => tx.delete(name, "a" as never)],
    ["query", (tx) => tx.query(name, { where: { id: "a" } as never }).all()],
    ["scan", (tx) => tx.scan(name).all()],
  ])("is refused by %s", async (_what, act) => {
    const failed = client().transact(async (tx) => {
      await act(tx);
    });
    await expect(failed).rejects.toMatchObject({
      field: "table",
      message: 'a table is what defineTable(name) returns; got "accounts"',
    });
  });
});
