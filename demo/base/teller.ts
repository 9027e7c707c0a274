/**
 * One who makes payments, a process of its own: some in steps, some at once, and audits between
 * them. Its next life begins half of what it has left open once more, under the same ids.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, TransactionError } from "../../sdk/index.ts";
import { SeededRandom } from "../seeded-random.ts";
import { baseEntries, type BaseJournal, paymentsIn } from "./base-journal.ts";
import {
  EmptyPurseError,
  isRefusal,
  payAtOnce,
  type Payment,
  type PaymentBase,
  pursesOf,
} from "./payments.ts";
import { auditLive } from "./purse-audit.ts";
import type { BaseSettings } from "./settings.ts";

const concurrency = 3;
const centsMax = 200;
/** Of its own last payments so many are looked at by an audit. */
const recentMax = 3;
const pauseAfterFailureMs = 100;
/** Between what one worker does and what it does next. */
const restMsMax = 60;

type InSteps = { readonly id: string; readonly of: Payment };

export class Teller {
  readonly #settings: BaseSettings;
  readonly #db: Client;
  readonly #journal: BaseJournal;
  readonly #inSteps: PaymentBase;
  readonly #random: SeededRandom;
  readonly #left: InSteps[];
  #recent: string[] = [];
  #made = 0;
  #isStopping = false;

  constructor(
    settings: BaseSettings,
    parts: {
      readonly db: Client;
      readonly journal: BaseJournal;
      readonly inSteps: PaymentBase;
    },
  ) {
    const { folder, role, program, life, seed } = settings;
    this.#settings = settings;
    this.#db = parts.db;
    this.#journal = parts.journal;
    this.#inSteps = parts.inSteps;
    this.#random = new SeededRandom(seed, 0xba5e, program, life);
    this.#left = paymentsIn(baseEntries(folder, { role, program }))
      .filter(({ way, isAccepted, openTries }) => way === "steps" && !isAccepted && openTries > 0)
      .filter((_payment, index) => index % 2 === 0);
  }

  stop(): void {
    this.#isStopping = true;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: concurrency }, () => this.#work()));
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      try {
        await this.#next();
      } catch (error) {
        const isOurs = error instanceof TransactionError;
        if (!isOurs || (!error.retryable && error.outcome === "aborted")) throw error;
        await sleep(pauseAfterFailureMs);
      }
      await sleep(this.#random.below(restMsMax));
    }
  }

  async #next(): Promise<void> {
    const left = this.#left.shift();
    if (left !== undefined) return this.#payInSteps(left);
    const lot = this.#random.below(100);
    if (lot < 50) return this.#payInSteps(this.#payment());
    if (lot < 75) return this.#payAtOnce(this.#payment());
    return this.#audit(lot < 85 ? "acid" : "snapshot");
  }

  async #payInSteps({ id, of }: InSteps): Promise<void> {
    const waits = this.#random.below(2) === 0;
    this.#journal.append({ kind: "payment", id, way: "steps", of });
    try {
      const { accepted } = await this.#db.base(this.#inSteps, of, { id });
      this.#journal.append({ kind: "accepted", id });
      this.#recent = [id, ...this.#recent].slice(0, recentMax);
      if (!waits) return;
      this.#journal.append({ kind: "ended", id, end: await accepted.result() });
    } catch (error) {
      if (!(error instanceof EmptyPurseError)) throw error;
      this.#journal.append({ kind: "refused", id });
    }
  }

  async #payAtOnce({ id, of }: InSteps): Promise<void> {
    this.#journal.append({ kind: "payment", id, way: "once", of });
    try {
      await payAtOnce(this.#db, { id, ...of });
      this.#journal.append({ kind: "ended", id, end: "given" });
    } catch (error) {
      const isAborted = error instanceof TransactionError && error.outcome === "aborted";
      if (isAborted || isRefusal(error)) this.#journal.append({ kind: "refused", id });
      if (!isRefusal(error)) throw error;
    }
  }

  async #audit(by: "acid" | "snapshot"): Promise<void> {
    const what = { runId: this.#settings.runId, payments: this.#recent };
    try {
      const faults =
        by === "acid"
          ? (await this.#db.transact((tx) => auditLive(tx, what))).result
          : await this.#db.snapshot((snapshot) => auditLive(snapshot, what));
      for (const fault of faults) {
        this.#journal.append({ kind: "fault", text: `purses, by ${by} reads: ${fault}` });
      }
      if (faults.length === 0) this.#journal.append({ kind: "audited", by });
    } catch (error) {
      this.#journal.append({ kind: "audit-given-up" });
      throw error;
    }
  }

  #payment(): InSteps {
    const { runId, program, life } = this.#settings;
    const [from = "", to = ""] = this.#random.shuffled(pursesOf(runId));
    this.#made += 1;
    const id = `${runId}-payment-${program}-${life}-${this.#made}`;
    return { id, of: { from, to, cents: 1 + this.#random.below(centsMax) } };
  }
}
