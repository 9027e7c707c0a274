/**
 * What a user of tidemark/testing sees: every fault that he can aim, by its effect on a transaction
 * of his own.
 */
import { GetItemCommand, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, test, vi } from "vitest";
import {
  CommitUnknownError,
  ConflictError,
  defineTable,
  InvalidRequestError,
  UnavailableError,
  type EngineEvent,
} from "../../sdk/index.ts";
import {
  checkHistory,
  createTestCloud,
  ServiceError,
  testTable,
  VirtualTimeoutError,
} from "../../testing/index.ts";
import { ann, cloudWithAnn, counters, failure, increment, valueOf } from "./counter-cloud.ts";

describe("a conflict that was ordered", () => {
  test("ends a transaction of one attempt in ConflictError, the row as it was", async () => {
    const cloud = await cloudWithAnn();
    cloud.conflictOn(counters, ann);
    const error = await failure(
      cloud.run(() => increment(cloud.createClient(), { attemptsMax: 1 })),
    );
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ detail: { table: "counters", key: { id: { S: "ann" } } } });
    expect(cloud.rows(counters)).toEqual([{ id: "ann", value: 1 }]);
  });

  test("is retried unseen by the caller, whose receipt and events tell of it", async () => {
    const cloud = await cloudWithAnn();
    const events: EngineEvent[] = [];
    const client = cloud.createClient("app", { onEvent: (event) => events.push(event) });
    cloud.conflictOn(counters, ann, { times: 3 });
    const { result, receipt } = await cloud.run(() => increment(client));
    expect(result).toBe(2);
    expect(receipt).toMatchObject({ attempts: 4, installed: true, replayed: false });
    expect(events.filter(({ kind }) => kind === "attempt-aborted")).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ kind: "committed" });
    expect(valueOf(cloud)).toBe(2);
  });

  test("waits for a transaction that it would make fail", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient();
    cloud.conflictOn(counters, ann);
    const blind = await cloud.run(() =>
      client.transact({ attemptsMax: 1 }, async (tx) => {
        tx.put(counters, ann, { value: 7 });
      }),
    );
    expect(blind.receipt.attempts).toBe(1);
    await cloud.run(() => client.snapshot((snapshot) => snapshot.get(counters, ann)));
    await cloud.run(() => client.transact((tx) => tx.get(counters, ann)));
    const { receipt } = await cloud.run(() => increment(client));
    expect(receipt.attempts).toBe(2);
  });

  test("strikes a snapshot transaction by its writes, and a search by its finds", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient();
    cloud.conflictOn(counters, ann);
    const written = await cloud.run(() =>
      client.transact({ isolation: "snapshot" }, async (tx) => {
        tx.put(counters, ann, { value: 7 });
      }),
    );
    expect(written.receipt.attempts).toBe(2);
    cloud.conflictOn(counters, ann);
    const scanned = await cloud.run(() =>
      client.transact(async (tx) => {
        let sum = 0;
        for await (const row of tx.scan(counters)) sum += row.value;
        tx.put(counters, { id: "sum" }, { value: sum });
      }),
    );
    expect(scanned.receipt.attempts).toBe(2);
    expect(cloud.rows(counters)).toEqual([
      { id: "ann", value: 7 },
      { id: "sum", value: 7 },
    ]);
  });

  test("is possible on a row that is not there", async () => {
    const cloud = await createTestCloud({ tables: [counters] });
    cloud.conflictOn(counters, "ann");
    const { receipt } = await cloud.run(() => increment(cloud.createClient()));
    expect(receipt.attempts).toBe(2);
    expect(cloud.rows(counters)).toEqual([{ id: "ann", value: 1 }]);
  });

  test("can be any program's doing, between reads and commit", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app");
    const other = cloud.createClient("other");
    app.beforeNextCommit(async () => {
      await increment(other);
    });
    const { result, receipt } = await cloud.run(() => increment(app.client));
    expect({ result, attempts: receipt.attempts }).toEqual({ result: 3, attempts: 2 });
  });
});

