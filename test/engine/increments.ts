/** Processes that increment the same rows at the same time: every increment must count. */
import { expect } from "vitest";
import { CommitUnknownError, defineTable } from "../../sdk/index.ts";
import { checkHistory, testTable, type TestCloud, type TestProcess } from "../../testing/index.ts";

export const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
export const countersTable = testTable("counters", { partitionKey: "id" });

export type IncrementOptions = {
  readonly times: number;
  readonly ack?: "certified" | "installed";
};

/**
 * Each app increments row "b" so often, and every other time row "a" with it. The cloud records its
 * history, which is judged.
 * @returns how the attempts ended that were not refused.
 */
export async function incrementAll(
  cloud: TestCloud,
  apps: readonly TestProcess[],
  { times, ack }: IncrementOptions,
): Promise<readonly string[]> {
  cloud.seed(counters, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
  const options = { attemptsMax: 300, deadlineMs: 60_000, ...(ack === undefined ? {} : { ack }) };
  const increment = async ({ client }: TestProcess, ids: readonly string[]): Promise<string> => {
    try {
      await client.transact(options, async (tx) => {
        for (const id of ids) {
          const n = (await tx.get(counters, id))?.n ?? 0;
          tx.put(counters, { id, n: n + 1 });
        }
      });
      return "committed";
    } catch (error) {
      if (!(error instanceof CommitUnknownError)) throw error;
      return client.outcome(error.transactionId);
    }
  };
  const ends = await cloud.run(() =>
    Promise.all(
      apps.map(async (app) => {
        const each: string[] = [];
        for (let i = 0; i < times; i += 1) {
          each.push(await increment(app, i % 2 === 0 ? ["a", "b"] : ["b"]));
        }
        return each;
      }),
    ),
  );
  await cloud.settled();
  expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
  return ends.flat();
}
