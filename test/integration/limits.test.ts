/**
 * Every limit that a user can meet, and every input that can never work: refused with class, field
 * and limit.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  InvalidRequestError,
  TransactionClosedError,
  TransactionTooLargeError,
} from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { AttributeValue, Item, TableDescription } from "../../core/types.ts";
import type { Engine, EngineTransaction } from "../../engine/types.ts";
import { startLocalDeployment, type LocalDeployment } from "../harness/local-deployment.ts";
import { fragileEngine, never } from "./fragile.ts";
import { failureOf, key, number, numberOf, putAll, readOne, text } from "./support.ts";

let deployment: LocalDeployment;
let engine: Engine;
let table: TableDescription;
let sorted: TableDescription;
let binary: TableDescription;

beforeAll(async () => {
  deployment = await startLocalDeployment();
  const { stores } = deployment;
  [table, sorted, binary] = await Promise.all([
    stores.createTable("plain"),
    stores.createTable("sorted", { sortKey: { name: "sk", type: "N" } }),
    stores.createTable("binary", {
      partitionKey: { name: "pk", type: "B" },
      sortKey: { name: "sk", type: "S" },
    }),
  ]);
  engine = deployment.openEngine();
});
afterAll(() => deployment.stop());

/** What the body's own call throws; nothing is committed. */
async function refusal(body: (tx: EngineTransaction) => unknown): Promise<unknown> {
  return failureOf(
    engine.transact({ attemptsMax: 1 }, async (tx) => {
      await body(tx);
      throw new Error("it was not refused");
    }),
  );
}

function large(bytes: number): AttributeValue {
  return text("x".repeat(bytes));
}

describe("a transaction", () => {
  test.each(["serializable", "snapshot"] as const)(
    "may write as many keys as the limit says, and not one more (%s)",
    async (isolation) => {
      // Nothing is installed: this is about certification.
      const { engine: certifying } = fragileEngine(deployment.stores, {
        items: () => ({ install: () => never() }),
      });
      await deployment.replay.stop();
      const max = limits.transactionKeysMax;
      const { receipt } = await certifying.transact({ isolation, ack: "certified" }, (tx) => {
        for (let i = 0; i < max; i += 1) tx.put(sorted.name, key(`many-${isolation}`, i));
        expect(() => {
          tx.put(sorted.name, key(`many-${isolation}`, max));
        }).toThrow(TransactionTooLargeError);
        expect(() => {
          tx.delete(sorted.name, key("one-more", 1));
        }).toThrow(
          expect.objectContaining({ limit: { name: "transactionKeysMax", max, actual: max + 1 } }),
        );
        return Promise.resolve();
      });
      expect(receipt.attempts).toBe(1);
    },
  );

  test("may read and write as many keys together", async () => {
    const max = limits.transactionKeysMax;
    const keys = Array.from({ length: max + 1 }, (_, i) => ({
      table: table.name,
      key: key(`read-${i.toString()}`),
    }));
    expect(await refusal((tx) => tx.batchGet(keys))).toMatchObject({
      code: "transaction-too-large",
      limit: { name: "transactionKeysMax", max, actual: max + 1 },
    });
    expect(
      await refusal((tx) => {
        tx.put(table.name, key("w"));
        return tx.batchGet(keys.slice(1));
      }),
    ).toMatchObject({ limit: { name: "transactionKeysMax", actual: max + 1 } });
  });

  test("may hold as many bytes of writes as the limit says", async () => {
    const max = limits.payloadBytesMax;
    const each = 300 * 1024;
    expect(
      await refusal((tx) => {
        for (let i = 0; i < max / each; i += 1) {
          tx.put(table.name, { ...key(`bytes-${i.toString()}`), large: large(each) });
        }
      }),
    ).toMatchObject({ code: "transaction-too-large", limit: { name: "payloadBytesMax", max } });
  });

  test("that overwrites one item again and again is as large as its last write", async () => {
    const { result } = await engine.transact({}, async (tx) => {
      for (let i = 0; i < 60; i += 1) {
        tx.put(table.name, { ...key("rewritten"), large: large(300 * 1024), n: number(i) });
      }
      tx.put(table.name, { ...key("rewritten"), n: number(60) });
      return numberOf(await tx.get(table.name, key("rewritten")));
    });
    expect(result).toBe(60);
  });
});

