/** What consumers have in common, under faults and when all is calm. */
import type { ClientEngine } from "../../engine/types.ts";
import type { AnyTable, Client, ConsumeOptions } from "../../sdk/index.ts";
import type { TestClientOptions } from "../../testing/test-cloud-options.ts";
import type { ConsumerJudge } from "./consumer-judge.ts";
import { marks } from "./consumer-tables.ts";

/** Of the feed: who consumes it always asks for the same. */
export type ConsumerWish = Pick<ConsumeOptions, "name"> & {
  readonly first: "now" | "oldest";
  readonly tables?: readonly AnyTable[];
  /** What is expected comes from the logs, too. */
  readonly mixed: "only-logged";
};

/** `feedHandler` ends so long before the time that it is told; core/feed-limits.ts. */
export const functionMarginMs = 5_000;

/** Tells the judge of what is given, below what the SDK makes of it. */
export function watchedBy(judge: ConsumerJudge): TestClientOptions {
  const wrapEngine = (engine: ClientEngine): ClientEngine => ({
    ...engine,
    consume: (wish, handle) =>
      engine.consume(wish, async (change, at) => {
        judge.given(change);
        await handle(change, at);
        judge.handled(change);
      }),
  });
  return { wrapEngine };
}

export async function putMark(client: Client, n: number): Promise<string | undefined> {
  const { receipt } = await client.transact((tx) => {
    tx.put(marks, { id: `mark-${n % 3}`, n });
    return Promise.resolve();
  });
  return receipt.transactionId;
}
