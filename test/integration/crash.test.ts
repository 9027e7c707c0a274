/**
 * A client that stops at each step of a commit, and what becomes of its transaction (docs/protocol.md §6 to §8; I3, I9). A crash is a
 * port that hangs for ever: nothing more comes from that process, and nobody closes it.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CommitUnknownError } from "../../core/errors.ts";
import type { CommitLog, CommitStream, ItemStore, Ports } from "../../core/ports.ts";
import type { Item, TableDescription, TransactionId, Verdict } from "../../core/types.ts";
import { createEngine } from "../../engine/engine.ts";
import { decodeBlock } from "../../engine/log-search.ts";
import type { Engine, EngineTransaction } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import {
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
  const { stores } = deployment;
  const sortKey = { name: "sk", type: "S" } as const;
  [table, sorted, kept] = await Promise.all([
    stores.createTable("plain"),
    stores.createTable("sorted", { sortKey }),
    stores.createTable("kept", { sortKey, history: true }),
  ]);
});
beforeEach(() => {
  engine = deployment.openEngine();
});
afterEach(async () => {
  await deployment.oracle.start();
  await deployment.replay.start();
});
afterAll(() => deployment.stop());

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

type Broken = {
  readonly stream?: (real: CommitStream) => Partial<CommitStream>;
  readonly log?: (real: CommitLog) => Partial<CommitLog>;
  readonly items?: (real: ItemStore) => Partial<ItemStore>;
};

/** A client process that is going to crash; it is never closed, as crashed ones are not. */
function fragileEngine(broken: Broken): { readonly engine: Engine; readonly ids: TransactionId[] } {
  const ports: Ports = deployment.stores.openPorts();
  const { stream, log, items } = ports;
  const ids: TransactionId[] = [];
  return {
    ids,
    engine: createEngine(
      {
        ...ports,
        stream: { ...stream, ...broken.stream?.(stream) },
        log: { ...log, ...broken.log?.(log) },
        items: { ...items, ...broken.items?.(items) },
      },
      {
        onEvent: (event) => {
          if (event.kind === "sent") ids.push(event.transactionId);
        },
      },
    ),
  };
}

/** Begins the transaction, and does not wait for a process that will not answer. */
function abandon(by: Engine, body: (tx: EngineTransaction) => void): void {
  by.transact({}, (tx) => {
    body(tx);
    return Promise.resolve();
  }).catch(() => undefined);
}

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the condition did not come to hold");
}

async function verdictsOn(id: TransactionId): Promise<Verdict["kind"][]> {
  const { log } = deployment.stores.ports;
  const verdicts: Verdict["kind"][] = [];
  let after = 0;
  for (;;) {
    const page = await log.readAfter(deployment.stores.shard, after as never);
    for (const stored of page.blocks) {
      after = stored.position;
      for (const verdict of decodeBlock(stored).verdicts) {
        if (verdict.id === id) verdicts.push(verdict.kind);
      }
    }
    if (page.complete) return verdicts;
  }
}

async function storedN(of: TableDescription, key: Item): Promise<number> {
  const { item } = await deployment.stores.ports.items.get(of, key);
  return numberOf(item);
}

function idOf(ids: readonly TransactionId[]): TransactionId {
  const [id] = ids;
  if (id === undefined) throw new Error("nothing was sent");
  return id;
}

