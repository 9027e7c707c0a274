/** Processes that commit express, beside each other and beside the oracle (docs/adr/0013). */
import { expect, test } from "vitest";
import { CommitUnknownError, defineTable, type EngineEvent } from "../../../sdk/index.ts";
import {
  checkHistory,
  createTestCloud,
  testTable,
  type TestCloud,
} from "../../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const plain = testTable("counters", { partitionKey: "id" });
type Commit = "auto" | "express" | "stream";

/** Each app increments so often; gives how the attempts ended that were not refused. */
async function incrementAll(
  cloud: TestCloud,
  commits: readonly Commit[],
  options: { readonly times: number; readonly chaining?: boolean; readonly events?: EngineEvent[] },
): Promise<readonly string[]> {
  cloud.seed(counters, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
  const apps = commits.map((commit, i) =>
    cloud.startProcess(`app-${i.toString()}`, {
      commit,
      chaining: options.chaining ?? true,
      onEvent: (event) => options.events?.push(event),
    }),
  );
  const increment = async ({ client }: (typeof apps)[number], ids: readonly string[]) =>
    client
      .transact({ attemptsMax: 300, deadlineMs: 60_000 }, async (tx) => {
        for (const id of ids) {
          const n = (await tx.get(counters, id))?.n ?? 0;
          tx.put(counters, { id, n: n + 1 });
        }
      })
      .then(
        () => "committed",
        async (error: unknown) => {
          if (!(error instanceof CommitUnknownError)) throw error;
          return client.outcome(error.transactionId);
        },
      );
  const ends = await cloud.run(() =>
    Promise.all(
      apps.map(async (app) => {
        const each: string[] = [];
        for (let i = 0; i < options.times; i += 1) {
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

const calm: readonly (readonly Commit[])[] = [
  ["express", "express"],
  ["express", "stream"],
  ["auto", "auto", "stream"],
];

test.each(calm)("count every increment of a hot row, %s %s %s", async (...commits) => {
  const cloud = await createTestCloud({ tables: [plain], recordHistory: true });
  const events: EngineEvent[] = [];
  const ends = await incrementAll(cloud, commits.filter(Boolean), { times: 8, events });
  expect(new Set(ends)).toEqual(new Set(["committed"]));
  expect(cloud.rows(counters)).toContainEqual({ id: "b", n: ends.length });
  expect(events.some((event) => event.kind === "certified" && event.via === "express")).toBe(true);
});

const faults = {
  ...{ throttled: 0.03, "answer-lost": 0.05, "request-lost": 0.03, "request-late": 0.02 },
  ...{ "service-error-after-effect": 0.02, "answer-slow": 0.02 },
};

test.each([1, 2, 3, 4])("are serializable under faults, seed %d", async (seed) => {
  const history = seed % 2 === 0;
  const tables = [{ ...plain, history }];
  const cloud = await createTestCloud({ seed, tables, faults, recordHistory: true });
  const commits = ["express", "express", seed > 2 ? "stream" : "auto"] as const;
  const ends = await incrementAll(cloud, commits, { times: 6, chaining: seed !== 1 });
  const committed = ends.filter((end) => end === "committed").length;
  expect(committed).toBeGreaterThan(0);
  expect(cloud.rows(counters)).toContainEqual({ id: "b", n: committed });
});

test.each(["committed", "aborted"] as const)(
  "an outcome that is not known can be asked for: %s",
  async (wanted) => {
    const cloud = await createTestCloud({ tables: [plain] });
    cloud.seed(counters, [{ id: "a", n: 0 }]);
    const { client, ...app } = cloud.startProcess("app", { commit: "express" });
    app.nextCommitUnknown(wanted);
    const outcome = await cloud.run(async () => {
      const error: unknown = await client
        .transact(async (tx) => {
          const row = await tx.get(counters, "a");
          tx.put(counters, { id: "a", n: (row?.n ?? 0) + 1 });
        })
        .catch((reason: unknown) => reason);
      if (!(error instanceof CommitUnknownError)) throw new Error("it was known", { cause: error });
      return client.outcome(error.transactionId);
    });
    await cloud.settled();
    expect(outcome).toBe(wanted);
    expect(cloud.rows(counters)).toEqual([{ id: "a", n: wanted === "committed" ? 1 : 0 }]);
  },
);
