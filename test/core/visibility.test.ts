/**
 * What an answer of the store means, against a model that knows every item by name, under hashes
 * that mean next to nothing: a collision may cost another read, and never shows a wrong state.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commitName, Tail } from "../../core/tail.ts";
import { TransactionReads } from "../../core/transaction-reads.ts";
import type { KeyHash, LogPosition, Timestamp, Version, WriteHashes } from "../../core/types.ts";
import { pageAnswer } from "../../core/page-visibility.ts";
import { type Answer, itemAnswer, judge, type Known } from "../../core/visibility.ts";
import { blockPlan, ModelLog, type ModelWrite, startTimestamp } from "./tail-model.ts";

type Hashing = (write: ModelWrite) => WriteHashes;

/** Hashes of which there are only so many, for keys, partitions and tables together. */
function narrow(space: number): Hashing {
  const hash = (...parts: readonly number[]): number =>
    parts.reduce((sum, part) => (sum * 31 + part + 7) % 65_521, 1) % space;
  return ({ table, partition, key }) => {
    const tableHash = hash(1, table);
    const partitionHash = hash(2, tableHash, partition);
    return {
      table: BigInt(tableHash) as KeyHash,
      partition: BigInt(partitionHash) as KeyHash,
      key: BigInt(hash(3, partitionHash, key)) as KeyHash,
      // The log does not carry long sort keys.
      sortKey: key < 2 ? Uint8Array.of(key) : undefined,
    };
  };
}

const partitions = [0, 1, 2];
const keys = [0, 1, 2, 3];
const nothingKnown: Known = { installedThrough: startTimestamp, installed: new Set() };

/** A log, of whose writes some are in their tables. */
class Store {
  readonly log: ModelLog;
  readonly tail = new Tail({ position: 0 as LogPosition, timestamp: startTimestamp });
  readonly hashing: Hashing;
  readonly #stored = new Map<string, number>();

  constructor(hashing: Hashing) {
    this.hashing = hashing;
    this.log = new ModelLog(hashing);
  }

  install(write: ModelWrite, timestamp: number): void {
    const name = JSON.stringify(write);
    this.#stored.set(name, Math.max(this.#stored.get(name) ?? 0, timestamp));
  }

