/**
 * Processes that write the same items side by side, in the test cloud: each has its share, and no
 * call starves while others commit again and again.
 */
import { describe, expect, test } from "vitest";
import { defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable } from "../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});

const durationMs = 8_000;
const deadlineMs = 12_000;

type Contest = { readonly processes: number; readonly loops: number; readonly items: number };

/** How many calls of each process have committed, and how long the slowest call took. */
async function contest({ processes, loops, items }: Contest) {
  const cloud = await createTestCloud({ tables: [testTable("counters", { partitionKey: "id" })] });
  const shares = Array.from({ length: processes }, () => 0);
  let slowestMs = 0;
  await cloud.run(async () => {
    const isOver = (): boolean => cloud.clock.monotonicMs() >= beganMs + durationMs;
    const beganMs = cloud.clock.monotonicMs();
    await Promise.all(
      shares.map(async (_none, process) => {
        const client = cloud.createClient(`app ${process}`);
        const loop = async (first: number): Promise<void> => {
          for (let i = first; !isOver(); i += 1) {
            const id = `item ${i % items}`;
            const sinceMs = cloud.clock.monotonicMs();
            await client.transact({ deadlineMs, attemptsMax: 1_000 }, async (tx) => {
              const counter = await tx.get(counters, id);
              tx.put(counters, { id, n: (counter?.n ?? 0) + 1 });
            });
            shares[process] = (shares[process] ?? 0) + 1;
            slowestMs = Math.max(slowestMs, cloud.clock.monotonicMs() - sinceMs);
          }
        };
        await Promise.all(Array.from({ length: loops }, (_none2, i) => loop(i)));
        await client.close();
      }),
    );
  });
  const sum = shares.reduce((total, share) => total + share, 0);
  const counted = cloud.rows(counters).reduce((total, { n }) => total + n, 0);
  expect(counted).toBe(sum);
  return { sum, slowestMs, unfairness: Math.max(...shares) / Math.min(...shares) };
}

describe("processes at the same items have like shares, and none of their calls starves:", () => {
  test.each<Contest>([
    { processes: 2, loops: 20, items: 1 },
    { processes: 4, loops: 20, items: 1 },
    { processes: 8, loops: 1, items: 1 },
  ])("$processes with $loops loops at $items", { timeout: 600_000 }, async (given) => {
    const { slowestMs, unfairness } = await contest(given);
    expect(unfairness).toBeLessThan(2);
    expect(slowestMs).toBeLessThan(deadlineMs / 2);
  });
});
