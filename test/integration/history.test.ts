/**
 * Reads at an older timestamp from superseded versions, and what deletes leave behind
 * (docs/protocol.md §5, §7; I6, I8).
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../aws/system.ts";
import type { Clock } from "../../core/ports.ts";
import * as limits from "../../core/limits.ts";
import type { Item, TableDescription, Timestamp, Version } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import type { Engine, Reader } from "../../engine/types.ts";
import { reap } from "../../functions/reaper/service.ts";
import { silentObservability } from "../../functions/shared/silent-observability.ts";
import { recorded } from "../harness/history-export.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
  createTables,
  deleteAll,
  failureOf,
  gate,
  increment,
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
let other: Engine;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  [table, sorted, kept] = await createTables(deployment.stores);
});
beforeEach(() => {
  engine = deployment.openEngine();
  other = deployment.openEngine();
});
afterEach(() => deployment.replay.start());
afterAll(() => deployment.stop());

function timestampOf(receipt: { readonly commitTimestamp: Timestamp | undefined }): Timestamp {
  if (receipt.commitTimestamp === undefined) throw new Error("nothing was committed");
  return receipt.commitTimestamp;
}

async function rowsOf(reader: Reader, of: TableDescription, partition: string): Promise<string[]> {
  const rows = await queryRows(reader, of, { partitionKey: text(partition) }, 2);
  return rows.map((row) => `${textOf(row, "sk") ?? ""}=${numberOf(row).toString()}`);
}

async function scannedOf(
  reader: Reader,
  of: TableDescription,
  partition: string,
): Promise<string[]> {
  const rows = await scanRows(reader, of, 3);
  return rows
    .filter((row) => textOf(row, "pk") === partition)
    .map((row) => `${textOf(row, "sk") ?? ""}=${numberOf(row).toString()}`)
    .sort();
}

describe("a snapshot that stays behind", () => {
  test("gets, queries and scans the state at its timestamp, without any later write", async () => {
    const partition = "behind";
    const row = (sk: string, n: number): Item => ({ ...key(partition, sk), n: number(n) });
    await putAll(engine, kept, [row("a", 1), row("b", 1), row("c", 1), row("d", 1)]);
    const { result } = await engine.snapshot({}, async (snapshot) => {
      const first = numberOf(await snapshot.get(kept.name, key(partition, "a")));
      await other.transact({}, (tx) => {
        for (const sk of ["a", "b"]) tx.put(kept.name, row(sk, 2));
        tx.put(kept.name, row("bb", 2));
        tx.put(kept.name, row("z", 2));
        tx.delete(kept.name, key(partition, "c"));
        return Promise.resolve();
      });
      await putAll(other, kept, [row("b", 3)]);
      return {
        first,
        got: await snapshot.batchGet(
          ["b", "bb", "c", "d"].map((sk) => ({ table: kept.name, key: key(partition, sk) })),
        ),
        queried: await rowsOf(snapshot, kept, partition),
        scanned: await scannedOf(snapshot, kept, partition),
      };
    });
    expect(result.first).toBe(1);
    expect(result.got.map((item) => (item === undefined ? undefined : numberOf(item)))).toEqual([
      1,
      undefined,
      1,
      1,
    ]);
    expect(result.queried).toEqual(["a=1", "b=1", "c=1", "d=1"]);
    expect(result.scanned).toEqual(result.queried);
    const { result: now } = await engine.snapshot({}, (snapshot) =>
      rowsOf(snapshot, kept, partition),
    );
    expect(now).toEqual(["a=2", "b=3", "bb=2", "d=1", "z=2"]);
  });

  test("without history runs again at a fresh timestamp, and is never torn", async () => {
    await putAll(engine, table, [
      { ...key("torn-1"), n: number(1) },
      { ...key("torn-2"), n: number(1) },
    ]);
    let runs = 0;
    const { result, receipt } = await engine.snapshot({}, async (snapshot) => {
      runs += 1;
      const one = numberOf(await snapshot.get(table.name, key("torn-1")));
      if (runs === 1) {
        await other.transact({}, async (tx) => {
          await increment(tx, table, key("torn-1"));
          await increment(tx, table, key("torn-2"));
        });
      }
      return [one, numberOf(await snapshot.get(table.name, key("torn-2")))];
    });
    expect(result).toEqual([2, 2]);
    expect(receipt.attempts).toBe(2);
  });

  test.each(["get", "query", "scan"] as const)(
    "without history fails as too old when it may not run again (%s)",
    async (how) => {
      const partition = `too-old-${how}`;
      await putAll(engine, sorted, [
        { ...key(partition, "a"), n: number(1) },
        { ...key(partition, "b"), n: number(1) },
      ]);
      const failure = await failureOf(
        engine.snapshot({ attemptsMax: 1 }, async (snapshot) => {
          await snapshot.get(sorted.name, key(partition, "a"));
          await other.transact({}, async (tx) => {
            await increment(tx, sorted, key(partition, "a"));
            await increment(tx, sorted, key(partition, "b"));
          });
          if (how === "get") await snapshot.get(sorted.name, key(partition, "b"));
          else if (how === "query") await rowsOf(snapshot, sorted, partition);
          else await scannedOf(snapshot, sorted, partition);
        }),
      );
      expect(failure).toMatchObject({ retryable: true, outcome: "aborted" });
      expect(["conflict", "snapshot-too-old"]).toContain((failure as { code: string }).code);
    },
  );

  test("in a snapshot-isolated transaction may write what nobody else wrote", async () => {
    const partition = "write-behind";
    await putAll(engine, kept, [
      { ...key(partition, "a"), n: number(1) },
      { ...key(partition, "b"), n: number(1) },
    ]);
    const { result, receipt } = await engine.transact({ isolation: "snapshot" }, async (tx) => {
      const a = numberOf(await tx.get(kept.name, key(partition, "a")));
      await other.transact({}, async (inner) => {
        await increment(inner, kept, key(partition, "a"));
        await increment(inner, kept, key(partition, "b"));
      });
      const b = numberOf(await tx.get(kept.name, key(partition, "b")));
      tx.put(kept.name, { ...key(partition, "sum"), n: number(a + b) });
      return a + b;
    });
    expect(result).toBe(2);
    expect(receipt.attempts).toBe(1);
  });
});

describe("asOf", () => {
  test("reads each committed state again, by get, query and scan, from any client", async () => {
    const partition = "as-of";
    const states: { at: Timestamp; rows: string[] }[] = [];
    const rows = new Map<string, number>();
    for (let i = 0; i < 8; i += 1) {
      const sk = `k${((i * 3) % 4).toString()}`;
      const deletes = i % 3 === 2 && rows.has(sk);
      const receipt = deletes
        ? await deleteAll(engine, kept, [key(partition, sk)])
        : await putAll(engine, kept, [{ ...key(partition, sk), n: number(i) }]);
      if (deletes) rows.delete(sk);
      else rows.set(sk, i);
      const sorted = [...rows].map(([name, n]) => `${name}=${n.toString()}`).sort();
      states.push({ at: timestampOf(receipt), rows: sorted });
    }
    for (const { at, rows: wanted } of states) {
      const { result, receipt } = await other.snapshot({ asOf: at }, async (snapshot) => ({
        queried: await rowsOf(snapshot, kept, partition),
        scanned: await scannedOf(snapshot, kept, partition),
        got: await snapshot.batchGet(
          ["k0", "k1", "k2", "k3"].map((sk) => ({ table: kept.name, key: key(partition, sk) })),
        ),
      }));
      expect(receipt.readTimestamp).toBe(at);
      expect(result.queried).toEqual(wanted);
      expect(result.scanned).toEqual(wanted);
      const got = result.got.flatMap((item) =>
        item === undefined ? [] : [`${textOf(item, "sk") ?? ""}=${numberOf(item).toString()}`],
      );
      expect(got).toEqual(wanted);
    }
    const first = states[0];
    if (first === undefined) throw new Error("no state");
    const { result } = await other.snapshot({ asOf: (first.at - 1) as Timestamp }, (snapshot) =>
      rowsOf(snapshot, kept, partition),
    );
    expect(result).toEqual([]);
  });

  test("of a table without history finds what is unchanged; is too old for the rest", async () => {
    const receipt = await putAll(engine, table, [
      { ...key("as-of-1"), n: number(1) },
      { ...key("as-of-2"), n: number(1) },
    ]);
    const asOf = timestampOf(receipt);
    await putAll(engine, table, [{ ...key("as-of-2"), n: number(2) }]);
    const { result } = await other.snapshot({ asOf }, (snapshot) =>
      snapshot.get(table.name, key("as-of-1")),
    );
    expect(numberOf(result)).toBe(1);
    expect(
      await failureOf(
        other.snapshot({ asOf, attemptsMax: 1 }, (snapshot) =>
          snapshot.get(table.name, key("as-of-2")),
        ),
      ),
    ).toMatchObject({ code: "snapshot-too-old" });
  });

  test("before the retention is too old, just ahead is now, far ahead is refused", async () => {
    const asOf = ((Date.now() - 2 * limits.historyRetentionMsDefault) * 1000) as Timestamp;
    const read = (at: number): Promise<unknown> =>
      failureOf(
        other.snapshot({ asOf: at as Timestamp, attemptsMax: 1 }, (snapshot) =>
          snapshot.get(kept.name, key("x", "y")),
        ),
      );
    expect(await read(asOf)).toMatchObject({ code: "snapshot-too-old" });
    const receipt = await putAll(engine, kept, [{ ...key("future", "a"), n: number(1) }]);
    const far = timestampOf(receipt) + 2 * limits.historyRetentionMsDefault * 1000;
    expect(await read(far)).toMatchObject({ code: "invalid-request", field: "asOf" });
    const { result } = await other.snapshot(
      { asOf: (timestampOf(receipt) + (limits.asOfAheadMsMax / 2) * 1000) as Timestamp },
      (snapshot) => snapshot.get(kept.name, key("future", "a")),
    );
    expect(numberOf(result)).toBe(1);
  });

  test("waits for a commit below it that is not installed yet", async () => {
    await deployment.replay.stop();
    const open = gate();
    const ports = deployment.stores.openPorts();
    const slow = deployment.openEngine({
      ports: {
        items: {
          ...ports.items,
          async install(...request) {
            await open.opened;
            return ports.items.install(...request);
          },
        },
      },
    });
    await putAll(engine, kept, [{ ...key("waits", "a"), n: number(1) }]);
    const { receipt } = await slow.transact({ ack: "certified" }, (tx) => {
      tx.put(kept.name, { ...key("waits", "a"), n: number(2) });
      return Promise.resolve();
    });
    const at = timestampOf(receipt);
    const reading = other.snapshot({ asOf: at }, (snapshot) =>
      snapshot.get(kept.name, key("waits", "a")),
    );
    const { result: earlier } = await other.snapshot({ asOf: (at - 1) as Timestamp }, (snapshot) =>
      snapshot.get(kept.name, key("waits", "a")),
    );
    open.open();
    expect(numberOf((await reading).result)).toBe(2);
    expect(numberOf(earlier)).toBe(1);
  });
});

describe("installs on a table with history", () => {
  test("happen in timestamp order, although an earlier commit's client hangs", async () => {
    await deployment.replay.stop();
    await putAll(engine, kept, [{ ...key("order", "a"), n: number(1) }]);
    const ports = deployment.stores.openPorts();
    const hung = recorded(
      deployment.stores,
      createEngine(
        { ...ports, items: { ...ports.items, install: () => new Promise(() => undefined) } },
        { commit: "stream" },
      ),
    );
    const { receipt: second } = await hung.transact({ ack: "certified" }, (tx) => {
      tx.put(kept.name, { ...key("order", "a"), n: number(2) });
      return Promise.resolve();
    });
    const third = await putAll(engine, kept, [{ ...key("order", "a"), n: number(3) }]);
    expect(third.installed).toBe(true);
    const { versions } = deployment.stores.ports;
    const of = key("order", "a");
    const entry = await versions.find(kept.name, of, timestampOf(second));
    expect(entry).toMatchObject({
      version: second.commitTimestamp,
      next: third.commitTimestamp,
      item: { n: number(2) },
    });
    const { result } = await other.snapshot(
      { asOf: (timestampOf(third) - 1) as Timestamp },
      (snapshot) => snapshot.get(kept.name, of),
    );
    expect(numberOf(result)).toBe(2);
  });

  test("of eight concurrent writers leave a chain of versions without a gap", async () => {
    const of = key("chain", "a");
    const engines = [engine, other, deployment.openEngine(), deployment.openEngine()];
    const receipts = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (engines[i % 4] ?? engine).transact({}, (tx) => {
          tx.put(kept.name, { ...of, n: number(i) });
          return Promise.resolve(i);
        }),
      ),
    );
    const ordered = receipts
      .map(({ result, receipt }) => ({ n: result, at: timestampOf(receipt) }))
      .sort((a, b) => a.at - b.at);
    for (const { n, at } of ordered) {
      const { result } = await other.snapshot({ asOf: at }, (snapshot) =>
        snapshot.get(kept.name, of),
      );
      expect(numberOf(result)).toBe(n);
    }
    const { versions } = deployment.stores.ports;
    for (const [i, { at }] of ordered.slice(0, -1).entries()) {
      const entry = await versions.find(kept.name, of, at);
      expect(entry).toMatchObject({ version: at, next: ordered[i + 1]?.at });
    }
  });
});

describe("deletes", () => {
  test("leave a tombstone that gets, queries and scans do not show", async () => {
    await putAll(engine, sorted, [key("gone", "a"), key("gone", "b")]);
    const receipt = await deleteAll(engine, sorted, [key("gone", "a"), key("gone", "never")]);
    const { items } = deployment.stores.ports;
    for (const sk of ["a", "never"]) {
      expect(await items.get(sorted, key("gone", sk))).toEqual({
        item: undefined,
        tombstone: true,
        version: receipt.commitTimestamp,
      });
    }
    const { result } = await other.snapshot({}, async (snapshot) => ({
      got: await snapshot.get(sorted.name, key("gone", "a")),
      queried: await rowsOf(snapshot, sorted, "gone"),
      scanned: await scannedOf(snapshot, sorted, "gone"),
    }));
    expect(result).toEqual({ got: undefined, queried: ["b=0"], scanned: ["b=0"] });
  });

  test("are not undone by a late install of an older put", async () => {
    const put = await putAll(engine, table, [{ ...key("undead"), n: number(1) }]);
    await deleteAll(engine, table, [key("undead")]);
    const { items } = deployment.stores.ports;
    const late = {
      table: table.name,
      key: key("undead"),
      item: { ...key("undead"), n: number(1) },
      version: timestampOf(put),
      signBeforeMs: Number.MAX_SAFE_INTEGER,
    };
    expect(await items.install({ ...late, expects: "below" })).toBe("superseded");
    expect(await items.install({ ...late, expects: 0 as Version })).toBe("superseded");
    expect(await readOne(other, table, key("undead"))).toBeUndefined();
  });

  test("let the item be inserted again, and counted once", async () => {
    await putAll(engine, sorted, [{ ...key("again", "a"), n: number(1) }]);
    await deleteAll(engine, sorted, [key("again", "a")]);
    const { result } = await other.transact({}, async (tx) => {
      const before = await tx.get(sorted.name, key("again", "a"));
      tx.put(sorted.name, { ...key("again", "a"), n: number(2) });
      return before;
    });
    expect(result).toBeUndefined();
    const { result: rows } = await engine.snapshot({}, (snapshot) =>
      rowsOf(snapshot, sorted, "again"),
    );
    expect(rows).toEqual(["a=2"]);
  });

  test("are removed by the reaper once they are due, and nothing else is", async () => {
    await putAll(engine, table, [key("reaped"), key("revived"), key("stays")]);
    await deleteAll(engine, table, [key("reaped"), key("revived")]);
    await putAll(engine, table, [{ ...key("revived"), n: number(2) }]);
    // Tombstones that replay finds together are due together, and those with history later.
    await caughtUp();
    await putAll(engine, kept, [key("reaped", "a")]);
    await deleteAll(engine, kept, [key("reaped", "a")]);
    const clock: Clock & { shiftMs: number } = {
      ...systemClock,
      shiftMs: 0,
      nowMs: () => Date.now() + clock.shiftMs,
    };
    const ports = { ...deployment.stores.openPorts(), clock };
    const run = (): Promise<unknown> =>
      reap({
        ports,
        observability: silentObservability,
        budget: { remainingMs: () => 60_000 },
      });
    const stored = async (of: TableDescription, each: Item): Promise<boolean> => {
      const { version } = await ports.items.get(of, each);
      return version > 0;
    };
    await caughtUp();
    await run();
    expect(await stored(table, key("reaped"))).toBe(true);
    clock.shiftMs = limits.tombstoneGraceMs + 1_000;
    await run();
    expect(await stored(table, key("reaped"))).toBe(false);
    expect(await stored(kept, key("reaped", "a"))).toBe(true);
    expect(numberOf(await readOne(other, table, key("revived")))).toBe(2);
    expect(await readOne(other, table, key("stays"))).toEqual(key("stays"));
    clock.shiftMs = limits.historyRetentionMsDefault + limits.readerMarginMs + 2_000;
    await run();
    expect(await stored(kept, key("reaped", "a"))).toBe(false);
    await putAll(engine, table, [{ ...key("reaped"), n: number(3) }]);
    expect(numberOf(await readOne(other, table, key("reaped")))).toBe(3);
  });
});

/** Until the watermark has passed everything that is decided. */
async function caughtUp(): Promise<void> {
  const { ports, shard } = deployment.stores;
  const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
  for (let i = 0; i < 500; i += 1) {
    const watermark = await ports.control.readWatermark(shard);
    if ((watermark?.position ?? 0) >= (newest?.position ?? 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("replay did not catch up");
}
