/**
 * Concurrent transactions of one process on the same items, in the test cloud: what they share, and
 * what they must not.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { ConflictError, defineTable, type Receipt } from "../../sdk/index.ts";
import {
  createTestCloud,
  type TestClientOptions,
  type TestCloud,
  testTable,
} from "../../testing/index.ts";

const counters = defineTable<{ readonly n: number }, { readonly id: string }>("counters", {
  key: "id",
});

let cloud: TestCloud;

beforeEach(async () => {
  cloud = await createTestCloud({ tables: [testTable("counters", { partitionKey: "id" })] });
  cloud.seed(counters, [
    { id: "a", n: 0 },
    { id: "b", n: 0 },
  ]);
});

function clientWithEvents(name: string, options: TestClientOptions = {}) {
  const sent: string[] = [];
  /** Of each that was not sent itself: whose id it shares, and its place there. */
  const joined: string[] = [];
  const client = cloud.createClient(name, {
    ...options,
    onEvent: (event) => {
      if (event.kind === "sent" && !event.resend) sent.push(event.transactionId);
      if (event.kind !== "joined") return;
      // A process that dies after the request has left must have been told before.
      const isLate = sent.includes(event.transactionId);
      joined.push(isLate ? "late" : `${event.transactionId} ${event.place}`);
    },
  });
  const increment = async (id: string, options = {}): Promise<Receipt> => {
    const { receipt } = await client.transact({ attemptsMax: 100, ...options }, async (tx) => {
      const counter = await tx.get(counters, id);
      tx.put(counters, { id, n: (counter?.n ?? 0) + 1 });
    });
    return receipt;
  };
  return { client, sent, joined, increment };
}

const times = <T>(count: number, run: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => run(i)));

describe("increments of one item side by side", () => {
  test("are all counted, and share requests", async () => {
    const { increment, sent } = clientWithEvents("app");
    const receipts = await cloud.run(async () => {
      const rounds = await times(40, async () => [await increment("a"), await increment("a")]);
      return rounds.flat();
    });
    expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 80 });
    expect(sent.length).toBeLessThan(20);
    expect(new Set(receipts.map(({ transactionId }) => transactionId))).toEqual(new Set(sent));
  });

  test("stand one after another: those of one commit have the places from 0 on", async () => {
    const { increment, sent, joined } = clientWithEvents("app");
    const receipts = await cloud.run(() => times(30, () => increment("a")));
    const behind = receipts.filter(({ place }) => place > 0);
    expect(behind.length).toBeGreaterThan(0);
    expect(new Set(joined)).toEqual(
      new Set(behind.map(({ transactionId, place }) => `${transactionId ?? ""} ${place}`)),
    );
    for (const id of sent) {
      const places = receipts.flatMap((each) => (each.transactionId === id ? [each.place] : []));
      expect(places.toSorted((a, b) => a - b)).toEqual(places.map((_, i) => i));
    }
  });

  test("go one by one where chaining is switched off", async () => {
    const { increment, sent } = clientWithEvents("app", { chaining: false });
    const receipts = await cloud.run(() => times(6, () => increment("a")));
    expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 6 });
    expect(new Set(receipts.map(({ transactionId }) => transactionId)).size).toBe(6);
    expect(sent.length).toBeGreaterThanOrEqual(6);
  });

  test("of two processes are all counted", async () => {
    const one = clientWithEvents("one");
    const two = clientWithEvents("two");
    await cloud.run(() =>
      times(40, (i) => (i % 2 === 0 ? one.increment("a") : two.increment("a"))),
    );
    expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 40 });
  });

  test.each([
    ["stream", 1],
    ["express", 2],
  ] as const)("pay together what one commit costs by %s", async (commit, unitsEach) => {
    const { increment, sent } = clientWithEvents("app", { commit });
    const receipts = await cloud.run(() => times(40, () => increment("a")));
    const written = receipts.reduce((sum, { consumed }) => sum + consumed.writeUnits, 0);
    // One install each, and by express one block.
    expect(written).toBeCloseTo(unitsEach * sent.length);
    for (const { consumed } of receipts) expect(consumed.calls).toBe(Math.trunc(consumed.calls));
  });
});

