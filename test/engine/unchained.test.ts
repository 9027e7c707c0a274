/** Transactions with chaining switched off: each is certified and installed by itself. */
import { expect, test } from "vitest";
import { CommitUnknownError, type EngineEvent } from "../../sdk/index.ts";
import { createTestCloud } from "../../testing/index.ts";
import { counters, countersTable, incrementAll } from "./increments.ts";

const tables = [countersTable];

test.each([1, 2, 3])("are serializable under faults, seed %d", async (seed) => {
  const faults = { throttled: 0.03, "answer-lost": 0.03, "request-lost": 0.03 };
  const cloud = await createTestCloud({ seed, tables, faults, recordHistory: true });
  const events: EngineEvent[] = [];
  const apps = ["left", "right"].map((name) =>
    cloud.startProcess(name, { chaining: false, onEvent: (event) => events.push(event) }),
  );
  const ends = await incrementAll(cloud, apps, { times: 6, ack: "certified" });
  const committed = ends.filter((end) => end === "committed").length;
  expect(committed).toBeGreaterThan(0);
  expect(cloud.rows(counters)).toContainEqual({ id: "b", n: committed });
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
