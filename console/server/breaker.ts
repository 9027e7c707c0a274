/**
 * Traffic and faults in the embedded stack of this process: what the page's buttons do, and what it
 * shows of that. Nothing of it is there for any other deployment.
 */
import { z } from "zod";
import { InvalidRequestError } from "../../core/errors.ts";
import type { Clock, Random } from "../../core/ports.ts";
import { accounts, ledger, openAccounts } from "../../examples/bank/bank.ts";
import type { EmbeddedStack } from "../../localstack/embedded-stack.ts";
import { createClient, type Client } from "../../sdk/index.ts";
import { TrafficFleet } from "../traffic/fleet.ts";
import { Guarantees } from "../traffic/guarantees.ts";
import { TrafficMemory } from "../traffic/memory.ts";
import type { TrafficSettings } from "../traffic/messages.ts";
import * as limits from "../limits.ts";
import type { FaultOrder, FaultState, Step, TrafficConflict } from "../wire.ts";
import type { Breaker } from "./routes.ts";

export type BreakerOptions = {
  readonly stack: EmbeddedStack;
  readonly clock: Clock;
  readonly random: Random;
  /** The program of a client, built when it is first needed where it is not yet. */
  readonly script: () => Promise<string>;
};

const firstCents = 10_000;
const runBytes = 4;
const waysWithStream: readonly TrafficSettings["commit"][] = ["auto", "stream", "express"];

const clients = z.number().int().min(0).max(limits.trafficClientsMax);
const keys = z.number().int().min(limits.trafficKeysMin).max(limits.trafficKeysMax);
const percent = z.number().int().min(0).max(limits.throttlePercentMax);
const process_ = z.string().max(limits.queryCharactersMax);

const orders = z.discriminatedUnion("act", [
  z.object({ act: z.literal("traffic"), clients, keys }),
  z.object({ act: z.literal("kill-client"), how: z.enum(["now", "at-decision"]) }),
  z.object({ act: z.enum(["kill", "freeze", "resume"]), process: process_ }),
  z.object({ act: z.literal("throttle"), percent }),
]);

type Traffic = { readonly fleet: TrafficFleet; readonly keys: number };

