/**
 * One client of the demo, a process of its own: some transactions at a time, each journaled before
 * and after. It may be killed at any moment; its next life repeats half of what it finds
 * unfinished, by the idempotency keys, and leaves the other half to the audit.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Client,
  CommitUnknownError,
  type EngineEvent,
  TransactionError,
} from "../sdk/index.ts";
import { salesReport } from "../examples/tickets/tickets.ts";
import { type OpenedClient, openClient } from "./history.ts";
import { Journal, readJournals } from "./journal.ts";
import {
  type ClientSettings,
  clientSettingsSchema,
  type FromClient,
  noCounts,
  type Sample,
  type ToClient,
  toClientSchema,
} from "./messages.ts";
import { type Operation, perform } from "./operations.ts";
import { SeededRandom } from "./seeded-random.ts";
import { Workload } from "./workload.ts";

const progressEveryMs = 200;
const pauseAfterFailureMs = 100;

class DemoClient {
  readonly #settings: ClientSettings;
  readonly #db: Client;
  readonly #opened: OpenedClient;
  readonly #journal: Journal;
  readonly #workload: Workload;
  readonly #unfinished: readonly Operation[];
  /** The operation on whose behalf an event is told, since events name transactions only. */
  readonly #current = new AsyncLocalStorage<string>();
  #samples: Sample[] = [];
  #counters = noCounts();
  #watched = false;
  #condemned = false;
  #stopping = false;

  constructor(settings: ClientSettings) {
    const { endpoint, folder, client, life, seed, commit } = settings;
    this.#settings = settings;
    this.#unfinished = readJournals(folder, client)
      .filter(({ acknowledged, aborted }) => acknowledged === undefined && !aborted)
      .map(({ operation }) => operation)
      .filter((_operation, index) => index % 2 === 0);
    this.#journal = new Journal(folder, settings);
    this.#workload = new Workload(settings, new SeededRandom(seed, client, life));
    this.#opened = openClient({
      ...{ endpoint, commit },
      name: `client-${client}-${life}`,
      history: settings.history,
      onEvent: (event) => {
        try {
          this.#observe(event);
        } catch (error) {
          // The SDK ignores what a listener throws; an unjournaled request would make the audit
          // worthless.
          console.error(error);
          process.exit(70);
        }
      },
    });
    this.#db = this.#opened.db;
  }

  obey(order: ToClient): void {
    switch (order.kind) {
      case "watch":
        this.#watched = true;
        return;
      case "die-at-decision":
        this.#condemned = true;
        return;
      case "stop":
        this.#stopping = true;
        return;
    }
  }

  async run(): Promise<void> {
    const progress = setInterval(() => {
      this.#report();
    }, progressEveryMs);
    await this.#connected();
    tell({ kind: "ready" });
    const repeats = [...this.#unfinished];
    const work = async (): Promise<void> => {
      while (!this.#stopping) {
        const next = repeats.shift() ?? this.#workload.next();
        if (next.kind === "report") await this.#readReport(next.eventId);
        else await this.#perform(next);
      }
    };
    await Promise.all(Array.from({ length: this.#settings.concurrency }, work));
    await this.#db.close();
    this.#opened.finish();
    clearInterval(progress);
    this.#report();
    this.#journal.close();
  }

  /** The stack may just be coming back. */
  async #connected(): Promise<void> {
    for (;;) {
      try {
        await this.#db.snapshot({ maxStalenessMs: 60_000 }, async () => undefined);
        return;
      } catch (error) {
        if (!(error instanceof TransactionError) || !error.retryable) throw error;
        await pause();
      }
    }
  }

  async #perform(operation: Operation): Promise<void> {
    const { kind, id } = operation;
    const beganMs = performance.now();
    this.#journal.append({ kind: "intent", operation });
    try {
      const { done, receipt } = await this.#current.run(id, () => perform(this.#db, operation));
      const { transactionId, commitTimestamp, replayed, attempts, phases } = receipt;
      if (transactionId === undefined || commitTimestamp === undefined) {
        throw new Error(`operation ${id} was acknowledged without a commit`);
      }
      this.#journal.append({ kind: "acknowledged", id, transactionId, commitTimestamp, done });
      if (kind === "purchase" && done) this.#workload.sold(id);
      const totalMs = performance.now() - beganMs;
      this.#samples.push({ kind, done, replayed, attempts, totalMs, ...phases });
    } catch (error) {
      if (!(error instanceof TransactionError)) throw error;
      if (error instanceof CommitUnknownError) {
        this.#journal.append({ kind: "unknown", id });
      } else {
        this.#journal.append({ kind: "aborted", id, code: error.code });
        this.#counters.abortedOperations += 1;
        if (!error.retryable) throw error;
      }
      await pause();
    }
  }

  async #readReport(eventId: string): Promise<void> {
    const beganMs = performance.now();
    let attempts = 0;
    try {
      await this.#db.snapshot(async (snapshot) => {
        attempts = snapshot.attempt;
        return salesReport(snapshot, eventId);
      });
      const totalMs = performance.now() - beganMs;
      const phases = { bodyMs: totalMs, certifyMs: 0, installMs: 0 };
      this.#samples.push({
        kind: "report",
        done: true,
        replayed: false,
        attempts,
        totalMs,
        ...phases,
      });
    } catch (error) {
      if (!(error instanceof TransactionError) || !error.retryable) throw error;
      await pause();
    }
  }

  #observe(event: EngineEvent): void {
    const counters = this.#counters;
    switch (event.kind) {
      case "sent": {
        const id = this.#operationId();
        this.#journal.append({ kind: "sent", id, transactionId: event.transactionId });
        if (event.resend) counters.resends += 1;
        if (this.#watched) tell({ kind: "sending" });
        this.#watched = false;
        return;
      }
      case "joined":
        this.#journal.append({
          kind: "sent",
          id: this.#operationId(),
          transactionId: event.transactionId,
        });
        return;
      case "certified":
        // The log has the commit, and no install has been sent: dying here leaves it all to replay
        // and the readers.
        if (!this.#condemned) return;
        this.#journal.append({
          kind: "certified",
          id: this.#operationId(),
          transactionId: event.transactionId,
        });
        process.kill(process.pid, "SIGKILL");
        return;
      case "attempt-aborted":
        if (event.reason !== "conflict") counters.otherAborts += 1;
        else if (event.early) counters.earlyConflicts += 1;
        else counters.oracleConflicts += 1;
        return;
      case "unknown":
        counters.unknowns += 1;
        return;
      case "helped":
        counters.helped += 1;
        return;
      case "install-left":
        counters.installsLeft += 1;
        return;
      case "attempt-started":
      case "body-ended":
      case "call-failed":
      case "call-started":
      case "committed":
      case "express-denied":
      case "house-kept":
      case "housekeeping-failed":
      case "installed":
        return;
    }
  }

  #operationId(): string {
    const id = this.#current.getStore();
    // `outcome` sends requests as well, for a transaction that is journaled already.
    if (id === undefined) throw new Error("a request was sent outside of any operation");
    return id;
  }

  #report(): void {
    tell({ kind: "progress", samples: this.#samples, counters: this.#counters });
    this.#samples = [];
    this.#counters = noCounts();
  }
}

function tell(message: FromClient): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, pauseAfterFailureMs));
}

const client = new DemoClient(clientSettingsSchema.parse(JSON.parse(process.argv[2] ?? "")));
process.on("message", (raw) => {
  client.obey(toClientSchema.parse(raw));
});
// Whatever ended the demo, its clients do not outlive it. Ctrl-C reaches the whole terminal group.
process.on("disconnect", () => process.exit(1));
process.on("SIGINT", () => undefined);
await client.run();
process.exit(0);
