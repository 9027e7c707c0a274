/**
 * A local cloud without containers and without a token: ministack, a Python server that answers as
 * LocalStack does and runs Node.js functions as processes. It is installed into `.cache/`, never
 * globally, and listens on loopback only.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cloudLogBytesMax, cloudReadyMsMax, cloudStopMsMax } from "./limits.ts";

export type LightCloud = {
  readonly endpoint: string;
  /** What it has written so far: its own log, and its functions'. */
  log(): string;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
};

/** It cannot be had here: no Python, or no way to its packages. */
export class LightCloudUnavailable extends Error {
  override readonly name = "LightCloudUnavailable";
}

/**
 * cbor2 is what the AWS SDK for JavaScript speaks with Kinesis; ministack does without it unless it
 * is there.
 */
const packages = ["ministack==1.5.33", "cbor2==6.2.1"];
const folder = fileURLToPath(new URL("../.cache/light-cloud-1.5.33", import.meta.url));
const program = join(folder, "bin", "ministack");

/** @throws LightCloudUnavailable */
function install(say: (line: string) => void): void {
  if (existsSync(program)) return;
  say(`installing ${packages.join(" and ")} into ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["python3", ["-m", "venv", folder]],
    [join(folder, "bin", "python"), ["-m", "pip", "install", "--quiet", ...packages]],
  ];
  for (const [command, parameters] of steps) {
    const done = spawnSync(command, parameters, { encoding: "utf8" });
    if (done.status === 0) continue;
    rmSync(folder, { recursive: true, force: true });
    const reason = done.error?.message ?? done.stderr.trim().split("\n").at(-1) ?? "";
    throw new LightCloudUnavailable(
      `the light cloud needs Python 3.10 or newer with venv, and its package index: ` +
        `"${command} ${parameters.slice(0, 2).join(" ")} …" failed: ${reason}`,
    );
  }
}

/** @param options.port 0 takes a free one. */
export async function startLightCloud(options: {
  readonly port: number;
  readonly say: (line: string) => void;
}): Promise<LightCloud> {
  install(options.say);
  const port = options.port === 0 ? await freePort() : options.port;
  const endpoint = `http://127.0.0.1:${port.toString()}`;
  const home = mkdtempSync(join(tmpdir(), "tidemark-light-cloud-"));
  const child = spawn(program, [], {
    cwd: home,
    env: {
      PATH: `${join(process.execPath, "..")}:${process.env["PATH"] ?? ""}`,
      HOME: home,
      TMPDIR: home,
      BIND_HOST: "127.0.0.1",
      GATEWAY_PORT: port.toString(),
      MINISTACK_HOST: "127.0.0.1",
      LAMBDA_EXECUTOR: "local",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_DEFAULT_REGION: "us-east-1",
    },
    stdio: ["ignore", "pipe", "pipe"],
    // Its functions are processes of its own: all of them end with its group.
    detached: true,
  });
  let output = "";
  const collect = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-cloudLogBytesMax);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const exited = new Promise<void>((resolve) => {
    const end = (): void => {
      resolve();
    };
    child.once("error", end);
    child.once("exit", end);
  });
  const stop = async (): Promise<void> => {
    signalGroup(child.pid, "SIGTERM");
    await Promise.race([exited, sleep(cloudStopMsMax, undefined, { ref: false })]);
    // The group outlives its leader as long as a function runs.
    signalGroup(child.pid, "SIGKILL");
    await exited;
    rmSync(home, { recursive: true, force: true });
  };
  for (let waitedMs = 0; !(await answers(endpoint)); waitedMs += 200) {
    if (child.pid === undefined || child.exitCode !== null || waitedMs > cloudReadyMsMax) {
      await stop();
      throw new Error(`the light cloud did not start:\n${output.slice(-2_000)}`);
    }
    await sleep(200);
  }
  return { endpoint, log: () => output, stop };
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left in the group.
  }
}

/** Whether something at the endpoint says that it is ready. */
export async function answers(endpoint: string): Promise<boolean> {
  try {
    const { ok } = await fetch(`${endpoint}/_localstack/health`, {
      signal: AbortSignal.timeout(2_000),
    });
    return ok;
  } catch {
    return false;
  }
}

/** Another process might take it in between; the light cloud then says so and does not start. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", resolve);
  });
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
