/**
 * The demo's client processes: started, killed, started again with a new life, and stopped in
 * order.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { lastEntry } from "./journal.ts";
import {
  type ClientSettings,
  commitWays,
  type FromClient,
  fromClientSchema,
  type ToClient,
} from "./messages.ts";
import type { ProcessLogs } from "./process-logs.ts";

export type FleetSettings = Omit<ClientSettings, "client" | "life" | "commit"> & {
  readonly clients: number;
  /** Mixed: each client its own way, in turn. */
  readonly commit: ClientSettings["commit"] | "mixed";
};

export type FleetSurroundings = {
  /** The client's program, a JavaScript file. */
  readonly script: string;
  readonly logs: ProcessLogs;
  readonly onProgress: (progress: Progress) => void;
};

type Progress = Extract<FromClient, { kind: "progress" }>;

export type Killed = {
  readonly pid: number;
  /**
   * Time since a commit request was seen leaving; undefined if none was waited for, or none came.
   */
  readonly afterSendingMs: number | undefined;
};

type Running = {
  readonly process: ChildProcess;
  readonly life: number;
  readonly ready: Promise<void>;
  readonly exited: Promise<void>;
  readonly onSending: Set<() => void>;
};

/**
 * Longest that a client may take to finish its operations. It is far beyond their deadlines: one
 * that takes longer hangs, on a slow machine, too. It is killed, which is a fault.
 */
const stopMsMax = 180_000;
const deathsMax = 3;
/** A kill waits this long for a commit request to leave, and then happens all the same. */
const silenceMsMax = 2_000;

export class ClientFleet {
  readonly #settings: FleetSettings;
  readonly #surroundings: FleetSurroundings;
  readonly #running: (Running | undefined)[] = [];
  readonly #lives: number[] = [];
  #stopping = false;
  /** Ends that nobody ordered, one line each. */
  readonly deaths: string[] = [];

  private constructor(settings: FleetSettings, surroundings: FleetSurroundings) {
    this.#settings = settings;
    this.#surroundings = surroundings;
  }

  /** Resolves when every client is connected and at work. */
  static async start(
    settings: FleetSettings,
    surroundings: FleetSurroundings,
  ): Promise<ClientFleet> {
    const fleet = new ClientFleet(settings, surroundings);
    const clients = Array.from({ length: settings.clients }, (_unused, client) =>
      fleet.#spawn(client),
    );
    await Promise.all(clients.map(({ ready, exited }) => Promise.race([ready, exited])));
    return fleet;
  }

  /**
   * kill -9, and a new life at once.
   * @param afterSendingMs wait for a commit request of its to leave, and then this long; undefined:
   * do not wait.
   * @returns undefined if it was not running.
   */
  async kill(client: number, afterSendingMs: number | undefined): Promise<Killed | undefined> {
    const running = this.#running[client];
    if (running === undefined) return undefined;
    const seen = afterSendingMs !== undefined && (await this.#seenSending(running));
    if (seen) await new Promise((resolve) => setTimeout(resolve, afterSendingMs));
    const { pid } = running.process;
    if (pid === undefined || this.#running[client] !== running) return undefined;
    this.#running[client] = undefined;
    running.process.kill("SIGKILL");
    await running.exited;
    this.#spawn(client);
    return { pid, afterSendingMs: seen ? afterSendingMs : undefined };
  }

  /**
   * Has a client kill itself at its next decision, before it installs anything; and a new life at
   * once. Its journal tells whether it came to that: one that saw no decision by the signal is
   * killed all the same.
   * @returns undefined if it was not running.
   */
  async killAtDecision(
    client: number,
    signal: AbortSignal,
  ): Promise<(Killed & { readonly certified: boolean }) | undefined> {
    const running = this.#running[client];
    const pid = running?.process.pid;
    if (running === undefined || pid === undefined) return undefined;
    this.#running[client] = undefined;
    send(running.process, { kind: "die-at-decision" });
    const overdue = (): unknown => running.process.kill("SIGKILL");
    signal.addEventListener("abort", overdue);
    if (signal.aborted) overdue();
    await running.exited;
    signal.removeEventListener("abort", overdue);
    const { exitCode } = running.process;
    if (exitCode !== null) this.deaths.push(endedByItself(client, `exit code ${exitCode}`));
    const { life } = running;
    const last = lastEntry(this.#settings.folder, { client, life });
    this.#spawn(client);
    return { pid, afterSendingMs: undefined, certified: last?.kind === "certified" };
  }

  /** Resolves when any client's commit request is leaving: true; or after long silence: false. */
  async seenSending(): Promise<boolean> {
    const alive = this.#running.filter((running) => running !== undefined);
    return Promise.race([silence(), ...alive.map((running) => this.#seenSending(running))]);
  }

  /** Lets every client finish what it does. No kill may be under way. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const alive = this.#running.filter((running) => running !== undefined);
    await Promise.all(
      alive.map(async (running) => {
        send(running.process, { kind: "stop" });
        const timer = setTimeout(() => running.process.kill("SIGKILL"), stopMsMax);
        await running.exited;
        clearTimeout(timer);
      }),
    );
  }

  async #seenSending(running: Running): Promise<boolean> {
    const seen = new Promise<boolean>((resolve) =>
      running.onSending.add(() => {
        resolve(true);
      }),
    );
    send(running.process, { kind: "watch" });
    return Promise.race([seen, running.exited.then(() => false), silence()]);
  }

  #spawn(client: number): Running {
    const { script, logs, onProgress } = this.#surroundings;
    const life = (this.#lives[client] ?? 0) + 1;
    this.#lives[client] = life;
    const { clients: _clients, commit, ...shared } = this.#settings;
    const way = commit === "mixed" ? commitWays[client % commitWays.length] : commit;
    const settings: ClientSettings = { ...shared, client, life, commit: way ?? "auto" };
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", script, JSON.stringify(settings)],
      { stdio: ["ignore", "pipe", "pipe", "ipc"] },
    );
    for (const output of [child.stdout, child.stderr]) {
      if (output !== null) logs.follow(`client ${client}`, output);
    }
    let markReady = (): void => undefined;
    const running: Running = {
      process: child,
      life,
      ready: new Promise((resolve) => (markReady = resolve)),
      exited: new Promise((resolve) => child.once("close", () => resolve())),
      onSending: new Set(),
    };
    this.#running[client] = running;
    child.on("message", (raw) => {
      const message = fromClientSchema.parse(raw);
      if (message.kind === "ready") markReady();
      else if (message.kind === "progress") onProgress(message);
      else {
        for (const resolve of running.onSending) resolve();
        running.onSending.clear();
      }
    });
    void running.exited.then(() => {
      this.#ended(client, running);
    });
    return running;
  }

  #ended(client: number, running: Running): void {
    // Killed on purpose; its next life is on its way.
    if (this.#running[client] !== running) return;
    this.#running[client] = undefined;
    const { exitCode, signalCode } = running.process;
    if (this.#stopping && exitCode === 0) return;
    this.deaths.push(endedByItself(client, signalCode ?? `exit code ${exitCode}`));
    if (!this.#stopping && this.deaths.length <= deathsMax) this.#spawn(client);
  }
}

function endedByItself(client: number, how: string): string {
  return `client ${client} ended by itself: ${how}`;
}

function silence(): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(resolve, silenceMsMax, false).unref();
  });
}

function send(child: ChildProcess, message: ToClient): void {
  if (child.connected) child.send(message, () => undefined);
}
