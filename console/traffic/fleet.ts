/** The processes of the traffic: started, killed, started again with a new life, and stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import * as limits from "../limits.ts";
import type { FromTraffic, ToTraffic, TrafficSettings } from "./messages.ts";

export type FleetOptions = {
  readonly endpoint: string;
  /** The client's program, a JavaScript file. */
  readonly script: string;
  readonly clients: number;
  readonly accountIds: readonly string[];
  /** Begins the names of all it makes. */
  readonly name: string;
  /** Each client commits in its own way, in turn. */
  readonly ways: readonly TrafficSettings["commit"][];
  readonly onTold: (told: Extract<FromTraffic, { kind: "told" }>) => void;
  /** One has ended that nobody had told to. */
  readonly onDeath: (text: string) => void;
};

type Member = {
  readonly number: number;
  lives: number;
  process: ChildProcess | undefined;
  exited: Promise<void>;
};

const restartPauseMs = 500;

export class TrafficFleet {
  readonly #options: FleetOptions;
  readonly #members: Member[];
  #stopping = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#members = Array.from({ length: options.clients }, (_unused, number) => ({
      number,
      lives: 0,
      process: undefined,
      exited: Promise.resolve(),
    }));
    for (const member of this.#members) this.#spawn(member);
  }

  get clients(): readonly { readonly number: number; readonly lives: number }[] {
    return this.#members.map(({ number, lives }) => ({ number, lives }));
  }

  /** kill -9 of the one that has lived longest. @returns its number; undefined: there is none. */
  kill(): number | undefined {
    const member = this.#eldest();
    member?.process?.kill("SIGKILL");
    return member?.number;
  }

  /** Has it kill itself as soon as the log has its next commit. @returns as `kill`. */
  killAtDecision(): number | undefined {
    const member = this.#eldest();
    if (member?.process !== undefined) send(member.process, { kind: "die-at-decision" });
    return member?.number;
  }

  /** Lets each finish what it does; one that does not is killed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      this.#members.map(async ({ process, exited }) => {
        if (process === undefined) return;
        send(process, { kind: "stop" });
        const timer = setTimeout(() => process.kill("SIGKILL"), limits.clientStopMsMax);
        await exited;
        clearTimeout(timer);
      }),
    );
  }

  #eldest(): Member | undefined {
    return this.#members
      .filter((member) => member.process !== undefined)
      .sort((a, b) => a.lives - b.lives || a.number - b.number)[0];
  }

  #spawn(member: Member): void {
    if (this.#stopping) return;
    const { endpoint, script, accountIds, name, ways, onTold, onDeath } = this.#options;
    member.lives += 1;
    const { number, lives } = member;
    const settings: TrafficSettings = {
      ...{ endpoint, accountIds },
      name: `${name}-${number}-${lives}`,
      seed: number * 1_000 + lives,
      commit: ways[number % ways.length] ?? "auto",
    };
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", script, JSON.stringify(settings)],
      { stdio: ["ignore", "ignore", "pipe", "ipc"] },
    );
    member.process = child;
    let output = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-limits.clientOutputKept);
    });
    child.on("message", (message) => {
      const received = message as FromTraffic;
      if (received.kind === "told") onTold(received);
    });
    member.exited = new Promise((resolve) => {
      child.once("error", () => {
        resolve();
      });
      child.once("close", () => {
        resolve();
      });
    });
    void member.exited.then(() => {
      member.process = undefined;
      if (this.#stopping) return;
      if (child.signalCode !== "SIGKILL") {
        const [last = "it said nothing"] = output.trimEnd().split("\n").slice(-1);
        onDeath(`client ${number} ended by itself: ${last}`);
      }
      setTimeout(() => {
        this.#spawn(member);
      }, restartPauseMs);
    });
  }
}

function send(child: ChildProcess, message: ToTraffic): void {
  if (child.connected) child.send(message, () => undefined);
}