describe("services in trouble", () => {
  test("refused calls end in UnavailableError, with nothing committed, and pass", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient();
    await cloud.run(() => client.snapshot((snapshot) => snapshot.get(counters, ann)));
    cloud.refuseCalls("dynamodb", 60_000);
    const error = await failure(cloud.run(() => increment(client, { deadlineMs: 5_000 })));
    expect(error).toBeInstanceOf(UnavailableError);
    await cloud.advance(60_000);
    expect((await cloud.run(() => increment(client))).result).toBe(2);
  });

  test("a stream that refuses records for a while only delays a commit", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient("app", { commit: "stream" });
    cloud.refuseCalls("kinesis", 4_000);
    const { receipt } = await cloud.run(() => increment(client));
    expect(receipt.attempts).toBe(1);
    expect(receipt.phases.certifyMs).toBeGreaterThan(3_000);
  });

  test("slow calls show in the receipt's phases", async () => {
    const cloud = await createTestCloud({ tables: [counters], latency: () => 10 });
    const client = cloud.createClient();
    const fast = await cloud.run(() => increment(client));
    cloud.slowCalls("dynamodb", 60_000, { factor: 30 });
    const slow = await cloud.run(() => increment(client));
    expect(fast.receipt.phases.bodyMs).toBeLessThan(40);
    expect(slow.receipt.phases.bodyMs).toBeGreaterThanOrEqual(300);
  });

  test("while the oracle pauses nothing is decided; afterwards everything is", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient("app", { commit: "stream" });
    cloud.pauseOracle();
    const error = await failure(cloud.run(() => increment(client, { deadlineMs: 2_000 })));
    expect(error).toBeInstanceOf(CommitUnknownError);
    expect(valueOf(cloud)).toBe(1);
    cloud.resumeOracle();
    expect(await cloud.settled()).toBe(true);
    expect(valueOf(cloud)).toBe(2);
  });

  test("calm ends all of it", async () => {
    const cloud = await cloudWithAnn();
    cloud.refuseCalls("dynamodb", 3600_000);
    cloud.calm();
    expect((await cloud.run(() => increment(cloud.createClient()))).result).toBe(2);
  });
});

describe("processes", () => {
  test("one that crashes between decision and install leaves its commit to replay", async () => {
    const cloud = await cloudWithAnn();
    cloud.pauseReplay();
    const app = cloud.startProcess("app", {
      onEvent: ({ kind }) => {
        if (kind === "certified") app.crash();
      },
    });
    await cloud.run(async () => {
      void increment(app.client);
      await cloud.clock.sleep(10_000);
    });
    expect(app.state).toBe("dead");
    expect(valueOf(cloud)).toBe(1);
    // A reader through Tidemark sees it all the same, and finishes it itself.
    const reader = cloud.createClient("reader");
    const row = await cloud.run(() => reader.snapshot((snapshot) => snapshot.get(counters, ann)));
    expect(row).toEqual({ id: "ann", value: 2 });
    cloud.resumeReplay();
    await cloud.settled();
    expect(valueOf(cloud)).toBe(2);
  });

  test("one that crashes before its commit leaves nothing", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app");
    const ended = new Promise<void>((resolve) => {
      app.onCrash(resolve);
    });
    app.beforeNextCommit(async () => {
      app.crash();
    });
    const waiting = cloud.run(() => increment(app.client), { limitMs: 60_000 });
    await expect(waiting).rejects.toBeInstanceOf(VirtualTimeoutError);
    await ended;
    expect(valueOf(cloud)).toBe(1);
    const again = cloud.startProcess("app");
    expect((await cloud.run(() => increment(again.client))).result).toBe(2);
  });

  test("one that is frozen goes on where it stood", async () => {
    const cloud = await cloudWithAnn();
    const app = cloud.startProcess("app");
    const { result, receipt } = await cloud.run(async () => {
      const done = increment(app.client, { deadlineMs: 60_000 });
      app.freeze(20_000);
      await cloud.clock.sleep(10_000);
      expect(app.state).toBe("frozen");
      return done;
    });
    expect(result).toBe(2);
    expect(receipt.phases.bodyMs + receipt.phases.retryMs).toBeGreaterThan(15_000);
  });
});

