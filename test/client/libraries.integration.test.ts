/**
 * Libraries inside of a transaction: programs of their typical operations run natively and within
 * one transaction, and answers and tables are the same. Natively is on a real protocol server:
 * DynamoDB Local, or dynalite, which knows no transactions of DynamoDB's, so that the whole program
 * is compared with the model of DynamoDB too. docs/orms.md has what came of it; `-u` writes that
 * there.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  CreateTableCommand,
  DynamoDB,
  ScanCommand,
  type AttributeValue,
  type DynamoDBClientConfig,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tidemarkPlugin } from "../../client/index.ts";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { formatMarkdown } from "../../scripts/format-markdown.ts";
import { createClient, type Client } from "../../sdk/index.ts";
import { registerTables } from "../../sdk/tables.ts";
import { sharedDynamoDb } from "../harness/local-servers.ts";
import { awsSdk } from "./libraries/aws-sdk.ts";
import { dynamodbToolbox } from "./libraries/dynamodb-toolbox.ts";
import { dynamooseLibrary } from "./libraries/dynamoose.ts";
import { electroDb } from "./libraries/electrodb.ts";
import { tableInput, type Clients, type Library, type Step } from "./libraries/library.ts";
import { oneTable } from "./libraries/onetable.ts";
import { modelHandler } from "./model-client.ts";

const libraries = [awsSdk, electroDb, dynamodbToolbox, oneTable, dynamooseLibrary];

const shared = sharedDynamoDb();
/** Of this run: who shares a DynamoDB with others has names of his own. Letters alone. */
const own = randomBytes(6)
  .toString("hex")
  .replaceAll(/\d/gu, (digit) => "ghijklmnop"[Number(digit)] ?? "");

let stack: EmbeddedStack;
let db: Client;
let plain: DynamoDB;
let plugged: Clients;

function clientsOf(config: DynamoDBClientConfig): Clients {
  const wire = new DynamoDB(config);
  return { wire, document: DynamoDBDocumentClient.from(wire) };
}

beforeAll(async () => {
  stack = await startEmbeddedStack({
    ...{ tablesOnly: true, sampleTables: false, deployment: own },
    dynamodbAt: shared === undefined ? undefined : Number(new URL(shared).port),
  });
  const config = {
    region: stack.region,
    endpoint: stack.endpoints.dynamodb,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  };
  plain = new DynamoDB(config);
  plugged = clientsOf(config);
  plugged.wire.middlewareStack.use(tidemarkPlugin());
  db = createClient({ endpoint: stack.endpoint });
});
afterAll(async () => {
  await db.close();
  plain.destroy();
  plugged.wire.destroy();
  await stack.stop();
});

/** What differs by nature: tables, times, ids, and the order of sets and attributes. */
function comparable(value: unknown, { unordered = false }: Partial<Step>): unknown {
  const text = JSON.stringify(value, (_, each: unknown) => {
    if (each instanceof Set) return [...(each as Set<string>)].sort();
    if (each instanceof Uint8Array) return [...each];
    if (Array.isArray(each)) return unordered ? each.map(sortedText).sort() : (each as unknown[]);
    return typeof each === "object" && each !== null ? sorted(each) : each;
  });
  return (
    (text as string | undefined)
      ?.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/gu, "")
      .replaceAll(/(?:native|within|model)-[a-z]+/gu, "")
      // In words of its own.
      .replaceAll(/Syntax error; .*"/gu, 'Syntax error"')
      .replaceAll(/"(?:requestId|\$metadata|\$response)":(?:"[^"]*"|\{[^}]*\})/gu, '""')
  );
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function sortedText(value: unknown): string {
  const isObject = typeof value === "object" && value !== null;
  return JSON.stringify(isObject ? sorted(value) : value);
}

async function found({ run, ...step }: Step): Promise<unknown> {
  try {
    return comparable(await run(), step);
  } catch (error) {
    const { name, message } = error as Error;
    return comparable({ name, message }, step);
  }
}

/** Steps in turn, with what each has found. */
async function perform(steps: readonly Step[]): Promise<ReadonlyMap<string, unknown>> {
  const results = new Map<string, unknown>();
  for (const step of steps) results.set(step.operation, await found(step));
  return results;
}

async function contents(client: DynamoDB, TableName: string): Promise<readonly string[]> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }));
  return Items.filter((item) => item["_x"] === undefined)
    .map(
      ({ _v, ...item }: Record<string, AttributeValue>) =>
        comparable(
          Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)),
          {},
        ) as string,
    )
    .sort();
}