export class StackBreaker implements Breaker {
  readonly #options: BreakerOptions;
  readonly #memory = new TrafficMemory();
  readonly #kills = new Map<string, number>();
  #deeds: FaultState["deeds"] = [];
  #throttlePercent = 0;
  #db: Client | undefined;
  #traffic: Traffic | undefined;
  #opened: { readonly keys: number; readonly accountIds: readonly string[] } | undefined;
  #guarantees: Guarantees | undefined;
  /** Orders are carried out one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  state(): FaultState {
    const { stack } = this.#options;
    const { fleet, keys: wanted } = this.#traffic ?? {};
    const unavailable = this.#unavailable();
    return {
      processes: breakable(stack).map((name) => ({
        name,
        state: stack.states[name] ?? "starting",
        kills: this.#kills.get(name) ?? 0,
      })),
      canFreeze: process.platform !== "win32",
      throttlePercent: this.#throttlePercent,
      traffic: {
        ...(unavailable === undefined ? {} : { unavailable }),
        clients: fleet?.clients ?? [],
        keys: wanted ?? 0,
        ...this.#memory.counts,
      },
      guarantees: this.#guarantees?.state() ?? [],
      deeds: this.#deeds,
    };
  }

  course(id: string): readonly Step[] {
    return this.#memory.course(id);
  }

  conflicts(): readonly TrafficConflict[] {
    return this.#memory.conflicts();
  }

  async order(wanted: unknown): Promise<void> {
    const parsed = orders.safeParse(wanted);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      const field = issue?.path.join(".") ?? "act";
      throw new InvalidRequestError(field, `\`${field}\`: ${issue?.message ?? "is wrong"}`);
    }
    const done = this.#turn.then(() => this.#carryOut(parsed.data));
    this.#turn = done.catch(() => undefined);
    await done;
  }

  async close(): Promise<void> {
    const { stack } = this.#options;
    await this.#turn;
    for (const name of breakable(stack)) stack.resume(name);
    if (this.#throttlePercent > 0) stack.throttle(0);
    await Promise.all([this.#traffic?.fleet.stop(), this.#guarantees?.stop()]);
    await this.#db?.close();
  }

  async #carryOut(order: FaultOrder): Promise<void> {
    switch (order.act) {
      case "traffic":
        await this.#makeTraffic(order);
        return;
      case "kill-client":
        this.#killClient(order.how);
        return;
      case "throttle":
        this.#options.stack.throttle(order.percent);
        this.#throttlePercent = order.percent;
        this.#did(
          order.percent === 0
            ? "the stores refuse nothing any more"
            : `the stores refuse ${order.percent} % of calls`,
        );
        return;
      case "kill":
      case "freeze":
      case "resume":
        await this.#strike(order.act, order.process);
    }
  }

  async #strike(act: "kill" | "freeze" | "resume", name: string): Promise<void> {
    const { stack } = this.#options;
    const known = breakable(stack);
    if (!known.includes(name)) {
      throw new InvalidRequestError(
        "process",
        `there is no process "${name}" to ${act}; there are ${known.join(", ")}`,
      );
    }
    if (act === "kill") {
      await stack.kill(name);
      this.#kills.set(name, (this.#kills.get(name) ?? 0) + 1);
      this.#did(`killed ${name}; it is started again`);
      return;
    }
    if (act === "resume") {
      stack.resume(name);
      this.#did(`let ${name} go on`);
      return;
    }
    if (process.platform === "win32" || !stack.freeze(name)) {
      throw new InvalidRequestError("process", `${name} cannot be stopped just now: try again`);
    }
    this.#did(`stopped ${name} in the midst of what it did`);
  }

  #killClient(how: "now" | "at-decision"): void {
    const fleet = this.#traffic?.fleet;
    const number = how === "now" ? fleet?.kill() : fleet?.killAtDecision();
    if (number === undefined) {
      throw new InvalidRequestError("act", "there is no client to kill: start some traffic first");
    }
    this.#did(
      how === "now"
        ? `killed client ${number}`
        : `client ${number} dies between its next commit and its installs`,
    );
  }

  async #makeTraffic(wanted: Extract<FaultOrder, { act: "traffic" }>): Promise<void> {
    const before = this.#traffic?.fleet;
    this.#traffic = undefined;
    await before?.stop();
    if (wanted.clients === 0) {
      if (before !== undefined) this.#did("stopped the traffic");
      return;
    }
    const unavailable = this.#unavailable();
    if (unavailable !== undefined) throw new InvalidRequestError("act", unavailable);
    const { stack, script, random } = this.#options;
    const program = await script();
    const accountIds = await this.#accounts(wanted.keys);
    const fleet = new TrafficFleet({
      endpoint: stack.endpoint,
      script: program,
      clients: wanted.clients,
      accountIds,
      name: Buffer.from(random.bytes(runBytes)).toString("hex"),
      ways: stack.tablesOnly ? ["auto"] : waysWithStream,
      onTold: (told) => {
        this.#memory.note(told);
        this.#guarantees?.note(told.acknowledged);
      },
      onDeath: (text) => {
        this.#did(text);
      },
    });
    this.#traffic = { fleet, keys: wanted.keys };
    this.#did(`started ${wanted.clients} clients on ${wanted.keys} accounts`);
  }

  /** The same ones as long as there are as many: what holds of them is looked at all the while. */
  async #accounts(count: number): Promise<readonly string[]> {
    if (this.#opened?.keys === count) return this.#opened.accountIds;
    const { stack, clock, random } = this.#options;
    const run = Buffer.from(random.bytes(runBytes)).toString("hex");
    const accountIds = Array.from({ length: count }, (_unused, at) => `console-${run}-${at}`);
    this.#db ??= createClient({ endpoint: stack.endpoint });
    const opened = accountIds.map((id) => ({ id, balanceCents: firstCents, overdraftCents: 0 }));
    await openAccounts(this.#db, opened);
    this.#opened = { keys: count, accountIds };
    await this.#guarantees?.stop();
    const totalCents = count * firstCents;
    this.#guarantees = new Guarantees({ db: this.#db, clock, accountIds, totalCents });
    return accountIds;
  }

  #unavailable(): string | undefined {
    const { tables } = this.#options.stack;
    const missing = [accounts.name, ledger.name].filter((name) => !tables.includes(name));
    if (missing.length === 0) return undefined;
    return (
      `it moves money between the sample tables' accounts, and ${missing.join(", ")} is not ` +
      "there: start without --no-sample-tables"
    );
  }

  #did(text: string): void {
    const deed = { atMs: this.#options.clock.nowMs(), text };
    this.#deeds = [deed, ...this.#deeds].slice(0, limits.deedsKept);
  }
}

/** The stores' data may be in memory alone: they are left alone. */
function breakable({ states }: EmbeddedStack): readonly string[] {
  return Object.keys(states).filter((name) => name !== "stores");
}
