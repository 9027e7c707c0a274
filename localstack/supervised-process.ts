/**
 * One process of the embedded stack as its supervisor sees it: started, restarted with growing
 * pauses when it dies, stopped in order, killed when it does not stop. Nothing here knows what the
 * process does.
 */
import { spawn, type ChildProcess } from "node:child_process";
import type { FromProcess, HostSettings, StoresSettings, ToProcess } from "./process-messages.ts";
import { StackError } from "./stack-error.ts";
import { relayOutput, type StackLog } from "./stack-log.ts";
import { processReadyMsMax } from "./limits.ts";

export type ProcessSpec = {
  readonly name: string;
  /** A JavaScript file and what it is given on the command line. */
  readonly script: string;
  readonly parameters: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** Asked at every start, so that a restarted process gets what holds by then. */
  readonly settings: () => StoresSettings | HostSettings;
  /** Whether to start it again when it dies. */
  readonly restart: boolean;
  readonly log: StackLog;
  readonly onMessage: (message: FromProcess) => void;
  /** It is ready, for the first time or again. */
  readonly onReady: (ports: Readonly<Record<string, number>>) => void;
  /** It died and will not be started again. */
  readonly onLost: (error: StackError) => void;
};

/** Pace of starting over: the pause doubles with every death in a row. */
const restartPauseMsMin = 20;
const restartPauseMsMax = 2_000;
/** A process that lived this long starts over with the shortest pause. */
const healthyMs = 3_000;

type Running = {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  ready: boolean;
  frozen: boolean;
};

/** Frozen: it was stopped in the midst of whatever it did, and has noticed nothing of it. */
export type ProcessState = "running" | "starting" | "frozen";

export class SupervisedProcess {
  readonly #spec: ProcessSpec;
  #running: Running | undefined;
  #stopping = false;
  #deaths = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #waiters: (() => void)[] = [];
  readonly #resumeAtExit = (): void => {
    this.resume();
  };

  constructor(spec: ProcessSpec) {
    this.#spec = spec;
  }

  get name(): string {
    return this.#spec.name;
  }

  /** Undefined while it is dead. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  get state(): ProcessState {
    if (this.#running?.ready !== true) return "starting";
    return this.#running.frozen ? "frozen" : "running";
  }

  /** @throws StackError when it does not become ready: the first start is not repeated. */
  async start(): Promise<void> {
    try {
      await this.#spawn();
    } catch (error) {
      this.#stopping = true;
      throw error;
    }
  }

  send(message: ToProcess): void {
    const child = this.#running?.child;
    // Fails when the process is just dying; its successor is told everything anew.
    if (child?.connected === true) child.send(message, () => undefined);
  }

  /** Resolves at once if it is ready, else when it is so again. */
  async whenReady(): Promise<void> {
    if (this.#running?.ready === true) return;
    await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** kill -STOP: until `resume` it does nothing. False: it is not there just now. */
  freeze(): boolean {
    const running = this.#running;
    if (running?.ready !== true || !running.child.kill("SIGSTOP")) return false;
    running.frozen = true;
    // One that stands still does not see that its supervisor has gone.
    process.off("exit", this.#resumeAtExit);
    process.once("exit", this.#resumeAtExit);
    return true;
  }

  /** kill -CONT. */
  resume(): void {
    const running = this.#running;
    if (running?.frozen !== true) return;
    running.frozen = false;
    running.child.kill("SIGCONT");
  }

  /** kill -9; resolves when the process is gone. It is then restarted like after any death. */
  async kill(): Promise<void> {
    const running = this.#running;
    running?.child.kill("SIGKILL");
    await running?.exited;
  }

  /** Asks it to finish, and kills it after `graceMs`; at once, and as a matter of course, at 0. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restartTimer);
    const running = this.#running;
    if (running === undefined) return;
    this.resume();
    this.send({ kind: "stop" });
    const timer = setTimeout(() => {
      if (graceMs > 0) {
        this.#spec.log.warn(`did not stop within ${graceMs.toString()} ms and was killed`);
      }
      running.child.kill("SIGKILL");
    }, graceMs);
    await running.exited;
    clearTimeout(timer);
  }

  /** Resolves when ready, rejects when it ends or stays silent before that. */
  async #spawn(): Promise<void> {
    const { name, script, parameters, environment, log } = this.#spec;
    const startedMs = performance.now();
    const child = spawn(process.execPath, ["--enable-source-maps", script, ...parameters], {
      env: environment,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error("the child's output is not piped");
    const lastErrors = relayOutput({ stdout, stderr }, log);
    let failure: StackError | undefined;
    let markReady: () => void = () => undefined;
    const becameReady = new Promise<void>((resolve) => (markReady = resolve));
    const exited = new Promise<void>((resolve) => {
      child.once("error", (error) => {
        failure ??= new StackError("other", `${name} could not be run: ${error.message}`);
        resolve();
      });
      // `close` comes after the output has been read to its end, so the last words are known.
      child.once("close", () => {
        resolve();
      });
    });
    const running: Running = { child, exited, ready: false, frozen: false };
    this.#running = running;
    child.on("message", (message) => {
      const received = message as FromProcess;
      if (received.kind === "ready") {
        running.ready = true;
        this.#spec.onReady(received.ports);
        for (const waiter of this.#waiters.splice(0)) waiter();
        markReady();
      } else if (received.kind === "failed") {
        failure = new StackError(received.reason, received.message);
      } else {
        this.#spec.onMessage(received);
      }
    });
    child.send(
      { kind: "settings", settings: this.#spec.settings() } satisfies ToProcess,
      () => undefined,
    );
    const silence = setTimeout(() => {
      failure ??= new StackError(
        "other",
        `${name} did not start within ${processReadyMsMax.toString()} ms`,
      );
      child.kill("SIGKILL");
    }, processReadyMsMax);
    void exited.then(() => {
      this.#ended(running, startedMs, lastErrors);
    });
    await Promise.race([becameReady, exited]);
    clearTimeout(silence);
    if (running.ready) return;
    throw failure ?? endOf(name, child, lastErrors);
  }

  #ended(running: Running, startedMs: number, lastErrors: readonly string[]): void {
    const { log, name } = this.#spec;
    this.#running = undefined;
    if (this.#stopping || !running.ready) return;
    const error = endOf(name, running.child, lastErrors);
    if (!this.#spec.restart) {
      this.#spec.onLost(error);
      return;
    }
    this.#deaths = performance.now() - startedMs > healthyMs ? 1 : this.#deaths + 1;
    log.warn(`${error.message}; starting it again`);
    this.#restartLater();
  }

  #restartLater(): void {
    const pauseMs = Math.min(restartPauseMsMax, restartPauseMsMin * 2 ** (this.#deaths - 1));
    this.#restartTimer = setTimeout(() => {
      this.#spawn().then(
        () => {
          this.#spec.log.info({ pid: this.pid }, "running again");
        },
        (error: unknown) => {
          if (this.#stopping) return;
          this.#deaths += 1;
          const because = error instanceof Error ? error.message : String(error);
          this.#spec.log.warn(`restart failed: ${because}`);
          this.#restartLater();
        },
      );
    }, pauseMs);
  }
}

function endOf(name: string, child: ChildProcess, lastErrors: readonly string[]): StackError {
  const how =
    child.signalCode === null
      ? `ended with exit code ${String(child.exitCode)}`
      : `was killed by ${child.signalCode}`;
  const words = lastErrors.find((line) => /error/i.test(line))?.trim();
  return new StackError("other", `${name} ${how}${words === undefined ? "" : ` (${words})`}`);
}
