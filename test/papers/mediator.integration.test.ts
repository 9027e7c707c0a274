/**
 * Claims of Mediator (SYSTOR '14) about its oracle, its helper and local reads, on real stores.
 * docs/papers.md lists all.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TableDescription } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
  abandon,
  fragileEngine,
  idOf,
  never,
  storedN,
  until,
  verdictsOn,
} from "../integration/fragile.ts";
import {
  createTables,
  failureOf,
  gate,
  key,
  number,
  numberOf,
  putAll,
  queryRows,
  readOne,
  scanRows,
  text,
} from "../integration/support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let sorted: TableDescription;
let engine: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  [table, sorted] = await createTables(deployment.stores);
});
beforeEach(() => {
  engine = deployment.openEngine();
});
afterEach(async () => {
  await deployment.oracle.start();
  await deployment.replay.start();
});
afterAll(() => deployment.stop());

describe("Mediator, recovery of the status oracle", () => {
  test("what was asked while no oracle ran is decided once, when it is back", async () => {
    await readOne(engine, table, key("a"));
    await deployment.oracle.stop();
    const { engine: client, ids } = fragileEngine(deployment.stores, {});
    const failure = await failureOf(
      client.transact({ deadlineMs: 4_000 }, (tx) => {
        tx.put(table.name, { ...key("a"), n: number(1) });
        return Promise.resolve();
      }),
    );
    expect(failure).toMatchObject({ code: "commit-unknown", transactionId: idOf(ids) });
    expect(await verdictsOn(deployment.stores, idOf(ids))).toEqual([]);
    expect(await storedN(deployment.stores, table, key("a"))).toBe(0);

    await deployment.oracle.start();
    expect(await engine.outcome(idOf(ids))).toMatchObject({ kind: "committed" });
    expect(await verdictsOn(deployment.stores, idOf(ids))).toEqual(["committed"]);
    expect(numberOf(await readOne(engine, table, key("a")))).toBe(1);
  });

  test("what was committed before is committed after, for readers and conflicts", async () => {
    await putAll(engine, table, [{ ...key("b"), n: number(1) }]);
    const failure = await failureOf(
      engine.transact({ attemptsMax: 1 }, async (tx) => {
        await tx.get(table.name, key("b"));
        await putAll(deployment.openEngine(), table, [{ ...key("b"), n: number(2) }]);
        await deployment.oracle.stop();
        await deployment.oracle.start();
        tx.put(table.name, { ...key("c"), n: number(1) });
      }),
    );
    expect(failure).toMatchObject({ code: "conflict", detail: { key: key("b") } });
    expect(numberOf(await readOne(engine, table, key("b")))).toBe(2);
  });
});

describe("Mediator, the helper", () => {
  test("a reader that meets a crashed client's commit finishes it, and sees it", async () => {
    await deployment.replay.stop();
    const { id } = await commitAndCrash("helped");
    const reader = deployment.openEngine();
    expect(numberOf(await readOne(reader, table, key("helped-1")))).toBe(1);
    expect(await storedN(deployment.stores, table, key("helped-1"))).toBe(1);
    const { result } = await reader.snapshot({}, (snapshot) =>
      queryRows(snapshot, sorted, { partitionKey: text("helped") }),
    );
    expect(result.map((row) => numberOf(row))).toEqual([2]);
    expect(await verdictsOn(deployment.stores, id)).toEqual(["committed"]);
  });

  test("replay finishes what nobody reads", async () => {
    await commitAndCrash("unread");
    await until(async () => (await storedN(deployment.stores, table, key("unread-1"))) === 1);
    await until(async () => (await storedN(deployment.stores, sorted, key("unread", "2"))) === 2);
  });

  test("a client that goes on after it was helped and overwritten changes nothing", async () => {
    const [began, wake] = [gate(), gate()];
    const { engine: frozen } = fragileEngine(deployment.stores, {
      items: (real) => ({
        async install(...request) {
          began.open();
          await wake.opened;
          return real.install(...request);
        },
      }),
    });
    const sleeping = frozen.transact({}, (tx) => {
      tx.put(table.name, { ...key("overtaken"), n: number(1) });
      return Promise.resolve();
    });
    await began.opened;
    const { commitTimestamp } = await putAll(engine, table, [
      { ...key("overtaken"), n: number(2) },
    ]);
    // Until replay is done with both: from then on nobody would put the item right again.
    const { ports, shard } = deployment.stores;
    await until(async () => {
      const watermark = await ports.control.readWatermark(shard);
      return (watermark?.timestamp ?? 0) >= (commitTimestamp ?? Infinity);
    });
    wake.open();
    const { receipt } = await sleeping;
    expect(receipt.installed).toBe(true);
    expect(await storedN(deployment.stores, table, key("overtaken"))).toBe(2);
  });

  async function commitAndCrash(name: string): Promise<{ readonly id: ReturnType<typeof idOf> }> {
    const began = gate();
    const { engine: crashed, ids } = fragileEngine(deployment.stores, {
      items: () => ({
        install: () => {
          began.open();
          return never();
        },
      }),
    });
    abandon(crashed, (tx) => {
      tx.put(table.name, { ...key(`${name}-1`), n: number(1) });
      tx.put(sorted.name, { ...key(name, "2"), n: number(2) });
    });
    await began.opened;
    return { id: idOf(ids) };
  }
});

describe("Mediator, local reads", () => {
  test("reads go to the store, never to the oracle, and go on without functions", async () => {
    await putAll(engine, sorted, [
      { ...key("local", "a"), n: number(1) },
      { ...key("local", "b"), n: number(2) },
    ]);
    await deployment.oracle.stop();
    await deployment.replay.stop();
    const reader = deployment.openEngine();
    const { result, receipt } = await reader.transact({}, async (tx) => ({
      got: numberOf(await tx.get(sorted.name, key("local", "a"))),
      queried: (await queryRows(tx, sorted, { partitionKey: text("local") })).map((row) =>
        numberOf(row),
      ),
      scanned: (await scanRows(tx, sorted)).length > 1,
    }));
    expect(result).toEqual({ got: 1, queried: [1, 2], scanned: true });
    expect(receipt.transactionId).toBeUndefined();
  });

  test("a read costs one read of the item, however many transactions have written it", async () => {
    for (let i = 0; i < 5; i += 1) {
      await putAll(engine, table, [{ ...key("cheap"), n: number(i) }]);
    }
    const { result, receipt } = await engine.snapshot({ maxStalenessMs: 60_000 }, (snapshot) =>
      snapshot.get(table.name, key("cheap")),
    );
    expect(numberOf(result)).toBe(4);
    expect(receipt.consumed.calls).toBe(1);
  });
});
