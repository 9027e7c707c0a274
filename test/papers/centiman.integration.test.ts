/**
 * Claims of Centiman (SoCC '15) about watermarks and the local check, on real stores.
 * docs/papers.md lists all claims.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import type { Ports } from "../../core/ports.ts";
import type { TableDescription, Timestamp } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { createReplayService } from "../../functions/replay/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { fragileEngine, never } from "../integration/fragile.ts";
import {
  createTables,
  failureOf,
  increment,
  key,
  number,
  numberOf,
  putAll,
} from "../integration/support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let kept: TableDescription;
let engine: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment({ stopped: ["replay"] });
  let sorted: TableDescription;
  [table, sorted, kept] = await createTables(deployment.stores);
  expect(sorted.sortKey).toBeDefined();
});
beforeEach(() => {
  engine = deployment.openEngine();
});
afterAll(() => deployment.stop());

type Written = {
  readonly of: TableDescription;
  readonly key: ReturnType<typeof key>;
  readonly at: Timestamp;
};

/** Commits puts and deletes of a few keys, and leaves all of them to replay. */
async function commitWithoutInstalling(count: number): Promise<Written[]> {
  const { engine: client } = fragileEngine(deployment.stores, {
    items: () => ({ install: () => never() }),
  });
  const written: Written[] = [];
  for (let i = 0; i < count; i += 1) {
    const of = i % 2 === 0 ? table : kept;
    const name = `w${(i % 5).toString()}`;
    const each = of === kept ? key(name, "a") : key(name);
    const { receipt } = await client.transact({ ack: "certified" }, (tx) => {
      if (i % 7 === 6) tx.delete(of.name, each);
      else tx.put(of.name, { ...each, n: number(i) });
      return Promise.resolve();
    });
    const { commitTimestamp: at } = receipt;
    if (at === undefined) throw new Error("nothing was committed");
    written.push({ of, key: each, at });
  }
  return written;
}

/** The newest watermark, and then what of the writes at or below it the stores do not show. */
async function missingAtWatermark(written: readonly Written[]): Promise<readonly Written[]> {
  const { ports, shard } = deployment.stores;
  const watermark = await ports.control.readWatermark(shard);
  const below = written.filter(({ at }) => at <= (watermark?.timestamp ?? 0));
  const stored = await Promise.all(below.map((each) => ports.items.get(each.of, each.key)));
  return below.filter(({ at }, i) => (stored[i]?.version ?? 0) < at);
}

async function watermark(): Promise<number> {
  const { ports, shard } = deployment.stores;
  return (await ports.control.readWatermark(shard))?.timestamp ?? 0;
}

