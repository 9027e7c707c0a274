/** The client processes of one contestant, worked as one. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { ClientAnswer, ClientRun, ClientSettings, ClientTask } from "./client-messages.ts";
import type { Loop } from "./drivers.ts";

export type GroupTask = {
  readonly workload: string;
  readonly loop: Loop;
  /** Over all processes. */
  readonly concurrency: number;
  readonly durationMs: number;
  readonly seed: number;
  /** As in a client's task. */
  readonly countedEach: number | undefined;
};

const stopMsMax = 20_000;

class ClientProcess {
  readonly #child: ChildProcess;

  constructor(script: string, environment: NodeJS.ProcessEnv, profileFolder: string | undefined) {
    const profiling =
      profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
    this.#child = fork(script, [], {
      // Source maps for errors only; the loader of TypeScript would cost the process under
      // measurement.
      execArgv: ["--enable-source-maps", ...profiling],
      env: { ...environment, AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true" },
    });
  }

  async ask(message: ClientSettings | ClientTask): Promise<ClientAnswer> {
    const ended = new AbortController();
    const { signal } = ended;
    const exited = once(this.#child, "exit", { signal }).then(() => {
      throw new Error("a client process has ended before its time");
    });
    const answered = once(this.#child, "message", { signal });
    this.#child.send(message, () => undefined);
    try {
      const [answer] = (await Promise.race([answered, exited])) as [ClientAnswer];
      if (answer.kind === "failed") throw new Error(`a client process failed: ${answer.message}`);
      return answer;
    } finally {
      ended.abort();
      // Whichever lost the race is aborted now, and nobody waits for it.
      for (const loser of [answered, exited]) loser.catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.send({ kind: "stop" } satisfies ClientTask, () => undefined);
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), stopMsMax);
    await exited;
    clearTimeout(timer);
  }
}

export class ClientGroup {
  readonly #processes: readonly ClientProcess[];

  private constructor(processes: readonly ClientProcess[]) {
    this.#processes = processes;
  }

  static async start(options: {
    readonly script: string;
    readonly environment: NodeJS.ProcessEnv;
    readonly processes: number;
    /** Each process leaves a `.cpuprofile` there when it ends. */
    readonly profileFolder: string | undefined;
    readonly settings: ClientSettings;
  }): Promise<ClientGroup> {
    const processes = Array.from(
      { length: options.processes },
      () => new ClientProcess(options.script, options.environment, options.profileFolder),
    );
    const group = new ClientGroup(processes);
    try {
      await Promise.all(processes.map((process) => process.ask(options.settings)));
    } catch (error) {
      await group.stop();
      throw error;
    }
    return group;
  }

  /** One result per process that had a worker. */
  async run(task: GroupTask): Promise<readonly ClientRun[]> {
    const { concurrency, loop, ...shared } = task;
    const used = this.#processes.slice(0, concurrency);
    let firstWorker = 0;
    const answers = used.map((process, n) => {
      const workers = Math.floor((concurrency + n) / used.length);
      const mine = { kind: "run", ...shared, loop: shareOf(loop, workers / concurrency) } as const;
      const answer = process.ask({ ...mine, workers, firstWorker });
      firstWorker += workers;
      return answer;
    });
    return (await Promise.all(answers)).map((answer) => {
      if (answer.kind !== "ran") throw new Error("a client process answered something else");
      return answer.run;
    });
  }

  /** What the workload's conditions say of the contestant's tables now. */
  async check(workload: string): Promise<readonly string[]> {
    const answer = await this.#processes[0]?.ask({ kind: "check", workload });
    if (answer?.kind !== "checked") throw new Error("a client process answered something else");
    return answer.violations;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
  }
}

function shareOf(loop: Loop, share: number): Loop {
  return loop.kind === "closed" ? loop : { ...loop, ratePerSecond: loop.ratePerSecond * share };
}
