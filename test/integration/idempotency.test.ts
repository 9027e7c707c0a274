/**
 * Exactly once by key: a repeat returns the first result, whatever happened in between (I3, I9).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import * as limits from "../../core/limits.ts";
import type { TableDescription } from "../../core/types.ts";
import type { Engine, EngineTransaction, Receipt } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { fragileEngine, never, storedN, until } from "./fragile.ts";
import {
  failureOf,
  gate,
  increment,
  key,
  number,
  numberOf,
  putAll,
  readOne,
  textCodec,
} from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let engine: Engine;
let other: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  table = await deployment.stores.createTable("plain");
});
beforeEach(() => {
  engine = deployment.openEngine();
  other = deployment.openEngine();
});
afterEach(async () => {
  await deployment.oracle.start();
  await deployment.replay.start();
});
afterAll(() => deployment.stop());

/** Adds one under the key, and says which run it was. */
function addOnce(
  by: Engine,
  name: string,
  options: { readonly isolation?: "serializable" | "snapshot"; readonly deadlineMs?: number } = {},
): Promise<{ readonly result: string; readonly receipt: Receipt }> {
  return by.transact(
    { idempotencyKey: name, attemptsMax: 50, ...options },
    async (tx: EngineTransaction) => (await increment(tx, table, key(name))).toString(),
    textCodec,
  );
}

async function count(name: string): Promise<number> {
  return numberOf(await readOne(deployment.openEngine(), table, key(name)));
}

describe("an idempotency key", () => {
  test.each(["serializable", "snapshot"] as const)(
    "gives a repeat the first result and receipt without running the body (%s)",
    async (isolation) => {
      const name = `repeat-${isolation}`;
      const first = await addOnce(engine, name, { isolation });
      await putAll(engine, table, [{ ...key(name), n: number(100) }]);
      for (const by of [engine, other]) {
        const again = await addOnce(by, name, { isolation });
        expect(again.result).toBe("1");
        expect(again.receipt).toMatchObject({
          replayed: true,
          transactionId: first.receipt.transactionId,
          commitTimestamp: first.receipt.commitTimestamp,
        });
      }
      expect(first.receipt.replayed).toBe(false);
      expect(await count(name)).toBe(100);
    },
  );

  test.each(["serializable", "snapshot"] as const)(
    "lets one of many concurrent calls commit, and all return its result (%s)",
    async (isolation) => {
      const name = `concurrent-${isolation}`;
      const calls = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          addOnce(i % 2 === 0 ? engine : other, name, { isolation }),
        ),
      );
      expect(calls.map(({ result }) => result)).toEqual(Array(6).fill("1"));
      expect(calls.filter(({ receipt }) => !receipt.replayed)).toHaveLength(1);
      expect(await count(name)).toBe(1);
    },
  );

  test("keeps the result of a body that writes nothing itself", async () => {
    let runs = 0;
    const call = (by: Engine): Promise<{ readonly result: string }> =>
      by.transact(
        { idempotencyKey: "no-writes" },
        () => {
          runs += 1;
          return Promise.resolve(`run ${runs.toString()}`);
        },
        textCodec,
      );
    expect((await call(engine)).result).toBe("run 1");
    expect((await call(other)).result).toBe("run 1");
  });

  test("keeps nothing of a body that throws", async () => {
    const failing = engine.transact(
      { idempotencyKey: "throws" },
      () => Promise.reject(new Error("no")),
      textCodec,
    );
    expect(await failureOf(failing)).toMatchObject({ message: "no" });
    expect((await addOnce(other, "throws")).receipt.replayed).toBe(false);
  });

  test("finds the first commit although its client crashed before installing", async () => {
    await deployment.replay.stop();
    const began = gate();
    const { engine: crashed } = fragileEngine(deployment.stores, {
      items: () => ({
        install: () => {
          began.open();
          return never();
        },
      }),
    });
    addOnce(crashed, "crashed").catch(() => undefined);
    await began.opened;
    const again = await addOnce(other, "crashed");
    expect(again).toMatchObject({ result: "1", receipt: { replayed: true } });
    expect(await count("crashed")).toBe(1);
    await deployment.replay.start();
    await until(async () => (await storedN(deployment.stores, table, key("crashed"))) === 1);
  });

  test("settles an unknown commit by calling again with the same key", async () => {
    await addOnce(engine, "warm-up");
    await addOnce(other, "warm-up");
    await deployment.oracle.stop();
    const failure = await failureOf(addOnce(engine, "unknown", { deadlineMs: 700 }));
    expect(failure).toMatchObject({ code: "commit-unknown" });
    const again = addOnce(other, "unknown");
    await deployment.oracle.start();
    expect((await again).result).toBe("1");
    expect(await count("unknown")).toBe(1);
  });

  test("has expired after its retention: the body runs anew, TTL or not", async () => {
    await addOnce(engine, "expired");
    const shifted = deployment.openEngine({
      ports: {
        clock: {
          ...systemClock,
          nowMs: () => Date.now() + limits.idempotencyRetentionSeconds * 1000 + 2_000,
        },
      },
    });
    const again = await addOnce(shifted, "expired");
    expect(again).toMatchObject({ result: "2", receipt: { replayed: false } });
  });

  test("refuses a result that is too large to keep, and then nothing is committed", async () => {
    const failure = await failureOf(
      engine.transact(
        { idempotencyKey: "large" },
        async (tx) => {
          await increment(tx, table, key("large"));
          return "x".repeat(limits.idempotencyResultBytesMax + 1);
        },
        textCodec,
      ),
    );
    expect(failure).toMatchObject({ code: "invalid-request", field: "result" });
    expect(await count("large")).toBe(0);
    const kept = await engine.transact(
      { idempotencyKey: "large" },
      () => Promise.resolve("x".repeat(limits.idempotencyResultBytesMax - 100)),
      textCodec,
    );
    expect(kept.receipt.replayed).toBe(false);
  });

  test.each(["", "ä".repeat(limits.idempotencyKeyBytesMax / 2 + 1)])(
    "of no or too many bytes is refused",
    async (idempotencyKey) => {
      const failure = await failureOf(
        engine.transact({ idempotencyKey }, () => Promise.resolve("x"), textCodec),
      );
      expect(failure).toMatchObject({ code: "invalid-request", field: "idempotencyKey" });
    },
  );

  test("without a way to keep the result is refused", async () => {
    const failure = await failureOf(
      engine.transact({ idempotencyKey: "no-codec" }, () => Promise.resolve("x")),
    );
    expect(failure).toMatchObject({ code: "invalid-request", field: "codec" });
  });

  test("of a detached transaction returns the recorded result to a repeat", async () => {
    const begin = async (by: Engine, n: number): Promise<Receipt> => {
      const tx = await by.begin({ isolation: "serializable" });
      tx.put(table.name, { ...key("detached"), n: number(n) });
      return tx.commit({ idempotencyKey: "detached", recordedResult: { N: n.toString() } });
    };
    const first = await begin(engine, 1);
    const again = await begin(other, 2);
    expect(first.replayed).toBe(false);
    expect(again).toMatchObject({
      replayed: true,
      recordedResult: { N: "1" },
      transactionId: first.transactionId,
    });
    expect(await count("detached")).toBe(1);
  });
});
