/**
 * Who moves the feed while consumers are at it, wait for it, sleep or have died: back to where it
 * has been, and from there forward again, to now, and to the oldest change; and now and then he
 * removes it. Each may be lost on its way, and take place all the same.
 */
import { InvalidRequestError } from "../../core/errors.ts";
import { createFeedMover } from "../../engine/feed-mover.ts";
import type { MovesFeeds } from "../../engine/changes/types.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import type { TestCloud } from "../../testing/test-cloud.ts";
import type { ConsumerJudge } from "./consumer-judge.ts";

const restMs = { min: 500, max: 30_000 };
const replacedMs = { min: 50, max: 3_000 };
const againShare = 0.3;

export type FeedOperatorParts = {
  readonly cloud: TestCloud;
  readonly name: string;
  readonly judge: ConsumerJudge;
  readonly random: SeededRandom;
  /** Takes what faults may bring about for granted. */
  readonly tried: (act: () => Promise<void>) => Promise<void>;
};

export class FeedOperator {
  readonly #parts: FeedOperatorParts;
  #machines = 0;
  #isOver = false;

  constructor(parts: FeedOperatorParts) {
    this.#parts = parts;
  }

  /** At a machine, and at the next one where that dies. */
  start(): void {
    const { cloud, random, tried } = this.#parts;
    const { world, deployment } = cloud;
    this.#machines += 1;
    const process = world.startProcess(`feed operator ${this.#machines.toString()}`);
    process.onCrash(() => {
      world.time.after(random.between(replacedMs.min, replacedMs.max), () => {
        if (!this.#isOver) this.start();
      });
    });
    const mover = createFeedMover(deployment.clientPortsOf(process));
    void (async () => {
      while (!this.#isOver) {
        await process.clock.sleep(random.logarithmic(restMs.min, restMs.max));
        await tried(() => this.#act(mover.feeds));
      }
      await mover.close();
    })();
  }

  stop(): void {
    this.#isOver = true;
  }

  async #act(feeds: MovesFeeds): Promise<void> {
    const { name, judge, random } = this.#parts;
    const kept = judge.keptPositions;
    if (kept.length === 0) return;
    const wish = random.pick(["kept", "kept", "kept", "now", "oldest", "remove"] as const);
    const again = wish === "remove" || random.chance(againShare);
    const over = judge.moveBegins({ again });
    try {
      if (wish === "remove") await feeds.remove(name);
      else await feeds.move(name, { to: wish === "kept" ? random.pick(kept) : wish, again });
    } catch (error) {
      // It was removed just before. Of anything else it may yet take place.
      const isRemoved = error instanceof InvalidRequestError && error.field === "name";
      if (!isRemoved) throw error;
    }
    over();
  }
}
