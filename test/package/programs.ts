/** Programs that use entries of the package, which they have imported. */

export const useOfTheApi = `
const accounts = tidemark.defineTable("accounts", { key: "id" });
const db = tidemark.createClient({ deployment: "dev", region: "eu-west-1" });
const bad = (() => { try { tidemark.createClient({}); } catch (error) { return error; } })();
console.log(JSON.stringify({
  table: accounts.name,
  methods: ["transact", "snapshot", "outcome", "close"].map((name) => typeof db[name]),
  error: [bad instanceof tidemark.InvalidRequestError, bad instanceof Error, bad?.code],
}));
`;

export const useOfNative = `
const { DynamoDBClient, GetItemCommand } = require("@aws-sdk/client-dynamodb");
const aws = new DynamoDBClient({
  region: "eu-west-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  requestHandler: {
    handle: async () => ({
      response: {
        statusCode: 200,
        headers: {},
        body: Buffer.from(JSON.stringify({ Item: { id: { S: "a" }, _v: { N: "5" } } })),
      },
    }),
  },
});
const clearFence = () => Promise.resolve(false);
const tables = [{ name: "rows", partitionKey: "id" }];
aws.middlewareStack.use(tidemarkNative({ client: { clearFence }, tables }));
const get = new GetItemCommand({ TableName: "rows", Key: { id: { S: "a" } } });
const db = tidemark.createClient({ deployment: "dev", region: "eu-west-1", dynamodb: aws });
const refused = db.snapshot(() => {}).catch(({ field }) => field);
Promise.all([aws.send(get), refused]).then(([{ Item }, field]) => {
  console.log(JSON.stringify({ Item, field }));
});
`;

/** The SDK and the plugin may be of two module systems: a transaction knows of both. */
export const useOfCommands = `
const { DynamoDBClient, GetItemCommand } = require("@aws-sdk/client-dynamodb");
const { createTestCloud, testTable } = require("tidemark/testing");
const body = Buffer.from(JSON.stringify({ Item: { id: { S: "stored" } } }));
const aws = new DynamoDBClient({
  region: "eu-west-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
  requestHandler: { handle: async () => ({ response: { statusCode: 200, headers: {}, body } }) },
});
aws.middlewareStack.use(tidemarkPlugin());
const get = async () =>
  (await aws.send(new GetItemCommand({ TableName: "rows", Key: { id: { S: "a" } } }))).Item;
(async () => {
  const outside = await get();
  const cloud = await createTestCloud({ tables: [testTable("rows", { partitionKey: "id" })] });
  const db = cloud.createClient();
  const table = tidemark.defineTable("rows", { key: "id" });
  const { result: within } = await cloud.run(() => db.transact(async (tx) => {
    tx.put(table, { id: "a", n: 1 });
    return get();
  }));
  console.log(JSON.stringify({ outside, within }));
})();
`;

export const useOfSpans = `
const names = [];
const span = { setAttributes() {}, setAttribute() {}, addEvent() {}, setStatus() {}, end() {} };
const tracer = { startSpan(name) { names.push(name); return span; } };
const tell = otelSpans({ tracer });
const of = { call: 1, isolation: "snapshot" };
tell({ kind: "call-started", operation: "snapshot", step: undefined, ...of });
tell({ kind: "attempt-started", attempt: 1, ...of });
tell({ kind: "call-failed", call: 1, error: new Error("no") });
console.log(names.join());
`;

/**
 * A commit of another program comes between, then the outcome is unknown, while calls fail by
 * chance.
 */
export const useOfTheTestCloud = `
const accounts = tidemark.defineTable("accounts", { key: "id" });
async function main() {
  const faults = { throttled: 0.05, "answer-lost": 0.05 };
  const cloud = await testing.createTestCloud({ seed: 3, tables: [accounts], faults });
  cloud.seed(accounts, [{ id: "ann", cents: 1 }]);
  const app = cloud.startProcess("app");
  const once = { idempotencyKey: "order-1", deadlineMs: 10_000 };
  const pay = () => app.client.transact(once, async (tx) => {
    const row = await tx.get(accounts, "ann");
    tx.put(accounts, { ...row, cents: row.cents + 1 });
  });
  cloud.conflictOn(accounts, "ann");
  app.nextCommitUnknown("committed");
  const seen = [];
  const settled = await cloud.run(() => pay().catch((error) => {
    seen.push(error instanceof tidemark.CommitUnknownError, error.code);
    return pay();
  }));
  await cloud.settled();
  const { replayed } = settled.receipt;
  console.log(JSON.stringify({ seen, replayed, rows: cloud.rows(accounts) }));
}
main();
`;
