/** The demo's client processes: started, killed, started again with a new life, and stopped in order. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import {
  type ClientSettings,
  type FromClient,
  fromClientSchema,
  type ToClient,
} from "./messages.ts";

export type FleetSettings = Omit<ClientSettings, "client" | "life"> & { readonly clients: number };

type Progress = Extract<FromClient, { kind: "progress" }>;

export type Killed = {
  readonly pid: number;
  /** Time since a commit request was seen leaving; undefined if none was waited for, or none came. */
  readonly afterSendingMs: number | undefined;
};

type Running = {
  readonly process: ChildProcess;
  readonly ready: Promise<void>;
  readonly exited: Promise<void>;
  readonly onSending: Set<() => void>;
};

/** Longest that a client may take to finish its operations; then it is killed, and the audit settles them. */
const stopMsMax = 40_000;
const deathsMax = 3;
/** A kill waits this long for a commit request to leave, and then happens all the same. */
const silenceMsMax = 2_000;

export class ClientFleet {
  readonly #settings: FleetSettings;
  readonly #script: string;
  readonly #onProgress: (progress: Progress) => void;
  readonly #running: (Running | undefined)[] = [];
  readonly #lives: number[] = [];
  #stopping = false;
  /** Ends that nobody ordered, one line each. */
  readonly deaths: string[] = [];

  private constructor(
    settings: FleetSettings,
    script: string,
    onProgress: (progress: Progress) => void,
  ) {
    this.#settings = settings;
    this.#script = script;
    this.#onProgress = onProgress;
  }

  /** Resolves when every client is connected and at work. */
  static async start(
    settings: FleetSettings,
    onProgress: (progress: Progress) => void,
  ): Promise<ClientFleet> {
    const fleet = new ClientFleet(settings, await bundleClient(), onProgress);
    const clients = Array.from({ length: settings.clients }, (_unused, client) =>
      fleet.#spawn(client),
    );
    await Promise.all(clients.map(({ ready, exited }) => Promise.race([ready, exited])));
    return fleet;
  }

  /**
   * kill -9, and a new life at once.
   * @param afterSendingMs wait for a commit request of its to leave, and then this long; undefined: do not wait.
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
    const life = (this.#lives[client] ?? 0) + 1;
    this.#lives[client] = life;
    const { clients: _clients, ...shared } = this.#settings;
    const settings: ClientSettings = { ...shared, client, life };
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", this.#script, JSON.stringify(settings)],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    );
    let markReady = (): void => undefined;
    const running: Running = {
      process: child,
      ready: new Promise((resolve) => (markReady = resolve)),
      exited: new Promise((resolve) => child.once("close", () => resolve())),
      onSending: new Set(),
    };
    this.#running[client] = running;
    child.on("message", (raw) => {
      const message = fromClientSchema.parse(raw);
      if (message.kind === "ready") markReady();
      else if (message.kind === "progress") this.#onProgress(message);
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
    if (this.#running[client] !== running) return; // Killed on purpose; its next life is on its way.
    this.#running[client] = undefined;
    const { exitCode, signalCode } = running.process;
    if (this.#stopping && exitCode === 0) return;
    this.deaths.push(`client ${client} ended by itself: ${signalCode ?? `exit code ${exitCode}`}`);
    if (!this.#stopping && this.deaths.length <= deathsMax) this.#spawn(client);
  }
}

function silence(): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(resolve, silenceMsMax, false).unref();
  });
}

function send(child: ChildProcess, message: ToClient): void {
  if (child.connected) child.send(message, () => undefined);
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * A client starts many times in a run with kills: as one JavaScript file it does so quickly. The file is named by its
 * content, and lies where Node finds the packages.
 */
async function bundleClient(): Promise<string> {
  const folder = join(root, ".cache", "demo");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("client-process.ts", import.meta.url))],
    absWorkingDir: root,
    bundle: true,
    packages: "external",
    platform: "node",
    target: "node20",
    format: "esm",
    sourcemap: "inline",
    write: false,
    logLevel: "silent",
  });
  const [{ contents, hash } = { contents: new Uint8Array(), hash: "" }] = outputFiles;
  const script = join(folder, `client-${hash.replaceAll(/[^A-Za-z0-9]/g, "_")}.js`);
  mkdirSync(folder, { recursive: true });
  const staging = `${script}.${process.pid}`;
  writeFileSync(staging, contents);
  renameSync(staging, script);
  return script;
}
