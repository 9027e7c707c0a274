/**
 * Interleavings of a commit with what else goes on in its process: reads that the body did not wait
 * for, a search for an outcome that is overtaken by the decision, the tables that are Tidemark's
 * own.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InvalidRequestError, TransactionTooLargeError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { PutRecordResult } from "../../core/ports.ts";
import type { TableDescription, TransactionId } from "../../core/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { fragileEngine, idOf, until, verdictsOn } from "./fragile.ts";
import { failureOf, gate, key, number, putAll, readOne } from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  table = await deployment.stores.createTable("commit");
});

afterAll(() => deployment.stop());

const unknown = (records: readonly unknown[]): PutRecordResult[] =>
  records.map(() => ({ kind: "unknown", cause: new Error("no answer") }));

describe("a body that returns before its reads do", () => {
  test("I3: is not run again on a conflict in a read that its request did not check", async () => {
    const other = deployment.openEngine();
    const answered = gate();
    let leaked: Promise<unknown> = Promise.resolve();
    let late: (() => Promise<unknown>) | undefined;
    const { engine, ids } = fragileEngine(deployment.stores, {
      items: (real) => ({
        get: async (of, wanted, options) => {
          const found = await real.get(of, wanted, options);
          if (JSON.stringify(wanted).includes("leaked")) await answered.opened;
          return found;
        },
      }),
      stream: (real) => ({
        put: async (shard, records) => {
          if (late !== undefined) return real.put(shard, records);
          late = () => real.put(shard, records);
          // While the answer is awaited, the read's answer comes, and then what it read is
          // overwritten.
          answered.open();
          await leaked.catch(() => undefined);
          await putAll(other, table, [{ ...key("leaked"), n: number(1) }]);
          return unknown(records);
        },
      }),
    });
    let orders = 0;
    const done = engine.transact({}, (tx) => {
      orders += 1;
      if (orders === 1) leaked = tx.get(table.name, key("leaked"));
      tx.put(table.name, { ...key(`order-${orders.toString()}`), n: number(1) });
      return Promise.resolve();
    });
    await done;
    await late?.();
    await other.transact({}, (tx) => {
      tx.put(table.name, { ...key("behind the late copy"), n: number(1) });
      return Promise.resolve();
    });
    const stored = await Promise.all(
      ["order-1", "order-2"].map((pk) => readOne(other, table, key(pk))),
    );
    expect(stored.filter((item) => item !== undefined)).toHaveLength(1);
    expect(new Set(ids).size).toBe(1);
    await engine.close();
  });

  test("is refused writes once its commit has begun", async () => {
    const engine = deployment.openEngine();
    let late: unknown;
    await engine.transact({}, (tx) => {
      tx.put(table.name, { ...key("sealed"), n: number(1) });
      setImmediate(() => {
        try {
          tx.put(table.name, { ...key("after the end"), n: number(1) });
        } catch (error) {
          late = error;
        }
      });
      return Promise.resolve();
    });
    const after = await readOne(engine, table, key("after the end"));
    // Either it came in time, or it was told: a write must not vanish.
    expect(late === undefined ? after : late).toBeDefined();
  });

  test("that reads more keys at once than it may is told which limit it meets", async () => {
    const engine = deployment.openEngine();
    const keys = Array.from({ length: limits.transactionKeysMax / 2 + 1 }, (_, i) => ({
      table: table.name,
      key: key(`many-${i.toString()}`),
    }));
    const others = keys.map((_, i) => ({ table: table.name, key: key(`more-${i.toString()}`) }));
    const failure = await failureOf(
      engine.transact({ attemptsMax: 1 }, async (tx) => {
        tx.put(table.name, { ...key("counted"), n: number(1) });
        await Promise.all([tx.batchGet(keys), tx.batchGet(others)]);
      }),
    );
    expect(failure).toBeInstanceOf(TransactionTooLargeError);
  }, 60_000);
});

describe("outcome", () => {
  test("I3: asks for no second decision if the first falls while it searches", async () => {
    let late: (() => Promise<unknown>) | undefined;
    const { engine: maker, ids } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        put: (shard, records) => {
          if (late !== undefined) return Promise.resolve(unknown(records));
          late = () => real.put(shard, records);
          return Promise.resolve(unknown(records));
        },
      }),
    });
    const made = maker.transact({ deadlineMs: 30_000 }, (tx) => {
      tx.put(table.name, { ...key("searched for"), n: number(1) });
      return Promise.resolve();
    });
    await until(() => late !== undefined);
    // A process that begins with a watermark above the id's own timestamp has to search the log.
    const other = deployment.openEngine();
    const { commitTimestamp } = await putAll(other, table, [{ ...key("between"), n: number(1) }]);
    const { control } = deployment.stores.ports;
    await until(async () => {
      const watermark = await control.readWatermark(deployment.stores.shard);
      return (watermark?.timestamp ?? 0) >= (commitTimestamp ?? 0);
    });
    let sent = 0;
    let searched = false;
    const { engine: asker } = fragileEngine(deployment.stores, {
      log: (real) => ({
        readAt: async (...request) => {
          if (!searched) {
            searched = true;
            await late?.();
            await made;
            await asker.snapshot({}, () => Promise.resolve());
          }
          return real.readAt(...request);
        },
      }),
      stream: (real) => ({
        put: (...request) => {
          sent += 1;
          return real.put(...request);
        },
      }),
    });
    const id: TransactionId = idOf(ids);
    expect(await asker.outcome(id)).toMatchObject({ kind: "committed" });
    expect({ searched, sent }).toEqual({ searched: true, sent: 0 });
    expect(await verdictsOn(deployment.stores, id)).toEqual(["committed"]);
    await Promise.all([maker.close(), asker.close()]);
  });
});

describe("the control table", () => {
  test("cannot be read or written in a transaction: it holds watermarks and secrets", async () => {
    const engine = deployment.openEngine();
    const { name } = deployment.stores.ports.control.idempotencyTable;
    await engine.transact({ idempotencyKey: "known" }, () => Promise.resolve("x"), {
      encode: (result) => ({ S: result }),
      decode: () => "x",
    });
    const secret = { pk: { S: "secret" }, sk: { S: "rest-token" } };
    for (const attempt of [
      () => engine.transact({}, (tx) => tx.get(name, secret)),
      () => engine.snapshot({}, (snapshot) => snapshot.scanPage(name, {}, {})),
      () =>
        engine.transact({}, (tx) => {
          tx.put(name, { ...secret, bytes: { B: new Uint8Array(32) } });
          return Promise.resolve();
        }),
      () =>
        engine.transact({}, (tx) => {
          tx.delete(name, secret);
          return Promise.resolve();
        }),
    ]) {
      expect(await failureOf(attempt())).toBeInstanceOf(InvalidRequestError);
    }
  });
});
