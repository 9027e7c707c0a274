/**
 * What a payload says of its tables has to be what the registry says, or it does not commit: replay
 * goes by the payload, with rights to every table (docs/operations.md, Who can do what).
 */
import { systemDigest } from "../../aws/system-digest.ts";
import { describe, expect, test } from "vitest";
import { callerEntryKey, detachedEntryKey } from "../../core/idempotency-key.ts";
import * as limits from "../../core/limits.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { Item, Payload, PayloadTable, ShardId, TableDescription } from "../../core/types.ts";

import { createOracleService, type OracleService } from "../../functions/oracle/service.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { spillPayload } from "../../schemas/spill.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { id, sequenceText, startTimestamp } from "../core/oracle-harness.ts";
import { controlTable, MemoryLog } from "./memory-log.ts";

const shard = "shardId-000000000000" as ShardId;
const ample = { remainingMs: () => 60_000 };

const orders: TableDescription = {
  name: "orders",
  partitionKey: { name: "customer", type: "S" },
  sortKey: { name: "number", type: "N" },
  history: true,
  access: "transactional",
};
const blobs: TableDescription = {
  name: "blobs",
  partitionKey: { name: "digest", type: "B" },
  history: false,
  access: "transactional",
};
const people: TableDescription = {
  name: "people",
  partitionKey: { name: "id", type: "S" },
  indexKeys: [
    { name: "mail", type: "S", role: "partition" },
    { name: "age", type: "N", role: "sort" },
    { name: "face", type: "B", role: "sort" },
    { name: "id", type: "S", role: "sort" },
  ],
  history: false,
  access: "transactional",
};

const carts: TableDescription = { ...blobs, name: "carts", access: "mixed" };
const shut: TableDescription = {
  ...{ ...blobs, name: "shut" },
  move: { to: "mixed", stage: "closed" },
};
const guarded: TableDescription = {
  ...{ ...carts, name: "guarded" },
  move: { to: "mixed", stage: "guarded" },
};

const ordersPayload: PayloadTable = {
  name: "orders",
  partitionKey: "customer",
  sortKey: "number",
  history: true,
};
const asUnmixed: PayloadTable = { name: "carts", partitionKey: "digest", history: false };
const cartsPayload: PayloadTable = { ...asUnmixed, isMixed: true };
const cart: Item = { digest: { B: Uint8Array.of(1) } };
const accountsPayload: PayloadTable = { name: "accounts", partitionKey: "pk", history: false };
const controlPayload: PayloadTable = {
  name: controlTable.name,
  partitionKey: "pk",
  sortKey: "sk",
  history: false,
};

const peoplePayload: PayloadTable = { name: "people", partitionKey: "id", history: false };

/** What the engine writes beside an entry's key. */
const entryAttributes: Item = {
  transactionId: { S: id(1) },
  place: { N: "0" },
  result: { M: { total: { N: "3" } } },
  expiresAt: { N: (startTimestamp / 1_000_000 + limits.idempotencyRetentionSeconds).toFixed(0) },
};
const latestExpiry = Math.floor(startTimestamp / 1_000_000) + limits.idempotencyExpirySecondsMax;

function putOf(table: PayloadTable, key: Item, more: Item): Payload {
  return { tables: [table], writes: [{ table: 0, key, item: { ...key, ...more } }] };
}

function entryPut(key: Item, changes: { readonly [name: string]: Item[string] | undefined } = {}) {
  const all = Object.entries({ ...entryAttributes, ...changes });
  const more = all.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return putOf(controlPayload, key, Object.fromEntries(more));
}

function person(more: Item, key = "ann"): Payload {
  return putOf(peoplePayload, { id: { S: key } }, more);
}

function payload(table: PayloadTable, key: Item): Payload {
  return { tables: [table], writes: [{ table: 0, key, item: key }] };
}

function deletion(table: PayloadTable, key: Item): Payload {
  return { tables: [table], writes: [{ table: 0, key, item: undefined }] };
}

function record(
  sequence: number,
  each: Payload,
  spillInto?: MemoryLog,
  kind: "commit" | "prepare" = "commit",
): StreamRecord {
  const bytes = encodePayload(each);
  const { chunks, source } = spillPayload(bytes, systemDigest);
  spillInto?.spilled.set(id(sequence), chunks);
  const request = encodeCommitRequest({
    kind,
    id: id(sequence),
    isolation: "serializable",
    checkedTo: startTimestamp,
    checks: [],
    payload: spillInto === undefined ? { kind: "inline", bytes } : source,
  });
  return {
    sequenceNumber: sequenceText(10n ** 20n + BigInt(sequence)),
    arrivalMs: startTimestamp / 1000 + sequence,
    data: encodeCommitRecord(sampleHashes.fingerprint, [request]),
  };
}

