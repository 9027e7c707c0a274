/**
 * What a user gets: the packed tarball, installed into an empty ESM and an empty CJS project, is
 * imported, type checked and bundled there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startEmbeddedStack, type EmbeddedStack } from "../../localstack/embedded-stack.ts";
import {
  baseTransactionBytes,
  clientBytes,
  clientBytesMax,
  nativeBytes,
  nativeBytesMax,
  otelBytes,
  otelBytesMax,
  sdkBudget,
  sdkSizes,
} from "../../scripts/check-bundles.ts";
import { target } from "../../sdk/connect.ts";
import {
  useOfCommands,
  useOfNative,
  useOfSpans,
  useOfTheApi,
  useOfTheTestCloud,
} from "./programs.ts";
import { isAlive } from "../embedded/fixtures/test-stack.ts";
import { initiate } from "./initiated-project.ts";
import { packRepository, Project, type ModuleSystem } from "./packed-project.ts";

let tarball = "";
let removeTarball = (): void => undefined;
const projects = new Map<ModuleSystem, Project>();

function project(system: ModuleSystem): Project {
  const found = projects.get(system);
  if (found === undefined) throw new Error(`no ${system} project`);
  return found;
}

beforeAll(async () => {
  ({ tarball, remove: removeTarball } = await packRepository());
  for (const system of ["esm", "cjs"] as const) {
    projects.set(system, await Project.create({ system, tarball }));
  }
});

afterAll(() => {
  for (const each of projects.values()) each.remove();
  removeTarball();
});

/** A script's first lines: the whole package as `tidemark`. */
const load: Readonly<Record<ModuleSystem, string>> = {
  esm: 'import * as tidemark from "tidemark";\n',
  cjs: 'const tidemark = require("tidemark");\n',
};

describe.each(["esm", "cjs"] as const)("in an empty %s project", (system) => {
  test("importing loads nothing of AWS: it works where no AWS package is installed", async () => {
    const installed = readdirSync(join(project(system).folder, "node_modules"));
    expect(installed.filter((name) => !name.startsWith("."))).toEqual(["tidemark"]);
    const text = `${load[system]}console.log(Object.keys(tidemark).includes("createClient"));`;
    expect(await project(system).script(`import-only.js`, text)).toBe("true\n");
  });

  test("a client is made, a table defined, and a bad option refused by its class", async () => {
    const peers = system === "esm" ? "esm-peers" : "cjs-peers";
    const output = await project(system).script(`${peers}.js`, load[system] + useOfTheApi);
    expect(JSON.parse(output)).toEqual({
      table: "accounts",
      methods: ["function", "function", "function", "function"],
      error: [true, true, "invalid-request"],
    });
  });

  test("inner modules are not reachable", async () => {
    const inner = "tidemark/dist/esm/core/limits.js";
    const text = `import(${JSON.stringify(inner)}).catch((error) => console.log(error.code));`;
    expect(await project(system).script("inner.js", text)).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED\n");
  });
});

test.each([
  ["esm", 'import { emfMetrics } from "tidemark/emf";\n'],
  ["cjs", 'const { emfMetrics } = require("tidemark/emf");\n'],
] as const)("metrics are an entry of their own in %s", async (system, importing) => {
  const text = `${importing}
emfMetrics({ namespace: "Shop", sink: console.log, nowMs: () => 1 })(
  { kind: "unknown", transactionId: "id" });
`;
  expect(JSON.parse(await project(system).script("metrics.js", text))).toMatchObject({
    UnknownOutcomes: 1,
    transactionId: "id",
  });
});

test.each([
  ["esm", 'import { otelSpans } from "tidemark/otel";\n'],
  ["cjs", 'const { otelSpans } = require("tidemark/otel");\n'],
] as const)("spans are an entry of their own in %s", async (system, importing) => {
  const run = () => project(system).script("spans.js", importing + useOfSpans);
  await expect(run()).rejects.toThrow("'@opentelemetry/api'");
  project(system).link("@opentelemetry");
  expect(await run()).toBe("tidemark.snapshot,tidemark.attempt,tidemark.body\n");
});

