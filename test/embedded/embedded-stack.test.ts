/** The embedded stack as a process tree: what survives which death, and what a user is told. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAwsClients } from "../../aws/clients.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import {
  eventually,
  isAlive,
  journalFile,
  journalLines,
  journalRecords,
  putRecord,
  startTestStack,
  temporaryFolder,
} from "./fixtures/test-stack.ts";
import { recorder, ticker, webServer } from "./fixtures/recording-functions.ts";

describe("a running stack", () => {
  test("delivers records, runs schedules, serves HTTP and says where it is", async () => {
    const journal = journalFile();
    const stack = await startTestStack({ functions: [recorder, ticker, webServer] });
    await putRecord(stack, "one");
    await eventually(() => journalRecords(journal).includes("one"));
    await eventually(() => journalLines(journal).filter((line) => line === "scheduled").length > 2);

    const description = await fetch(`${stack.endpoint}/.well-known/tidemark`);
    expect(await description.json()).toEqual({
      deployment: "local",
      region: "us-east-1",
      endpoints: stack.endpoints,
    });

    const contract = await fetch(`${stack.endpoint}/openapi.json`);
    expect(await contract.json()).toMatchObject({ openapi: "3.1.0", paths: { "/v1/health": {} } });

    const response = await fetch(`${stack.endpoint}/some/path?x=1&x=2`, {
      method: "POST",
      headers: { "content-type": "application/json", "X-Custom": "yes" },
      body: '{"a":"ü"}',
    });
    expect(response.status).toBe(201);
    expect(response.headers.get("x-path")).toBe("/some/path");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.json()).toMatchObject({
      version: "2.0",
      rawPath: "/some/path",
      rawQueryString: "x=1&x=2",
      queryStringParameters: { x: "1,2" },
      headers: { "x-custom": "yes" },
      requestContext: { http: { method: "POST" } },
      body: '{"a":"ü"}',
      isBase64Encoded: false,
    });
    expect((await fetch(`${stack.endpoint}/throw`)).status).toBe(500);
  });

  test("creates, registers and fills the sample tables", async () => {
    const stack = await startTestStack({ functions: [], sampleTables: true });
    expect(stack.tables).toContain("accounts");
    const clients = createAwsClients({ endpoint: stack.endpoints, region: stack.region });
    onTestFinished(() => clients.close());
    const { client, sdk } = await clients.dynamodb();
    const counts = await Promise.all(
      stack.tables.map(async (TableName) => {
        const { Count } = await client.send(new sdk.ScanCommand({ TableName }));
        return [TableName, Count];
      }),
    );
    expect(Object.fromEntries(counts)).toEqual({
      accounts: 100,
      "bank-accounts": 2,
      "bank-ledger": 4,
      "ticket-events": 1,
      "ticket-seats": 12,
      "ticket-orders": 2,
      "ticket-payments": 2,
    });
    const registry = await client.send(
      new sdk.QueryCommand({
        TableName: "tidemark-local-control",
        KeyConditionExpression: "pk = :registry",
        ExpressionAttributeValues: { ":registry": { S: "registry" } },
      }),
    );
    expect(registry.Items?.map((item) => item["sk"]?.S)).toEqual([...stack.tables].sort());
  });
});

describe("death of a process", () => {
  test("a killed function starts again and goes on behind its checkpoint", async () => {
    const journal = journalFile();
    const stack = await startTestStack({ functions: [recorder] });
    await putRecord(stack, "before");
    await eventually(() => journalRecords(journal).includes("before"));
    // The checkpoint follows the function's return; a second record shows that it was saved.
    await putRecord(stack, "then");
    await eventually(() => journalRecords(journal).includes("then"));
    const pid = stack.processes["oracle"];
    await stack.kill("oracle");
    await putRecord(stack, "after");
    await stack.waitReady("oracle");
    await eventually(() => journalRecords(journal).includes("after"));
    expect(stack.processes["oracle"]).not.toBe(pid);
    expect(journalRecords(journal).filter((text) => text === "before")).toEqual(["before"]);
  });

  test("a function killed in the middle of a batch gets that batch again", async () => {
    const journal = journalFile();
    const gate = join(temporaryFolder(), "gate");
    const stack = await startTestStack({ functions: [recorder] });
    await putRecord(stack, `hold-until:${gate}`);
    await eventually(() => journalRecords(journal).length === 1);
    await stack.kill("oracle");
    writeFileSync(gate, "");
    await putRecord(stack, "next");
    await eventually(() => journalRecords(journal).includes("next"));
    expect(journalRecords(journal).slice(0, 2)).toEqual([
      `hold-until:${gate}`,
      `hold-until:${gate}`,
    ]);
  });

  test("a function that throws gets its batch again until it succeeds", async () => {
    const journal = journalFile();
    const gate = join(temporaryFolder(), "gate");
    const stack = await startTestStack({ functions: [recorder] });
    await putRecord(stack, `fail-until:${gate}`);
    await eventually(() => journalRecords(journal).length > 3);
    await putRecord(stack, "behind");
    expect(journalRecords(journal)).not.toContain("behind");
    writeFileSync(gate, "");
    await eventually(() => journalRecords(journal).includes("behind"));
  });

  test("a killed API comes back on the same port", async () => {
    journalFile();
    const stack = await startTestStack({ functions: [webServer] });
    const { endpoint } = stack;
    await stack.kill("api");
    await stack.waitReady("api");
    expect(stack.endpoint).toBe(endpoint);
    await eventually(async () => (await fetch(`${endpoint}/again`)).status === 201);
  });

  test("stores with a data folder come back from a kill, with every record", async () => {
    const journal = journalFile();
    const stack = await startTestStack({ functions: [recorder], dataFolder: temporaryFolder() });
    const { endpoints } = stack;
    await putRecord(stack, "before");
    await stack.kill("stores");
    await stack.waitReady("stores");
    expect(stack.endpoints).toEqual(endpoints);
    await putRecord(stack, "after");
    await eventually(() => journalRecords(journal).includes("after"));
    expect(new Set(journalRecords(journal))).toEqual(new Set(["before", "after"]));
  });

  test("killed stores without a data folder end the stack with a word about it", async () => {
    journalFile();
    const stack = await startTestStack({ functions: [recorder] });
    await stack.kill("stores");
    expect((await stack.lost).message).toMatch(/stores was killed by SIGKILL.*--data/);
    await stack.stop();
    expect(stack.processes).toEqual({});
  });

  test("a process stays dead when restarts are switched off", async () => {
    journalFile();
    const stack = await startTestStack({ functions: [ticker], restartChildren: false });
    await stack.kill("reaper");
    await eventually(() => stack.processes["reaper"] === undefined);
    expect(Object.keys(stack.processes)).toEqual(["stores"]);
  });

  test("killing a process that does not exist is refused by name", async () => {
    const stack = await startTestStack({ functions: [] });
    await expect(stack.kill("orakel")).rejects.toThrow(/"orakel", only stores/);
  });
});

test("no process outlives a supervisor that is killed", async () => {
  journalFile();
  const script = new URL("fixtures/run-stack.ts", import.meta.url);
  const supervisor = spawn(process.execPath, ["--import", "tsx", fileURLToPath(script)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => {
    supervisor.kill("SIGKILL");
  });
  const [line] = (await once(createInterface({ input: supervisor.stdout }), "line")) as [string];
  const pids = Object.values(JSON.parse(line) as Record<string, number>);
  expect(pids).toHaveLength(4);
  expect(pids.every(isAlive)).toBe(true);
  supervisor.kill("SIGKILL");
  await eventually(() => !pids.some(isAlive));
});

describe("stopping", () => {
  test("finishes the batch under way and leaves no process behind", async () => {
    const journal = journalFile();
    const gate = join(temporaryFolder(), "gate");
    const folder = temporaryFolder();
    const first = await startTestStack({
      functions: [recorder, ticker, webServer],
      dataFolder: folder,
    });
    await putRecord(first, `hold-until:${gate}`);
    await eventually(() => journalRecords(journal).length === 1);
    const pids = Object.values(first.processes);
    const stopping = first.stop();
    writeFileSync(gate, "");
    await stopping;
    expect(pids).toHaveLength(4);
    expect(pids.filter(isAlive)).toEqual([]);

    // Its checkpoint was kept: a new stack on the same folder does not deliver the batch again.
    const second = await startTestStack({ functions: [recorder], dataFolder: folder });
    await putRecord(second, "second");
    await eventually(() => journalRecords(journal).includes("second"));
    expect(journalRecords(journal)).toEqual([`hold-until:${gate}`, "second"]);
  });

  test("a request under way gets its answer", async () => {
    journalFile();
    const stack = await startTestStack({ functions: [webServer] });
    await eventually(async () => (await fetch(`${stack.endpoint}/`)).status === 201);
    const answer = fetch(`${stack.endpoint}/slow`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await stack.stop();
    expect((await answer).status).toBe(201);
  });

  test("abandoning kills what does not want to stop", async () => {
    const journal = journalFile();
    const stack = await startTestStack({ functions: [recorder] });
    await putRecord(stack, "hold-until:/nowhere/gate");
    await eventually(() => journalRecords(journal).length === 1);
    const pids = Object.values(stack.processes);
    await stack.abandon();
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe("data folder", () => {
  /** All rows of all sample tables, by table. */
  const allRows = (stack: EmbeddedStack) =>
    withItems(stack, async ({ client, sdk }) => {
      const rows = await Promise.all(
        stack.tables.map(async (TableName) => {
          const { Items = [] } = await client.send(new sdk.ScanCommand({ TableName }));
          return [TableName, Items] as const;
        }),
      );
      return new Map(rows);
    });

  test("keeps tables and rows over a restart, and fills the sample tables only once", async () => {
    const dataFolder = temporaryFolder();
    const options = { functions: [], sampleTables: true, dataFolder };
    const first = await startTestStack(options);
    await withItems(first, async ({ client, sdk }) => {
      const id = { S: "account-007" };
      await client.send(new sdk.DeleteItemCommand({ TableName: "accounts", Key: { id } }));
      for (const changed of ["dora", "mine"]) {
        const Item = { id: { S: changed }, balanceCents: { N: "1" } };
        await client.send(new sdk.PutItemCommand({ TableName: "bank-accounts", Item }));
      }
    });
    const before = await allRows(first);
    expect(before.get("accounts")).toHaveLength(99);
    expect(before.get("bank-accounts")).toHaveLength(3);
    await first.stop();
    expect(await allRows(await startTestStack(options))).toEqual(before);
  });

  test("fills up where a start was cut short, and overwrites nothing that is there", async () => {
    const dataFolder = temporaryFolder();
    const options = { functions: [], sampleTables: true, dataFolder };
    const first = await startTestStack(options);
    const complete = await allRows(first);
    const dora = { id: { S: "dora" }, balanceCents: { N: "7" } };
    await withItems(first, async ({ client, sdk }) => {
      await client.send(new sdk.PutItemCommand({ TableName: "bank-accounts", Item: dora }));
      const Key = { id: { S: "emil" } };
      await client.send(new sdk.DeleteItemCommand({ TableName: "bank-accounts", Key }));
    });
    await first.stop();
    const marker = join(dataFolder, "tidemark-data.json");
    const { filledTables, ...rest } = JSON.parse(readFileSync(marker, "utf8")) as {
      readonly filledTables: readonly string[];
    };
    const cut = filledTables.filter((table) => table !== "bank-accounts");
    writeFileSync(marker, JSON.stringify({ ...rest, filledTables: cut }));
    const rows = await allRows(await startTestStack(options));
    expect(rows.get("bank-accounts")).toHaveLength(2);
    expect(rows.get("bank-accounts")).toContainEqual(dora);
    const others = ([table]: readonly [string, unknown]): boolean => table !== "bank-accounts";
    expect([...rows].filter(others)).toEqual([...complete].filter(others));
  });

  const refused = async (dataFolder: string): Promise<string> => {
    const error = await startEmbeddedStack({ functions: [], sampleTables: false, dataFolder }).then(
      (stack) => stack.stop(),
      (cause: unknown) => cause,
    );
    if (!(error instanceof Error)) throw new Error("the folder was accepted");
    expect(error.name).toBe("StackError");
    expect(error.message).not.toContain("\n");
    expect(error.message).toContain(dataFolder);
    expect(error.message).toContain("--data <folder>");
    return error.message;
  };

  const usedFolder = async (): Promise<string> => {
    const folder = temporaryFolder();
    const stack = await startTestStack({ functions: [], dataFolder: folder });
    await stack.stop();
    return folder;
  };

  test("refuses a folder with other files, and leaves them alone", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "thesis.txt"), "years of work");
    expect(await refused(folder)).toMatch(/holds other files/);
    expect(readFileSync(join(folder, "thesis.txt"), "utf8")).toBe("years of work");
    expect(existsSync(join(folder, "tidemark-data.json"))).toBe(false);
  });

  test("refuses a file, and a folder below a file", async () => {
    const file = join(temporaryFolder(), "file");
    writeFileSync(file, "");
    expect(await refused(file)).toMatch(/cannot be used/);
    expect(await refused(join(file, "below"))).toMatch(/cannot be used/);
  });

  test("refuses a folder of a newer format", async () => {
    const folder = temporaryFolder();
    const marker = { format: 2, storesMade: false, filledTables: [] };
    writeFileSync(join(folder, "tidemark-data.json"), JSON.stringify(marker));
    expect(await refused(folder)).toMatch(/newer version \(format 2, this one reads 1\)/);
  });

  test.each([
    ["a torn marker", "tidemark-data.json", '{"format":'],
    ["a marker that is none", "tidemark-data.json", "[]"],
    ["a damaged CURRENT", "dynamodb/CURRENT", "garbage"],
    ["a damaged CURRENT of the stream", "kinesis/CURRENT", "garbage"],
  ])("calls a folder with %s corrupt", async (_title, file, content) => {
    const folder = await usedFolder();
    writeFileSync(join(folder, file), content);
    expect(await refused(folder)).toMatch(/corrupt/);
  });

  test("calls a folder corrupt if its manifest is damaged or its database missing", async () => {
    const folder = await usedFolder();
    const manifest = readFileSync(join(folder, "dynamodb/CURRENT"), "utf8").trim();
    writeFileSync(join(folder, "dynamodb", manifest), "not a manifest at all");
    expect(await refused(folder)).toMatch(/corrupt: dynamodb/);
    rmSync(join(folder, "dynamodb"), { recursive: true });
    expect(await refused(folder)).toMatch(/corrupt: dynamodb\/CURRENT is missing/);
    mkdirSync(join(folder, "dynamodb"));
    expect(await refused(folder)).toMatch(/corrupt: dynamodb\/CURRENT is missing/);
  });

  test("starts over with delivery when the checkpoints are torn", async () => {
    const journal = journalFile();
    const folder = temporaryFolder();
    const first = await startTestStack({ functions: [recorder], dataFolder: folder });
    await putRecord(first, "one");
    await eventually(() => journalRecords(journal).length === 1);
    await first.stop();
    appendFileSync(join(folder, "checkpoints.json"), "}");
    await startTestStack({ functions: [recorder], dataFolder: folder });
    await eventually(() => journalRecords(journal).length === 2);
    expect(journalRecords(journal)).toEqual(["one", "one"]);
  });

  test("refuses a folder that another stack uses", async () => {
    const folder = temporaryFolder();
    await startTestStack({ functions: [], dataFolder: folder });
    expect(await refused(folder)).toMatch(/in use by another stack/);
  });
});