function newLog(): MemoryLog {
  const log = new MemoryLog(startTimestamp);
  log.tables = [...log.tables, orders, blobs, people, carts, shut, guarded];
  return log;
}

/** The log's last decision, once the record is certified. */
async function decide(log: MemoryLog, given: StreamRecord, service?: OracleService) {
  const oracle = service ?? createOracleService(log.ports());
  await oracle.handle({ shard, records: [given] }, ample);
  const verdict = log.decoded().at(-1)?.verdicts.at(-1);
  return verdict?.kind === "aborted" ? verdict.reason.kind : verdict?.kind;
}

const order = { customer: { S: "ada" }, number: { N: "7" } };
/** As the engine makes it: what it writes must pass. */
const entry = callerEntryKey("k");
const cases: readonly [string, Payload, string][] = [
  ["as registered", payload(ordersPayload, order), "committed"],
  ["as registered, a delete", deletion(ordersPayload, order), "committed"],
  ["an idempotency entry", entryPut(entry), "committed"],
  [
    "the entry of a transaction that REST hands on",
    entryPut(detachedEntryKey("state"), { result: { NULL: true } }),
    "committed",
  ],
  ["an entry with its key alone", payload(controlPayload, entry), "table-unknown"],
  ["an entry without a result", entryPut(entry, { result: undefined }), "table-unknown"],
  ["an entry with one attribute more", entryPut(entry, { x: { N: "1" } }), "table-unknown"],
  ["an entry whose id is none", entryPut(entry, { transactionId: { S: "me" } }), "table-unknown"],
  [
    "an entry whose id is no text",
    entryPut(entry, { transactionId: { B: new Uint8Array(32) } }),
    "table-unknown",
  ],
  ["an entry whose place is a text", entryPut(entry, { place: { S: "0" } }), "table-unknown"],
  ["an entry whose place is none", entryPut(entry, { place: { N: "-1" } }), "table-unknown"],
  ["an entry whose end is a text", entryPut(entry, { expiresAt: { S: "1" } }), "table-unknown"],
  [
    "an entry whose end is no integer",
    entryPut(entry, { expiresAt: { N: "1.5" } }),
    "table-unknown",
  ],
  [
    "an entry that ends as late as it may",
    entryPut(entry, { expiresAt: { N: latestExpiry.toFixed(0) } }),
    "committed",
  ],
  [
    "an entry that stands for longer",
    entryPut(entry, { expiresAt: { N: (latestExpiry + 2).toFixed(0) } }),
    "table-unknown",
  ],
  ["an index key of its type", person({ mail: { S: "a@b" }, age: { N: "7" } }), "committed"],
  ["no index key", person({ name: { S: "ann" } }), "committed"],
  ["an index key of another type", person({ mail: { N: "1" } }), "table-differs"],
  ["an index key that no key can be", person({ mail: { NULL: true } }), "table-differs"],
  ["an index's number as a text", person({ age: { S: "7" } }), "table-differs"],
  ["an empty index key", person({ mail: { S: "" } }), "table-differs"],
  ["an empty binary index key", person({ face: { B: new Uint8Array(0) } }), "table-differs"],
  ["an index key of the limit", person({ mail: { S: "m".repeat(2_048) } }), "committed"],
  ["an index key too long", person({ mail: { S: "m".repeat(2_049) } }), "table-differs"],
  ["an index's sort key too long", person({ face: { B: new Uint8Array(1_025) } }), "table-differs"],
  ["a key that an index takes, too", person({}, "k".repeat(1_024)), "committed"],
  ["a key that is too long for an index", person({}, "k".repeat(1_025)), "table-differs"],
  [
    "the delete of a key that is too long for an index",
    deletion(peoplePayload, { id: { S: "k".repeat(1_025) } }),
    "table-differs",
  ],
  [
    "a table that nobody registered",
    payload({ ...accountsPayload, name: "x" }, { pk: { S: "a" } }),
    "table-unknown",
  ],
  [
    "another partition key",
    payload({ ...accountsPayload, partitionKey: "zz" }, { zz: { S: "a" } }),
    "table-differs",
  ],
  [
    "a longer name of the key",
    payload({ ...accountsPayload, partitionKey: "pk2" }, { pk2: { S: "a" } }),
    "table-differs",
  ],
  [
    "another sort key",
    payload({ ...ordersPayload, sortKey: "no" }, { customer: { S: "ada" }, no: { N: "7" } }),
    "table-differs",
  ],
  [
    "a sort key that is none",
    payload({ ...accountsPayload, sortKey: "n" }, { pk: { S: "a" }, n: { N: "7" } }),
    "table-differs",
  ],
  [
    "no sort key",
    payload({ name: "orders", partitionKey: "customer", history: true }, { customer: { S: "a" } }),
    "table-differs",
  ],
  ["as registered, of a mixed table, without a vote", payload(cartsPayload, cart), "table-differs"],
  ["a mixed table as one of transactions alone", payload(asUnmixed, cart), "table-differs"],
  [
    "one of transactions alone as a mixed table",
    payload({ ...ordersPayload, isMixed: true }, order),
    "table-differs",
  ],
  ["a table that is closed", payload({ ...asUnmixed, name: "shut" }, cart), "table-differs"],
  ["no history", payload({ ...ordersPayload, history: false }, order), "table-differs"],
  [
    "a history that is not kept",
    payload({ ...accountsPayload, history: true }, { pk: { S: "a" } }),
    "table-differs",
  ],
  ["a number for a text", payload(accountsPayload, { pk: { N: "1" } }), "table-differs"],
  [
    "a long number for a text",
    payload(accountsPayload, { pk: { N: "123456.789" } }),
    "table-differs",
  ],
  [
    "a binary for a text",
    payload(accountsPayload, { pk: { B: Uint8Array.of(1) } }),
    "table-differs",
  ],
  [
    "a text for a binary",
    payload({ name: "blobs", partitionKey: "digest", history: false }, { digest: { S: "a" } }),
    "table-differs",
  ],
  [
    "a text for a number",
    payload(ordersPayload, { customer: { S: "ada" }, number: { S: "7" } }),
    "table-differs",
  ],
  [
    "the watermark",
    payload(controlPayload, { pk: { S: "shard#1" }, sk: { S: "watermark" } }),
    "table-unknown",
  ],
  [
    "an idempotency key of no length",
    payload(controlPayload, { pk: { S: "idempotency#" }, sk: { S: "-" } }),
    "table-unknown",
  ],
  [
    "an idempotency entry elsewhere",
    payload(controlPayload, { ...entry, sk: { S: "x" } }),
    "table-unknown",
  ],
  [
    "an idempotency entry below another",
    payload(controlPayload, { ...entry, sk: { S: "--" } }),
    "table-unknown",
  ],
  ["the end of an idempotency entry", deletion(controlPayload, entry), "table-unknown"],
  [
    "a part of the control table's key",
    payload({ ...accountsPayload, name: controlTable.name }, { pk: { S: "idempotency#k" } }),
    "table-differs",
  ],
  [
    "one right table and one that is not registered",
    {
      tables: [accountsPayload, { ...accountsPayload, name: "x" }],
      writes: [0, 1].map((table) => ({ table, key: { pk: { S: "a" } }, item: undefined })),
    },
    "table-unknown",
  ],
  [
    "a long idempotency key",
    entryPut({ ...entry, pk: { S: `idempotency#${"k".repeat(200)}` } }),
    "committed",
  ],
];

