/**
 * Two processes that consume one named feed, beside the clients and under their faults. Handlers
 * fail, take long, and die or sleep within; invocations end early, as a function's do. When all is
 * calm, what is left has to be handled within a bound (calm-consumers.ts).
 */
import { CommitUnknownError, StoreError, TransactionError } from "../../core/errors.ts";
import { defineTable, feedHandler, type ChangedRows, type FeedContext } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import type { TestProcess } from "../../testing/test-process.ts";
import type { LoggedBases } from "../base/base-log.ts";
import type { LoggedWrite } from "../judges/logged-writes.ts";
import type { StoredChange } from "../judges/store-judge.ts";
import { clientCommitOf, type SeedPlan } from "../seed-plan.ts";
import { CalmConsumers } from "./calm-consumers.ts";
import { ConsumerJudge } from "./consumer-judge.ts";
import { functionMarginMs, putMark, watchedBy, type ConsumerWish } from "./consumer-parts.ts";
import { effects, marks } from "./consumer-tables.ts";
import { FeedOperator } from "./feed-operator.ts";

export type ConsumerParts = {
  readonly cloud: TestCloud;
  readonly plan: SeedPlan;
  /** Of the workload. */
  readonly tables: readonly string[];
};

const feedName = "simulated";
const consumers = 2;
const replacedMs = { min: 50, max: 3_000 };
const pollMs = 700;
const markMs = { min: 200, max: 20_000 };
/** Between two invocations of one process. */
const restMs = { min: 10, max: 3_000 };
/** The end of a run is long, and little happens in it. */
const calmRestMs = 30_000;
/** What an invocation has, beside what the handler of functions keeps for itself. */
const invocationMs = { min: 60, max: 20_000 };
const serverMs = { min: 1_000, max: 120_000 };
/** Of the changes that are given, those whose handler dies, sleeps, fails or takes its time. */
const crashShare = 0.01;
const freezeShare = 0.01;
const freezeMs = { min: 1_000, max: 120_000 };
const failShareMax = 0.3;
const slowShare = 0.03;
const slowMs = { min: 100, max: 50_000 };
/** Of the seeds, those where an operator moves the feed. */
const movedShare = 0.5;
/** As an application's own. */
class HandlerFailure extends Error {}

export class FeedConsumers {
  readonly #parts: ConsumerParts;
  readonly #random: SeededRandom;
  readonly #judge: ConsumerJudge;
  readonly #wish: ConsumerWish;
  readonly #findings: string[] = [];
  readonly #stop = new AbortController();
  readonly #failShare: number;
  readonly #operator: FeedOperator | undefined;
  #isCalm = false;
  #started = 0;

