/** The demo's native programs: started, killed and started again, and stopped in order. */
import { type ChildProcess, spawn } from "node:child_process";
import type { NativeSettings } from "../native-process.ts";
import type { ProcessLogs } from "../process-logs.ts";

type FleetSettings = Omit<NativeSettings, "program" | "life">;

const programs = 3;
const killEveryMs = 1_700;
/** How long a run goes on for the first restock, on a slow machine. */
const firstRestockMsMax = 60_000;
const lookEveryMs = 100;
/** Longest that one may take to end: it waits for one call, and one transaction. */
const stopMsMax = 120_000;

type Running = {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;
  /** Transactions that it has told of. */
  restocks: number;
};

export class NativeFleet {
  /** Ends that nobody ordered, one line each. */
  readonly deaths: string[] = [];
  kills = 0;
  readonly #settings: FleetSettings;
  readonly #surroundings: { readonly script: string; readonly logs: ProcessLogs };
  readonly #running = new Map<number, Running>();
  #lives = 0;
  #restocks = 0;
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    settings: FleetSettings,
    surroundings: { readonly script: string; readonly logs: ProcessLogs },
  ) {
    this.#settings = settings;
    this.#surroundings = surroundings;
    for (let program = 0; program < programs; program += 1) this.#spawn(program);
  }

  /** kill -9, one after the other, each once it has done something; until the fleet is stopped. */
  startKilling(): void {
    let next = 0;
    this.#timer = setInterval(() => {
      const program = next % programs;
      next += 1;
      const running = this.#running.get(program);
      if (running === undefined || running.restocks === 0) return;
      this.#running.delete(program);
      this.kills += 1;
      running.child.kill("SIGKILL");
      void running.exited.then(() => {
        if (!this.#isStopping) this.#spawn(program);
      });
    }, killEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const endMs = Date.now() + firstRestockMsMax;
    while (this.#restocks === 0 && Date.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
    this.#isStopping = true;
    await Promise.all(
      Array.from(this.#running.values(), async ({ child, exited }) => {
        if (child.connected) child.send("stop", () => undefined);
        const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
        await exited;
        clearTimeout(timer);
      }),
    );
  }

  #spawn(program: number): void {
    const { script, logs } = this.#surroundings;
    this.#lives += 1;
    const settings: NativeSettings = { ...this.#settings, program, life: this.#lives };
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", script, JSON.stringify(settings)],
      { stdio: ["ignore", "pipe", "pipe", "ipc"] },
    );
    for (const output of [child.stdout, child.stderr]) {
      if (output !== null) logs.follow(`native ${program}`, output);
    }
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const running: Running = { child, exited, restocks: 0 };
    child.on("message", () => {
      running.restocks += 1;
      this.#restocks += 1;
    });
    this.#running.set(program, running);
    void exited.then(() => {
      if (this.#running.get(program) !== running) return;
      this.#running.delete(program);
      if (this.#isStopping && child.exitCode === 0) return;
      const how = child.signalCode ?? `exit code ${child.exitCode}`;
      this.deaths.push(`native program ${program} ended by itself: ${how}`);
    });
  }
}