describe("Centiman, watermarks (Property 3.1)", () => {
  test("who reads after watermark w was published sees every write at or below w", async () => {
    const written = await commitWithoutInstalling(40);
    const ports: Ports = deployment.stores.openPorts();
    const { items, control } = ports;
    let calls = 0;
    let published = 0;
    const flaky: Partial<Ports> = {
      items: {
        ...items,
        install(...request) {
          calls += 1;
          // Not done, done with the answer lost, or done.
          if (calls % 5 === 1) return Promise.reject(new StoreError("throttled", "scripted"));
          const done = items.install(...request);
          if (calls % 5 !== 2) return done;
          return done.then(() => Promise.reject(new StoreError("unavailable", "scripted")));
        },
      },
      control: {
        ...control,
        async advanceWatermark(...request) {
          // Before it is told, since readers may see it from then on.
          const [, { timestamp }] = request;
          const stored = await Promise.all(written.map((each) => items.get(each.of, each.key)));
          const below = written.filter(
            ({ at }, i) => at <= timestamp && (stored[i]?.version ?? 0) < at,
          );
          expect(below).toEqual([]);
          published += 1;
          return control.advanceWatermark(...request);
        },
      },
    };
    const replay = createReplayService({ ...ports, ...flaky }, silentObservability, {
      patienceMs: 0,
    });
    const batch = { shard: deployment.stores.shard, records: [] };
    let failures = 0;
    for (let tries = 0; published === 0; tries += 1) {
      expect(tries).toBeLessThan(100);
      await replay.handle(batch, { remainingMs: () => 30_000 }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreError);
        failures += 1;
      });
      expect(await missingAtWatermark(written)).toEqual([]);
    }
    expect(failures).toBeGreaterThan(0);
    expect(await watermark()).toBeGreaterThanOrEqual(written.at(-1)?.at ?? Infinity);
  });

  test("no transaction commits at or below a watermark that was ever published", async () => {
    await deployment.replay.start();
    try {
      for (let i = 0; i < 15; i += 1) {
        const before = await watermark();
        const { commitTimestamp } = await putAll(engine, table, [{ ...key("late"), n: number(i) }]);
        expect(commitTimestamp).toBeGreaterThan(before);
      }
    } finally {
      await deployment.replay.stop();
    }
  });

  test("a process that starts at the watermark misses nothing above or below", async () => {
    await putAll(engine, table, [
      { ...key("from-1"), n: number(1) },
      { ...key("from-2"), n: number(1) },
    ]);
    const replay = createReplayService(deployment.stores.openPorts(), silentObservability, {
      patienceMs: 0,
    });
    await replay.handle(
      { shard: deployment.stores.shard, records: [] },
      { remainingMs: () => 30_000 },
    );
    const { engine: crashed } = fragileEngine(deployment.stores, {
      items: () => ({ install: () => never() }),
    });
    await crashed.transact({ ack: "certified" }, (tx) => increment(tx, table, key("from-2")));
    // Nothing moves the watermark now, and nobody but the reader will install.
    const { result } = await deployment
      .openEngine()
      .snapshot({}, (snapshot) =>
        snapshot.batchGet(
          ["from-1", "from-2"].map((name) => ({ table: table.name, key: key(name) })),
        ),
      );
    expect(result.map((item) => numberOf(item))).toEqual([1, 2]);
  });
});

describe("Centiman, local check", () => {
  test("a read-only transaction is consistent, and needs no validator", async () => {
    const names = ["c0", "c1", "c2"];
    const at = names.map((name) => key(name));
    await putAll(
      engine,
      table,
      at.map((each) => ({ ...each, n: number(100) })),
    );
    let puts = 0;
    const ports: Ports = deployment.stores.openPorts();
    const reader = deployment.openEngine({
      ports: {
        stream: {
          ...ports.stream,
          put(...request) {
            puts += 1;
            return ports.stream.put(...request);
          },
        },
      },
    });
    const [a, b, c] = at;
    if (a === undefined || b === undefined || c === undefined) throw new Error("three keys");
    let moved = 0;
    for (let i = 0; i < 12; i += 1) {
      const { result, receipt } = await reader.transact({ attemptsMax: 20 }, async (tx) => {
        const first = numberOf(await tx.get(table.name, a));
        const { readTimestamp } = tx;
        if (i % 2 === 0) {
          await engine.transact({}, async (other) => {
            await increment(other, table, b, -5);
            await increment(other, table, c, 5);
          });
        }
        const rest = await tx.batchGet([b, c].map((each) => ({ table: table.name, key: each })));
        if (tx.readTimestamp > readTimestamp) moved += 1;
        return rest.reduce((sum, item) => sum + numberOf(item), first);
      });
      expect(result).toBe(300);
      expect(receipt).toMatchObject({ transactionId: undefined, attempts: 1 });
    }
    expect(moved).toBe(6);
    expect(puts).toBe(0);
  });

  test("a transaction whose reads were overwritten is refused by its process", async () => {
    await putAll(engine, table, [{ ...key("d"), n: number(1) }]);
    let puts = 0;
    const { engine: client } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        put(...request) {
          puts += 1;
          return real.put(...request);
        },
      }),
    });
    await client.snapshot({}, (snapshot) => snapshot.get(table.name, key("d")));
    const failure = await failureOf(
      client.transact({ attemptsMax: 1 }, async (tx) => {
        await tx.get(table.name, key("d"));
        await putAll(engine, table, [
          { ...key("d"), n: number(2) },
          { ...key("e"), n: number(2) },
        ]);
        await tx.get(table.name, key("e"));
        tx.put(table.name, { ...key("f"), n: number(1) });
      }),
    );
    expect(failure).toMatchObject({ code: "conflict", detail: { key: key("d"), foundBy: "tail" } });
    expect(puts).toBe(0);
  });
});
