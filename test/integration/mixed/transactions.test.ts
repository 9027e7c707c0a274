/**
 * Transactions over mixed and transactional tables, beside native operations, on real stores
 * (docs/adr/0014-native-operations.md; I10).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../../core/errors.ts";
import type { Item, TableDescription, Timestamp } from "../../../core/types.ts";
import type { Engine, EngineEvent, EngineTransaction, Reader } from "../../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../../harness/local-deployment.ts";
import { logOf } from "../../harness/voters.ts";
import {
  failureOf,
  increment,
  key,
  number,
  numberOf,
  putAll,
  queryRows,
  readOne,
  scanRows,
  text,
  textCodec,
} from "../support.ts";
import { Native } from "./native.ts";

let deployment: LocalDeployment;
let native: Native;
/** One with a partition key, one with a sort key, and one of transactions alone. */
let rows: TableDescription;
let sorted: TableDescription;
let plain: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  const sortKey = { name: "sk", type: "S" } as const;
  [rows, sorted, plain] = await Promise.all([
    stores.createTable("rows", { access: "mixed" }),
    stores.createTable("sorted", { access: "mixed", sortKey }),
    stores.createTable("plain"),
  ]);
  native = new Native(stores);
});
afterAll(async () => {
  native.close();
  await deployment.stop();
});

/** What a native reader sees of the application's attributes; fails where anything is left. */
async function nativeView(table: TableDescription, of: Item): Promise<Item | undefined> {
  const item = await native.get(table, of);
  expect(item?.["_f"]).toBe(undefined);
  expect(item?.["_x"]).toBe(undefined);
  if (item === undefined) return undefined;
  return Object.fromEntries(Object.entries(item).filter(([name]) => !name.startsWith("_")));
}

