/**
 * Consumers once all is calm: what is left is handled within a bound, also where somebody has died
 * at the feed with a clock far ahead, and where invocations are short and what is asked for is
 * rare.
 */
import type { TransactionId } from "../../core/types.ts";
import { feedHandler, type ChangeHandler, type Client } from "../../sdk/index.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import { clientCommitOf, type SeedPlan } from "../seed-plan.ts";
import type { ConsumerJudge } from "./consumer-judge.ts";
import { noise } from "./consumer-tables.ts";
import { functionMarginMs, putMark, watchedBy, type ConsumerWish } from "./consumer-parts.ts";

/**
 * Whoever holds it at the end may be asleep, with a clock that is off by five minutes: that long,
 * and for some 30 s that are his, all others wait.
 */
const progressMsMax = 8 * 60_000;
const lookMs = 1_000;
const invocationMs = 60_000;
/** Clocks that no hold is believed of: hours ahead, or months. */
const wildMs = { min: 2 * 3600_000, max: 100 * 86_400_000 };
const wildShare = 0.5;
const wildLifeMs = 20_000;
/** Where payloads lie in the log a page of it holds three of these. */
const noiseShare = 0.4;
const noiseLength = 300_000;
const noiseTimes = 120;
const shortMs = { first: 120, more: 1.02 };
/**
 * With one shard it takes 3 of them, with four 9. One that begins where it has begun before comes
 * through at once when it has twice the time, in the 35th.
 */
const shortInvocationsMax = 28;

type CalmParts = {
  readonly cloud: TestCloud;
  readonly plan: SeedPlan;
  readonly wish: ConsumerWish;
  readonly judge: ConsumerJudge;
  readonly random: SeededRandom;
  readonly handler: ChangeHandler;
};

export class CalmConsumers {
  readonly #parts: CalmParts;
  readonly #clients: readonly Client[];
  readonly #findings: string[] = [];
  #marks = 0;

  constructor(parts: CalmParts) {
    this.#parts = parts;
    const { cloud, plan, judge } = parts;
    this.#clients = [1, 2].map((nth) =>
      cloud.createClient(`calm consumer ${nth}`, {
        commit: clientCommitOf(plan, nth),
        ...watchedBy(judge),
      }),
    );
  }

  /** @returns what has not come in time. */
  async run(): Promise<readonly string[]> {
    const { random, plan, wish } = this.#parts;
    await this.#caughtUp("at the end");
    if (random.chance(wildShare)) {
      await this.#dieWithWildClock();
      await this.#caughtUp("behind one who died with a clock far ahead");
    }
    // Elsewhere a page holds whatever there is.
    const isRare = wish.tables !== undefined && plan.commit === "express";
    if (isRare && random.chance(noiseShare)) await this.#comeThroughNoise();
    for (const client of this.#clients) await client.close();
    return this.#findings;
  }

  async #caughtUp(when: string): Promise<void> {
    const { clock } = this.#parts.cloud;
    const { judge } = this.#parts;
    let id = await this.#newMark();
    const untilMs = clock.nowMs() + progressMsMax;
    for (let n = 0; !judge.isHandled(id); n += 1) {
      if (clock.nowMs() >= untilMs) {
        this.#findings.push(`liveness: consumers do not catch up, ${when}`);
        return;
      }
      const { begunAnew } = judge;
      await this.#invoke(n, invocationMs);
      // It may have begun behind the mark.
      if (judge.begunAnew > begunAnew) id = await this.#newMark();
      await clock.sleep(lookMs);
    }
  }

  /** All that comes before it is then handled as well. */
  async #newMark(): Promise<TransactionId> {
    const [client] = this.#clients;
    this.#marks += 1;
    const id = client && (await putMark(client, this.#marks));
    if (id === undefined) throw new Error("a mark is a commit");
    return id as TransactionId;
  }

  async #invoke(n: number, limitMs: number): Promise<void> {
    const { wish, handler, cloud } = this.#parts;
    const client = this.#clients[n % this.#clients.length];
    if (client === undefined) return;
    try {
      const invoke = feedHandler(client, wish, handler, cloud.clock);
      await invoke({}, { getRemainingTimeInMillis: () => functionMarginMs + limitMs });
    } catch (error) {
      this.#findings.push(`consumers: a calm one has ended with: ${String(error)}`);
    }
  }

  /** It has nothing done: what it might be given comes again. */
  async #dieWithWildClock(): Promise<void> {
    const { cloud, wish, random } = this.#parts;
    const process = cloud.startProcess("wild consumer", {
      clockOffsetMs: random.logarithmic(wildMs.min, wildMs.max),
    });
    const died = new Promise<void>((resolve) => {
      process.onCrash(resolve);
    });
    await this.#newMark();
    void process.client
      .consume(wish, async () => {
        process.crash();
        await died;
      })
      .catch((error: unknown) => {
        this.#findings.push(`consumers: the wild one has ended with: ${String(error)}`);
      });
    cloud.world.time.after(wildLifeMs, () => {
      process.crash();
    });
    await died;
  }

  async #comeThroughNoise(): Promise<void> {
    const [client] = this.#clients;
    for (let n = 0; n < noiseTimes; n += 1) {
      await client?.transact((tx) => {
        tx.put(noise, { id: "noise", n, text: "x".repeat(noiseLength) });
        return Promise.resolve();
      });
    }
    const id = await this.#newMark();
    let limitMs = shortMs.first;
    for (let n = 0; n < shortInvocationsMax; n += 1) {
      // Of one process, which knows the way.
      await this.#invoke(0, Math.round(limitMs));
      if (this.#parts.judge.isHandled(id)) return;
      limitMs *= shortMs.more;
    }
    this.#findings.push(
      `liveness: ${shortInvocationsMax} short invocations have not come through the noise`,
    );
    await this.#caughtUp("behind what is not asked for");
  }
}
