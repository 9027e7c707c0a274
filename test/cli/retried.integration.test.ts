/** What the command says of a commit that was run in vain before. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../sdk/index.ts";
import { tidemark } from "./fixtures/command-line.ts";
import {
  accounts,
  committed,
  startSmallDeployment,
  type SmallDeployment,
} from "./fixtures/small-deployment.ts";

let small: SmallDeployment;
beforeAll(async () => {
  small = await startSmallDeployment({ tablesOnly: true });
}, 60_000);
afterAll(async () => {
  await small.stop();
});

test("outcome says how often, and nothing of one that was not", async () => {
  await using other = createClient({ endpoint: small.stack.endpoint });
  let first = "";
  let runs = 0;
  const id = await committed(small.express, async (tx) => {
    runs += 1;
    const cents = (await tx.get(accounts, "ann"))?.cents ?? 0;
    if (runs === 1) {
      first = await committed(other, async (its) => {
        its.put(accounts, { id: "ann", cents: 1 });
      });
    }
    tx.put(accounts, { id: "ann", cents: cents + 1 });
  });
  expect(runs).toBe(2);
  const outcome = async (of: string, ...more: readonly string[]): Promise<string> =>
    (await tidemark(["outcome", of, "--endpoint", small.stack.endpoint, ...more])).out;
  expect(await outcome(id)).toMatch(
    /committed at .*, express, after 1 run in vain, block \d+\n {2}put /,
  );
  expect(await outcome(first)).toMatch(/committed at .*, express, block \d+\n/);
  const earlier = async (of: string): Promise<unknown> => {
    const { logs } = JSON.parse(await outcome(of, "--json")) as {
      readonly logs: readonly { readonly earlierAttempts: number }[];
    };
    return logs.map(({ earlierAttempts }) => earlierAttempts);
  };
  expect([await earlier(id), await earlier(first)]).toEqual([[1], [0]]);
});