describe.each(["stream", "express"] as const)("by %s", (commit) => {
  let engine: Engine;
  const events: EngineEvent[] = [];
  const name = (suffix: string): Item => key(`${commit} ${suffix}`);

  beforeAll(() => {
    engine = deployment.openEngine({ commit, onEvent: (event) => events.push(event) });
  });

  /** Runs the body; `between` runs once, in the first attempt, wherever the body calls it. */
  async function interleaved<T>(
    between: () => Promise<unknown>,
    body: (tx: EngineTransaction, meanwhile: () => Promise<void>) => Promise<T>,
  ) {
    let attempts = 0;
    const { result, receipt } = await engine.transact({}, (tx) => {
      attempts += 1;
      const isFirst = attempts === 1;
      return body(tx, async () => {
        if (isFirst) await between();
      });
    });
    return { result, receipt, attempts };
  }

  test("reads, inserts, overwrites and deletes in both kinds of tables at once", async () => {
    const [there, gone, fresh] = [name("there"), name("gone"), name("fresh")];
    await native.put(rows, { ...there, n: number(1) });
    await native.put(rows, { ...gone, n: number(2) });
    const { receipt } = await engine.transact({}, async (tx) => {
      const n = numberOf(await tx.get(rows.name, there)) + numberOf(await tx.get(rows.name, gone));
      tx.put(rows.name, { ...there, n: number(n) });
      tx.delete(rows.name, gone);
      tx.put(rows.name, { ...fresh, n: number(n + 1) });
      tx.put(plain.name, { ...there, n: number(n + 2) });
    });
    expect(receipt).toMatchObject({ attempts: 1, installed: true });
    expect(receipt.commitTimestamp).toBeGreaterThan(receipt.readTimestamp);
    expect(await nativeView(rows, there)).toEqual({ ...there, n: number(3) });
    expect(await native.get(rows, gone)).toBe(undefined);
    expect(await nativeView(rows, fresh)).toEqual({ ...fresh, n: number(4) });
    expect(await readOne(engine, plain, there)).toEqual({ ...there, n: number(5) });
    expect(await readOne(engine, rows, fresh)).toEqual({ ...fresh, n: number(4) });
  });

  test("what was read and is changed natively runs it again", async () => {
    const [read, written] = [name("read"), name("written")];
    for (const changed of [read, written]) {
      await native.put(rows, { ...read, n: number(1) });
      await native.put(rows, { ...written, n: number(1) });
      events.length = 0;
      const { attempts } = await interleaved(
        () => native.put(rows, { ...changed, n: number(10) }),
        async (tx, meanwhile) => {
          const sum = numberOf(await tx.get(rows.name, read));
          const before = numberOf(await tx.get(rows.name, written));
          await meanwhile();
          tx.put(rows.name, { ...written, n: number(sum + before) });
        },
      );
      expect(attempts).toBe(2);
      expect(await nativeView(rows, written)).toMatchObject({ n: number(11) });
      expect(events).toContainEqual(
        expect.objectContaining({
          kind: "attempt-aborted",
          early: false,
          detail: {
            ...{ table: rows.name, key: changed, version: undefined },
            ...{ on: "key", foundBy: "native" },
          },
        }),
      );
    }
  });

  test("an unaware update of what was read is noticed, though it keeps the identity", async () => {
    const [counter, copy] = [name("counter"), name("copy")];
    await putAll(engine, rows, [{ ...counter, n: number(1) }, copy]);
    const { attempts } = await interleaved(
      () => native.addUnaware(rows, counter, 1),
      async (tx, meanwhile) => {
        const n = numberOf(await tx.get(rows.name, counter));
        await meanwhile();
        tx.put(rows.name, { ...copy, n: number(n) });
      },
    );
    expect(attempts).toBe(2);
    expect(await nativeView(rows, copy)).toMatchObject({ n: number(2) });
  });

  test("what another transaction has written since is told before it bars anybody", async () => {
    const [read, written] = [name("overtaken read"), name("overtaken written")];
    const put = (of: Item, n: number) =>
      engine.transact({}, (tx) => {
        tx.put(rows.name, { ...of, n: number(n) });
        tx.put(plain.name, { ...of, n: number(n) });
        return Promise.resolve();
      });
    await put(read, 1);
    const before = (await logOf(deployment.stores)).length;
    const failure = await failureOf(
      engine.transact({ attemptsMax: 1 }, async (tx) => {
        tx.put(rows.name, { ...written, n: (await tx.get(rows.name, read))?.["n"] ?? number(0) });
        await put(read, 2);
      }),
    );
    expect(failure).toMatchObject({ code: "conflict", detail: { foundBy: "tail" } });
    const since = (await logOf(deployment.stores)).slice(before);
    const prepared = since.flatMap(({ verdicts }) => verdicts.map(({ kind }) => kind));
    expect(prepared).toEqual(["prepared", "committed"]);
  });

  test("a put and delete behind its back abort nobody: contents are compared", async () => {
    const [absent, other] = [name("absent"), name("other")];
    const { attempts } = await interleaved(
      async () => {
        await native.put(rows, absent);
        await native.delete(rows, absent);
      },
      async (tx, meanwhile) => {
        expect(await tx.get(rows.name, absent)).toBe(undefined);
        await meanwhile();
        tx.put(rows.name, { ...absent, n: number(1) });
        tx.put(rows.name, other);
      },
    );
    expect(attempts).toBe(1);
    expect(await nativeView(rows, absent)).toEqual({ ...absent, n: number(1) });
  });

  test("blind writes replace what was put natively since, and meet no conflict", async () => {
    const [left, right] = [name("left"), name("right")];
    const { attempts } = await interleaved(
      () => native.put(rows, { ...left, by: text("native") }),
      async (tx, meanwhile) => {
        await meanwhile();
        tx.put(rows.name, { ...left, by: text("transaction") });
        tx.put(rows.name, { ...right, by: text("transaction") });
      },
    );
    expect(attempts).toBe(1);
    expect(await nativeView(rows, left)).toMatchObject({ by: text("transaction") });
  });

  test("a native write after the commit stands, and the next transaction sees it", async () => {
    const [item, other] = [name("after"), name("after too")];
    await putAll(engine, rows, [{ ...item, n: number(1) }, other]);
    await native.put(rows, { ...item, n: number(5) });
    await engine.transact({}, async (tx) => {
      await increment(tx, rows, item);
      tx.put(rows.name, other);
    });
    expect(await nativeView(rows, item)).toMatchObject({ n: number(6) });
    await native.delete(rows, item);
    expect(await readOne(engine, rows, item)).toBe(undefined);
  });

  test("a row that is put natively where it has queried or scanned runs it again", async () => {
    const partition = `${commit} partition`;
    await native.put(sorted, key(partition, "a"));
    for (const range of ["query", "scan"] as const) {
      const { attempts, result } = await interleaved(
        () => native.put(sorted, key(partition, range)),
        async (tx, meanwhile) => {
          const found =
            range === "query"
              ? await queryRows(tx, sorted, { partitionKey: text(partition) }, 1)
              : await scanRows(tx, sorted);
          await meanwhile();
          tx.put(plain.name, { ...name(range), n: number(found.length) });
          return found.map(({ sk }) => sk);
        },
      );
      expect(attempts).toBe(2);
      expect(result).toContainEqual(text(range));
    }
  });

  test("it queries behind its own inserts, page after page", async () => {
    const partition = `${commit} pages`;
    const sortKeys = ["a", "b", "c", "d", "e"];
    for (const sk of sortKeys) await native.put(sorted, key(partition, sk));
    const { result } = await engine.transact({}, async (tx) => {
      const found: unknown[] = [];
      let cursor: Item | undefined;
      do {
        const page = await tx.queryPage(
          sorted.name,
          { partitionKey: text(partition) },
          { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
        );
        found.push(...page.rows.map(({ sk }) => sk));
        for (const row of page.rows) tx.put(sorted.name, { ...row, seen: number(1) });
        cursor = page.cursor;
      } while (cursor !== undefined);
      return found;
    });
    expect(result).toEqual(sortKeys.map(text));
    for (const sk of sortKeys) {
      expect(await nativeView(sorted, key(partition, sk))).toMatchObject({ seen: number(1) });
    }
  });

  test("one item is committed by one write, and the log knows nothing of it", async () => {
    const item = name("local");
    await engine.transact({}, () => Promise.resolve());
    const before = (await logOf(deployment.stores)).length;
    const first = await putAll(engine, rows, [{ ...item, n: number(1) }]);
    expect(first).toMatchObject({ local: true, installed: true, commitTimestamp: undefined });
    expect(first.consumed.calls).toBe(1);
    const { attempts, receipt } = await interleaved(
      () => native.addUnaware(rows, item, 10),
      async (tx, meanwhile) => {
        const n = numberOf(await tx.get(rows.name, item));
        await meanwhile();
        tx.put(rows.name, { ...item, n: number(n + 1) });
      },
    );
    expect({ attempts, receipt }).toMatchObject({ attempts: 2, receipt: { local: true } });
    expect(await nativeView(rows, item)).toMatchObject({ n: number(12) });
    const gone = await engine.transact({}, (tx) => {
      tx.delete(rows.name, item);
      return Promise.resolve();
    });
    expect(gone.receipt.local).toBe(true);
    expect(await native.get(rows, item)).toBe(undefined);
    expect((await logOf(deployment.stores)).length).toBe(before);
    const asked = failureOf(engine.outcome(first.transactionId ?? ("" as never)));
    expect(await asked).toBeInstanceOf(InvalidRequestError);
  });

  test("with an idempotency key even one item goes by the log, once", async () => {
    const item = name("once");
    const idempotencyKey = `${commit} once`;
    const run = () =>
      engine.transact(
        { idempotencyKey },
        async (tx) => text(`${await increment(tx, rows, item)}`).S,
        textCodec,
      );
    const [first, second] = [await run(), await run()];
    expect(first.receipt).toMatchObject({ replayed: false });
    expect(first.receipt.local).toBe(undefined);
    expect(second).toMatchObject({ result: "1", receipt: { replayed: true } });
    expect(second.receipt.transactionId).toBe(first.receipt.transactionId);
    expect(await nativeView(rows, item)).toMatchObject({ n: number(1) });
  });

  test("a snapshot of two items is not torn by native writes between", async () => {
    const [a, b] = [name("pair a"), name("pair b")];
    await native.put(rows, { ...a, n: number(1) });
    await native.put(rows, { ...b, n: number(1) });
    let runs = 0;
    const { result, receipt } = await engine.snapshot({}, async (reader) => {
      runs += 1;
      const first = numberOf(await reader.get(rows.name, a));
      if (runs === 1) {
        await native.put(rows, { ...a, n: number(2) });
        await native.put(rows, { ...b, n: number(2) });
      }
      return [first, numberOf(await reader.get(rows.name, b))];
    });
    expect(result).toEqual([2, 2]);
    expect(receipt.attempts).toBe(2);
  });

  test("an error of a body that has seen two moments is not let out", async () => {
    const [a, b] = [name("moments a"), name("moments b")];
    await native.put(rows, { ...a, n: number(1) });
    await native.put(rows, { ...b, n: number(1) });
    const { attempts } = await interleaved(
      async () => {
        await native.put(rows, { ...a, n: number(2) });
        await native.put(rows, { ...b, n: number(2) });
      },
      async (tx, meanwhile) => {
        const first = numberOf(await tx.get(rows.name, a));
        await meanwhile();
        if (numberOf(await tx.get(rows.name, b)) !== first) throw new Error("torn");
      },
    );
    expect(attempts).toBe(2);
  });

  test.each(["by itself", "and one more"])(
    "lanes of a process that want one item take turns: none gives up (%s)",
    async (what) => {
      const hot = name(`hot ${what}`);
      await putAll(engine, rows, [{ ...hot, n: number(0) }]);
      const [lanes, rounds] = [8, 6];
      let attempts = 0;
      const lane = async (n: number) => {
        for (let round = 0; round < rounds; round += 1) {
          await engine.transact({}, async (tx) => {
            attempts += 1;
            await increment(tx, rows, hot);
            if (what === "by itself") return;
            tx.put(plain.name, { ...name(`beside ${n} ${round}`), n: number(round) });
          });
        }
      };
      await Promise.all(Array.from({ length: lanes }, (_, n) => lane(n)));
      expect(await nativeView(rows, hot)).toMatchObject({ n: number(lanes * rounds) });
      // The first try of each may be in vain: until then nobody knows what it wants.
      expect(attempts).toBeLessThanOrEqual(2.5 * lanes * rounds);
    },
  );

  test("increments of two processes and of native writers all count", async () => {
    const [counter, log] = [name("all"), name("all log")];
    const second = deployment.openEngine({ commit });
    await native.put(rows, { ...counter, n: number(0) });
    const rounds = 5;
    const byTransactions = [engine, second].map(async (each) => {
      for (let i = 0; i < rounds; i += 1) {
        await each.transact({ attemptsMax: 100 }, async (tx) => {
          await increment(tx, rows, counter);
          await increment(tx, plain, log);
        });
      }
    });
    const byNatives = Array.from({ length: 2 * rounds }, () => native.add(rows, counter, 1));
    await Promise.all([...byTransactions, ...byNatives]);
    expect(await nativeView(rows, counter)).toMatchObject({ n: number(4 * rounds) });
    expect(await readOne(engine, plain, log)).toMatchObject({ n: number(2 * rounds) });
  });
});

function readAll(reader: Reader, keys: readonly Item[]) {
  return reader.batchGet(keys.map((each) => ({ table: rows.name, key: each })));
}

describe("what cannot be", () => {
  test.each([
    ["asOf", { asOf: 1_700_000_000_000_000 as Timestamp }],
    ["maxStalenessMs", { maxStalenessMs: 1_000 }],
  ] as const)("%s is refused with the reason", async (field, options) => {
    const engine = deployment.openEngine();
    const now = await engine.snapshot({}, (reader) => Promise.resolve(reader.readTimestamp));
    const asked = field === "asOf" ? { asOf: now.result } : options;
    for (const read of ["get", "scan"] as const) {
      const failure = await failureOf(
        engine.snapshot(asked, (reader) =>
          read === "get" ? readAll(reader, [key("x")]) : scanRows(reader, rows),
        ),
      );
      expect(failure).toBeInstanceOf(InvalidRequestError);
      expect(failure).toMatchObject({
        field,
        message: expect.stringContaining("is mixed") as never,
      });
    }
  });
});

test("nothing of ours is left on any item", async () => {
  for (const table of [rows, sorted]) {
    for (const item of await native.scan(table)) {
      expect(item).not.toHaveProperty("_f");
      expect(item).not.toHaveProperty("_x");
    }
  }
});
