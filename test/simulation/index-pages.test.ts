/**
 * What the pages of an index show, although it is behind, and moves while they are read
 * (docs/protocol.md §5, Indexes).
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Item } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { QuerySpec } from "../../engine/types.ts";
import { defineTable, type Client, type Snapshot, type Transaction } from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/test-cloud.ts";

type Job = { readonly id: string; readonly state: string; readonly touched: number };
const jobs = defineTable<Job, { readonly id: string }>("jobs", { key: "id" });
/** By then an index that is not kept back shows everything. */
const shownMs = 30_000;

async function newCloud(
  options: { readonly history?: boolean; readonly sorted?: boolean; readonly stale?: number } = {},
): Promise<TestCloud> {
  const { history = false, sorted = true, stale = 0 } = options;
  const byState = { name: "by-state", partitionKey: { name: "state", type: "S" } } as const;
  const sortKey = { name: "touched", type: "N" } as const;
  return createTestCloud({
    faults: { "stale-read": stale },
    tables: [
      {
        name: "jobs",
        partitionKey: { name: "id", type: "S" },
        indexes: [sorted ? { ...byState, sortKey } : byState],
        history,
      },
    ],
  });
}

const put = (db: Client, rows: readonly Job[]) =>
  db.transact((tx) => {
    for (const row of rows) tx.put(jobs, row);
    return Promise.resolve();
  });

type Pass = {
  /** Default: `open`. */
  readonly state?: string;
  readonly limit?: number;
  readonly descending?: boolean;
  /** With a condition on the sort key. */
  readonly conditioned?: boolean;
  readonly between?: (page: number) => Promise<void>;
  readonly rowsCame?: (rows: readonly Job[]) => void;
};

const passes = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  descending: fc.boolean(),
  conditioned: fc.boolean(),
});

