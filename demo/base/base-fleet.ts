/**
 * The processes of `--base`: tellers, who make payments, and runners, which go on with what tellers
 * have left. With chaos one after the other of each kind is killed: between every two steps of a
 * payment, and at any moment.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { commitWays } from "../messages.ts";
import type { DemoOptions } from "../options.ts";
import type { ProcessLogs } from "../process-logs.ts";
import { SeededRandom } from "../seeded-random.ts";
import { lastBaseEntry } from "./base-journal.ts";
import {
  anyMoment,
  killName,
  type KillPoint,
  killPoints,
  noKills,
  type Role,
  roles,
  type Struck,
} from "./kill-points.ts";
import type { BaseOrder, BaseSettings } from "./settings.ts";

export type BaseFleetSettings = Omit<BaseSettings, "role" | "program" | "life" | "commit"> & {
  /** Mixed: each process its own way, in turn. */
  readonly commit: DemoOptions["commit"];
};

/** Of each role. */
const programs = 2;
const killEveryMs = 300;
/** Longest that a kill waits for a payment to come by a point; then it strikes all the same. */
const aimedMsMax = 60_000;
const anyMomentMsMax = 500;
/** How long a run goes on for kills that could not strike yet. */
const chaosPatienceMs = 120_000;
/** Longest that a process may take to end: it waits for one call on each of its ways. */
const stopMsMax = 120_000;

type Running = {
  readonly child: ChildProcess;
  readonly life: number;
  readonly exited: Promise<void>;
};

export class BaseFleet {
  /** Ends that nobody ordered, one line each. */
  readonly deaths: string[] = [];
  readonly kills = noKills();
  readonly #settings: BaseFleetSettings;
  readonly #surroundings: { readonly script: string; readonly logs: ProcessLogs };
  readonly #running = new Map<string, Running>();
  readonly #stopping = new Set<Role>();
  #lives = 0;
  #killing: Promise<unknown> = Promise.resolve();
  /** From now on it ends once each has been killed at each point. */
  #isEnding = false;
  #patience = AbortSignal.abort();

  constructor(
    settings: BaseFleetSettings,
    surroundings: { readonly script: string; readonly logs: ProcessLogs },
  ) {
    this.#settings = settings;
    this.#surroundings = surroundings;
    for (const role of roles) {
      for (let program = 0; program < programs; program += 1) this.#spawn(role, program);
    }
  }

  /** kill -9, one after the other of each role, until `endKilling`. */
  startKilling(seconds: number): void {
    this.#patience = AbortSignal.timeout(seconds * 1_000 + chaosPatienceMs);
    this.#killing = Promise.all(roles.map((role, nth) => this.#killAll(role, nth)));
  }

  /** Resolves when each role has been killed at each point, or when that has taken too long. */
  async endKilling(): Promise<void> {
    this.#isEnding = true;
    await this.#killing;
  }

  /** Lets each of a role finish what it does. */
  async stop(role: Role): Promise<void> {
    this.#stopping.add(role);
    await Promise.all(
      Array.from(this.#running, async ([name, { child, exited }]) => {
        if (!name.startsWith(role)) return;
        send(child, { kind: "stop" });
        const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
        await exited;
        clearTimeout(timer);
      }),
    );
  }

  async #killAll(role: Role, nth: number): Promise<void> {
    const random = new SeededRandom(this.#settings.seed, 0xdead, nth);
    const missing = new Set<Struck>(killPoints);
    for (let program = 0; !this.#patience.aborted; program = (program + 1) % programs) {
      if (missing.size === 0 && this.#isEnding) return;
      const further = random.pick<readonly KillPoint[]>([killPoints, []]);
      const struck = await this.#kill(role, program, {
        points: missing.size > 0 ? killPoints.filter((point) => missing.has(point)) : further,
        afterMs: random.below(anyMomentMsMax),
      });
      if (struck !== undefined) missing.delete(struck);
      await sleep(killEveryMs);
    }
  }

  /**
   * @param aim.points where it is to die, at the first that it comes by; none: by the clock.
   * @returns what the kill turned out to be; undefined: it was not running.
   */
  async #kill(
    role: Role,
    program: number,
    aim: { readonly points: readonly KillPoint[]; readonly afterMs: number },
  ): Promise<Struck | undefined> {
    const name = nameOf(role, program);
    const running = this.#running.get(name);
    if (running === undefined) return undefined;
    this.#running.delete(name);
    const { child, life, exited } = running;
    const isAimed = aim.points.length > 0;
    if (isAimed) send(child, { kind: "die", points: aim.points });
    const timer = setTimeout(() => child.kill("SIGKILL"), isAimed ? aimedMsMax : aim.afterMs);
    await exited;
    clearTimeout(timer);
    if (child.exitCode !== null) this.#died(name, child);
    const last = lastBaseEntry(this.#settings.folder, { role, program, life });
    const struck = last?.kind === "killed" ? last.point : anyMoment;
    const counted = killName(role, struck);
    this.kills[counted] = (this.kills[counted] ?? 0) + 1;
    this.#spawn(role, program);
    return struck;
  }

  #spawn(role: Role, program: number): void {
    const { script, logs } = this.#surroundings;
    this.#lives += 1;
    const { commit, ...shared } = this.#settings;
    const way = commit === "mixed" ? commitWays[program % commitWays.length] : commit;
    const life = this.#lives;
    const settings: BaseSettings = { ...shared, role, program, life, commit: way ?? "auto" };
    const child = spawn(
      process.execPath,
      ["--enable-source-maps", script, JSON.stringify(settings)],
      { stdio: ["ignore", "pipe", "pipe", "ipc"] },
    );
    const name = nameOf(role, program);
    for (const output of [child.stdout, child.stderr]) {
      if (output !== null) logs.follow(name, output);
    }
    const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const running: Running = { child, life, exited };
    this.#running.set(name, running);
    void exited.then(() => {
      // Killed on purpose; its next life is on its way.
      if (this.#running.get(name) !== running) return;
      this.#running.delete(name);
      if (!this.#stopping.has(role) || child.exitCode !== 0) this.#died(name, child);
    });
  }

  #died(name: string, { signalCode, exitCode }: ChildProcess): void {
    this.deaths.push(`${name} ended by itself: ${signalCode ?? `exit code ${exitCode}`}`);
  }
}

function nameOf(role: Role, program: number): string {
  return `${role} ${program}`;
}

function send(child: ChildProcess, order: BaseOrder): void {
  if (child.connected) child.send(order, () => undefined);
}