  constructor(parts: ConsumerParts) {
    this.#parts = parts;
    this.#random = parts.cloud.world.random.fork("feed consumers");
    this.#wish = wishOf(parts.tables, this.#random);
    this.#failShare = this.#random.between(0, failShareMax);
    const { name, first, tables } = this.#wish;
    const { deployment } = parts.cloud.deployment.options;
    const names = tables?.map((table) => table.name);
    this.#judge = new ConsumerJudge({ deployment, name, first, tables: names });
    const random = this.#random.fork("operator");
    this.#operator = random.chance(movedShare)
      ? new FeedOperator({
          ...{ cloud: parts.cloud, name, judge: this.#judge, random },
          tried: (act) => this.#tried("an operator", act),
        })
      : undefined;
    const asked = names?.join(", ") ?? "all";
    parts.cloud.world.trace.note(parts.cloud.world.time.nowMs, `consumers: ${first}, of ${asked}`);
  }

  observe(change: StoredChange): void {
    this.#judge.observe(change);
  }

  start(): void {
    for (let i = 1; i <= consumers; i += 1) {
      this.#keepRunning(`consumer-${i}`, (process, random) => this.#consume(process, random));
    }
    this.#keepRunning("marker", (process, random) => this.#mark(process, random));
    this.#operator?.start();
  }

  /** Handlers fail no longer; nor does anything else. */
  calm(): void {
    this.#isCalm = true;
    this.#operator?.stop();
  }

  /** Once nothing else is committed any more: all has to be handled in time. */
  async end(): Promise<void> {
    this.#stop.abort(new Error("the run is over"));
    this.#judge.ends();
    const { cloud, plan } = this.#parts;
    const calm = new CalmConsumers({
      ...{ cloud, plan, wish: this.#wish, judge: this.#judge },
      random: this.#random.fork("calm"),
      handler: doOnce,
    });
    this.#findings.push(...(await calm.run()));
  }

  /** @param writes all that the logs have committed. */
  judge(writes: readonly LoggedWrite[], bases: LoggedBases | undefined): readonly string[] {
    this.#judge.judge(writes, bases);
    return [...this.#findings, ...this.#judge.findings];
  }

  #keepRunning(
    name: string,
    work: (process: TestProcess, random: SeededRandom) => Promise<void>,
  ): void {
    const { cloud, plan } = this.#parts;
    this.#started += 1;
    const unique = `${name}/${this.#started}`;
    const random = this.#random.fork(unique);
    const commit = clientCommitOf(plan, this.#started);
    const process = cloud.startProcess(unique, { commit, ...watchedBy(this.#judge) });
    process.onCrash(() => {
      cloud.world.time.after(random.between(replacedMs.min, replacedMs.max), () => {
        if (!this.#stop.signal.aborted) this.#keepRunning(name, work);
      });
    });
    void work(process, random).then(() => process.client.close());
  }

  async #mark(process: TestProcess, random: SeededRandom): Promise<void> {
    for (let n = 0; !this.#isCalm && !this.#stop.signal.aborted; n += 1) {
      await this.#tried("the marker", () => putMark(process.client, n));
      await process.clock.sleep(random.logarithmic(markMs.min, markMs.max));
    }
  }

  async #consume(process: TestProcess, random: SeededRandom): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#tried("a consumer", () =>
        this.#isCalm || random.chance(0.5)
          ? this.#invoke(process, random)
          : this.#serve(process, random),
      );
      const restedMs = random.logarithmic(restMs.min, restMs.max);
      await process.clock.sleep(this.#isCalm ? calmRestMs : restedMs);
    }
  }

  /** As a function that a schedule wakes. */
  async #invoke(process: TestProcess, random: SeededRandom): Promise<void> {
    const { client, clock } = process;
    const limitMs = random.logarithmic(invocationMs.min, invocationMs.max) + functionMarginMs;
    const handler = feedHandler(client, { ...this.#wish, pollMs }, this.#handler(process), clock);
    await handler({}, { getRemainingTimeInMillis: () => limitMs });
  }

  /** As a server that is stopped, by a new version of it, say. */
  async #serve(process: TestProcess, random: SeededRandom): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#stop.signal]);
    process.clock.sleep(random.logarithmic(serverMs.min, serverMs.max), signal).then(
      () => {
        over.abort(new Error("stopped"));
      },
      () => undefined,
    );
    try {
      const wish = { ...this.#wish, pollMs, signal };
      await process.client.consume(wish, this.#handler(process));
    } finally {
      over.abort(new Error("ended"));
    }
  }

  #handler(process: TestProcess): (change: ChangedRows, feed: FeedContext) => Promise<void> {
    const random = this.#random;
    return async (change, feed) => {
      const failShare = this.#isCalm ? 0 : this.#failShare;
      if (!this.#isCalm) await this.#trouble(process);
      if (random.chance(failShare)) throw new HandlerFailure("not today");
      await doOnce(change, feed);
      if (random.chance(failShare)) throw new HandlerFailure("done, and not heard of");
    };
  }

  async #trouble(process: TestProcess): Promise<void> {
    const random = this.#random;
    if (random.chance(crashShare)) process.crash();
    else if (random.chance(freezeShare)) {
      const clocks = random.pick(["run", "stand"] as const);
      process.freeze(random.logarithmic(freezeMs.min, freezeMs.max), clocks);
    } else if (random.chance(slowShare)) {
      await process.clock.sleep(random.logarithmic(slowMs.min, slowMs.max));
    } else return;
    // Here it stops: for good, or for a while.
    await process.clock.sleep(1);
  }

  async #tried(who: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (this.#stop.signal.aborted && error === this.#stop.signal.reason) return;
      if (error instanceof HandlerFailure || error instanceof StoreError) return;
      if (error instanceof CommitUnknownError) return;
      if (error instanceof TransactionError && error.retryable) return;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#findings.push(`consumers: ${who} has ended with: ${text}`);
    }
  }
}

/** Some ask for all, others for what is written now and then. */
function wishOf(tables: readonly string[], random: SeededRandom): ConsumerWish {
  const first = random.pick(["now", "oldest"] as const);
  const kind = random.pick(["all", "rare", "rare", "one"] as const);
  const wish = { name: feedName, first, mixed: "only-logged" } as const;
  if (kind === "all" || tables.length === 0) return wish;
  const more = kind === "one" ? [defineTable(random.pick(tables))] : [];
  return { ...wish, tables: [marks, ...more] };
}

/** Counts what is done for the change; but not for its own counting, which is a change as well. */
async function doOnce(change: ChangedRows, feed: FeedContext): Promise<void> {
  if (change.rows.every(({ table }) => table === effects.name)) return;
  const id = change.transactionId;
  await feed.once(async (tx) => {
    const before = await tx.get(effects, id);
    tx.put(effects, { change: id, times: (before?.times ?? 0) + 1 });
  });
}