describe("what was read from an undecided commit", () => {
  /** An increment is on its way when `second` begins. */
  async function overlapping<T>(
    app: ReturnType<typeof clientWithEvents>,
    second: () => Promise<T>,
  ) {
    const running = app.increment("a");
    while (app.sent.length === 0) await cloud.world.time.sleep(1);
    const [result, first] = await Promise.all([second(), running]);
    return { result, first };
  }

  test("does not let a body's error out that rests on what was never committed", async () => {
    const app = clientWithEvents("app");
    const foreign = clientWithEvents("foreign");
    const seen: number[] = [];
    await cloud.run(async () => {
      // Both processes write "a" at the same time; whichever comes second runs again.
      const competing = times(5, () => foreign.increment("a"));
      await times(5, () =>
        app.client.transact({ attemptsMax: 100 }, async (tx) => {
          const a = await tx.get(counters, "a");
          const b = await tx.get(counters, "b");
          tx.put(counters, { id: "a", n: (a?.n ?? 0) + 1 });
          tx.put(counters, { id: "b", n: (b?.n ?? 0) + 1 });
        }),
      );
      await competing;
    });
    await cloud.run(async () => {
      const stop = new Error("seen");
      await times(10, async (i) => {
        if (i % 2 === 0) {
          await foreign.increment("a");
          return;
        }
        await app.increment("a");
        await app.client
          .transact(async (tx) => {
            seen.push((await tx.get(counters, "a"))?.n ?? -1);
            throw stop;
          })
          .catch((error: unknown) => {
            expect(error).toBe(stop);
          });
      });
    });
    expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 20 });
    expect(cloud.rows(counters)).toContainEqual({ id: "b", n: 5 });
    expect(seen.length).toBeGreaterThanOrEqual(5);
  });

  test("is given to nobody who only reads before it is committed", async () => {
    const app = clientWithEvents("app");
    const { result: answer, first } = await cloud.run(() =>
      overlapping(app, async () => {
        const read = await app.client.transact((tx) => tx.get(counters, "a"));
        // Whatever another process reads afterwards is no older: it finds the verdict in the log.
        const other = cloud.createClient("other");
        return { ...read, committed: await other.snapshot((s) => s.get(counters, "a")) };
      }),
    );
    const { result, receipt, committed } = answer;
    expect(result?.n).toBe(1);
    expect(receipt.transactionId).toBeUndefined();
    expect(receipt.readTimestamp).toBeGreaterThanOrEqual(first.commitTimestamp ?? Infinity);
    expect(committed?.n).toBe(1);
  });

  test("is not what snapshots see", async () => {
    const app = clientWithEvents("app");
    const answer = await cloud.run(() =>
      overlapping(app, () =>
        app.client.snapshot(async (s) => {
          const counter = await s.get(counters, "a");
          return { n: counter?.n, at: s.readTimestamp };
        }),
      ),
    );
    // By then the log may have it: then it is what was committed.
    const { n, at } = answer.result;
    expect(n).toBe(at >= (answer.first.commitTimestamp ?? 0) ? 1 : 0);
  });

  test("conflicts as ever where the earlier read came before it", async () => {
    const { client, increment } = clientWithEvents("app");
    await cloud.run(async () => {
      const torn = client.transact({ attemptsMax: 1 }, async (tx) => {
        const before = await tx.get(counters, "a");
        await increment("a");
        tx.put(counters, { id: "b", n: before?.n ?? -1 });
      });
      await expect(torn).rejects.toBeInstanceOf(ConflictError);
    });
  });
});

test("two calls with one idempotency key at the same time do the work once", async () => {
  const { increment } = clientWithEvents("app");
  const receipts = await cloud.run(() => times(4, () => increment("a", { idempotencyKey: "k" })));
  expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 1 });
  expect(receipts.filter(({ replayed }) => !replayed)).toHaveLength(1);
});

test("a repeat under an idempotency key names the commit as the log knows it", async () => {
  const { client, increment } = clientWithEvents("app");
  const once = (i: number): Promise<Receipt> => increment("a", { idempotencyKey: `k${i}` });
  await cloud.run(async () => {
    const receipts = await times(20, once);
    expect(receipts.some(({ place }) => place > 0)).toBe(true);
    for (const [i, { transactionId, commitTimestamp, place }] of receipts.entries()) {
      const repeated = await once(i);
      expect(repeated).toMatchObject({ replayed: true, transactionId, commitTimestamp, place });
      if (transactionId === undefined) throw new Error("a commit has an id");
      expect(await client.outcome(transactionId)).toBe("committed");
    }
  });
  expect(cloud.rows(counters)).toContainEqual({ id: "a", n: 20 });
});

