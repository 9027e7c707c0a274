/**
 * A built zip as Lambda runs it: unpacked into an empty folder, loaded by a fresh Node process that
 * has the function's environment and nothing else of ours, invoked with events one after the other,
 * and killed when an invocation outlives the function's timeout.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";

export type InvocationOutcome =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly name: string; readonly message: string }
  | { readonly kind: "timeout" };

export type LambdaProcess = {
  /** @param timeoutMs default: the function's. */
  invoke(event: unknown, timeoutMs?: number): Promise<InvocationOutcome>;
  /** What was written to standard output and error: logs and metrics, one JSON a line. */
  lines(): readonly string[];
  /** Processes started so far: one per cold start. */
  readonly coldStarts: number;
  stop(): Promise<void>;
};

export type LambdaSettings = {
  readonly zip: Uint8Array;
  readonly name: string;
  readonly timeoutMs: number;
  readonly environment: Readonly<Record<string, string>>;
};

/** What Lambda's runtime does, in a few lines: no module of this repository is in that process. */
const runtime = `
import { pathToFileURL } from "node:url";
const loaded = import(pathToFileURL(process.env.LAMBDA_TASK_ROOT + "/index.mjs").href);
loaded.catch(() => {});
process.on("message", async ({ event, deadlineMs, requestId }) => {
  const context = {
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: "$LATEST",
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, deadlineMs - Date.now()),
  };
  try {
    const { handler } = await loaded;
    const result = await handler(event, context);
    process.send({ requestId, kind: "result", result: result ?? null });
  } catch (error) {
    process.send({ requestId, kind: "error", name: error.name, message: error.message });
  }
});
`;

export function lambdaProcess(settings: LambdaSettings): LambdaProcess {
  return new IsolatedFunction(settings);
}

class IsolatedFunction implements LambdaProcess {
  readonly #settings: LambdaSettings;
  readonly #folder = mkdtempSync(join(tmpdir(), "tidemark-lambda-"));
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #output = "";
  coldStarts = 0;

  constructor(settings: LambdaSettings) {
    this.#settings = settings;
    for (const [name, bytes] of Object.entries(unzipSync(settings.zip))) {
      writeFileSync(join(this.#folder, name), bytes);
    }
  }

  lines(): readonly string[] {
    return this.#output.split("\n").filter((line) => line !== "");
  }

  async invoke(event: unknown, timeoutMs = this.#settings.timeoutMs): Promise<InvocationOutcome> {
    const child = (this.#child ??= this.#start());
    const requestId = randomUUID();
    const answered = new Promise<InvocationOutcome>((resolve) => {
      const onMessage = (message: InvocationOutcome & { readonly requestId: string }): void => {
        if (message.requestId !== requestId) return;
        child.off("message", onMessage);
        const { requestId: _, ...outcome } = message;
        resolve(outcome);
      };
      child.on("message", onMessage);
    });
    const died = this.#exited.then((): InvocationOutcome => {
      return { kind: "error", name: "Runtime.ExitError", message: this.lines().join("\n") };
    });
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<InvocationOutcome>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, { kind: "timeout" } as const);
    });
    child.send({ event, deadlineMs: Date.now() + timeoutMs, requestId });
    const outcome = await Promise.race([answered, died, timedOut]);
    clearTimeout(timer);
    // After a timeout Lambda starts over with a new process.
    if (outcome.kind === "timeout") await this.#kill();
    return outcome;
  }

  async stop(): Promise<void> {
    await this.#kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(): ChildProcess {
    const { name, environment } = this.#settings;
    this.coldStarts += 1;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", runtime], {
      cwd: this.#folder,
      env: {
        ...environment,
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_INITIALIZATION_TYPE: "on-demand",
        LAMBDA_TASK_ROOT: this.#folder,
        TZ: ":UTC",
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
    }
    return child;
  }

  async #kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGKILL");
    await this.#exited;
  }
}
