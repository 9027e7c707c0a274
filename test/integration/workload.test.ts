/**
 * A random workload from several client processes, with functions that repeat themselves and
 * installs that fail; its whole history is then judged (I1 to I9), and the judge is judged by
 * histories with one thing wrong.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import type { Isolation, Item, TableDescription } from "../../core/types.ts";
import type { Engine } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { complaints, type History, type Performed, type Sample } from "./checker.ts";
import { until } from "./fragile.ts";
import { look, perform, readLog, sample, textKey } from "./performing.ts";
import { key, number, numberOf } from "./support.ts";

const seed = Number(process.env["TIDEMARK_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const accountCount = 6;
const partitions = ["p", "q"];
const rowCount = 5;
const clientCount = 4;
const transactionsPerClient = 30;

let deployment: LocalDeployment;
let accounts: TableDescription;
let ledger: TableDescription;
let kept: TableDescription;
let history: History;

/** Mulberry32: small, seeded, good enough for choices. */
function randomOf(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

beforeAll(async () => {
  const random = randomOf(seed);
  deployment = await startLocalDeployment({
    async oracle(batch, invoke) {
      if (random(4) === 0) await invoke(batch);
      const both = random(4) === 0 ? [invoke(batch), invoke(batch)] : [invoke(batch)];
      for (const end of await Promise.allSettled(both)) {
        if (end.status === "rejected") throw end.reason;
      }
      if (random(5) === 0) throw new Error("the answer was lost");
    },
    async replay(batch, invoke) {
      const [answer] = await Promise.all([
        invoke(batch),
        ...(random(3) === 0 ? [invoke(batch)] : []),
      ]);
      return answer;
    },
  });
  const { stores } = deployment;
  const sortKey = { name: "sk", type: "N" } as const;
  [accounts, ledger, kept] = await Promise.all([
    stores.createTable("accounts"),
    stores.createTable("ledger", { sortKey }),
    stores.createTable("kept", { sortKey, history: true }),
  ]);
  history = await runWorkload();
});
afterAll(() => deployment.stop());

function accountKeys(): Item[] {
  return Array.from({ length: accountCount }, (_, i) => key(`account-${i.toString()}`));
}

function rowKeys(): Item[] {
  return partitions.flatMap((partition) =>
    Array.from({ length: rowCount }, (_, i) => key(partition, i)),
  );
}

function everything(): { readonly table: TableDescription; readonly key: Item }[] {
  return [
    ...accountKeys().map((each) => ({ table: accounts, key: each })),
    ...[ledger, kept].flatMap((table) => rowKeys().map((each) => ({ table, key: each }))),
  ];
}

async function runWorkload(): Promise<History> {
  const performed: Performed[] = [];
  const first = deployment.openEngine();
  performed.push(
    await perform(first, "serializable", (tx) => {
      for (const each of accountKeys()) tx.put(accounts, { ...each, n: number(100) });
      return Promise.resolve();
    }),
  );
  const samples: Sample[] = [];
  const running = new AbortController();
  const sampling = (async () => {
    while (!running.signal.aborted) {
      samples.push(await sample(deployment.stores, everything()));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await Promise.all(
    Array.from({ length: clientCount }, (_, client) => runClient(client, performed)),
  );
  running.abort();
  await sampling;
  await caughtUp();
  samples.push(await sample(deployment.stores, everything()));
  const { items } = deployment.stores.ports;
  const all = everything();
  const stored = await items.batchGet(all);
  return {
    hashes: deployment.stores.hashes,
    blocks: await readLog(deployment.stores),
    performed,
    samples,
    final: all.map((each, i) => ({ ...each, item: stored[i]?.item })),
  };
}

/** Client 0 is sound; the others lose installs, and so leave them to readers and to replay. */
async function runClient(client: number, performed: Performed[]): Promise<void> {
  const random = randomOf(seed + client + 1);
  const ports = deployment.stores.openPorts();
  const engine = deployment.openEngine({
    ports: {
      items: {
        ...ports.items,
        install(...request) {
          if (client > 0 && random(client + 2) === 0) {
            return Promise.reject(new StoreError("unavailable", "scripted"));
          }
          return ports.items.install(...request);
        },
      },
    },
  });
  for (let i = 0; i < transactionsPerClient; i += 1) {
    performed.push(await step(engine, random, client * 1_000 + i));
  }
}

function step(engine: Engine, random: (below: number) => number, tag: number): Promise<Performed> {
  const isolation: Isolation = random(3) === 0 ? "snapshot" : "serializable";
  const pick = <T>(from: readonly T[]): T => {
    const one = from[random(from.length)];
    if (one === undefined) throw new Error("nothing to pick from");
    return one;
  };
  const table = pick([ledger, kept]);
  const partition = pick(partitions);
  const row = key(partition, random(rowCount));
  const [from, to] = [pick(accountKeys()), pick(accountKeys())];
  switch (random(6)) {
    case 0:
      return look(engine, async (reader) => {
        for (const each of accountKeys()) await reader.get(accounts, each);
        await reader.query(table, partition);
      });
    case 1:
      return perform(engine, isolation, async (tx) => {
        const rows = await tx.query(table, partition);
        if (rows.length < rowCount) tx.put(table, { ...row, n: number(tag) });
        else tx.delete(table, row);
      });
    case 2:
      return perform(engine, isolation, async (tx) => {
        const found = await tx.get(table, row);
        if (found === undefined) tx.put(table, { ...row, n: number(tag) });
        else tx.delete(table, row);
      });
    default:
      return perform(engine, isolation, async (tx) => {
        const source = numberOf(await tx.get(accounts, from));
        const target = numberOf(await tx.get(accounts, to));
        if (textKey(from) === textKey(to)) return;
        tx.put(accounts, { ...from, n: number(source - 1) });
        tx.put(accounts, { ...to, n: number(target + 1) });
        if (tag % 3 === 0) tx.put(table, { ...row, n: number(tag) });
      });
  }
}

async function caughtUp(): Promise<void> {
  const { ports, shard } = deployment.stores;
  await until(async () => {
    const [newest] = await ports.log.readBackward(shard, { blocksMax: 1 });
    const watermark = await ports.control.readWatermark(shard);
    return watermark?.position === newest?.position;
  });
}

describe(`the history of a random workload (TIDEMARK_TEST_SEED=${seed.toString()})`, () => {
  test("I1 to I9: nothing is to be complained of", () => {
    expect({ seed, complaints: complaints(history) }).toEqual({ seed, complaints: [] });
    expect(history.performed).toHaveLength(1 + clientCount * transactionsPerClient);
  });

  test("money is conserved, at the end and in every snapshot of all accounts", () => {
    const sums = history.performed
      .filter(({ id, reads }) => id === undefined && reads.length === accountCount)
      .map(({ reads }) => reads.reduce((sum, { item }) => sum + numberOf(item), 0));
    const end = history.final
      .filter(({ table }) => table.name === accounts.name)
      .reduce((sum, { item }) => sum + numberOf(item), 0);
    expect({ seed, sums: new Set([...sums, end]) }).toEqual({
      seed,
      sums: new Set([accountCount * 100]),
    });
  });
});

describe("the checker complains when", () => {
  function withPerformed(change: (each: Performed) => Performed): string[] {
    return complaints({ ...history, performed: history.performed.map(change) });
  }

  test("I1: a block is missing", () => {
    const found = complaints({ ...history, blocks: history.blocks.filter((_, i) => i !== 3) });
    expect(found.some((each) => each.startsWith("I1"))).toBe(true);
  });

  test("I2, I3: a block stands twice", () => {
    const [first] = history.blocks.filter(({ verdicts }) => verdicts.length > 0);
    if (first === undefined) throw new Error("no block");
    const found = complaints({ ...history, blocks: [...history.blocks, first] });
    expect(found.some((each) => each.startsWith("I2"))).toBe(true);
    expect(found.some((each) => each.startsWith("I3"))).toBe(true);
  });

  test.each(["serializable", "snapshot"] as const)(
    "I4, I5: a read lies too far back (%s)",
    (of) => {
      const found = withPerformed((each) =>
        each.isolation === of && each.writes.length > 0 ? { ...each, readTimestamp: 1 } : each,
      );
      const invariant = of === "serializable" ? "I4" : "I5";
      expect(found.some((each) => each.startsWith(invariant))).toBe(true);
    },
  );

  test("I6: a version falls", () => {
    const [older, newer] = [history.samples[0], history.samples.at(-1)];
    if (older === undefined || newer === undefined) throw new Error("no samples");
    const found = complaints({
      ...history,
      samples: [newer, { ...older, watermark: newer.watermark }],
    });
    expect(found.some((each) => each.startsWith("I6"))).toBe(true);
  });

  test("I7: the watermark claims what is not installed", () => {
    const samples = history.samples.slice(0, 1).map((each) => ({ ...each, watermark: 1e16 }));
    expect(complaints({ ...history, samples }).some((each) => each.startsWith("I7"))).toBe(true);
  });

  test("I8: a read returns another value", () => {
    const found = withPerformed((each) => ({
      ...each,
      reads: each.reads.map((read) => ({ ...read, item: { ...read.key, n: number(-5) } })),
    }));
    expect(found.some((each) => each.startsWith("I8"))).toBe(true);
  });

  test("I9: an acknowledged commit is not in the log", () => {
    const lost = history.performed.find((each) => each.id !== undefined)?.id;
    const blocks = history.blocks.map((block) => ({
      ...block,
      verdicts: block.verdicts.filter(({ id }) => id !== lost),
    }));
    expect(complaints({ ...history, blocks }).some((each) => each.startsWith("I9"))).toBe(true);
  });
});
