/**
 * A table that is in use is moved from transactions alone to native operations beside them, and
 * back: by the real mover, in virtual time, with clients that learn of it late.
 */
import {
  ConditionalCheckFailedException,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { CommitUnknownError, defineTable } from "../../sdk/index.ts";
import { createTestCloud, testTable, type TestCloud } from "../../testing/index.ts";
import { sweep } from "../harness/sweep.ts";
import { registeredState, startMover } from "./table-mover.ts";

const minute = 60_000;
type Row = { readonly n: number };
const items = defineTable<Row, { readonly id: string }>("items", { key: "id" });
const others = defineTable<Row, { readonly id: string }>("others", { key: "id" });
const tables = ["items", "others"].map((name) => testTable(name, { partitionKey: "id" }));
const lateNativeMs = limits.signatureMsMax + limits.clientClockErrorMsMax;
const limitMs = 6 * 60 * minute;

const ways = [
  ["by the stream", { commit: "stream" }, limits.deadlineMsDefault],
  ["express", { commit: "express" }, limits.deadlineMsDefault],
  // Replay is not woken there: it comes by a schedule, or in turns of clients.
  ["to tables alone", { tablesOnly: true }, minute],
] as const;

/** The states that the whole way passes, and nothing else that it has said. */
const statesOf = (said: readonly string[]) =>
  said.filter((text) => text !== "settled" && !text.startsWith("swept"));

describe.each(ways)("a deployment whose clients commit %s", (_, options, deadlineMs) => {
  test("pauses commits to a table on its way, and no other, for a moment", async () => {
    const cloud = await createTestCloud({ tables, ...options });
    const client = cloud.createClient("app");
    const pauses = { items: 0, others: 0 };
    let isOver = false;
    let commits = 0;
    const committing = async (table: typeof items, of: keyof typeof pauses): Promise<void> => {
      while (!isOver) {
        const beganMs = cloud.world.time.nowMs;
        await client.transact({ deadlineMs }, async (tx) => {
          const row = await tx.get(table, "a");
          tx.put(table, { id: "a", n: (row?.n ?? 0) + 1 });
        });
        pauses[of] = Math.max(pauses[of], cloud.world.time.nowMs - beganMs);
        commits += of === "items" ? 1 : 0;
        await cloud.clock.sleep(2_000);
      }
    };
    const mover = await cloud.run(
      async () => {
        const committed = [committing(items, "items"), committing(others, "others")];
        await cloud.clock.sleep(minute);
        const started = startMover(cloud, "items", "mixed");
        await started.until("guarded to mixed");
        await cloud.clock.sleep(minute);
        isOver = true;
        await Promise.all(committed);
        await started.moved;
        return started;
      },
      { limitMs },
    );
    expect(statesOf(mover.said)).toEqual([
      ...["transactional", "closed to mixed", "guarded to mixed", "sweeping to mixed", "mixed"],
    ]);
    expect(await cloud.run(() => registeredState(cloud, "items"))).toBe("mixed");
    expect(cloud.rows(items)).toEqual([{ id: "a", n: commits }]);
    // It was closed, and no caller has seen more of it than a wait that his deadline leaves room
    // for.
    expect(pauses.items).toBeGreaterThan(limits.accessCommitsMs - 3_000);
    expect(pauses.items).toBeLessThan(deadlineMs);
    expect(pauses.others).toBeLessThan(5_000);
  });
});

test("waits as long as its states say", async () => {
  const cloud = await createTestCloud({ tables });
  const tookMs = await cloud.run(
    async () => {
      const beganMs = cloud.world.time.nowMs;
      await startMover(cloud, "items", "mixed").moved;
      const mixedMs = cloud.world.time.nowMs;
      await startMover(cloud, "items", "transactional").moved;
      return { there: mixedMs - beganMs, back: cloud.world.time.nowMs - mixedMs };
    },
    { limitMs },
  );
  const guardMs = limits.accessGuardMs;
  const thereMs = guardMs + 2 * limits.accessCommitsMs;
  expect(tookMs.there).toBeGreaterThanOrEqual(thereMs);
  expect(tookMs.there).toBeLessThan(thereMs + minute);
  const backMs = 2 * guardMs + limits.accessReadsMs;
  expect(tookMs.back).toBeGreaterThanOrEqual(backMs);
  expect(tookMs.back).toBeLessThan(backMs + minute);
});

describe("a mover that crashes", () => {
  const stages = {
    mixed: ["closed to mixed", "guarded to mixed", "sweeping to mixed"],
    transactional: [
      "guarded to transactional",
      "closed to transactional",
      "tidying to transactional",
    ],
  } as const;
  const cases = (["mixed", "transactional"] as const).flatMap((to) =>
    stages[to].flatMap((stage) =>
      (["mixed", "transactional"] as const).map((end) => [stage, end, to] as const),
    ),
  );

  test.each(cases)("in %s leaves a move that goes on to %s", async (stage, end, to) => {
    const cloud = await createTestCloud({ tables });
    const state = await cloud.run(
      async () => {
        if (to === "transactional") await startMover(cloud, "items", "mixed").moved;
        const first = startMover(cloud, "items", to);
        await first.until(stage);
        await cloud.clock.sleep(1_000);
        first.crash();
        expect(await registeredState(cloud, "items")).toBe(stage);
        await startMover(cloud, "items", end).moved;
        return registeredState(cloud, "items");
      },
      { limitMs },
    );
    expect(state).toBe(end);
  });
});

test.each([
  ["closed to mixed", "transactional"],
  ["closed to transactional", "guarded to mixed"],
] as const)("one that gives up in %s opens the table again", async (stage, left) => {
  const cloud = await createTestCloud({ tables });
  await cloud.run(
    async () => {
      if (stage === "closed to transactional") await startMover(cloud, "items", "mixed").moved;
      const to = stage === "closed to mixed" ? "mixed" : "transactional";
      const stop = new AbortController();
      const mover = startMover(cloud, "items", to, stop.signal);
      await mover.until(stage);
      await cloud.clock.sleep(5_000);
      stop.abort(new RangeError("enough"));
      await expect(mover.moved).rejects.toThrow("enough");
      expect(await registeredState(cloud, "items")).toBe(left);
      await startMover(cloud, "items", to).moved;
      expect(await registeredState(cloud, "items")).toBe(to);
    },
    { limitMs },
  );
});

test("of two movers the later one goes on, and the other stops and says so", async () => {
  const cloud = await createTestCloud({ tables });
  await cloud.run(
    async () => {
      const first = startMover(cloud, "items", "mixed");
      await first.until("guarded to mixed");
      const second = startMover(cloud, "items", "transactional");
      await expect(first.moved).rejects.toMatchObject({ code: "invalid-request", field: "table" });
      await second.moved;
      expect(await registeredState(cloud, "items")).toBe("transactional");
      // What was registered stays whole.
      await startMover(cloud, "items", "transactional").moved;
    },
    { limitMs },
  );
});

test("a table with history is not moved, and one that is not registered is named", async () => {
  const kept = testTable("kept", { partitionKey: "id", history: true });
  const cloud: TestCloud = await createTestCloud({ tables: [kept] });
  await cloud.run(async () => {
    const { moved } = startMover(cloud, "kept", "mixed");
    await expect(moved).rejects.toMatchObject({ field: "history" });
    await expect(moved).rejects.toThrow("npx tidemark register kept --no-history");
    expect(await registeredState(cloud, "kept")).toBe("transactional");
    // Where it is already it stays, and loses nothing by being moved there.
    const there = await startMover(cloud, "kept", "transactional").moved;
    expect(there).toMatchObject({ history: true, historySince: expect.any(Number) as number });
    await expect(startMover(cloud, "nowhere", "mixed").moved).rejects.toMatchObject({
      field: "table",
    });
  });
});

/** A client that increments rows, and how often it has. */
function incrementing(cloud: TestCloud, name: string, commit: "stream" | "express") {
  const app = cloud.startProcess(name, { commit });
  const count = { committed: 0, alone: 0 };
  const increment = async (during = async (): Promise<void> => {}): Promise<void> => {
    // Of one item, which a mixed table has without the log.
    await app.client.transact(async (tx) => {
      const row = await tx.get(items, "c");
      await during();
      tx.put(items, { id: "c", n: (row?.n ?? 0) + 1 });
    });
    count.alone += 1;
    await app.client.transact(async (tx) => {
      const row = await tx.get(items, "a");
      await during();
      // Makes, changes and deletes other rows beside it, so that tombstones come and go.
      const n = (row?.n ?? 0) + 1;
      tx.put(items, { id: "a", n });
      if (n % 3 === 0) tx.delete(items, "b");
      else tx.put(items, { id: "b", n });
    });
    count.committed += 1;
  };
  return { app, count, increment };
}

let nonces = 0;

/** An aware native writer, which increments both rows: one call, and another one behind a fence. */
async function incrementNatively(cloud: TestCloud): Promise<void> {
  for (const id of ["a", "c"]) {
    const nonce = new Uint8Array(16);
    nonces += 1;
    new DataView(nonce.buffer).setUint32(0, nonces);
    for (let tries = 0; ; tries += 1) {
      const command = new UpdateItemCommand({
        TableName: "items",
        Key: { id: { S: id } },
        UpdateExpression: "SET #n = if_not_exists(#n, :zero) + :one, #nonce = :nonce",
        ConditionExpression: "attribute_not_exists(#fence)",
        ExpressionAttributeNames: { "#n": "n", "#nonce": "_n", "#fence": "_f" },
        ExpressionAttributeValues: {
          ":zero": { N: "0" },
          ":one": { N: "1" },
          ":nonce": { B: nonce },
        },
      });
      try {
        await cloud.dynamodb.send(command);
        break;
      } catch (error) {
        if (tries > 200 || !(error instanceof ConditionalCheckFailedException)) throw error;
        await cloud.clock.sleep(100);
      }
    }
  }
}

describe("a process that knows the state before", () => {
  const way = {
    mixed: ["transactional", "closed to mixed", "guarded to mixed", "sweeping to mixed", "mixed"],
    transactional: [
      ...["mixed", "guarded to transactional", "closed to transactional"],
      ...["tidying to transactional", "transactional"],
    ],
  } as const;
  const ways = [
    ["express", "transactional"],
    ["stream", "mixed"],
    ["express", "mixed"],
  ] as const;
  test.each<(typeof ways)[number]>(sweep(ways.slice(0, 1), [...ways]))(
    "and commits by %s, on the way to %s, loses nobody's write",
    async (commit, to) => {
      const cloud = await createTestCloud({ tables });
      const others = [
        incrementing(cloud, "first", "express"),
        incrementing(cloud, "second", "stream"),
      ];
      const late = incrementing(cloud, "late", commit);
      const total = await cloud.run(
        async () => {
          if (to === "transactional") await startMover(cloud, "items", "mixed").moved;
          let isOver = false;
          // Often around a change of state, and now and then while it lasts.
          let busyUntilMs = 0;
          const running = others.map(async (each) => {
            while (!isOver) {
              await each.increment().catch(() => undefined);
              const isBusy = cloud.world.time.nowMs < busyUntilMs;
              await cloud.clock.sleep(isBusy ? 400 : 10_000);
            }
          });
          let natives = 0;
          const writeNatively = async (forMs: number): Promise<void> => {
            const untilMs = cloud.world.time.nowMs + forMs;
            while (cloud.world.time.nowMs < untilMs) {
              await incrementNatively(cloud);
              natives += 1;
              await cloud.clock.sleep(cloud.world.time.nowMs < busyUntilMs ? 500 : 5_000);
            }
          };
          // Before the move; and calls of writers that have stopped come for as long as a signature
          // by a fast clock lives.
          const native =
            to === "transactional" ? writeNatively(10_000 + lateNativeMs) : Promise.resolve();
          if (to === "transactional") await cloud.clock.sleep(10_000);
          const { moved, until } = startMover(cloud, "items", to);
          // Begins in each state, and ends as the next one does: with reads and a copy of the
          // registry from before.
          for (const [at, state] of way[to].slice(0, -1).entries()) {
            await until(state);
            const next = way[to][at + 1] ?? "";
            const lateOnes: Promise<void>[] = [];
            for (const afterMs of [0, 200, 2_000, 9_000]) {
              const during = () =>
                Promise.race([
                  until(next).then(() => cloud.clock.sleep(afterMs)),
                  cloud.clock.sleep(50_000),
                ]);
              lateOnes.push(late.increment(during).catch(() => undefined));
            }
            await until(next);
            busyUntilMs = cloud.world.time.nowMs + 15_000;
            await Promise.all(lateOnes);
          }
          await moved;
          await native;
          if (to === "mixed") await writeNatively(20_000);
          await cloud.clock.sleep(minute);
          isOver = true;
          await Promise.all(running);
          await cloud.settled();
          const counts = [...others, late].map(({ count }) => count);
          return {
            a: counts.reduce((sum, { committed }) => sum + committed, natives),
            c: counts.reduce((sum, { alone }) => sum + alone, natives),
          };
        },
        { limitMs },
      );
      const rows = Object.fromEntries(cloud.rows(items).map(({ id, n }) => [id, n]));
      expect({ a: rows["a"], c: rows["c"] }).toEqual(total);
      expect(late.count.committed).toBeGreaterThan(0);
      expect(total.a).toBeGreaterThan(200);
      const { Items = [] } = await cloud.run(() =>
        cloud.dynamodb.send(new ScanCommand({ TableName: "items" })),
      );
      const marked = Items.filter((item) => item["_x"] !== undefined);
      if (to === "mixed") expect(marked).toEqual([]);
    },
    60_000,
  );
});

test("what clients commit that know nothing of the move, and die, is not lost", async () => {
  const cloud = await createTestCloud({ tables });
  const doomed = Array.from({ length: 24 }, (_, i) =>
    cloud.startProcess(`doomed ${i.toString()}`, { commit: "stream" }),
  );
  const asked: string[] = [];
  /** Commits as it knows the table, and nobody hears of it again: replay has to install it. */
  const die = async ({ client, nextCommitUnknown }: (typeof doomed)[number]): Promise<void> => {
    nextCommitUnknown("committed");
    const dying = client.transact({ deadlineMs: 3_000, attemptsMax: 1 }, async (tx) => {
      const row = await tx.get(items, "a");
      tx.put(items, { id: "a", n: (row?.n ?? 0) + 1 });
    });
    await dying.catch((error: unknown) => {
      if (error instanceof CommitUnknownError) asked.push(error.transactionId);
    });
  };
  const total = await cloud.run(
    async () => {
      // The oracle has a copy of the registry from before, as they have.
      const first = incrementing(cloud, "first", "stream");
      for (const { client } of doomed) await client.snapshot((read) => read.get(items, "a"));
      await first.increment();
      const mover = startMover(cloud, "items", "mixed");
      await mover.until("closed to mixed");
      const isGuarded = mover.until("guarded to mixed");
      const dead: Promise<void>[] = [];
      for (const each of doomed) {
        dead.push(die(each));
        await Promise.race([isGuarded, cloud.clock.sleep(600)]);
      }
      await isGuarded;
      const fresh = incrementing(cloud, "fresh", "express");
      for (let i = 0; i < 20; i += 1) {
        await fresh.increment().catch(() => undefined);
        await cloud.clock.sleep(50);
      }
      await Promise.all(dead);
      await mover.moved;
      await cloud.settled();
      const { client } = cloud.startProcess("asker");
      const outcomes = await Promise.all(asked.map((id) => client.outcome(id)));
      const committed = outcomes.filter((each) => each === "committed").length;
      return { committed, all: committed + first.count.committed + fresh.count.committed };
    },
    { limitMs },
  );
  expect(total.committed).toBeGreaterThan(0);
  expect(cloud.rows(items).find(({ id }) => id === "a")).toEqual({ id: "a", n: total.all });
}, 30_000);
