/**
 * Turns at an item of a mixed table, among the transactions of one process. The log knows nothing
 * of them: a local commit goes past it, and a prepared one is compared with the item itself. So
 * those that have conflicted there run one after the other, and do not beat each other again.
 * Nobody holds two turns: nobody waits for another in a circle.
 */
import type { KeyHash } from "../../core/types.ts";
import { orAborted } from "../concurrency.ts";

export class ItemTurns {
  /** By item, what ends with the last one in the queue. */
  readonly #queues = new Map<KeyHash, Promise<void>>();

  /** @throws the signal's reason while it waits, and what the task throws. */
  async run<Result>(
    item: KeyHash,
    signal: AbortSignal,
    task: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#queues.get(item) ?? Promise.resolve();
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const queue = before.then(() => left);
    this.#queues.set(item, queue);
    try {
      await orAborted(before, signal);
      return await task();
    } finally {
      leave();
      if (this.#queues.get(item) === queue) this.#queues.delete(item);
    }
  }
}