describe("a client that stops", () => {
  test("before its request is stored has done nothing, and its id is settled as aborted", async () => {
    const { engine: crashed, ids } = fragileEngine({ stream: () => ({ put: () => never() }) });
    abandon(crashed, (tx) => tx.put(table.name, { ...key("before"), n: number(1) }));
    await until(() => ids.length > 0);
    expect(await engine.outcome(idOf(ids))).toEqual({ kind: "aborted" });
    expect(await readOne(engine, table, key("before"))).toBeUndefined();
    expect(await verdictsOn(idOf(ids))).toEqual(["aborted"]);
  });

  test("after its request is stored leaves a commit that replay installs", async () => {
    const stored = gate();
    const { engine: crashed, ids } = fragileEngine({
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
    await until(async () => (await storedN(table, key("stored-1"))) === 1);
    await until(async () => (await storedN(sorted, key("stored", "2"))) === 2);
    await until(async () => (await storedN(kept, key("stored", "3"))) === 3);
    const { version } = await deployment.stores.ports.items.get(table, key("stored-1"));
    expect(outcome).toEqual({ kind: "committed", commitTimestamp: version });
  });

  test("after the decision, before any install, is finished by readers while replay is down", async () => {
    await deployment.replay.stop();
    const began = gate();
    const { engine: crashed, ids } = fragileEngine({
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
    expect(await storedN(table, key("helped-1"))).toBe(0);
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
    expect(await storedN(table, key("helped-2"))).toBe(2);
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
      const { engine: crashed } = fragileEngine({
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
      const { engine: crashed, ids } = fragileEngine({
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
        const stored = await Promise.all(names.map((sk) => storedN(into, key(partition, sk))));
        return stored.every((n) => n === 2);
      });
    },
  );
});

describe("a put whose fate is unknown", () => {
  test("commits once when the record is stored and the answer is lost, again and again", async () => {
    let puts = 0;
    const { engine: lossy, ids } = fragileEngine({
      stream: (real) => ({
        async put(shard, records) {
          puts += 1;
          await real.put(shard, records);
          if (puts <= 3) return records.map(() => ({ kind: "unknown", cause: new Error("lost") }));
          throw new Error("lost altogether");
        },
      }),
    });
    for (let i = 0; i < 4; i += 1) {
      await lossy.transact({}, async (tx) => {
        const item = await tx.get(table.name, key("lossy"));
        tx.put(table.name, { ...key("lossy"), n: number(numberOf(item) + 1) });
      });
    }
    expect(await storedN(table, key("lossy"))).toBe(4);
    const kinds = await Promise.all([...new Set(ids)].map((id) => verdictsOn(id)));
    for (const verdicts of kinds) {
      expect(verdicts.filter((kind) => kind === "committed")).toHaveLength(1);
    }
  });

  test("is sent again when the stream throttles it, under the same id", async () => {
    let puts = 0;
    const { engine: throttled, ids } = fragileEngine({
      stream: (real) => ({
        put(shard, records) {
          puts += 1;
          if (puts > 3) return real.put(shard, records);
          return Promise.resolve(records.map(() => ({ kind: "throttled" })));
        },
      }),
    });
    const { receipt } = await throttled.transact({}, (tx) => {
      tx.put(table.name, { ...key("throttled"), n: number(1) });
      return Promise.resolve();
    });
    expect(receipt).toMatchObject({ attempts: 1, installed: true });
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(1);
  });

  test("that was only ever throttled is not unknown at the deadline, but certainly aborted", async () => {
    const { engine: throttled } = fragileEngine({
      stream: () => ({
        put: (_, records) => Promise.resolve(records.map(() => ({ kind: "throttled" }))),
      }),
    });
    const failure = await failureOf(
      throttled.transact({ deadlineMs: 600 }, (tx) => {
        tx.put(table.name, { ...key("only-throttled"), n: number(1) });
        return Promise.resolve();
      }),
    );
    expect(failure).toMatchObject({ code: "unavailable", outcome: "aborted" });
  });
});

describe("an unknown outcome", () => {
  async function unknownId(by: Engine, write: Item): Promise<TransactionId> {
    const failure = await failureOf(
      by.transact({ deadlineMs: 800 }, (tx) => {
        tx.put(table.name, write);
        return Promise.resolve();
      }),
    );
    if (!(failure instanceof CommitUnknownError)) throw failure;
    expect(failure).toMatchObject({ retryable: false, outcome: "unknown" });
    return failure.transactionId;
  }

  test("is told as such when no oracle decides before the deadline, and settled once one runs", async () => {
    await readOne(engine, table, key("unknown"));
    await deployment.oracle.stop();
    const id = await unknownId(engine, { ...key("unknown"), n: number(1) });
    const asked = engine.outcome(id);
    await deployment.oracle.start();
    // The request was stored before the question was: it is certified first.
    expect(await asked).toMatchObject({ kind: "committed" });
    expect(numberOf(await readOne(engine, table, key("unknown")))).toBe(1);
    const stranger = deployment.openEngine();
    expect(await stranger.outcome(id)).toEqual(await asked);
  });

  test("stays unknown when the question itself gets no answer in time", async () => {
    const { engine: mute, ids } = fragileEngine({ stream: () => ({ put: () => never() }) });
    const id = await unknownId(mute, { ...key("mute"), n: number(1) });
    expect(idOf(ids)).toBe(id);
    await engine.outcome(id);
    await deployment.oracle.stop();
    const other = fragileEngine({ stream: () => ({ put: () => never() }) });
    const second = await unknownId(other.engine, { ...key("mute"), n: number(1) });
    const failure = await failureOf(engine.outcome(second, { deadlineMs: 500 }));
    expect(failure).toMatchObject({ code: "commit-unknown", transactionId: second });
  });

  test("is told at the deadline, also when the log never answers", async () => {
    const { engine: deaf, ids } = fragileEngine({
      log: (real) => ({
        readAfter: (...request) => (ids.length > 0 ? never() : real.readAfter(...request)),
      }),
    });
    const id = await unknownId(deaf, { ...key("deaf"), n: number(1) });
    expect(await engine.outcome(id)).toMatchObject({ kind: "committed" });
  });

  test("once settled as aborted stays so, when the very bytes arrive afterwards", async () => {
    const captured: Uint8Array[] = [];
    const { engine: mute } = fragileEngine({
      stream: () => ({
        put: (_, records) => {
          captured.push(...records);
          return never();
        },
      }),
    });
    const id = await unknownId(mute, { ...key("late"), n: number(1) });
    expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
    const { stores } = deployment;
    expect(captured.length).toBeGreaterThan(0);
    await stores.ports.stream.put(stores.shard, captured);
    // A commit sent afterwards is decided afterwards.
    await putAll(engine, table, [key("marker")]);
    expect(await verdictsOn(id)).toEqual(["aborted"]);
    expect(await engine.outcome(id)).toEqual({ kind: "aborted" });
    expect(await readOne(engine, table, key("late"))).toBeUndefined();
  });

  test("of an id that nobody ever sent is aborted, from any client, for good", async () => {
    const ids: TransactionId[] = [];
    const { engine: maker } = fragileEngine({ stream: () => ({ put: () => never() }) });
    const id = await unknownId(maker, { ...key("unsent"), n: number(1) });
    ids.push(id);
    const asked = await Promise.all(
      [deployment.openEngine(), deployment.openEngine(), deployment.openEngine()].map((each) =>
        each.outcome(id),
      ),
    );
    expect(asked).toEqual([{ kind: "aborted" }, { kind: "aborted" }, { kind: "aborted" }]);
    expect(await verdictsOn(id)).toEqual(["aborted"]);
  });

  test("of a commit that was answered is the same commit", async () => {
    const receipt = await putAll(engine, table, [key("answered")]);
    const { transactionId, commitTimestamp } = receipt;
    if (transactionId === undefined) throw new Error("no id");
    expect(await deployment.openEngine().outcome(transactionId)).toEqual({
      kind: "committed",
      commitTimestamp,
    });
  });
});

describe("acknowledgement", () => {
  test("a failing install never turns a commit into an error; the receipt says that it is left", async () => {
    const left: unknown[] = [];
    const ports = deployment.stores.openPorts();
    const failing = createEngine(
      {
        ...ports,
        items: { ...ports.items, install: () => Promise.reject(new Error("install failed")) },
      },
      {
        onEvent: (event) => {
          if (event.kind === "install-left") left.push(event.cause);
        },
      },
    );
    const receipt = await putAll(failing, table, [{ ...key("left"), n: number(1) }]);
    expect(receipt).toMatchObject({ installed: false, attempts: 1 });
    expect(left).toHaveLength(1);
    expect(numberOf(await readOne(engine, table, key("left")))).toBe(1);
    await until(async () => (await storedN(table, key("left"))) === 1);
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
    expect(await storedN(table, key("certified"))).toBe(0);
    const reading = readOne(engine, table, key("certified"));
    open.open();
    expect(numberOf(await reading)).toBe(1);
  });

  test("close waits for the installs under way", async () => {
    const ports = deployment.stores.openPorts();
    let finished = 0;
    const slow = createEngine({
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
    });
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
