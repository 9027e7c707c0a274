/** Looks again and again at what must hold of the traffic's accounts, whatever happens to it. */
import type { Clock } from "../../core/ports.ts";
import { spanText } from "../../inspection/words/moments.ts";
import { accounts, ledger } from "../../examples/bank/bank.ts";
import type { Client } from "../../sdk/index.ts";
import * as limits from "../limits.ts";
import type { Guarantee } from "../wire.ts";
import type { Acknowledged } from "./messages.ts";

const lookEveryMs = 1_000;
const pastMs = 5_000;

type Kind = "conserved" | "past" | "kept";
type Looked = { -readonly [Name in keyof Guarantee]: Guarantee[Name] };

export type GuaranteeOptions = {
  readonly db: Client;
  readonly clock: Clock;
  readonly accountIds: readonly string[];
  /** Of all these accounts together. */
  readonly totalCents: number;
};

export class Guarantees {
  readonly #options: GuaranteeOptions;
  readonly #stopped = new AbortController();
  readonly #looked: Record<Kind, Looked> = {
    conserved: {
      name: "No money is made or lost",
      text: "All balances in one snapshot add up to what was paid in; none is overdrawn.",
      ...none(),
    },
    past: {
      name: "The past stays whole",
      text: "The same holds as of five seconds ago, read from history.",
      ...none(),
    },
    kept: {
      name: "What was acknowledged stays",
      text: "Of each transfer that a client was told is done, the ledger has both entries.",
      ...none(),
    },
  };
  #acknowledged: Acknowledged[] = [];
  #openedMs: number;
  #running: Promise<void>;

  constructor(options: GuaranteeOptions) {
    this.#options = options;
    this.#openedMs = options.clock.nowMs();
    this.#running = this.#run();
  }

  /** @param acknowledged to be looked up; of very many some are. */
  note(acknowledged: readonly Acknowledged[]): void {
    const room = limits.acknowledgedKept - this.#acknowledged.length;
    if (room > 0) this.#acknowledged.push(...acknowledged.slice(0, room));
  }

  state(): readonly Guarantee[] {
    return Object.values(this.#looked).map((each) => ({ ...each }));
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("stopped"));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stopped.signal.aborted) {
      await this.#try("conserved", () => this.#lookAtSum(undefined));
      // Before that there were no accounts.
      const pastMicros = Math.floor((clock.nowMs() - pastMs) * 1_000);
      if (pastMicros > this.#openedMs * 1_000) {
        await this.#try("past", () => this.#lookAtSum(pastMicros));
      }
      if (this.#acknowledged.length > 0) await this.#try("kept", () => this.#lookUp());
      await clock.sleep(lookEveryMs, this.#stopped.signal).catch(() => undefined);
    }
  }

  /** A look that a fault keeps from ending says nothing. */
  async #try(kind: Kind, look: () => Promise<readonly string[]>): Promise<void> {
    const { clock } = this.#options;
    const looked = this.#looked[kind];
    const beganMs = clock.monotonicMs();
    try {
      const violations = await look();
      looked.checks += 1;
      looked.violations += violations.length;
      looked.last = violations[0] ?? `last look took ${spanText(clock.monotonicMs() - beganMs)}`;
    } catch (error) {
      // Stopped in the midst of it: the signal's own reason arrives, which is no fault.
      if (this.#stopped.signal.aborted) return;
      looked.last = `could not look: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  async #lookAtSum(asOf: number | undefined): Promise<readonly string[]> {
    const { db, accountIds, totalCents } = this.#options;
    const bounds = { deadlineMs: limits.readDeadlineMs, signal: this.#stopped.signal };
    const options = asOf === undefined ? bounds : { ...bounds, asOf };
    const rows = await db.snapshot(options, (snapshot) => snapshot.batchGet(accounts, accountIds));
    const balances = rows.map((row) => row?.balanceCents ?? 0);
    const sum = balances.reduce((all, each) => all + each, 0);
    const violations: string[] = [];
    if (sum !== totalCents) violations.push(`they add up to ${sum} in place of ${totalCents}`);
    if (balances.some((each) => each < 0)) violations.push("one is overdrawn");
    return violations;
  }

  async #lookUp(): Promise<readonly string[]> {
    const { db } = this.#options;
    const those = this.#acknowledged.slice(0, limits.acknowledgedPerLook);
    const bounds = { deadlineMs: limits.readDeadlineMs, signal: this.#stopped.signal };
    const keys = those.flatMap(({ id: entryId, source, target }) =>
      [source, target].map((accountId) => ({ accountId, entryId })),
    );
    const rows = await db.snapshot(bounds, (snapshot) => snapshot.batchGet(ledger, keys));
    this.#acknowledged.splice(0, those.length);
    return keys.flatMap(({ accountId, entryId }, at) =>
      rows[at] === undefined ? [`transfer ${entryId} is missing at ${accountId}`] : [],
    );
  }
}

function none(): Pick<Guarantee, "checks" | "violations"> {
  return { checks: 0, violations: 0 };
}