describe("an item", () => {
  test("of the largest size that DynamoDB takes survives; one byte more is refused", async () => {
    const max = limits.itemBytesMax;
    const overhead =
      limits.reservedAttributeBytes + "pk".length + "largest".length + "large".length;
    const largest = { ...key("largest"), large: large(max - overhead) };
    await putAll(engine, table, [largest]);
    expect(await readOne(deployment.openEngine(), table, key("largest"))).toEqual(largest);
    expect(
      await refusal((tx) => {
        tx.put(table.name, { ...key("largest"), large: large(max - overhead + 1) });
      }),
    ).toMatchObject({
      code: "transaction-too-large",
      limit: { name: "itemBytesMax", max, actual: max + 1 },
    });
  });

  test("nests as deep as DynamoDB allows, and not one level deeper", async () => {
    const nested = (levels: number): AttributeValue =>
      levels === 0 ? text("leaf") : { L: [nested(levels - 1)] };
    await putAll(engine, table, [{ ...key("deep"), nested: nested(limits.itemDepthMax - 1) }]);
    const found = await readOne(deployment.openEngine(), table, key("deep"));
    expect(found?.["nested"]).toEqual(nested(limits.itemDepthMax - 1));
    expect(
      await refusal((tx) => {
        tx.put(table.name, { ...key("deep"), nested: nested(limits.itemDepthMax + 1) });
      }),
    ).toMatchObject({ code: "invalid-request" });
  });

  test.each(["_v", "_n", "_x", "_f", "_b"])("must not have the attribute %s", async (name) => {
    expect(
      await refusal((tx) => {
        tx.put(table.name, { ...key("reserved"), [name]: number(1) });
      }),
    ).toMatchObject({ code: "invalid-request", field: name });
  });

  const bad: [string, AttributeValue][] = [
    ["no number", { N: "one" }],
    ["more than 38 digits", { N: "1".repeat(39) }],
    ["a number too large", { N: "1E126" }],
    ["an empty set", { SS: [] }],
    ["a set with a repetition", { NS: ["1", "1.0"] }],
    ["two types", { S: "a", N: "1" }],
    ["no type", {} as unknown as AttributeValue],
    ["a false NULL", { NULL: false } as unknown as AttributeValue],
    ["half a character", { S: "\ud800" }],
  ];
  test.each(bad)("with %s is refused where it is written", async (_, value) => {
    expect(
      await refusal((tx) => {
        tx.put(table.name, { ...key("bad"), field: value });
      }),
    ).toBeInstanceOf(InvalidRequestError);
  });
});

describe("a key", () => {
  type Bad = readonly [string, () => TableDescription, Item, string];
  const cases: Bad[] = [
    ["without its sort key", () => sorted, { pk: text("a") }, "sk"],
    ["without its partition key", () => sorted, { sk: number(1) }, "pk"],
    ["with a partition key of another type", () => table, { pk: number(1) }, "pk"],
    ["with a sort key of another type", () => sorted, { pk: text("a"), sk: text("1") }, "sk"],
    ["with an empty text", () => table, { pk: text("") }, "pk"],
    ["with no bytes", () => binary, { pk: { B: new Uint8Array(0) }, sk: text("a") }, "pk"],
    ["with too long a partition key", () => table, { pk: text("k".repeat(2049)) }, "pk"],
    [
      "with too long a sort key",
      () => binary,
      { pk: { B: Uint8Array.of(1) }, sk: text("k".repeat(1025)) },
      "sk",
    ],
    ["with an attribute too many", () => table, { pk: text("a"), sk: number(1) }, "sk"],
  ];
  test.each(cases)(
    "%s is refused by get, batchGet and delete, by field",
    async (_, of, bad, field) => {
      const wanted = { code: "invalid-request", field };
      const name = of().name;
      expect(await refusal((tx) => tx.get(name, bad))).toMatchObject(wanted);
      expect(await refusal((tx) => tx.batchGet([{ table: name, key: bad }]))).toMatchObject(wanted);
      expect(
        await refusal((tx) => {
          tx.delete(name, bad);
        }),
      ).toMatchObject(wanted);
    },
  );

  test("of the longest size is stored and found", async () => {
    const longest = { pk: { B: new Uint8Array(2048).fill(7) }, sk: text("s".repeat(1024)) };
    await putAll(engine, binary, [{ ...longest, n: number(1) }]);
    const other = deployment.openEngine();
    const found = await other.snapshot({}, async (snapshot) => ({
      got: await snapshot.get(binary.name, longest),
      queried: await snapshot.queryPage(binary.name, { partitionKey: longest.pk }, {}),
    }));
    expect(numberOf(found.result.got)).toBe(1);
    expect(found.result.queried.rows).toHaveLength(1);
  });
});