test.each([
  [
    "esm",
    'import { createRequire } from "node:module";\nimport * as tidemark from "tidemark";\n' +
      'import { tidemarkNative } from "tidemark/native";\n' +
      "const require = createRequire(import.meta.url);\n",
  ],
  [
    "cjs",
    'const tidemark = require("tidemark");\n' +
      'const { tidemarkNative } = require("tidemark/native");\n',
  ],
] as const)("the plugin is an entry of its own in %s", async (system, importing) => {
  linkPeers();
  const output = await project(system).script("native.js", importing + useOfNative);
  expect(JSON.parse(output)).toEqual({ Item: { id: { S: "a" } }, field: "dynamodb" });
});

test.each([
  [
    "esm",
    'import { createRequire } from "node:module";\nimport * as tidemark from "tidemark";\n' +
      'import { tidemarkPlugin } from "tidemark/client";\n' +
      "const require = createRequire(import.meta.url);\n",
  ],
  [
    "cjs",
    'const tidemark = require("tidemark");\n' +
      'const { tidemarkPlugin } = require("tidemark/client");\n',
  ],
] as const)("commands inside of transactions are an entry in %s", async (system, importing) => {
  linkPeers();
  const output = await project(system).script("commands.js", importing + useOfCommands);
  const within = { id: { S: "a" }, n: { N: "1" } };
  expect(JSON.parse(output)).toEqual({ outside: { id: { S: "stored" } }, within });
});

test("both module systems export the same names", async () => {
  const print =
    "console.log(Object.keys(tidemark).filter((name) => name !== 'default').sort().join());";
  const esm = await project("esm").script("names.js", load.esm + print);
  expect(await project("cjs").script("names.js", load.cjs + print)).toBe(esm);
});

/** From here on the projects have the peers; before, they show how they fare without. */
function linkPeers(): void {
  for (const each of projects.values()) {
    each.link("@aws-sdk", "@smithy", "@types", "@opentelemetry");
  }
}

describe("tidemark/testing", () => {
  beforeAll(linkPeers);

  test.each([
    ["esm", 'import * as testing from "tidemark/testing";\n'],
    ["cjs", 'const testing = require("tidemark/testing");\n'],
  ] as const)("runs a transaction under faults in %s", async (system, importing) => {
    const text = load[system] + importing + useOfTheTestCloud;
    expect(JSON.parse(await project(system).script("test-cloud.js", text))).toEqual({
      seen: [true, "commit-unknown"],
      replayed: true,
      rows: [{ id: "ann", cents: 2 }],
    });
  });

  test("is not loaded by the SDK, and exports the same names in both module systems", async () => {
    const loaded = `
require("tidemark");
const before = Object.keys(require.cache).filter((path) => path.includes("testing"));
const testing = require("tidemark/testing");
import("tidemark/testing").then((esm) => {
  const interop = /^(default|module.exports|__esModule)$/;
  const names = (all) => Object.keys(all).filter((name) => !interop.test(name));
  console.log(JSON.stringify([before, names(testing).sort(), names(esm).sort()]));
});
`;
    const output = await project("cjs").script("loaded.js", loaded);
    const [before, cjs, esm] = JSON.parse(output) as string[][];
    expect(before).toEqual([]);
    expect(cjs).toContain("createTestCloud");
    expect(esm).toEqual(cjs);
  });
});

