/**
 * Runs the integration suite against DynamoDB Local, AWS's own emulator, instead of the embedded
 * one: fetches it once with Maven into a git-ignored folder, starts it on a free loopback port,
 * points the tests at it, and stops it by its handle whatever happens. Arguments are passed on to
 * vitest. Needs Java 17 and Maven.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const version = "2.6.1";
const startMsMax = 60_000;
const stopMsMax = 5_000;

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidemark</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>com.amazonaws</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>
`;

/** The folder with the emulator's jars and native libraries; fetched if it is not there yet. */
function fetchJars(): string {
  const cache = join(root, ".cache", "dynamodb-local");
  const jars = join(cache, version);
  if (existsSync(jars)) return jars;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "fetch-"));
  try {
    writeFileSync(join(work, "pom.xml"), pom);
    process.stdout.write(`fetching DynamoDB Local ${version} with Maven\n`);
    const lib = join(work, "lib");
    const done = spawnSync(
      "mvn",
      ["-B", "-q", "-C", "dependency:copy-dependencies", `-DoutputDirectory=${lib}`],
      { cwd: work, stdio: ["ignore", "inherit", "inherit"] },
    );
    if (done.error !== undefined) throw new Error("Maven cannot be run", { cause: done.error });
    if (done.status !== 0) throw new Error("Maven could not fetch DynamoDB Local");
    // The folder appears under its final name only when it is complete.
    renameSync(lib, jars);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return jars;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === "string") reject(new Error("no port"));
        else resolve(address.port);
      });
    });
  });
}

function start(jars: string, port: number): ChildProcess {
  return spawn(
    "java",
    [
      `-Djava.library.path=${jars}`,
      "-cp",
      [join(jars, "*"), jars].join(delimiter),
      "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
      "-inMemory",
      "-sharedDb",
      "-disableTelemetry",
      "-port",
      port.toString(),
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Any answer will do: the server speaks HTTP from then on. */
async function answers(endpoint: string): Promise<boolean> {
  try {
    await fetch(endpoint, { signal: AbortSignal.timeout(1_000) });
    return true;
  } catch {
    return false;
  }
}

async function waitUntilUp(child: ChildProcess, endpoint: string): Promise<void> {
  const deadline = Date.now() + startMsMax;
  while (!(await answers(endpoint))) {
    if (hasEnded(child)) throw new Error("DynamoDB Local ended before it answered");
    if (Date.now() > deadline) throw new Error(`DynamoDB Local did not answer at ${endpoint}`);
    await sleep(100);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => {
      resolve();
    });
  });
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
  await ended;
  clearTimeout(timer);
}

/** The test files that take their DynamoDB from the harness, and so from the endpoint given to it. */
function suites(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .filter((name) => /from "(?:\.{1,2}\/)+harness\//.test(readFileSync(join(root, name), "utf8")))
    .sort();
}

/** Runs vitest beside the emulator, without blocking, and returns its exit code. */
function runTests(endpoint: string, files: readonly string[]): Promise<number> {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", "--project", "integration", ...process.argv.slice(2), ...files],
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
  const jars = fetchJars();
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port.toString()}`;
  const child = start(jars, port);
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (cause) => {
      reject(new Error("Java cannot be run", { cause }));
    });
  });
  // An interrupt reaches the whole process group; what is left is to let `finally` run.
  const ignoreInterrupt = (): void => undefined;
  process.on("SIGINT", ignoreInterrupt);
  process.once("SIGTERM", () => {
    process.exit(143);
  });
  process.once("exit", () => {
    if (!hasEnded(child)) child.kill("SIGKILL");
  });
  try {
    await Promise.race([waitUntilUp(child, endpoint), failed]);
    process.stdout.write(`DynamoDB Local ${version} at ${endpoint}\n`);
    return await runTests(endpoint, files);
  } finally {
    process.off("SIGINT", ignoreInterrupt);
    await stop(child);
  }
}

process.exitCode = await main();