let tables = 0;
async function createTable(kind: "native" | "within"): Promise<string> {
  tables += 1;
  const name = `${kind}-${own}${String.fromCharCode(96 + tables)}`;
  await plain.send(new CreateTableCommand(tableInput(name)));
  if (kind === "within") {
    await registerTables({ endpoint: stack.endpoint }, [name]);
    await db.transact(() => plugged.wire.scan({ TableName: name }));
  }
  return name;
}

type Found = {
  readonly results: ReadonlyMap<string, unknown>;
  readonly rows: readonly string[];
};

async function within({ program }: Library, choose: (step: Step) => boolean): Promise<Found> {
  const table = await createTable("within");
  const steps = program(plugged, table).filter(choose);
  const { result } = await db.transact(() => perform(steps));
  return { results: result, rows: await contents(plain, table) };
}

/**
 * What DynamoDB Local answers in words of its own, or unasked, or with a key's attributes in
 * another order than the AWS that the model is made after.
 */
const localOnly: Readonly<Record<string, readonly string[]>> = {
  "AWS SDK": ["DeleteItem, of none", "GetItem, wrong key", "Query, no such key"],
  ElectroDB: ["query, limit and order"],
};

function compared(results: ReadonlyMap<string, unknown>, { name }: Library): object {
  const left = shared === undefined ? [] : (localOnly[name] ?? []);
  return Object.fromEntries([...results].filter(([operation]) => !left.includes(operation)));
}

/** Of each library, the operations that do the same, and those that do not. */
const outcomes = new Map<string, { readonly same: string[]; readonly other: string[] }>();

describe.each(libraries)("$name", (library) => {
  test("answers and writes as natively on a protocol server", async () => {
    const choose = ({ transaction = false }: Step): boolean => shared !== undefined || !transaction;
    const table = await createTable("native");
    const document = DynamoDBDocumentClient.from(plain);
    const native = await perform(library.program({ wire: plain, document }, table).filter(choose));
    const { results, rows } = await within(library, choose);
    expect(compared(results, library)).toEqual(compared(native, library));
    expect(rows).toEqual(await contents(plain, table));
  });

  test("answers and writes as natively, DynamoDB's transactions included", async () => {
    const name = "model-a";
    const model = clientsOf(modelHandler(tableInput(name)));
    const native = await perform(library.program(model, name));
    const { results, rows } = await within(library, () => true);
    const outcome = { same: [] as string[], other: [] as string[] };
    for (const [operation, result] of native) {
      outcome[results.get(operation) === result ? "same" : "other"].push(operation);
    }
    outcomes.set(library.name, outcome);
    expect(Object.fromEntries(results)).toEqual(Object.fromEntries(native));
    expect(rows).toEqual(await contents(model.wire, name));
  });

  test("is run again after a conflict, whatever it makes of the error", async () => {
    const table = await createTable("within");
    const steps = library.program(plugged, table).filter(({ transaction = false }) => !transaction);
    const other = createClient({ endpoint: stack.endpoint });
    const item = { pk: { S: "other" }, sk: { S: "1" } };
    let runs = 0;
    const { receipt } = await db.transact(async () => {
      runs += 1;
      await plugged.wire.scan({ TableName: table });
      if (runs === 1) {
        await other.transact(() => plugged.wire.putItem({ TableName: table, Item: item }));
      }
      return perform(steps);
    });
    await other.close();
    expect([runs, receipt.attempts]).toEqual([2, 2]);
    const rows = await contents(plain, table);
    const alone = await within(library, ({ transaction = false }) => !transaction);
    expect(rows).toHaveLength(alone.rows.length + 1);
  });
});

test("docs/orms.md says what works", async () => {
  const path = new URL("../../docs/orms.md", import.meta.url);
  const lines = ["| library | the same as natively | not the same |", "| --- | --- | --- |"];
  for (const [name, { same, other }] of outcomes) {
    const cell = (operations: readonly string[]): string =>
      operations.length === 0 ? "–" : `${operations.length}: ${operations.join("; ")}`;
    lines.push(`| ${name} | ${cell(same)} | ${cell(other)} |`);
  }
  const text = readFileSync(path, "utf8");
  const [begin, end] = ["<!-- operations -->\n\n", "<!-- /operations -->"];
  expect(text).toContain(begin);
  const table = `${begin}${lines.join("\n")}\n\n${end}`;
  const [head = ""] = text.split(begin);
  const [, tail = ""] = text.split(end);
  const formatted = await formatMarkdown(`${head}${table}${tail}`);
  await expect(formatted).toMatchFileSnapshot("../../docs/orms.md");
});