describe("types", () => {
  beforeAll(linkPeers);

  const good = `
import { createClient, defineTable, CommitUnknownError } from "tidemark";
import { emfMetrics } from "tidemark/emf";
import { otelSpans } from "tidemark/otel";
import { checkHistory, createTestCloud, testTable, type TestCloud } from "tidemark/testing";
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { tidemarkPlugin } from "tidemark/client";
import { tidemarkNative } from "tidemark/native";
const plugged = new DynamoDBClient({});
plugged.middlewareStack.use(
  tidemarkNative({ client: createClient({ deployment: "dev", region: "eu-west-1" }) }),
);
plugged.middlewareStack.use(tidemarkPlugin());
const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts", { key: "id" });
export async function tested(): Promise<readonly number[]> {
  const tables = [accounts, testTable("seats", { partitionKey: { name: "seat", type: "N" } })];
  const cloud: TestCloud = await createTestCloud({ tables, recordHistory: true });
  const app = cloud.startProcess("app", { onEvent: ({ kind }) => void kind });
  cloud.conflictOn(accounts, { id: "ann" });
  // @ts-expect-error The table's key is a text.
  cloud.conflictOn(accounts, { id: 1 });
  // @ts-expect-error What lies underneath is not public.
  void cloud.world;
  await cloud.run(() => app.client.transact((tx) => tx.get(accounts, "ann")));
  if (checkHistory(cloud.history(), { strict: true }).findings.length > 0) return [];
  return cloud.rows(accounts).map(({ balanceCents }) => balanceCents);
}
export async function total(): Promise<number> {
  const onEvent = emfMetrics({ namespace: "Shop", sink: () => undefined });
  const spans = otelSpans({ attributes: { "db.namespace": "dev" } });
  const db = createClient({
    ...{ deployment: "dev", region: "eu-west-1" },
    onEvent: (event) => {
      onEvent(event);
      spans(event);
    },
  });
  try {
    const { result } = await db.transact(async (tx) => {
      const account = await tx.get(accounts, "ann");
      const cents: number = account?.balanceCents ?? 0;
      const get = new GetItemCommand({ TableName: "accounts", Key: { id: { S: "ann" } } });
      const stored: string | undefined = (await tx.send(get)).Item?.["balanceCents"]?.N;
      if (stored === undefined) return 0;
      // @ts-expect-error The table's rows have no such attribute, so types are really there.
      void account?.nothing;
      return cents;
    });
    return result;
  } catch (error) {
    if (error instanceof CommitUnknownError) return 0;
    throw error;
  }
}
`;
  const bundler = ["--module", "esnext", "--moduleResolution", "bundler"];
  const nodeNext = ["--module", "nodenext", "--moduleResolution", "nodenext"];
  const strictest = ["--lib", "es2023,dom", "--types", "node"];

  test.concurrent.each([
    { system: "esm", resolution: "nodenext", flags: nodeNext },
    { system: "cjs", resolution: "nodenext", flags: nodeNext },
    { system: "esm", resolution: "bundler", flags: bundler },
    { system: "cjs", resolution: "bundler", flags: bundler },
  ] as const)("compile in $system under $resolution", async ({ system, resolution, flags }) => {
    const checked = await project(system).typeCheck(`under-${resolution}.ts`, {
      text: good,
      flags: [...flags, ...strictest],
    });
    expect(checked).toEqual({ exitCode: 0, output: "" });
  });

  test("are right for every resolution mode that attw knows, old Node's included", async () => {
    const data = createPackageFromTarballData(new Uint8Array(readFileSync(tarball)));
    const result = await checkPackage(data);
    expect(result.types).not.toBe(false);
    expect("problems" in result ? result.problems : undefined).toEqual([]);
  });
});

/** What the packed documents link to, beside one another (test/docs/packed-links.test.ts). */
const linkedFromDocs = [
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "bench/README.md",
  "core/limits.ts",
  "localstack/README.md",
  "model/README.md",
];

