/**
 * `npm start` as a user meets it: what it prints, what it says when it cannot start, how it ends.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  CreateTableCommand,
  DynamoDBClient,
  DeleteItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createClient, defineTable } from "../../sdk/index.ts";
import { problem } from "../../schemas/rest/answers.ts";
import { registerTables } from "../../sdk/tables.ts";
import { buildForTest, type BuiltCli } from "./fixtures/built-cli.ts";
import { runNode, type Cli } from "./fixtures/run-node.ts";
import { eventually, isAlive, temporaryFolder } from "./fixtures/test-stack.ts";

/** As `npm start` runs it in a clone. */
const source = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
let built: BuiltCli;

beforeAll(async () => {
  built = await buildForTest();
});

afterAll(() => {
  built.remove();
});

const freePorts = ["--api-port", "0", "--dynamodb-port", "0", "--kinesis-port", "0"];

function run(...parameters: readonly string[]): Cli {
  return runIn(process.cwd(), "start", ...parameters);
}

function runIn(cwd: string, ...parameters: readonly string[]): Cli {
  return runNode(cwd, [built.script, ...parameters]);
}

/** A parent that does nothing but run the command, as npm's shell. */
const spawnAndWait = `((args) => require("node:child_process").spawn(
  process.execPath, args, { stdio: "inherit" }))`;

type Announcement = {
  readonly endpoint: string;
  readonly endpoints: { readonly dynamodb: string; readonly kinesis: string };
  readonly tables: readonly string[];
  readonly processes: Readonly<Record<string, number>>;
};

async function started(cli: Cli): Promise<Announcement> {
  await eventually(() => cli.output().includes("\n"));
  return JSON.parse(cli.output()) as Announcement;
}

test("starts from its sources, too, and stops on one Ctrl-C", async () => {
  const parameters = ["--import", loader, source, "start", ...freePorts, "--json"];
  const cli = runNode(process.cwd(), parameters);
  await started(cli);
  cli.signal("SIGINT");
  expect(await cli.ended).toBe(0);
});

test("--help names every option", async () => {
  const cli = run("--help");
  expect(await cli.ended).toBe(0);
  for (const option of [
    "--api-port",
    "--dynamodb-port",
    "--kinesis-port",
    "--data",
    "--tables-only",
    "--log-level",
  ])
    expect(cli.output()).toContain(option);
});

describe("what cannot start ends with one clear line and an exit code", () => {
  const complaint = async (code: number, ...parameters: readonly string[]): Promise<string> => {
    const cli = run(...parameters);
    expect(await cli.ended).toBe(code);
    expect(cli.errors()).not.toMatch(/^\s+at /m);
    expect(cli.output()).toBe("");
    return cli.errors();
  };

  test.each([
    [["--api-port", "x"], /--api-port.*whole number from 0 to 65535/],
    [["--kinesis-port", "65536"], /--kinesis-port.*whole number from 0 to 65535/],
    [["--log-level", "loud"], /--log-level.*debug, info, warn, error, silent/],
    [["--deployment", "a b"], /--deployment.*letters, digits/],
    [["--prot", "1"], /unknown option '--prot'/],
    [["now"], /too many arguments/],
    [["--table", "orders"], /--table.*<table>:<partition key>.*such as orders:customer,placedAt:N/],
    [["--table", "orders:a:X"], /partitionKey.*S, N or B/],
    [["--table", "orders:a,b,c"], /"orders:a,b,c" is not of the form/],
    [["--table", "orders:a,a"], /sort key is another attribute/],
    [["--table", "o!:a"], /"o!" is no table's name/],
    [["--table", "orders:a", "--table", "orders:b"], /"orders" is described twice/],
    [["--history", "orders"], /--history orders: add --table orders:<key>/],
    [["--mixed", "orders"], /--mixed orders: add --table orders:<key>/],
    [["--base", "orders"], /--base orders: add --table orders:<key>/],
    [["--config", "nowhere.json"], /no file .*nowhere\.json.*--config <file>/],
  ])("%s", async (parameters, expected) => {
    expect(await complaint(2, ...parameters)).toMatch(expected);
  });

  test("a data folder that is none of ours", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "other"), "");
    const errors = await complaint(1, ...freePorts, "--data", folder);
    expect(errors).toMatch(/^tidemark: the data folder .* holds other files.*--data <folder>\n$/);
  });

  test("a busy port", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
    });
    const port = (server.address() as AddressInfo).port.toString();
    const errors = await complaint(1, ...freePorts, "--kinesis-port", port);
    expect(errors).toBe(
      `tidemark: port ${port} is in use, by a stack that runs already or another program; ` +
        "choose another with --kinesis-port <port>, or --kinesis-port 0 for any free one\n",
    );
    const asJson = await complaint(1, ...freePorts, "--kinesis-port", port, "--json");
    const { error } = JSON.parse(asJson) as { readonly error: object };
    expect(error).toMatchObject({ message: errors.slice(10, -1) });
  });
});

