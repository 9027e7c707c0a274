/**
 * Runs the integration suite against DynamoDB Local, AWS's own emulator, instead of the embedded
 * one: starts it, points the tests at it, and stops it by its handle whatever happens. Arguments
 * are passed on to vitest. Needs Java 17 and Maven.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startDynamoDbLocal } from "../localstack/dynamodb-local.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Tests of instruments that ask no server have the same suffix as those that do elsewhere. */
const pure =
  /^test\/(?:bench|demo|model|scripts|simulation|testing)\/.*(?<!\.integration)\.test\.ts$/;

/**
 * The test files that take their DynamoDB from the harness, and so from the endpoint given to it.
 */
function suites(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .filter((name) => !pure.test(name))
    .filter((name) => /from "(?:\.{1,2}\/)+harness\//.test(readFileSync(join(root, name), "utf8")))
    .sort();
}

const projects = ["--project", "integration", "--project", "instruments"];

/** Runs vitest beside the emulator, without blocking, and returns its exit code. */
function runTests(endpoint: string, files: readonly string[]): Promise<number> {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", ...projects, ...process.argv.slice(2), ...files],
    {
      cwd: root,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, TIDEMARK_TEST_DYNAMODB_ENDPOINT: endpoint },
    },
  );
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      resolve(code ?? 1);
    });
  });
}

async function main(): Promise<number> {
  const files = suites();
  if (files.length === 0) throw new Error("no test file uses the harness");
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };
  const store = await startDynamoDbLocal(say);
  // An interrupt reaches the whole process group; what is left is to let `finally` run.
  const ignoreInterrupt = (): void => undefined;
  process.on("SIGINT", ignoreInterrupt);
  process.once("SIGTERM", () => {
    process.exit(143);
  });
  try {
    say(`DynamoDB Local ${store.version} at ${store.endpoint}`);
    return await runTests(store.endpoint, files);
  } finally {
    process.off("SIGINT", ignoreInterrupt);
    await store.stop();
  }
}

process.exitCode = await main();