describe("the tarball", () => {
  test("has nothing that publint objects to", async () => {
    const { messages } = await publint({
      pkgDir: project("esm").packageFolder,
      pack: false,
      strict: true,
      level: "suggestion",
    });
    expect(messages).toEqual([]);
  });

  test("holds the SDK, its words, what deploys it, and nothing else", () => {
    const { packageFolder } = project("esm");
    const files = readdirSync(packageFolder, { recursive: true, encoding: "utf8" });
    const strange = files.filter(
      (name) =>
        !/^(dist|docs|examples|infra)(\/|$)/.test(name) &&
        !["package.json", "README.md", "LICENSE"].includes(name) &&
        !linkedFromDocs.some((linked) => linked === name || linked.startsWith(`${name}/`)),
    );
    expect(strange).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md"]));
    // Where docs/testing.md points.
    expect(readdirSync(join(packageFolder, "examples/testing"))).toContain("transfer.test.ts");
    const esm = join(packageFolder, "dist", "esm");
    const folders = [
      "aws",
      "client",
      "commands",
      "core",
      "engine",
      "expressions",
      "functions",
      "native",
      "schemas",
      "sdk",
      "testing",
    ];
    expect(readdirSync(esm).sort()).toEqual([...folders, "package.json"].sort());
    // Of the functions, what an in-memory cloud runs: services, and no handler.
    const functions = readdirSync(join(esm, "functions")).sort();
    expect(functions).toEqual(["housekeeping", "oracle", "reaper", "replay", "shared"]);
    expect(files.filter((name) => name.endsWith("handler.js"))).toEqual([]);
  });

  test("carries the Terraform module, and the zips where the module looks for them", () => {
    const { packageFolder } = project("esm");
    const moduleFolder = join(packageFolder, "infra", "terraform");
    const settings = readFileSync(join(moduleFolder, "functions.json"), "utf8");
    const roles = Object.keys(JSON.parse(settings) as object).sort();
    const folder = join(moduleFolder, "..", "..", "dist", "functions");
    expect(readdirSync(folder).sort()).toEqual(roles.map((role) => `${role}.zip`));
    expect(readdirSync(moduleFolder)).toContain("grants.json");
    expect(readdirSync(moduleFolder)).not.toContain("tests");
    expect(readFileSync(join(moduleFolder, "main.tf"), "utf8")).toContain("../../dist/functions");
  });

  test("carries source maps with their sources, and no link out of the package", () => {
    const dist = join(project("esm").packageFolder, "dist");
    const map = readFileSync(join(dist, "esm", "sdk", "index.js.map"), "utf8");
    const { sourcesContent } = JSON.parse(map) as { sourcesContent?: string[] };
    expect(sourcesContent).toHaveLength(1);
  });

  test("loads little on import, and grows no further, the AWS SDK left out", async () => {
    const entry = join(project("esm").packageFolder, "dist", "esm", "sdk", "index.js");
    const sizes = await sdkSizes(entry);
    expect(sizes.eagerBytes).toBeGreaterThan(1024);
    expect(sizes.wholeBytes).toBeGreaterThan(sizes.eagerBytes);
    expect(sizes.eagerBytes).toBeLessThanOrEqual(sdkBudget.eagerBytesMax);
    expect(sizes.gzippedBytes).toBeLessThanOrEqual(sdkBudget.gzippedBytesMax);
    const native = join(project("esm").packageFolder, "dist", "esm", "native", "index.js");
    expect(await nativeBytes(native)).toBeLessThanOrEqual(nativeBytesMax);
    const client = join(project("esm").packageFolder, "dist", "esm", "client", "index.js");
    expect(await clientBytes(client)).toBeLessThanOrEqual(clientBytesMax);
    const otel = join(project("esm").packageFolder, "dist", "esm", "sdk", "otel.js");
    expect(await otelBytes(otel)).toBeLessThanOrEqual(otelBytesMax);
  });
});

describe("npx tidemark", () => {
  const command = (at: Project, ...args: readonly string[]) =>
    at.spawn(join(at.packageFolder, "..", ".bin", "tidemark"), args);

  test("start says in one line what is not installed, and which command adds it", async () => {
    const bare = await Project.create({ system: "esm", tarball });
    try {
      const cli = command(bare, "start");
      expect(await cli.ended).toBe(1);
      expect(cli.errors()).toMatch(
        /^tidemark: .*\n\n {2}npm install --save-dev (@aws-sdk.client-\w+@3 ){2}dynalite@4 kin/,
      );
    } finally {
      bare.remove();
    }
  });

  test("start runs all of it from the package alone, with a TypeScript config", async () => {
    const user = project("esm");
    user.link("@aws-sdk", "dynalite", "kinesalite", "typescript");
    const config = `import { defineConfig } from "tidemark/config";
export default defineConfig({
  tables: [{ name: "orders", partitionKey: "customer", sortKey: "placedAt:N" }],
  ports: { api: 0, dynamodb: 0, kinesis: 0 },
  sampleTables: false,
});
`;
    const flags = ["--module", "nodenext"];
    const checked = await user.typeCheck("tidemark.config.ts", { text: config, flags });
    expect(checked).toEqual({ exitCode: 0, output: "" });
    const cli = command(user, "start", "--table", "accounts:id", "--json");
    await vi.waitUntil(() => cli.output().includes("\n"), { timeout: 120_000 });
    const { endpoint, tables, processes } = JSON.parse(cli.output()) as {
      readonly endpoint: string;
      readonly tables: readonly string[];
      readonly processes: Readonly<Record<string, number>>;
    };
    expect(tables).toEqual(["orders", "accounts"]);
    const text = `${load.esm}import { registerTables } from "tidemark/tables";
const orders = tidemark.defineTable("orders", { key: ["customer", "placedAt"] });
const db = tidemark.createClient({ endpoint: ${JSON.stringify(endpoint)} });
await db.transact(async (tx) => tx.put(orders, { customer: "c", placedAt: 1, cents: 5 }));
const rows = await db.snapshot((s) => s.query(orders, { where: { customer: "c" } }).all());
await db.close();
const [again] = await registerTables({ endpoint: ${JSON.stringify(endpoint)} }, ["orders"]);
console.log(JSON.stringify({ rows, again: again.name }));
`;
    expect(JSON.parse(await user.script("orders.js", text))).toEqual({
      rows: [{ customer: "c", placedAt: 1, cents: 5 }],
      again: "orders",
    });
    const looks = ["status", "doctor", "log", "audit", "tables"].map((name) =>
      command(user, name, "--endpoint", endpoint),
    );
    for (const look of looks) expect([await look.ended, look.errors()]).toEqual([0, ""]);
    expect(looks[2]?.output()).toContain('put    orders "c" / 1');
    const demo = command(user, "demo", "--clients", "1", "--seconds", "1", "--json");
    expect([await demo.ended, JSON.parse(demo.output())]).toMatchObject([0, { ok: true }]);
    cli.signal("SIGINT");
    expect(await cli.ended).toBe(0);
    const alive = Object.values(processes).filter((pid) => isAlive(pid));
    expect(alive).toEqual([]);
    expect(readdirSync(user.folder).filter((name) => name.startsWith("."))).toEqual([]);
  });
});

