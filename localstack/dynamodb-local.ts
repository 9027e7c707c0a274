/**
 * DynamoDB Local, AWS's own emulator, as a process of its own: fetched once with Maven into a
 * git-ignored folder, started on a free loopback port, in memory, and stopped by its handle. It
 * knows transactions, TTL and streams, which the embedded stores do not. Needs Java 17 and Maven.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchArtifact } from "./maven-artifact.ts";
import { dynamodbLocalReadyMsMax, dynamodbLocalStopMsMax } from "./limits.ts";

export type DynamoDbLocal = {
  readonly endpoint: string;
  readonly version: string;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
};

const artifact = {
  name: "dynamodb-local",
  title: "DynamoDB Local",
  group: "com.amazonaws",
  artifact: "DynamoDBLocal",
  version: "2.6.1",
} as const;

/**
 * Resolves when it answers. It does not outlive this process.
 * @param say is told before something that takes long.
 * @throws Error naming what is missing: Maven, Java, or the emulator itself.
 */
export async function startDynamoDbLocal(say: (line: string) => void): Promise<DynamoDbLocal> {
  const jars = fetchArtifact(artifact, say);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port.toString()}`;
  const child = start(jars, port);
  const failed = new Promise<never>((_, reject) => {
    child.once("error", (cause) => {
      reject(new Error("Java cannot be run", { cause }));
    });
  });
  const killIt = (): void => {
    if (!hasEnded(child)) child.kill("SIGKILL");
  };
  process.once("exit", killIt);
  const end = async (): Promise<void> => {
    await stop(child);
    process.off("exit", killIt);
  };
  try {
    await Promise.race([waitUntilUp(child, endpoint), failed]);
  } catch (error) {
    await end();
    throw error;
  }
  return { endpoint, version: artifact.version, stop: end };
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
  const deadline = Date.now() + dynamodbLocalReadyMsMax;
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
  const timer = setTimeout(() => child.kill("SIGKILL"), dynamodbLocalStopMsMax);
  await ended;
  clearTimeout(timer);
}
