/** Processes that commit express, beside each other and beside the oracle (docs/adr/0013). */
import { expect, test } from "vitest";
import { CommitUnknownError, type EngineEvent } from "../../../sdk/index.ts";
import {
  createTestCloud,
  type TestClientOptions,
  type TestCloud,
  type TestProcess,
} from "../../../testing/index.ts";
import { counters, countersTable, incrementAll } from "../increments.ts";

type Commit = "auto" | "express" | "stream";

function startApps(
  cloud: TestCloud,
  commits: readonly Commit[],
  options: Pick<TestClientOptions, "chaining" | "onEvent"> = {},
): readonly TestProcess[] {
  return commits.map((commit, i) =>
    cloud.startProcess(`app-${i.toString()}`, { commit, ...options }),
  );
}

const calm: readonly (readonly Commit[])[] = [
  ["express", "express"],
  ["express", "stream"],
  ["auto", "auto", "stream"],
];

test.each(calm)("count every increment of a hot row, %s %s %s", async (...commits) => {
  const cloud = await createTestCloud({ tables: [countersTable], recordHistory: true });
  const events: EngineEvent[] = [];
  const apps = startApps(cloud, commits.filter(Boolean), {
    onEvent: (event) => events.push(event),
  });
  const ends = await incrementAll(cloud, apps, { times: 8 });
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
  const tables = [{ ...countersTable, history }];
  const cloud = await createTestCloud({ seed, tables, faults, recordHistory: true });
  const commits = ["express", "express", seed > 2 ? "stream" : "auto"] as const;
  const apps = startApps(cloud, commits, { chaining: seed !== 1 });
  const ends = await incrementAll(cloud, apps, { times: 6 });
  const committed = ends.filter((end) => end === "committed").length;
  expect(committed).toBeGreaterThan(0);
  expect(cloud.rows(counters)).toContainEqual({ id: "b", n: committed });
});

test.each([1_000, 2_000, 4_000, 20_000])(
  "what was given up after %d ms is put no more, also by who waited to put it again",
  async (deadlineMs) => {
    const cloud = await createTestCloud({ tables: [countersTable] });
    const { client, ...app } = cloud.startProcess("app", { commit: "express" });
    app.nextCommitUnknown("aborted");
    await cloud.run(async () => {
      const error: unknown = await client
        .transact({ deadlineMs }, (tx) => {
          tx.put(counters, { id: "a", n: 1 });
          return Promise.resolve();
        })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(CommitUnknownError);
      await cloud.clock.sleep(10_000);
    });
    await cloud.settled();
    expect(cloud.rows(counters)).toEqual([]);
  },
);

test.each(["committed", "aborted"] as const)(
  "an outcome that is not known can be asked for: %s",
  async (wanted) => {
    const cloud = await createTestCloud({ tables: [countersTable] });
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