test("npx tidemark init writes a project that compiles, and passes its tests", async () => {
  linkPeers();
  const made = await initiate(project("esm"), "shop");
  try {
    expect(made.packages).toContain("tidemark");
    // Every range of its package.json is met by what is installed.
    expect(await made.npm("ls", "--depth=0")).toMatchObject({ exitCode: 0 });
    const tested = await made.npm("test");
    expect(tested).toMatchObject({ exitCode: 0 });
    expect(tested.output).toMatch(/Tests .*[1-9] passed/);
    expect(await made.npm("run", "--silent", "typecheck")).toEqual({ exitCode: 0, output: "" });
    const start = await made.npm("start", "--", "--help");
    expect(start.output).toContain("Usage: tidemark start");
  } finally {
    made.remove();
  }
});

describe("against a running stack", () => {
  let stack: EmbeddedStack;

  beforeAll(async () => {
    linkPeers();
    stack = await startEmbeddedStack();
    await stack.waitReady();
  });

  afterAll(async () => {
    await stack.stop();
  });

  test.each([
    ["auto", sdkBudget.baseBytesMax],
    ["stream", sdkBudget.streamBytesMax],
  ] as const)("a plain transaction by %s loads a part of the SDK", async (commit, bytesMax) => {
    const { packageFolder } = project("esm");
    const { endpoint: endpoints, ...where } = await target({ endpoint: stack.endpoint });
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    const baseBytes = await baseTransactionBytes({
      entry: join(packageFolder, "dist", "esm", "sdk", "index.js"),
      client: { ...where, endpoints, credentials, commit },
      table: "accounts",
    });
    expect(baseBytes).toBeGreaterThan(sdkBudget.eagerBytesMax);
    expect(baseBytes).toBeLessThanOrEqual(bytesMax);
  });

  test.each(["esm", "cjs"] as const)("an %s project commits and reads back", async (system) => {
    const text = `${load[system]}
const accounts = tidemark.defineTable("accounts", { key: "id" });
const db = tidemark.createClient({ endpoint: ${JSON.stringify(stack.endpoint)} });
async function main() {
  const { receipt } = await db.transact(async (tx) => {
    const row = await tx.get(accounts, "account-007");
    tx.put(accounts, { ...row, owner: "${system}" });
  });
  const row = await db.snapshot((snapshot) => snapshot.get(accounts, "account-007"));
  await db.close();
  console.log(JSON.stringify({ owner: row.owner, installed: receipt.installed }));
}
main();
`;
    const output = await project(system).script("live.js", text);
    expect(JSON.parse(output)).toEqual({ owner: system, installed: true });
  });
});