describe("time", () => {
  test("passes by order, within run and outside of it", async () => {
    const cloud = await cloudWithAnn();
    const startMs = cloud.clock.nowMs();
    await cloud.advance(24 * 3600_000);
    await cloud.run(() => cloud.advance(500));
    expect(cloud.clock.nowMs() - startMs).toBe(24 * 3600_000 + 500);
  });

  test("lets an idempotency key be forgotten after a day", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient();
    const once = { idempotencyKey: "order-1" };
    await cloud.run(() => increment(client, once));
    expect((await cloud.run(() => increment(client, once))).receipt.replayed).toBe(true);
    await cloud.advance(25 * 3600_000);
    expect((await cloud.run(() => increment(client, once))).receipt.replayed).toBe(false);
  });

  test("passes although the test runner has faked the timers", async () => {
    vi.useFakeTimers();
    try {
      const cloud = await cloudWithAnn();
      expect((await cloud.run(() => increment(cloud.createClient()))).result).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("cannot pass for what nothing in the cloud will ever wake", async () => {
    const cloud = await cloudWithAnn();
    const never = new Promise<never>(() => undefined);
    await expect(cloud.run(() => never, { limitMs: 1_000 })).rejects.toBeInstanceOf(
      VirtualTimeoutError,
    );
    // And what comes after it is as good as before.
    expect((await cloud.run(() => increment(cloud.createClient()))).result).toBe(2);
  });

  test("is each cloud's own", async () => {
    const [first, second] = await Promise.all([cloudWithAnn(), cloudWithAnn()]);
    const both = await Promise.all([
      first.run(() => increment(first.createClient())),
      second.run(async () => {
        await second.clock.sleep(5_000);
        return increment(second.createClient());
      }),
    ]);
    expect(both[0].result).toBe(2);
    expect(both[1].result).toBe(2);
    expect(second.clock.nowMs() - first.clock.nowMs()).toBeGreaterThan(4_000);
  });
});

describe("tables", () => {
  test("rows of a program without Tidemark are adopted, and it reads commits", async () => {
    const cloud = await createTestCloud({ tables: [counters] });
    const { dynamodb } = cloud;
    await cloud.run(async () => {
      await dynamodb.send(
        new PutItemCommand({
          TableName: "counters",
          Item: { id: { S: "ann" }, value: { N: "4" } },
        }),
      );
      expect((await increment(cloud.createClient())).result).toBe(5);
      const key = { TableName: "counters", Key: { id: { S: "ann" } } };
      const { Item } = await dynamodb.send(new GetItemCommand(key));
      expect(Item).toMatchObject({ id: { S: "ann" }, value: { N: "5" } });
      expect(Item?.["_v"]).toBeDefined();
    });
    expect(cloud.rows(counters)).toEqual([{ id: "ann", value: 5 }]);
  });

  test("show no row that a transaction has deleted, though its tombstone is there", async () => {
    const cloud = await cloudWithAnn();
    await cloud.run(() =>
      cloud.createClient().transact(async (tx) => {
        tx.delete(counters, ann);
      }),
    );
    expect(cloud.rows(counters)).toEqual([]);
    const scan = await cloud.run(() =>
      cloud.dynamodb.send(new ScanCommand({ TableName: "counters" })),
    );
    expect(scan.Count).toBe(1);
  });

  test("have keys of the types asked for, and rows in the order of their keys", async () => {
    const seats = defineTable<{ sold: boolean }, { show: string; seat: number }>("seats", {
      key: ["show", "seat"],
    });
    const keys = { partitionKey: "show", sortKey: { name: "seat", type: "N" } } as const;
    const cloud = await createTestCloud({ tables: [testTable(seats, { ...keys, history: true })] });
    cloud.seed(
      seats,
      [10, 9, 1].map((seat) => ({ show: "a", seat, sold: false })),
    );
    cloud.conflictOn(seats, { show: "a", seat: 9 });
    const { receipt } = await cloud.run(() =>
      cloud.createClient().transact(async (tx) => {
        const row = await tx.get(seats, { show: "a", seat: 9 });
        if (row !== undefined) tx.put(seats, { ...row, sold: true });
      }),
    );
    expect(receipt.attempts).toBe(2);
    expect(cloud.rows(seats)).toEqual([
      { show: "a", seat: 1, sold: false },
      { show: "a", seat: 9, sold: true },
      { show: "a", seat: 10, sold: false },
    ]);
  });

  test("that cannot be created, or are not there, are refused by name", async () => {
    const keyless = defineTable<{ value: number }>("keyless");
    await expect(createTestCloud({ tables: [keyless] })).rejects.toThrow(
      /table keyless names no key/u,
    );
    const cloud = await cloudWithAnn();
    expect(() => cloud.rows(keyless)).toThrow(/no table keyless; it has counters/u);
    expect(() => {
      cloud.seed(counters, [{ value: 1 }]);
    }).toThrow(ServiceError);
    const short = defineTable<{ value: number }, { id: string }>("t", { key: "id" });
    await expect(createTestCloud({ tables: [short] })).rejects.toBeInstanceOf(InvalidRequestError);
  });
});

describe("easily forgotten", () => {
  test("`cloud.run`: a call outside of it says so instead of waiting for ever", async () => {
    const cloud = await cloudWithAnn();
    const client = cloud.createClient();
    const hint = /virtual time passes only within `cloud\.run`/u;
    await expect(client.transact((tx) => tx.get(counters, ann))).rejects.toThrow(hint);
    await expect(client.snapshot((s) => s.get(counters, ann))).rejects.toThrow(InvalidRequestError);
    // Begun outside, and waited for within: time passes.
    const begun = client.snapshot((s) => s.get(counters, ann));
    expect(await cloud.run(() => begun)).toMatchObject({ value: 1 });
  });

  test("that a key is a number: what is seeded or in conflict names the description", async () => {
    const seats = defineTable<{ free: number }, { row: number }>("seats", { key: "row" });
    const cloud = await createTestCloud({ tables: [seats] });
    const hint = 'testTable(table, { partitionKey: { name: "row", type: "N" } })';
    expect(() => {
      cloud.seed(seats, [{ row: 1, free: 2 }]);
    }).toThrow(hint);
    expect(() => {
      cloud.conflictOn(seats, { row: 1 });
    }).toThrow(hint);
  });
});

describe("a recorded history", () => {
  test("of a workload under faults is serializable by the checker", async () => {
    const cloud = await createTestCloud({
      seed: 5,
      tables: [counters],
      recordHistory: true,
      faults: {
        throttled: 0.02,
        "answer-lost": 0.02,
        "request-lost": 0.02,
        "crash-after-call": 0.001,
      },
    });
    cloud.seed(counters, [{ id: "ann", value: 1 }]);
    const worker = async (name: string): Promise<void> => {
      const process = cloud.startProcess(name);
      const work = async (): Promise<void> => {
        for (let i = 0; i < 20; i += 1) {
          await increment(process.client).catch(() => undefined);
        }
      };
      await Promise.race([work(), new Promise<void>((resolve) => process.onCrash(resolve))]);
    };
    await cloud.run(() => Promise.all(["a", "b", "c"].map(worker)));
    const report = checkHistory(cloud.history(), { strict: true });
    expect(report.findings).toEqual([]);
    expect(report.counts.committed).toBeGreaterThan(30);
    expect(cloud.rows(counters).map((row) => Object.keys(row).sort())).toEqual([["id", "value"]]);
  });

  test("is there only if it was asked for", async () => {
    const cloud = await cloudWithAnn();
    expect(() => cloud.history()).toThrow(/recordHistory/u);
  });
});