test.each([
  [["--api-port", "14999", "--dynamodb-port", "14999"], "api", "dynamodb", 14999],
  [["--kinesis-port", "4600"], "api", "kinesis", 4600],
])("one port for two servers is refused with both options: %j", async (args, one, other, port) => {
  const cli = run(...args);
  expect(await cli.ended).toBe(2);
  expect(cli.errors()).toContain(`--${one}-port and --${other}-port are both ${port}`);
  expect(cli.output()).toBe("");
});

describe("tables of one's own", () => {
  test("come from the command line and a file, with types, indexes, history, access", async () => {
    const folder = temporaryFolder();
    const config = {
      tables: [
        { name: "accounts", partitionKey: "other" },
        {
          ...{ name: "invoices", partitionKey: "id", sortKey: "line:N" },
          indexes: [{ name: "by-state", partitionKey: "state" }],
        },
        { name: "carts", partitionKey: "id", access: "mixed" },
        { name: "seats", partitionKey: "id", history: true, base: true },
      ],
      ports: { api: 0, dynamodb: 0, kinesis: 0 },
      sampleTables: false,
    };
    writeFileSync(join(folder, "tidemark.config.json"), JSON.stringify(config));
    const own = ["--table", "orders:customer:S,placedAt:N", "--table", "accounts:id"];
    const baseTable = "tidemark-local-base";
    const cli = runIn(
      folder,
      "start",
      ...own,
      "--history",
      "accounts",
      "--mixed",
      "orders",
      "--base",
      "accounts",
      "--json",
    );
    const { endpoint, tables } = await started(cli);
    expect(tables).toEqual(["invoices", "carts", "seats", "orders", "accounts", baseTable]);
    const listed = await fetch(`${endpoint}/.well-known/tidemark/tables`);
    expect(await listed.json()).toEqual({
      tables: [
        {
          ...{ name: "accounts", partitionKey: { name: "id", type: "S" } },
          ...{ history: true, access: "transactional", baseSince: 0 },
        },
        {
          ...{ name: "carts", partitionKey: { name: "id", type: "S" } },
          ...{ history: false, access: "mixed" },
        },
        {
          ...{ name: "invoices", partitionKey: { name: "id", type: "S" } },
          ...{ sortKey: { name: "line", type: "N" }, history: false, access: "transactional" },
        },
        {
          ...{ name: "orders", partitionKey: { name: "customer", type: "S" } },
          ...{ sortKey: { name: "placedAt", type: "N" }, history: false, access: "mixed" },
        },
        {
          ...{ name: "seats", partitionKey: { name: "id", type: "S" } },
          ...{ history: true, access: "transactional", baseSince: 0 },
        },
        {
          ...{ name: baseTable, partitionKey: { name: "pk", type: "S" } },
          ...{ sortKey: { name: "sk", type: "S" }, history: true, access: "transactional" },
        },
      ],
    });
    const orders = defineTable<
      { cents: number },
      { customer: string; placedAt: number },
      "customer"
    >("orders");
    await using db = createClient({ endpoint });
    await db.transact(async (tx) => tx.put(orders, { customer: "c", placedAt: 1, cents: 5 }));
    const found = db.snapshot((s) => s.query(orders, { where: { customer: "c" } }).all());
    expect(await found).toEqual([{ customer: "c", placedAt: 1, cents: 5 }]);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
  });

  test("register goes where the configuration beside it says that the stack is", async () => {
    const folder = temporaryFolder();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    writeFileSync(join(folder, "tidemark.config.json"), JSON.stringify({ ports: { api: port } }));
    const cli = runIn(folder, "register", "orders");
    expect(await cli.ended).toBe(1);
    expect(cli.errors()).toContain(`127.0.0.1:${port}`);
  });

  test("one is moved by the command, which may be stopped, and turned round", async () => {
    const own = ["--no-sample-tables", "--table", "orders:id", "--history", "orders"];
    const stack = run(...freePorts, ...own, "--table", "carts:id", "--json");
    const { endpoint } = await started(stack);
    const move = (table: string, access: string) =>
      runIn(process.cwd(), "move", table, "--access", access, "--endpoint", endpoint);
    const refused = [move("nowhere", "mixed"), move("orders", "mixed"), move("carts", "native")];
    expect(await Promise.all(refused.map(({ ended }) => ended))).toEqual([2, 2, 2]);
    const [unknown, kept, misspelt] = refused.map((each) => each.errors());
    expect(unknown).toMatch(/^tidemark: table "nowhere" is not registered; `npx tidemark register/);
    expect(kept).toMatch(/^tidemark: table "orders" keeps history.* --no-history`\n$/);
    expect(misspelt).toMatch(/Allowed choices are transactional, mixed/);

    const there = move("carts", "mixed");
    await eventually(() => there.output().includes("11 s left"));
    const onItsWay = await fetch(`${endpoint}/.well-known/tidemark/tables`);
    expect(await onItsWay.json()).toMatchObject({
      tables: [{ name: "carts", move: { to: "mixed", stage: "closed" } }, { name: "orders" }],
    });
    const registered = runIn(process.cwd(), "register", "--endpoint", endpoint, "carts");
    expect([await registered.ended, registered.output()]).toEqual([
      0,
      "registered carts (id:S, on its way to mixed: closed; " +
        "`tidemark move carts --access mixed` goes on)\n",
    ]);
    there.signal("SIGINT");
    expect(await there.ended).toBe(130);
    expect(there.output()).toBe(
      "carts: is transactional\n" +
        "carts: commits to it wait (closed, on its way to mixed)\n" +
        "carts: 11 s left\n" +
        "carts: is transactional\n" +
        "carts: stopped on its way; begin again to go on, or back\n",
    );
    const back = move("carts", "transactional");
    expect(await back.ended).toBe(0);
    expect(back.output()).toBe("carts: is transactional\n");
    const listed = await fetch(`${endpoint}/.well-known/tidemark/tables`);
    expect(await listed.json()).toMatchObject({
      tables: [
        { name: "carts", access: "transactional" },
        { name: "orders", access: "transactional", history: true },
      ],
    });
    stack.signal("SIGINT");
    expect(await stack.ended).toBe(0);
  });

  test("one that an application makes is adopted by a call, HTTP, or the command", async () => {
    const cli = run(...freePorts, "--no-sample-tables", "--json");
    const { endpoint, endpoints } = await started(cli);
    const dynamodb = new DynamoDBClient({
      ...{ endpoint: endpoints.dynamodb, region: "us-east-1" },
      credentials: { accessKeyId: "any", secretAccessKey: "any" },
    });
    onTestFinished(() => {
      dynamodb.destroy();
    });
    for (const TableName of ["mine", "yours", "theirs"]) {
      await dynamodb.send(
        new CreateTableCommand({
          ...{ TableName, BillingMode: "PAY_PER_REQUEST" },
          KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
          AttributeDefinitions: [{ AttributeName: "id", AttributeType: "N" }],
        }),
      );
      await waitUntilTableExists({ client: dynamodb, maxWaitTime: 60, minDelay: 1 }, { TableName });
      await dynamodb.send(new PutItemCommand({ TableName, Item: { id: { N: "1" } } }));
    }
    await using db = createClient({ endpoint });
    const mine = defineTable<{ n?: number }, { id: number }>("mine", { key: "id" });
    const unknown = db.transact((tx) => tx.get(mine, 1));
    await expect(unknown).rejects.toThrow(/not registered.*tidemark register.*tidemark\/tables/);

    expect(await registerTables({ endpoint }, [mine])).toMatchObject([
      { name: "mine", partitionKey: { name: "id", type: "N" }, history: false },
    ]);
    const post = (tables: unknown, type = "application/json"): Promise<Response> =>
      fetch(`${endpoint}/.well-known/tidemark/tables`, {
        ...{ method: "POST", headers: { "content-type": type }, body: JSON.stringify({ tables }) },
      });
    expect((await post([{ name: "yours", history: true }])).status).toBe(200);
    const command = runIn(process.cwd(), "register", "--endpoint", endpoint, "theirs");
    expect(await command.ended).toBe(0);
    const seen = "no reserved names in all its items (1)";
    expect(command.output()).toBe(`registered theirs (id:N); ${seen}\n`);
    const again = runIn(process.cwd(), "register", "--endpoint", endpoint, "theirs");
    expect([await again.ended, again.output()]).toEqual([0, "registered theirs (id:N)\n"]);
    const mark = { id: { N: "2" }, _v: { N: "1" } };
    await dynamodb.send(new PutItemCommand({ TableName: "theirs", Item: mark }));
    const check = runIn(process.cwd(), "register", "--endpoint", endpoint, "--check", "theirs");
    expect(await check.ended).toBe(1);
    expect(check.errors()).toMatch(/^tidemark: .*"_v".*\{"id":\{"N":"2"\}\}.*another name/);
    await dynamodb.send(new DeleteItemCommand({ TableName: "theirs", Key: { id: { N: "2" } } }));
    const clean = runIn(process.cwd(), "register", "--endpoint", endpoint, "--check", "theirs");
    expect([await clean.ended, clean.output()]).toEqual([0, `theirs (id:N): ${seen}\n`]);
    for (const name of ["mine", "yours", "theirs"]) {
      const table = defineTable<{ n?: number }, { id: number }>(name);
      const { result } = await db.transact((tx) => tx.update(table, 1, () => ({ n: 2 })));
      expect(result).toEqual({ id: 1, n: 2 });
    }

    const refusals = [await post(["nowhere"]), await post("mine"), await post([], "text/plain")];
    refusals.push(await fetch(`${endpoint}/.well-known/tidemark/tables`, { method: "DELETE" }));
    expect(refusals.map(({ status }) => status)).toEqual([422, 422, 415, 405]);
    expect(refusals[3]?.headers.get("allow")).toBe("GET, POST");
    const problems = await Promise.all(refusals.map((each) => each.json()));
    for (const each of problems) expect(problem.parse(each)).toEqual(each);
    expect(problems).toMatchObject([
      { type: "urn:tidemark:problem:invalid-request", field: "table" },
      { type: "urn:tidemark:problem:invalid-request", field: "tables" },
      { type: "urn:tidemark:problem:unsupported-media-type", field: "content-type" },
      { type: "urn:tidemark:problem:method-not-allowed" },
    ]);
    // By name alone: what is kept stays kept.
    expect(await registerTables({ endpoint }, ["yours"])).toMatchObject([{ history: true }]);
    const other = defineTable("mine", { key: "key" });
    await expect(registerTables({ endpoint }, [other])).rejects.toMatchObject({ field: "key" });
    const own = registerTables({ endpoint }, ["tidemark-local-log"]);
    await expect(own).rejects.toThrow(/Tidemark's own/);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
  });

  test("one with another key than it has is refused in one line; nothing runs on", async () => {
    const data = join(temporaryFolder(), "data");
    const first = run(...freePorts, "--data", data, "--table", "orders:id", "--json");
    await started(first);
    first.signal("SIGINT");
    expect(await first.ended).toBe(0);
    const second = run(...freePorts, "--data", data, "--table", "orders:customer");
    expect(await second.ended).toBe(2);
    expect(second.errors()).toMatch(/"orders" exists with another key; delete.*--data <folder>\n$/);
  });
});

test("stops when the npm that started it is killed", async () => {
  const npm = spawn(
    process.execPath,
    ["-e", `${spawnAndWait}(${JSON.stringify([built.script, "start", ...freePorts, "--json"])})`],
    { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, npm_command: "exec" } },
  );
  onTestFinished(() => {
    npm.kill("SIGKILL");
  });
  let output = "";
  npm.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await eventually(() => output.includes("\n"));
  const { processes } = JSON.parse(output) as Announcement;
  npm.kill("SIGKILL");
  await eventually(() => Object.values(processes).every((pid) => !isAlive(pid)));
});

