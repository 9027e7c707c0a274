/**
 * A client that stops at each step of a commit, and what becomes of its transaction
 * (docs/protocol.md §6 to §8; I3, I9).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TableDescription } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { Engine } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { abandon, fragileEngine, idOf, never, storedN, until, verdictsOn } from "./fragile.ts";
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
  textOf,
} from "./support.ts";

let deployment: LocalDeployment;
let table: TableDescription;
let sorted: TableDescription;
let kept: TableDescription;
let engine: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  [table, sorted, kept] = await createTables(deployment.stores);
});
beforeEach(() => {
  engine = deployment.openEngine();
});
afterEach(async () => {
  await deployment.oracle.start();
  await deployment.replay.start();
});
afterAll(() => deployment.stop());

describe("a client that stops", () => {
  test("before its request is stored does nothing, and its id is settled as aborted", async () => {
    const { engine: crashed, ids } = fragileEngine(deployment.stores, {
      stream: () => ({ put: () => never() }),
    });
    abandon(crashed, (tx) => tx.put(table.name, { ...key("before"), n: number(1) }));
    await until(() => ids.length > 0);
    expect(await engine.outcome(idOf(ids))).toEqual({ kind: "aborted" });
    expect(await readOne(engine, table, key("before"))).toBeUndefined();
    expect(await verdictsOn(deployment.stores, idOf(ids))).toEqual(["aborted"]);
  });

  test("after its request is stored leaves a commit that replay installs", async () => {
    const stored = gate();
    const { engine: crashed, ids } = fragileEngine(deployment.stores, {
      stream: (real) => ({
        async put(...request) {
          await real.put(...request);
          stored.open();
          return never();
        },
      }),
      log: (real) => ({
        readAfter: (...request) => (ids.length > 0 ? never() : real.readAfter(...request)),
      }),
    });
    abandon(crashed, (tx) => {
      tx.put(table.name, { ...key("stored-1"), n: number(1) });
      tx.put(sorted.name, { ...key("stored", "2"), n: number(2) });
      tx.put(kept.name, { ...key("stored", "3"), n: number(3) });
    });
    await stored.opened;
    const outcome = await engine.outcome(idOf(ids));
    expect(outcome.kind).toBe("committed");
    await until(async () => (await storedN(deployment.stores, table, key("stored-1"))) === 1);
    await until(async () => (await storedN(deployment.stores, sorted, key("stored", "2"))) === 2);
    await until(async () => (await storedN(deployment.stores, kept, key("stored", "3"))) === 3);
    const { version } = await deployment.stores.ports.items.get(table, key("stored-1"));
    expect(outcome).toEqual({ kind: "committed", commitTimestamp: version });
  });

  test("after the decision, before installs, is finished by readers, not replay", async () => {
    await deployment.replay.stop();
    const began = gate();
    const { engine: crashed, ids } = fragileEngine(deployment.stores, {
      items: () => ({
        install: () => {
          began.open();
          return never();
        },
      }),
    });
    await putAll(engine, sorted, [{ ...key("helped", "b"), n: number(1) }]);
    abandon(crashed, (tx) => {
      tx.put(table.name, { ...key("helped-1"), n: number(1) });
      tx.put(table.name, { ...key("helped-2"), n: number(2) });
      tx.put(sorted.name, { ...key("helped", "a"), n: number(3) });
      tx.delete(sorted.name, key("helped", "b"));
    });
    await began.opened;
    expect(await storedN(deployment.stores, table, key("helped-1"))).toBe(0);
    const reader = deployment.openEngine();
    const { result } = await reader.snapshot({}, async (snapshot) => {
      const [one, two] = await snapshot.batchGet([
        { table: table.name, key: key("helped-1") },
        { table: table.name, key: key("helped-2") },
      ]);
      const rows = await queryRows(snapshot, sorted, { partitionKey: text("helped") });
      return [numberOf(one), numberOf(two), ...rows.map((row) => numberOf(row))];
    });
    expect(result).toEqual([1, 2, 3]);
    expect(await engine.outcome(idOf(ids))).toMatchObject({ kind: "committed" });
    expect(await storedN(deployment.stores, table, key("helped-2"))).toBe(2);
  });

  test.each([1, 100])(
    "after the decision is finished by a scan in pages of %i while replay is down",
    async (limit) => {
      await deployment.replay.stop();
      const scanned = await deployment.stores.createTable(`scanned-${limit.toString()}`);
      const writer = deployment.openEngine();
      await putAll(
        writer,
        scanned,
        ["a", "b", "c"].map((pk) => ({ ...key(pk), n: number(1) })),
      );
      const began = gate();
      const { engine: crashed } = fragileEngine(deployment.stores, {
        items: () => ({
          install: () => {
            began.open();
            return never();
          },
        }),
      });
      abandon(crashed, (tx) => {
        tx.put(scanned.name, { ...key("d"), n: number(1) });
        tx.put(scanned.name, { ...key("b"), n: number(2) });
        tx.delete(scanned.name, key("c"));
      });
      await began.opened;
      const reader = deployment.openEngine();
      const { result } = await reader.snapshot({}, (snapshot) =>
        scanRows(snapshot, scanned, limit),
      );
      const found = result.map((row) => `${textOf(row, "pk") ?? ""}=${numberOf(row).toString()}`);
      expect(found.sort()).toEqual(["a=1", "b=2", "d=1"]);
    },
  );

  test("after the decision is finished by a query, overlong sort keys included", async () => {
    await deployment.replay.stop();
    const long = (name: string): string => name.repeat(100);
    await putAll(engine, sorted, [{ ...key("long", long("b")), n: number(1) }]);
    const began = gate();
    const { engine: crashed } = fragileEngine(deployment.stores, {
      items: () => ({
        install: () => {
          began.open();
          return never();
        },
      }),
    });
    abandon(crashed, (tx) => {
      tx.put(sorted.name, { ...key("long", long("a")), n: number(2) });
      tx.put(sorted.name, { ...key("long", long("c")), n: number(3) });
      tx.delete(sorted.name, key("long", long("b")));
    });
    await began.opened;
    const reader = deployment.openEngine();
    const { result } = await reader.snapshot({}, (snapshot) =>
      queryRows(snapshot, sorted, { partitionKey: text("long") }, 1),
    );
    expect(result.map((row) => numberOf(row))).toEqual([2, 3]);
  });

  test.each(["plain", "kept"] as const)(
    "after a part of its installs is never half visible (%s table)",
    async (which) => {
      const into = which === "plain" ? sorted : kept;
      await deployment.replay.stop();
      const names = ["a", "b", "c", "d", "e", "f"];
      const partition = `half-${which}`;
      await putAll(
        engine,
        into,
        names.map((sk) => ({ ...key(partition, sk), n: number(1) })),
      );
      let installs = 0;
      const half = gate();
      const { engine: crashed, ids } = fragileEngine(deployment.stores, {
        items: (real) => ({
          install(...request) {
            installs += 1;
            if (installs <= 3) return real.install(...request);
            half.open();
            return never();
          },
        }),
      });
      abandon(crashed, (tx) => {
        for (const sk of names) tx.put(into.name, { ...key(partition, sk), n: number(2) });
      });
      const sums = new Set<number>();
      const queried = new Set<number>();
      const look = async (): Promise<void> => {
        const reader = deployment.openEngine();
        const { result } = await reader.snapshot({}, async (snapshot) => {
          const items = await snapshot.batchGet(
            names.map((sk) => ({ table: into.name, key: key(partition, sk) })),
          );
          return items.reduce((sum, item) => sum + numberOf(item), 0);
        });
        sums.add(result);
        const { result: rows } = await reader.snapshot({}, (snapshot) =>
          queryRows(snapshot, into, { partitionKey: text(partition) }, 4),
        );
        queried.add(rows.reduce((sum, row) => sum + numberOf(row), 0));
      };
      await Promise.all([look(), half.opened.then(look), until(() => ids.length > 0).then(look)]);
      for (const seen of [sums, queried])
        expect([6, 12]).toEqual(expect.arrayContaining([...seen]));
      expect(sums).toContain(12);
      expect(await engine.outcome(idOf(ids))).toMatchObject({ kind: "committed" });
      await deployment.replay.start();
      await until(async () => {
        const stored = await Promise.all(
          names.map((sk) => storedN(deployment.stores, into, key(partition, sk))),
        );
        return stored.every((n) => n === 2);
      });
    },
  );
});

describe("acknowledgement", () => {
  test("a failing install never turns a commit into an error; the receipt tells", async () => {
    const left: unknown[] = [];
    const ports = deployment.stores.openPorts();
    const failing = createEngine(
      {
        ...ports,
        items: { ...ports.items, install: () => Promise.reject(new Error("install failed")) },
      },
      {
        commit: "stream",
        onEvent: (event) => {
          if (event.kind === "install-left") left.push(event.cause);
        },
      },
    );
    const receipt = await putAll(failing, table, [{ ...key("left"), n: number(1) }]);
    expect(receipt).toMatchObject({ installed: false, attempts: 1 });
    expect(left).toHaveLength(1);
    expect(numberOf(await readOne(engine, table, key("left")))).toBe(1);
    await until(async () => (await storedN(deployment.stores, table, key("left"))) === 1);
  });

  test("of `certified` returns before the installs, and readers wait for them", async () => {
    const open = gate();
    const ports = deployment.stores.openPorts();
    const slow = deployment.openEngine({
      ports: {
        items: {
          ...ports.items,
          install: async (...request) => {
            await open.opened;
            return ports.items.install(...request);
          },
        },
      },
    });
    await deployment.replay.stop();
    const { receipt } = await slow.transact({ ack: "certified" }, (tx) => {
      tx.put(table.name, { ...key("certified"), n: number(1) });
      return Promise.resolve();
    });
    expect(receipt.installed).toBe(false);
    expect(await storedN(deployment.stores, table, key("certified"))).toBe(0);
    const reading = readOne(engine, table, key("certified"));
    open.open();
    expect(numberOf(await reading)).toBe(1);
  });

  test("is told twice: certified before the first install, committed after the last", async () => {
    const told: string[] = [];
    const timestamps: (number | undefined)[] = [];
    const ports = deployment.stores.openPorts();
    const observed = createEngine(
      {
        ...ports,
        items: {
          ...ports.items,
          install: (...request) => {
            told.push("install");
            return ports.items.install(...request);
          },
        },
      },
      {
        commit: "stream",
        onEvent: (event) => {
          if (event.kind !== "certified" && event.kind !== "committed") return;
          told.push(event.kind);
          if (event.kind === "certified") timestamps.push(event.commitTimestamp);
        },
      },
    );
    const rows = ["told-1", "told-2"].map((pk) => ({ ...key(pk), n: number(1) }));
    const { commitTimestamp } = await putAll(observed, table, rows);
    expect(told).toEqual(["certified", "install", "install", "committed"]);
    expect(timestamps).toEqual([commitTimestamp]);
    await observed.close();
  });

  test("close waits for the installs under way", async () => {
    const ports = deployment.stores.openPorts();
    let finished = 0;
    const slow = createEngine(
      {
        ...ports,
        items: {
          ...ports.items,
          install: async (...request) => {
            await new Promise((resolve) => setTimeout(resolve, 50));
            const answer = await ports.items.install(...request);
            finished += 1;
            return answer;
          },
        },
      },
      { commit: "stream" },
    );
    await slow.transact({ ack: "certified" }, (tx) => {
      tx.put(table.name, { ...key("closing"), n: number(1) });
      return Promise.resolve();
    });
    await slow.close();
    expect(finished).toBe(1);
    expect(await failureOf(putAll(slow, table, [key("closing")]))).toMatchObject({
      code: "transaction-closed",
    });
  });
});