describe("a query or scan", () => {
  test.each([
    ["a partition key of another type", { partitionKey: number(1) }, "pk"],
    [
      "a condition of another type",
      { partitionKey: text("a"), sortKey: { operator: "=", value: text("1") } },
      undefined,
    ],
    [
      "a prefix of numbers",
      { partitionKey: text("a"), sortKey: { operator: "begins_with", value: number(1) } },
      undefined,
    ],
  ] as const)("with %s is refused", async (_, query, field) => {
    const failure = await refusal((tx) => tx.queryPage(sorted.name, query, {}));
    expect(failure).toMatchObject({ code: "invalid-request", ...(field && { field }) });
  });

  test("with a condition on a sort key that the table does not have is refused", async () => {
    const sortKey = { operator: "=", value: text("x") } as const;
    expect(
      await refusal((tx) => tx.queryPage(table.name, { partitionKey: text("a"), sortKey }, {})),
    ).toMatchObject({ code: "invalid-request", field: "sortKey" });
  });

  test.each([{ pk: text("a") }, { sk: number(1) }, { pk: text("a"), sk: text("b") }])(
    "with a cursor that is no key of the table is refused: %j",
    async (cursor) => {
      const query = { partitionKey: text("a") };
      expect(await refusal((tx) => tx.queryPage(sorted.name, query, { cursor }))).toMatchObject({
        code: "invalid-request",
      });
      expect(await refusal((tx) => tx.scanPage(sorted.name, {}, { cursor }))).toMatchObject({
        code: "invalid-request",
      });
    },
  );

  test.each([0, -1, 1.5])("with a limit of %d is refused", async (limit) => {
    expect(
      await refusal((tx) => tx.queryPage(sorted.name, { partitionKey: text("a") }, { limit })),
    ).toMatchObject({ code: "invalid-request" });
    expect(await refusal((tx) => tx.scanPage(sorted.name, {}, { limit }))).toMatchObject({
      code: "invalid-request",
    });
  });

  test("of an index that the table does not have is refused", async () => {
    const index = { name: "no-such-index", partitionKey: "pk" };
    expect(
      await refusal((tx) => tx.queryPage(table.name, { index, partitionKey: text("a") }, {})),
    ).toMatchObject({ code: "invalid-request" });
  });
});

describe("a call", () => {
  test("for a table that is not registered is refused by name", async () => {
    const failure = await refusal((tx) => tx.get("no-such-table", key("a")));
    expect(failure).toMatchObject({ code: "invalid-request", field: "table" });
    expect((failure as Error).message).toContain("no-such-table");
  });

  test("finds a table that was registered after the engine had read the registry", async () => {
    const engineBefore = deployment.openEngine();
    await readOne(engineBefore, table, key("a"));
    const late = await deployment.stores.createTable("late");
    await putAll(engineBefore, late, [key("a")]);
    expect(await readOne(engineBefore, late, key("a"))).toEqual(key("a"));
  });

  test("whose signal is aborted ends with its reason, before or during the body", async () => {
    const reason = new Error("the user left");
    let ran = false;
    const before = engine.transact({ signal: AbortSignal.abort(reason) }, () => {
      ran = true;
      return Promise.resolve();
    });
    expect(await failureOf(before)).toBe(reason);
    expect(ran).toBe(false);
    const controller = new AbortController();
    const during = engine.transact({ signal: controller.signal }, async (tx) => {
      tx.put(table.name, key("left"));
      controller.abort(reason);
      await tx.get(table.name, key("left-too"));
    });
    expect(await failureOf(during)).toBe(reason);
    expect(await readOne(deployment.openEngine(), table, key("left"))).toBeUndefined();
  });

  test("past its deadline is unavailable, aborted, and says how long it had", async () => {
    const failure = await failureOf(engine.transact({ deadlineMs: 50 }, () => never()));
    expect(failure).toMatchObject({ code: "unavailable", outcome: "aborted", retryable: true });
    expect((failure as Error).message).toContain("50 ms");
  });

  test("keeps no transaction usable after its end", async () => {
    let kept: EngineTransaction | undefined;
    await engine.transact({}, (tx) => {
      kept = tx;
      return Promise.resolve();
    });
    expect(() => {
      kept?.put(table.name, key("after"));
    }).toThrow(TransactionClosedError);
    await expect(kept?.get(table.name, key("after"))).rejects.toThrow(TransactionClosedError);
  });

  test("of a closed engine is refused, whatever it is", async () => {
    const closed = deployment.openEngine();
    await readOne(closed, table, key("a"));
    await closed.close();
    await closed.close();
    const calls = [
      () => closed.transact({}, () => Promise.resolve()),
      () => closed.snapshot({}, () => Promise.resolve()),
      () => closed.begin({ isolation: "serializable" }),
      () => closed.outcome("00000000000000".padEnd(32, "1") as never),
    ];
    for (const call of calls) {
      expect(await failureOf(call())).toBeInstanceOf(TransactionClosedError);
    }
  });
});