describe("a started stack", () => {
  test("announces itself as JSON, commits over REST, and stops on one Ctrl-C", async () => {
    const cli = run(...freePorts, "--json", "--log-level", "silent");
    const { endpoint, endpoints, processes, tables } = await started(cli);
    expect(Object.keys(processes).sort()).toEqual(["api", "oracle", "reaper", "replay", "stores"]);
    expect(tables).toContain("accounts");
    const description = await fetch(`${endpoint}/.well-known/tidemark`);
    expect(await description.json()).toEqual({
      deployment: "local",
      region: "us-east-1",
      endpoints,
    });
    const body = {
      writes: [
        {
          op: "update",
          table: "accounts",
          key: { id: "account-000" },
          add: { balanceCents: -500 },
        },
      ],
      returnItems: true,
    };
    const response = await fetch(`${endpoint}/v1/transactions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(await response.json()).toMatchObject({
      written: [{ id: "account-000", balanceCents: 99_500 }],
    });
    // As under npm: the terminal and npm both pass the one key on.
    cli.signal("SIGINT");
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
    expect(cli.errors()).toBe("");
    expect(Object.values(processes).filter(isAlive)).toEqual([]);
  });

  test("tells a person where everything is", async () => {
    const cli = run(...freePorts, "--no-sample-tables");
    await eventually(() => cli.output().includes("Ctrl-C stops it."));
    expect(cli.output()).toMatch(/REST API +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/DynamoDB +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/Kinesis +http:\/\/127\.0\.0\.1:\d+\n/);
    expect(cli.output()).toMatch(/createClient\(\{ endpoint: "http/);
    cli.signal("SIGTERM");
    expect(await cli.ended).toBe(0);
  });

  test("names the tables, who writes them, and those that its data folder keeps", async () => {
    const data = ["--data", temporaryFolder(), "--no-sample-tables"];
    const own = ["--table", "carts:id", "--mixed", "carts", "--table", "orders:id"];
    const first = run(...freePorts, ...data, ...own, "--base", "orders");
    await eventually(() => first.output().includes("Ctrl-C stops it."));
    expect(first.output()).toMatch(/Your tables +carts \(mixed\), orders \(base\)\n/);
    first.signal("SIGINT");
    expect(await first.ended).toBe(0);
    const refused = run(...freePorts, ...data, "--table", "orders:id", "--mixed", "orders");
    expect(await refused.ended).toBe(2);
    expect(refused.errors()).toMatch(
      /^tidemark: table "orders" is registered as transactional.*move orders.*without --mixed.*\n$/,
    );
    const both = run(...freePorts, ...data, ...own.slice(0, 4), "--base", "carts");
    expect(await both.ended).toBe(2);
    expect(both.errors()).toMatch(/^tidemark: table "carts" cannot be mixed.*--base and --/);
    const again = run(...freePorts, ...data, "--table", "orders:id");
    await eventually(() => again.output().includes("Ctrl-C stops it."));
    expect(again.output()).toMatch(/Your tables +orders \(base\), carts \(mixed\)\n/);
    again.signal("SIGINT");
    expect(await again.ended).toBe(0);
  });

  test("suggests calls that work on the sample rows", async () => {
    const cli = run(...freePorts);
    await eventually(() => cli.output().includes("Ctrl-C stops it."));
    expect(cli.output()).toContain("filled with sample rows");
    const suggested = cli.output().matchAll(/curl -s (http\S+) .* -d '(\{[^']*\})'/g);
    const answers = await Promise.all(
      Array.from(suggested, async ([, url = "", body = ""]) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(url, { method: "POST", headers, body });
        return [response.status, await response.json()];
      }),
    );
    const taken = { orderId: "matinee-dora" };
    const seats = Array.from({ length: 12 }, (_unused, index) => (index < 2 ? taken : {}));
    expect(answers).toMatchObject([
      [200, { written: [{ balanceCents: 99_500 }, { balanceCents: 100_500 }] }],
      [200, { reads: { queries: [{ items: seats }] } }],
    ]);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
  });

  test("a second Ctrl-C does not wait for a function that hangs", async () => {
    const cli = run(...freePorts, "--no-sample-tables", "--json");
    const { processes } = await started(cli);
    process.kill(processes["oracle"] ?? 0, "SIGSTOP");
    cli.signal("SIGINT");
    await eventually(() => !isAlive(processes["api"] ?? 0));
    await new Promise((resolve) => setTimeout(resolve, 400)); // Longer than an echo of the first.
    expect(isAlive(processes["oracle"] ?? 0)).toBe(true);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(130);
    expect(Object.values(processes).filter(isAlive)).toEqual([]);
  });
});
