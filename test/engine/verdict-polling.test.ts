/** When the follower looks for verdicts: soon after they are there, and not often before. */
import { expect, test } from "vitest";
import type { ShardId } from "../../core/types.ts";
import { TailFollower } from "../../engine/log/tail-follower.ts";
import { VirtualClock } from "../embedded/fixtures/memory-stream.ts";
import { followerPorts, idOf, MemoryLog } from "./memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;
const { signal } = new AbortController();

class Verdicts {
  readonly #clock = new VirtualClock();
  readonly #log = new MemoryLog();
  readonly #follower = new TailFollower(
    { ...followerPorts(this.#log), clock: this.#clock },
    { shard, hashes: sampleHashes },
  );
  #count = 0;

  /**
   * Waits for one verdict after another, each put `delayMs` after it is awaited; means of the last
   * ten. `besideMs` into each wait another transaction looks at the log for reasons of its own.
   */
  async await(
    count: number,
    delayMs: number,
    besideMs?: number,
  ): Promise<{ lateMs: number; looks: number }> {
    let lateMs = 0;
    let looks = 0;
    for (let n = 0; n < count; n += 1) {
      await this.#follower.refresh();
      this.#count += 1;
      const number = this.#count;
      const readsBefore = this.#log.reads;
      const dueMs = this.#clock.monotonicMs() + delayMs;
      const verdict = this.#follower.awaitVerdict(idOf(number), signal);
      void this.#clock.sleep(delayMs).then(() => {
        this.#log.append(number);
      });
      if (besideMs !== undefined) {
        void this.#clock.sleep(besideMs).then(() => this.#follower.refresh());
      }
      await verdict;
      if (n < count - 10) continue;
      lateMs += (this.#clock.monotonicMs() - dueMs) / 10;
      looks += (this.#log.reads - readsBefore) / 10;
    }
    return { lateMs, looks };
  }
}

test.each([5, 80])("a verdict that takes %d ms is seen soon, after few looks", async (delayMs) => {
  const { lateMs, looks } = await new Verdicts().await(60, delayMs);
  expect(lateMs).toBeLessThan(Math.max(1.5, 0.15 * delayMs));
  expect(looks).toBeLessThan(4);
});

test("after a slow time the wait for the first look does not keep itself long", async () => {
  const verdicts = new Verdicts();
  await verdicts.await(60, 200);
  const { lateMs, looks } = await verdicts.await(60, 5);
  expect(lateMs).toBeLessThan(1.5);
  expect(looks).toBeLessThan(4);
});

test("nor does it where others look meanwhile, and in vain", async () => {
  const verdicts = new Verdicts();
  await verdicts.await(60, 200);
  const { lateMs, looks } = await verdicts.await(80, 20, 10);
  expect(lateMs).toBeLessThan(3);
  expect(looks).toBeLessThan(5);
});
