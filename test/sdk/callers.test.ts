/** Errors lead to the caller's own code, and name his slips, on the simulated cloud. */
import { beforeEach, describe, expect, test } from "vitest";
import {
  createClient,
  defineTable,
  TransactionError,
  type Client,
  type Transaction,
} from "../../sdk/index.ts";
import { createTestCloud, type TestCloud } from "../../testing/index.ts";

const items = defineTable<{ n?: number; at?: unknown }, { id: string }>("items", { key: "id" });

let cloud: TestCloud;
let db: Client;

beforeEach(async () => {
  cloud = await createTestCloud({ tables: [items] });
  cloud.seed(items, [{ id: "a", n: 1 }]);
  db = cloud.createClient();
});

async function failureOf(act: () => Promise<unknown>): Promise<TransactionError> {
  const error = await cloud.run(async () => act().catch((thrown: unknown) => thrown));
  expect(error).toBeInstanceOf(TransactionError);
  return error as TransactionError;
}

/** Frames of the error's stack that are functions of this file's. */
function ownFrames({ stack = "" }: Error): string[] {
  const frames = stack.split("\n").filter((line) => line.includes("callers.test"));
  return frames.map((line) => /at (?:async )?(?:Object\.)?(\w+)/.exec(line)?.[1] ?? "");
}

const afterConflict = (tx: Transaction) => tx.update(items, "a", () => ({ n: 2 }));

describe("the stack of an error leads to who has called", () => {
  async function placeOrder(options: object, body: (tx: Transaction) => Promise<unknown>) {
    await db.transact(options, body);
  }

  test("a conflict", async () => {
    cloud.conflictOn(items, "a");
    const error = await failureOf(() => placeOrder({ attemptsMax: 1 }, afterConflict));
    expect(error.code).toBe("conflict");
    expect(ownFrames(error)).toContain("placeOrder");
  });

  test("a deadline that passes", async () => {
    const slow = async (tx: Transaction) => {
      await tx.get(items, "a");
      await cloud.clock.sleep(1_000);
    };
    const error = await failureOf(() => placeOrder({ deadlineMs: 300 }, slow));
    expect(error).toMatchObject({ deadline: { phase: "body" } });
    expect(ownFrames(error)).toContain("placeOrder");
  });

  test("a function that returns the promise: who awaits that", async () => {
    cloud.conflictOn(items, "a");
    const returned = () => db.transact({ attemptsMax: 1 }, afterConflict);
    async function whoWaits() {
      await returned();
    }
    expect(ownFrames(await failureOf(whoWaits))).toContain("whoWaits");
  });

  test("an outcome, a snapshot, and what is wrong before the first read", async () => {
    async function readsPast() {
      await db.snapshot({ asOf: 1 as never }, (past) => past.get(items, "a"));
    }
    async function connects() {
      const other = createClient({ endpoint: "http://127.0.0.1:9" });
      await other.transact({ deadlineMs: 1 }, (tx) => tx.get(items, "a"));
    }
    expect(ownFrames(await failureOf(readsPast))).toContain("readsPast");
    const error = await connects().catch((thrown: unknown) => thrown as Error);
    expect(ownFrames(error as Error)).toContain("connects");
  });

  test("an update in the body, with the body", async () => {
    async function restock(tx: Transaction) {
      await tx.update(items, "a", (async () => ({ n: 2 })) as never);
    }
    const error = await failureOf(() => placeOrder({}, restock));
    expect(error).toMatchObject({ field: "change" });
    expect(ownFrames(error)).toEqual(expect.arrayContaining(["restock", "placeOrder"]));
  });

  test("names no line twice, and the body's own error stays as it is", async () => {
    const error = await failureOf(() => placeOrder({}, (tx) => tx.get(items, 7 as never)));
    const lines = error.stack?.split("\n") ?? [];
    expect(new Set(lines).size).toBe(lines.length);
    const own = new Error("mine");
    const { stack } = own;
    const thrown = cloud.run(() => placeOrder({}, () => Promise.reject(own)));
    await expect(thrown).rejects.toBe(own);
    expect(own.stack).toBe(stack);
  });
});

describe("an await that is missing", () => {
  test.each<[string, (tx: Transaction) => void]>([
    [
      "of a get whose row is spread",
      (tx) => {
        tx.put(items, "b", { ...(tx.get(items, "a") as object), n: 2 });
      },
    ],
    ["of a batchGet", (tx) => void tx.batchGet(items, ["a"])],
  ])("%s ends the transaction, and nothing is written", async (_of, act) => {
    const error = await failureOf(() =>
      db.transact((tx) => {
        act(tx);
        return Promise.resolve();
      }),
    );
    expect(error).toMatchObject({
      code: "invalid-request",
      field: "body",
      message: "the body returned while a read was under way; is an `await` missing?",
    });
    expect(cloud.rows(items)).toEqual([{ id: "a", n: 1 }]);
  });

  test.each<[string, string, (tx: Transaction) => unknown]>([
    ["an attribute", "item.at", (tx) => tx.put(items, "b", { at: Promise.resolve(1) })],
    ["a member", "item.at[0].x", (tx) => tx.put(items, "b", { at: [{ x: Promise.resolve(1) }] })],
    ["an item", "item", (tx) => tx.put(items, "b", Promise.resolve({}) as never)],
    ["a key", "key.id", (tx) => tx.get(items, Promise.resolve("a") as never)],
    ["a patch", "patch.n", (tx) => tx.update(items, "a", { n: Promise.resolve(1) as never })],
  ])("is named for %s that is a Promise, at %s", async (_what, field, act) => {
    const promising = cloud.startProcess("other", {
      marshall: { convertClassInstanceToMap: true },
    });
    for (const client of [db, promising.client]) {
      const error = await failureOf(() =>
        client.transact(async (tx) => {
          await act(tx);
        }),
      );
      expect(error).toMatchObject({
        code: "invalid-request",
        field,
        message: `${field} is a Promise; is an \`await\` missing?`,
      });
    }
  });

  test("is none where reads are waited for, or belong to an update", async () => {
    const { result } = await cloud.run(() =>
      db.transact(async (tx) => {
        void tx.update(items, "a", { n: 5 });
        const [first, second] = await Promise.all([tx.get(items, "a"), tx.get(items, "b")]);
        return [first?.n, second];
      }),
    );
    expect(result).toEqual([5, undefined]);
  });

  test("is forgiven to a body that rolls back", async () => {
    const { result } = await cloud.run(() =>
      db.transact((tx) => {
        void tx.get(items, "a");
        return Promise.resolve(tx.rollback("enough"));
      }),
    );
    expect(result).toBe("enough");
  });
});

test.each(["put", "update", "delete", "rollback"])(
  "a snapshot has no %s, and says so",
  async (name) => {
    const error = await failureOf(() =>
      db.snapshot((snapshot) => {
        (snapshot as unknown as Record<string, (...given: unknown[]) => void>)[name]?.(
          items,
          "a",
          {},
        );
        return Promise.resolve();
      }),
    );
    expect(error).toMatchObject({
      field: "body",
      message: "a snapshot only reads; use `db.transact`",
    });
  },
);