  stored(write: ModelWrite): Version {
    return (this.#stored.get(JSON.stringify(write)) ?? 0) as Version;
  }

  /** The newest version at the timestamp. */
  at(write: ModelWrite, timestamp: number): number {
    const commits = this.log.commits.filter(
      (commit) =>
        commit.timestamp <= timestamp &&
        commit.writes.some((each) => JSON.stringify(each) === JSON.stringify(write)),
    );
    return commits.at(-1)?.timestamp ?? 0;
  }

  /** All that is known to be installed; the watermark stands as high as it can. */
  known(): Known {
    const installed = new Set<string>();
    let installedThrough = this.tail.newest;
    for (const { timestamp, writes } of this.log.commits) {
      for (const [write, each] of writes.entries()) {
        if (this.stored(each) >= timestamp) installed.add(`${timestamp}/${write}`);
        else installedThrough = Math.min(installedThrough, timestamp - 1) as Timestamp;
      }
    }
    return { installedThrough, installed };
  }
}

const world = fc
  .record({
    space: fc.constantFrom(1, 2, 5, 16, 65_521),
    plans: fc.array(blockPlan, { minLength: 1, maxLength: 4 }),
    /** Which writes are installed, one after the other. */
    installs: fc.array(fc.boolean(), { minLength: 64, maxLength: 64 }),
  })
  .map(({ space, plans, installs }) => {
    const store = new Store(narrow(space));
    for (const plan of plans) store.tail.fold(store.log.append(plan));
    let next = 0;
    for (const { timestamp, writes } of store.log.commits) {
      for (const write of writes) {
        if (installs[next++ % installs.length] === true) store.install(write, timestamp);
      }
    }
    return store;
  });

type Read = { readonly answer: Answer; readonly items: readonly ModelWrite[] };

function pageOf(store: Store, on: "partition" | "table", known: Known): Read {
  const read = on === "partition" ? [0] : partitions;
  const items = read.flatMap((partition) => keys.map((key) => ({ table: 0, partition, key })));
  const rows = items.flatMap((item) => {
    const version = store.stored(item);
    return version === 0 ? [] : [{ hashes: store.hashing(item), version }];
  });
  const predicate = store.hashing({ table: 0, partition: 0, key: 0 })[on];
  const mayContain = ({ sortKey }: WriteHashes): "yes" | "unknown" =>
    on === "partition" && sortKey === undefined ? "unknown" : "yes";
  return { answer: pageAnswer({ predicate, on, rows, page: "all", mayContain }, known), items };
}

function itemOf(store: Store, known: Known): Read {
  const item = { table: 0, partition: 0, key: 1 };
  return { answer: itemAnswer(store.hashing(item).key, store.stored(item), known), items: [item] };
}

const kind = fc.constantFrom("item", "partition", "table");
const mode = fc.constantFrom("read-write", "read-only", "fixed");

function readOf(store: Store, what: "item" | "partition" | "table", known: Known): Read {
  return what === "item" ? itemOf(store, known) : pageOf(store, what, known);
}

describe("under hashes of few bits", () => {
  test("I8: what is consistent at r shows the newest version at r, or a newer one", () => {
    fc.assert(
      fc.property(world, kind, mode, fc.boolean(), fc.nat(20), (store, what, by, knows, back) => {
        const { tail } = store;
        const known = knows ? store.known() : nothingKnown;
        const { answer, items } = readOf(store, what, known);
        const from = Math.max(startTimestamp, tail.newest - back) as Timestamp;
        const reads = new TransactionReads(from);
        const reading = { mode: by, isolation: "serializable", reads, history: true } as const;
        const judgement = judge(answer, reading, tail);
        if (judgement.kind !== "consistent") return;
        const r = judgement.readTimestamp;
        expect(r).toBeGreaterThanOrEqual(from);
        for (const item of items) {
          const version = store.stored(item);
          if (version <= r) expect([item, version]).toEqual([item, store.at(item, r)]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("what is known to be installed is waited for by nobody", () => {
    fc.assert(
      fc.property(world, kind, (store, what) => {
        for (const { timestamp, writes } of store.log.commits) {
          for (const write of writes) store.install(write, timestamp);
        }
        const installed = new Set(
          store.log.commits.flatMap(({ timestamp, writes }) =>
            writes.map((_, write) => `${timestamp}/${write}`),
          ),
        );
        const { answer } = readOf(store, what, { ...nothingKnown, installed });
        const reads = new TransactionReads(startTimestamp);
        const reading = { mode: "read-write", isolation: "serializable", reads } as const;
        const judgement = judge(answer, { ...reading, history: false }, store.tail);
        expect(judgement.kind).toBe("consistent");
      }),
    );
  });

  test("a page says only of writes that it shows that it shows them", () => {
    fc.assert(
      fc.property(world, fc.constantFrom("partition", "table"), (store, on) => {
        const { answer, items } = pageOf(store, on, nothingKnown);
        const names = new Set(items.map((item) => JSON.stringify(item)));
        const upTo = { by: "place", at: store.tail.newest } as const;
        const range = { above: startTimestamp, upTo };
        const predicate = store.hashing({ table: 0, partition: 0, key: 0 })[on];
        for (const { commit, hashes } of store.tail.commitsUnder(predicate, range)) {
          if (answer.seen?.shows(commit, hashes) !== true) continue;
          const of = store.log.commits.find(({ timestamp }) => timestamp === commit.timestamp);
          const write = of?.writes[commit.write];
          if (write === undefined || !names.has(JSON.stringify(write))) continue;
          expect(store.stored(write)).toBeGreaterThanOrEqual(commit.timestamp);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("two rows of one hash", () => {
  const seen = { table: 0, partition: 0, key: 0 };
  const other = { table: 0, partition: 0, key: 1 };
  const commit = (write: ModelWrite) =>
    ({ verdicts: [{ kind: "committed", writes: [write], step: 1 }] }) as const;

  /** `missing` is committed, then `installed`, and that one only is in its table. */
  function overwritten(missing: ModelWrite, installed: ModelWrite, hashing: Hashing): Store {
    const store = new Store(hashing);
    store.tail.fold(store.log.append(commit(missing)));
    store.tail.fold(store.log.append(commit(installed)));
    store.install(installed, store.tail.newest);
    return store;
  }

  function judged(store: Store, read: Read) {
    const reads = new TransactionReads(store.tail.newest);
    const reading = { mode: "read-write", isolation: "serializable", reads } as const;
    return judge(read.answer, { ...reading, history: false }, store.tail);
  }

  const oneHash = narrow(1);
  const withoutSortKeys: Hashing = (write) => ({ ...oneHash(write), sortKey: undefined });

  test.each([
    ["a query that knows the sort keys", oneHash, "partition"],
    ["a query that does not", withoutSortKeys, "partition"],
    ["a scan", oneHash, "table"],
  ] as const)("the newer one does not hide that the other is missing: %s", (_, hashing, on) => {
    const store = overwritten(other, seen, hashing);
    expect(judged(store, pageOf(store, on, nothingKnown)).kind).toBe("lacking");
  });

  test("a row's own older writes are not waited for where the sort key tells", () => {
    const store = overwritten(seen, seen, oneHash);
    expect(judged(store, pageOf(store, "partition", nothingKnown)).kind).toBe("consistent");
    expect(judged(store, itemOf(overwritten(other, other, oneHash), nothingKnown)).kind).toBe(
      "consistent",
    );
  });

  test("beside a neighbour that is installed, an older missing write is found still", () => {
    const store = overwritten(other, seen, oneHash);
    const neighbour = store.tail.newestCommit(oneHash(seen).key, {
      above: startTimestamp,
      upTo: { by: "place", at: store.tail.newest },
    });
    const installed = new Set(neighbour === undefined ? [] : [commitName(neighbour)]);
    const judgement = judged(store, itemOf(store, { ...nothingKnown, installed }));
    expect(judgement).toMatchObject({
      kind: "lacking",
      lacking: { commits: [{ timestamp: store.log.commits[0]?.timestamp }] },
    });
  });
});
