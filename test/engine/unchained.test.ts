/** Transactions with chaining switched off: each is certified and installed by itself. */
import { expect, test } from "vitest";
import { CommitUnknownError, defineTable, type EngineEvent } from "../../sdk/index.ts";
import { checkHistory, createTestCloud, testTable } from "../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});
const tables = [testTable("counters", { partitionKey: "id" })];

test.each([1, 2, 3])("are serializable under faults, seed %d", async (seed) => {
  const faults = { throttled: 0.03, "answer-lost": 0.03, "request-lost": 0.03 };
  const cloud = await createTestCloud({ seed, tables, faults, recordHistory: true });
  cloud.seed(counters, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
  const events: EngineEvent[] = [];
  const apps = ["left", "right"].map((name) =>
    cloud.startProcess(name, { chaining: false, onEvent: (event) => events.push(event) }),
  );
  const increment = async ({ client }: (typeof apps)[number], ids: readonly string[]) =>
    client
      .transact({ attemptsMax: 200, deadlineMs: 60_000, ack: "certified" }, async (tx) => {
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
        for (let i = 0; i < 6; i += 1) {
          each.push(await increment(app, i % 2 === 0 ? ["a", "b"] : ["b"]));
        }
        return each;
      }),
    ),
  );
  await cloud.settled();
  const committed = ends.flat().filter((end) => end === "committed").length;
  expect(committed).toBeGreaterThan(0);
  expect(cloud.rows(counters)).toContainEqual({ id: "b", n: committed });
  expect(checkHistory(cloud.history(), { strict: true }).findings).toEqual([]);
  expect(events.some(({ kind }) => kind === "joined")).toBe(false);
});

test("one that gives up before its verdict is unknown, and its outcome can be asked", async () => {
  const cloud = await createTestCloud({ tables });
  cloud.seed(counters, [{ id: "a", n: 0 }]);
  const { client, ...app } = cloud.startProcess("app", { chaining: false });
  app.nextCommitUnknown("committed");
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
  expect(outcome).toBe("committed");
  expect(cloud.rows(counters)).toEqual([{ id: "a", n: 1 }]);
});