/** All open jobs, or those of another state, page by page. */
async function openJobs(reader: Pick<Snapshot, "query">, pass: Pass = {}): Promise<Job[]> {
  const {
    state = "open",
    limit,
    descending = false,
    conditioned = false,
    between,
    rowsCame,
  } = pass;
  const where = { state, ...(conditioned ? { touched: { gte: 0 } } : {}) };
  const seen: Job[] = [];
  let cursor: string | undefined;
  for (let page = 1; page === 1 || cursor !== undefined; page += 1) {
    const open = reader.query(jobs, { index: "by-state", where, descending });
    const answer = await open.page({
      ...(limit === undefined ? {} : { limit }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...answer.rows);
    rowsCame?.(answer.rows);
    ({ cursor } = answer);
    if (cursor !== undefined) await between?.(page);
  }
  return seen;
}

/** As `openJobs` with a condition, for the engine. */
const fromZero: QuerySpec = {
  partitionKey: { S: "open" },
  sortKey: { operator: ">=", value: { N: "0" } },
  index: { name: "by-state", partitionKey: "state", sortKey: "touched" },
};

const textOf = ({ id }: Item): string => (id !== undefined && "S" in id ? id.S : "");
const ids = (rows: readonly Job[]): string[] => rows.map(({ id }) => id);
const open = (n: number, touched = n): Job => ({ id: `j${n}`, state: "open", touched });

describe("rows that move while the pages of a snapshot are read", () => {
  test.each([
    ["forward, once shown", false, { row: 1, to: 9 }, ["j1", "j2", "j3"]],
    // The read timestamp follows: nothing that was read has changed.
    ["forward, before its page", false, { row: 2, to: 9 }, ["j1", "j3", "j2"]],
    ["backward, once shown", true, { row: 3, to: 0 }, ["j3", "j2", "j1"]],
    // The index shows it nowhere any more: as if it had just come.
    ["behind, before its page", false, { row: 3, to: 0 }, ["j1", "j2"]],
  ])("%s", async (_, descending, { row, to }, expected) => {
    const cloud = await newCloud({ history: true });
    const db = cloud.createClient("app");
    await cloud.run(async () => {
      await put(db, [open(1), open(2), open(3)]);
      await cloud.clock.sleep(shownMs);
      const seen = await db.snapshot((s) =>
        openJobs(s, {
          limit: 1,
          descending,
          between: async (page) => {
            if (page > 1) return;
            await put(db, [open(row, to)]);
            await cloud.clock.sleep(5_000);
          },
        }),
      );
      expect(ids(seen)).toEqual(expected);
    });
  });

  test.each([true, false])("found early, in one transaction: %s: left out", async (isOne) => {
    const cloud = await newCloud({ history: true });
    const db = cloud.createClient("app");
    await cloud.run(async () => {
      await put(db, [open(1), open(2), open(3), open(4)]);
      await cloud.clock.sleep(shownMs);
      const engine = createEngine(
        cloud.deployment.clientPortsOf(cloud.world.startProcess("rest", { exact: true })),
      );
      const first = await engine.begin({ isolation: "snapshot" });
      await first.batchGet(
        [1, 2, 3, 4].map((n) => ({ table: "jobs", key: { id: { S: `j${n}` } } })),
      );
      await put(db, [open(4, 0)]);
      await cloud.clock.sleep(5_000);
      // Another request knows nothing of the pages before, and shows the same rows.
      const seen: unknown[] = [];
      let reader = first;
      for (let cursor: Item | undefined, page = 1; page === 1 || cursor !== undefined; page += 1) {
        const answer = await reader.queryPage("jobs", fromZero, { limit: 2, cursor });
        seen.push(...answer.rows.map((row) => textOf(row)));
        ({ cursor } = answer);
        if (!isOne) reader = await engine.resume(reader.state(), {});
      }
      // The index does not show it any more where it lies at the read timestamp.
      expect(seen).toEqual(["j1", "j2", "j3"]);
    });
  });

  test("two passes of one query, one within the other, are two", async () => {
    const cloud = await newCloud({ history: true });
    const db = cloud.createClient("app");
    await cloud.run(async () => {
      await put(db, [open(1), open(2), open(3), open(4)]);
      await cloud.clock.sleep(shownMs);
      const seen = await db.snapshot(async (s) => {
        await s.batchGet(jobs, ["j1", "j2", "j3", "j4"]);
        const inner: Job[][] = [];
        const outer = await openJobs(s, {
          limit: 2,
          conditioned: true,
          between: async (page) => {
            // Another row comes, and one that was shown moves behind what is still to come.
            if (page === 1) await put(db, [open(1, 9), open(5, 1)]);
            await cloud.clock.sleep(5_000);
            for (const limit of [1, 2]) {
              inner.push(await openJobs(s, { limit, conditioned: true }));
            }
          },
        });
        return { outer: ids(outer), inner: inner.map(ids) };
      });
      expect(seen.outer).toEqual(["j1", "j2", "j3", "j4"]);
      for (const rows of seen.inner) expect(rows).toEqual(["j2", "j3", "j4"]);
    });
  });
});

test.each([true, false])("the past is not asked of an index; history: %s", async (history) => {
  const cloud = await newCloud({ history });
  const db = cloud.createClient("app");
  await cloud.run(async () => {
    const { receipt } = await put(db, [open(1), open(2)]);
    await cloud.clock.sleep(shownMs);
    await db.transact((tx) => {
      tx.delete(jobs, { id: "j1" });
      return Promise.resolve();
    });
    const asOf = receipt.commitTimestamp ?? 0;
    for (const waitMs of [5_000, 45 * 60_000]) {
      await cloud.clock.sleep(waitMs);
      const past = db.snapshot({ asOf }, (s) => openJobs(s));
      await expect(past).rejects.toMatchObject({ code: "invalid-request", field: "index" });
    }
  });
});

test("a snapshot's pages show a row at most once, and as it stood", async () => {
  const moves = fc.array(
    fc.record({
      row: fc.integer({ min: 1, max: 6 }),
      touched: fc.integer({ min: 0, max: 7 }),
      state: fc.constantFrom("open", "open", "closed"),
      waitMs: fc.constantFrom(0, 300, 5_000),
    }),
    { maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(moves, passes, async (moved, how) => {
      const cloud = await newCloud({ history: true, stale: 0.3 });
      const db = cloud.createClient("app");
      await cloud.run(async () => {
        const before = [1, 2, 3, 4, 5, 6].map((n) => open(n));
        await put(db, before);
        await cloud.clock.sleep(shownMs);
        const reader = cloud.createClient("reader");
        await reader.snapshot((s) => s.get(jobs, "j1"));
        const later = [...moved];
        const seen = await reader.snapshot(async (s) => {
          // Fixes the read timestamp: all of them have been read.
          await s.batchGet(jobs, ids(before));
          return openJobs(s, {
            ...how,
            between: async () => {
              const next = later.shift();
              if (next === undefined) return;
              const { row, touched, state, waitMs } = next;
              await put(db, [{ ...open(row, touched), state }]);
              await cloud.clock.sleep(waitMs);
            },
          });
        });
        expect(ids(seen)).toEqual([...new Set(ids(seen))]);
        for (const row of seen) expect(before).toContainEqual(row);
        if (moved.length > 0) return;
        const wanted = how.descending ? ids(before).toReversed() : ids(before);
        expect(ids(seen)).toEqual(wanted);
      });
    }),
    { numRuns: 12, seed: 10 },
  );
});

describe.each([
  [undefined, false],
  [1, false],
  [2, false],
  [1, true],
  [2, true],
])("own writes, pages of %s, with a condition: %s", (limit, conditioned) => {
  const pass = { conditioned, ...(limit === undefined ? {} : { limit }) };
  const seenBy = async (
    between: (tx: Transaction, page: number) => void,
    body: (tx: Transaction, rows: readonly Job[]) => void = () => undefined,
  ): Promise<Job[]> => {
    const cloud = await newCloud();
    const db = cloud.createClient("app");
    return cloud.run(async () => {
      await put(db, [open(1), open(2), open(3), open(4)]);
      await cloud.clock.sleep(shownMs);
      const { result } = await db.transact((tx) =>
        openJobs(tx, {
          ...pass,
          between: (page) => {
            between(tx, page);
            return Promise.resolve();
          },
          rowsCame: (rows) => {
            body(tx, rows);
          },
        }),
      );
      return result;
    });
  };

  test("a body that moves each row on as it comes meets it once", async () => {
    const seen = await seenBy(
      () => undefined,
      (tx, rows) => {
        for (const row of rows) tx.put(jobs, { ...row, touched: row.touched + 10 });
      },
    );
    expect(ids(seen)).toEqual(["j1", "j2", "j3", "j4"]);
  });

  test("a row moved behind, one taken out, and a new one, come as they are by then", async () => {
    const seen = await seenBy((tx, page) => {
      if (page !== 1) return;
      tx.put(jobs, open(4, 0));
      tx.put(jobs, { ...open(3), state: "closed" });
      tx.put(jobs, open(5, 0));
    });
    const moved = ["j1", "j2", "j4", "j5"];
    expect(ids(seen).toSorted()).toEqual(limit === undefined ? ["j1", "j2", "j3", "j4"] : moved);
  });

  test("a row taken out before its place comes at the end if it is put back", async () => {
    const seen = await seenBy((tx, page) => {
      if (page === 1) tx.put(jobs, { ...open(3), state: "closed" });
      if (page === 3 || limit === 2) tx.put(jobs, open(3));
    });
    expect(ids(seen).toSorted()).toEqual(["j1", "j2", "j3", "j4"]);
  });
});

test("whatever a body writes between pages, it meets a row once, and misses none", async () => {
  const writes = fc.array(
    fc.record({
      row: fc.integer({ min: 1, max: 6 }),
      touched: fc.integer({ min: 0, max: 7 }),
      state: fc.constantFrom("open", "open", "closed"),
    }),
    { maxLength: 3 },
  );
  const cloud = await newCloud();
  const db = cloud.createClient("app");
  const before = [1, 2, 3, 4].map((n) => open(n));
  await cloud.run(async () => {
    await put(db, before);
    await cloud.clock.sleep(shownMs);
    await fc.assert(
      fc.asyncProperty(fc.array(writes, { maxLength: 4 }), passes, async (written, how) => {
        await db.transact(async (tx) => {
          const now = new Map(before.map((row) => [row.id, row]));
          const later = [...written];
          const write = (): void => {
            for (const { row, touched, state } of later.shift() ?? []) {
              const job = { ...open(row, touched), state };
              tx.put(jobs, job);
              now.set(job.id, job);
            }
          };
          write();
          const seen = await openJobs(tx, {
            ...how,
            between: () => {
              write();
              return Promise.resolve();
            },
            rowsCame: (rows) => {
              for (const row of rows) expect(row).toEqual(now.get(row.id));
            },
          });
          expect(ids(seen)).toEqual([...new Set(ids(seen))]);
          const all = [...now.values()].filter(({ state }) => state === "open");
          expect(ids(seen)).toEqual(expect.arrayContaining(ids(all)));
          tx.rollback();
        });
      }),
      { numRuns: 60, seed: 11 },
    );
  });
});

test("what one query has shown, and is written to meet another, the other shows too", async () => {
  const cloud = await newCloud();
  const db = cloud.createClient("app");
  await cloud.run(async () => {
    const closed = [3, 4].map((n) => ({ ...open(n), state: "closed" }));
    await put(db, [open(1), open(2), ...closed]);
    await cloud.clock.sleep(shownMs);
    const { result } = await db.transact(async (tx) => {
      await openJobs(tx, { limit: 1 });
      tx.put(jobs, { ...open(1), state: "closed" });
      return openJobs(tx, { state: "closed", limit: 1 });
    });
    expect(ids(result)).toEqual(["j3", "j4", "j1"]);
  });
});

describe("an own write of a row that the index lacks yet", () => {
  test.each([
    [undefined, false],
    [1, false],
    [2, false],
    [undefined, true],
    [1, true],
  ])("is shown once by pages of %s, on an index with a sort key: %s", async (limit, sorted) => {
    const cloud = await newCloud({ sorted, stale: 1 });
    const db = cloud.createClient("app");
    await cloud.run(async () => {
      await put(db, [open(1), open(2), open(3)]);
      await cloud.clock.sleep(shownMs);
      await put(db, [open(4)]);
      const { result } = await db.transact(async (tx) => {
        tx.put(jobs, open(4, 44));
        const seen = await openJobs(tx, limit === undefined ? {} : { limit });
        // As a body that rewrites what comes: it meets nothing twice.
        tx.put(jobs, open(1, 11));
        const again = await openJobs(tx, {
          ...(limit === undefined ? {} : { limit }),
          between: () => {
            for (const n of [1, 2, 3]) tx.put(jobs, open(n, 10 * n));
            return Promise.resolve();
          },
        });
        return [seen, again];
      });
      for (const seen of result) expect(ids(seen).toSorted()).toEqual(["j1", "j2", "j3", "j4"]);
      expect(result[0]?.find(({ id }) => id === "j4")?.touched).toBe(44);
    });
  });
});