describe("a payload", () => {
  test.each(cases)("that names %s", async (_, given, expected) => {
    const inline = newLog();
    expect(await decide(inline, record(1, given))).toBe(expected);
    const spilled = newLog();
    expect(await decide(spilled, record(1, given, spilled))).toBe(expected);
  });

  test.each<[string, Payload, string]>([
    ["as registered", payload(cartsPayload, cart), "prepared"],
    ["that is closed", payload({ ...cartsPayload, name: "shut" }, cart), "table-differs"],
    [
      "that is guarded",
      payload({ ...cartsPayload, name: "guarded", isGuarded: true }, cart),
      "prepared",
    ],
    [
      "that is guarded, as one that is not",
      payload({ ...cartsPayload, name: "guarded" }, cart),
      "table-differs",
    ],
    ["as a guarded one", payload({ ...cartsPayload, isGuarded: true }, cart), "table-differs"],
    ["as one of transactions alone", payload(asUnmixed, cart), "table-differs"],
  ])("that names a mixed table %s is to be prepared", async (_, given, expected) => {
    const inline = newLog();
    expect(await decide(inline, record(1, given, undefined, "prepare"))).toBe(expected);
    const spilled = newLog();
    expect(await decide(spilled, record(1, given, spilled, "prepare"))).toBe(expected);
  });

  test("of a registered control table is still held to idempotency entries", async () => {
    const log = newLog();
    log.tables = [{ ...controlTable, history: false }];
    const watermark = payload(controlPayload, { pk: { S: "shard#1" }, sk: { S: "watermark" } });
    expect(await decide(log, record(1, watermark))).toBe("table-unknown");
    expect(await decide(log, record(2, entryPut(entry)))).toBe("committed");
  });
});