describe("ports", () => {
  const busyPort = async (): Promise<number> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.close();
    });
    return (server.address() as AddressInfo).port;
  };

  test.each([
    ["dynamodb", "--dynamodb-port"],
    ["kinesis", "--kinesis-port"],
    ["api", "--api-port"],
  ])("a busy %s port is named with the option that changes it", async (name, option) => {
    journalFile();
    const port = await busyPort();
    const started = startEmbeddedStack({
      functions: [webServer],
      sampleTables: false,
      ports: { [name]: port },
    });
    await expect(started).rejects.toThrow(
      `port ${port.toString()} is in use, by a stack that runs already or another program; ` +
        `choose another with ${option} <port>`,
    );
  });

  test("two stacks with free ports run side by side", async () => {
    const [one, two] = await Promise.all([
      startTestStack({ functions: [] }),
      startTestStack({ functions: [] }),
    ]);
    expect(one.endpoints.dynamodb).not.toBe(two.endpoints.dynamodb);
  });
});

async function withItems<T>(
  stack: EmbeddedStack,
  use: (handle: Awaited<ReturnType<ReturnType<typeof createAwsClients>["dynamodb"]>>) => Promise<T>,
): Promise<T> {
  const clients = createAwsClients({ endpoint: stack.endpoints, region: stack.region });
  try {
    return await use(await clients.dynamodb());
  } finally {
    await clients.close();
  }
}