test("a member that gives up leaves the others going, and its outcome can be settled", async () => {
  const { client, increment } = clientWithEvents("app");
  await cloud.run(async () => {
    const results = await Promise.allSettled([
      increment("a"),
      ...Array.from({ length: 4 }, (_, i) => increment("a", { deadlineMs: 60 + i * 40 })),
      increment("a"),
    ]);
    let committed = 0;
    for (const result of results) {
      if (result.status === "fulfilled") committed += 1;
      else if ("transactionId" in (result.reason as object)) {
        const { transactionId } = result.reason as { transactionId: Receipt["transactionId"] };
        if (transactionId === undefined) throw new Error("an unknown outcome names its id");
        if ((await client.outcome(transactionId)) === "committed") committed += 1;
      }
    }
    const stored = await client.snapshot((s) => s.get(counters, "a"));
    expect(stored?.n).toBe(committed);
    expect(results[0].status).toBe("fulfilled");
  });
});

describe("a page that is under way while a read beside it is chained", () => {
  type Part = { readonly n: number };
  const pairs = defineTable<Part, { readonly pair: string; readonly part: string }, "pair">(
    "pairs",
    {
      key: ["pair", "part"],
    },
  );
  const one = { pair: "p", part: "one" };
  const two = { pair: "p", part: "two" };

  /**
   * The page waits for one increment; another is sent so much later, and read before the first has
   * its verdict.
   */
  async function chainedTwice(apartMs: number): Promise<unknown> {
    const both = await createTestCloud({
      tables: [
        testTable("pairs", { partitionKey: "pair", sortKey: "part" }),
        testTable("counters", { partitionKey: "id" }),
      ],
    });
    let sent = 0;
    const app = both.createClient("app", {
      commit: "stream",
      onEvent: ({ kind }) => {
        if (kind === "sent") sent += 1;
      },
    });
    const increment = (id: string): Promise<unknown> =>
      app.transact(async (tx) => {
        tx.put(counters, { id, n: ((await tx.get(counters, id))?.n ?? 0) + 1 });
      });
    const areSent = async (count: number): Promise<void> => {
      while (sent < count) await both.world.time.sleep(0.5);
    };
    return both.run(async () => {
      const first = increment("a");
      await areSent(1);
      let second: Promise<unknown> | undefined;
      const { result } = await app.transact(async (tx) => {
        const page = tx.query(pairs, { where: { pair: "p" } }).all();
        const a = await tx.get(counters, "a");
        await both.world.time.sleep(apartMs);
        second ??= increment("b");
        await areSent(2);
        const b = await tx.get(counters, "b");
        return [a?.n, b?.n, ...(await page)];
      });
      await Promise.all([first, second]);
      return result;
    });
  }

  test("waits as well for what is chained while it waits for another", async () => {
    for (let apartMs = 0; apartMs < 120; apartMs += 3) {
      expect(await chainedTwice(apartMs), `${apartMs} ms apart`).toEqual([1, 1]);
    }
  });

  test.each(["query", "scan"] as const)("shows one state with it: %s", async (how) => {
    const both = await createTestCloud({
      tables: [testTable("pairs", { partitionKey: "pair", sortKey: "part" })],
    });
    both.seed(pairs, [
      { ...one, n: 0 },
      { ...two, n: 0 },
    ]);
    let isSent = false;
    const app = both.createClient("app", {
      onEvent: ({ kind }) => {
        isSent ||= kind === "sent";
      },
    });
    const torn: string[] = [];
    await both.run(async () => {
      const writing = app.transact(async (tx) => {
        const n = ((await tx.get(pairs, one))?.n ?? 0) + 1;
        for (const part of [one, two]) tx.put(pairs, { ...part, n });
      });
      while (!isSent) await both.world.time.sleep(0.5);
      await app.transact(async (tx) => {
        const rows = how === "query" ? tx.query(pairs, { where: { pair: "p" } }) : tx.scan(pairs);
        const [all, row] = await Promise.all([rows.all(), tx.get(pairs, one)]);
        const seen = [...all, row].map((each) => each?.n);
        if (new Set(seen).size > 1) torn.push(seen.join(" "));
      });
      await writing;
    });
    expect(torn).toEqual([]);
  });
});