describe("the registry", () => {
  const made = payload({ ...accountsPayload, name: "made" }, { pk: { S: "a" } });

  function register(log: MemoryLog): void {
    const [accounts] = log.tables;
    if (accounts === undefined) throw new Error("accounts is registered");
    log.tables = [...log.tables, { ...accounts, name: "made" }];
  }

  test("is read again for an unknown table: one registered since commits at once", async () => {
    const log = newLog();
    const service = createOracleService(log.ports());
    await decide(log, record(1, payload(accountsPayload, { pk: { S: "a" } })), service);
    register(log);
    expect(await decide(log, record(2, made), service)).toBe("committed");
    expect(log.registryReads).toBe(2);
  });

  test("also where it was read for another one a moment ago", async () => {
    const log = newLog();
    const service = createOracleService(log.ports());
    expect(await decide(log, record(1, made), service)).toBe("table-unknown");
    register(log);
    log.nowMs += 1;
    expect(await decide(log, record(2, made), service)).toBe("committed");
  });

  test("and for a spilled payload", async () => {
    const log = newLog();
    const service = createOracleService(log.ports());
    await decide(log, record(1, payload(accountsPayload, { pk: { S: "a" } })), service);
    register(log);
    expect(await decide(log, record(2, made, log), service)).toBe("committed");
  });

  test("is read at a bounded rate, however many payloads do not fit it", async () => {
    const log = newLog();
    const service = createOracleService(log.ports());
    for (let i = 1; i <= 100; i += 1) {
      log.nowMs += limits.oracleRegistryReadMsMin / 10;
      expect(await decide(log, record(i, made), service)).toBe("table-unknown");
    }
    const earned = 10;
    expect(log.registryReads).toBeLessThanOrEqual(limits.oracleRegistryReadsMax + earned + 1);
    log.nowMs += limits.oracleRegistryReadMsMin;
    register(log);
    expect(await decide(log, record(101, made), service)).toBe("committed");
  });

  test("is read again where another has appended first, if it is old by then", async () => {
    for (const ageMs of [limits.oracleRegistryAgeMsMax, limits.oracleRegistryAgeMsMax + 1]) {
      const log = newLog();
      const [first, second] = [log, log].map((each) => createOracleService(each.ports()));
      if (first === undefined || second === undefined) throw new Error("two services");
      const free = record(1, payload(accountsPayload, { pk: { S: "a" } }));
      for (const each of [first, second]) await decide(log, free, each);
      // Whoever closes a table waits for copies of the registry, and then commits something.
      const last = record(2, payload(accountsPayload, { pk: { S: "last" } }));
      log.faults.set(log.calls, {
        kind: "meanwhile",
        run: async () => {
          log.nowMs += ageMs;
          log.tables = log.tables.map((each) =>
            each.name === "orders" ? { ...each, move: { to: "mixed", stage: "closed" } } : each,
          );
          await first.handle({ shard, records: [last] }, ample);
        },
      });
      const late = [last, record(3, payload(ordersPayload, order))];
      await second.handle({ shard, records: late }, ample);
      const verdicts = log.decoded().flatMap((block) => block.verdicts);
      const kind = ageMs > limits.oracleRegistryAgeMsMax ? "aborted" : "committed";
      expect(verdicts.map((each) => each.kind)).toEqual(["committed", "committed", kind]);
    }
  });

  test("is read again when it is old, so that a table taken away is refused", async () => {
    const log = newLog();
    const service = createOracleService(log.ports());
    const given = payload(ordersPayload, order);
    expect(await decide(log, record(1, given), service)).toBe("committed");
    log.tables = [];
    expect(await decide(log, record(2, given), service)).toBe("committed");
    log.nowMs += limits.oracleRegistryAgeMsMax + 1;
    expect(await decide(log, record(3, given), service)).toBe("table-unknown");
  });
});
