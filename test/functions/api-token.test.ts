/** The token of an interactive transaction: whole, signed, expiring. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { SortKeyCondition } from "../../core/ports.ts";
import type {
  AttributeValue,
  Item,
  LogPosition,
  ShardNumber,
  Timestamp,
} from "../../core/types.ts";
import type { MixedPageRequest, MixedState } from "../../engine/attempts/remembered-state.ts";
import type { TransactionState } from "../../engine/types.ts";
import { ApiProblem } from "../../functions/api/problem.ts";
import { createTokenCodec, requireYoung } from "../../functions/api/token.ts";
import { balances, memoryApi, memoryControl } from "./fixtures/api-harness.ts";

type Part = TransactionState["parts"][number];

const codec = createTokenCodec(new Uint8Array(32).fill(7));
const texts = fc.string({ unit: "binary", maxLength: 12 });
const values: fc.Arbitrary<AttributeValue> = fc.oneof(
  fc.record({ S: texts }),
  fc.record({ N: fc.maxSafeInteger().map(String) }),
  fc.record({ B: fc.uint8Array({ maxLength: 12 }) }),
);
const names = fc.constantFrom("rows", "sorted", "constructor");
const itemKeys: fc.Arbitrary<Item> = fc.oneof(
  fc.record({ pk: values }),
  fc.record({ pk: values, sk: values }),
  values.map((value) => ({ ["__proto__"]: value })),
);
const content = {
  bytes: fc.nat(),
  digest: fc.uint8Array({ minLength: 16, maxLength: 16 }),
};
const conditions: fc.Arbitrary<SortKeyCondition> = fc.oneof(
  fc.record({
    operator: fc.constantFrom("=", "<", "<=", ">", ">=", "begins_with"),
    value: values,
  }),
  fc.record({ operator: fc.constant("between"), low: values, high: values }),
);
const from = {
  table: names,
  limit: fc.option(fc.integer({ min: 1, max: 1_000 }), { nil: undefined }),
  startKey: fc.option(itemKeys, { nil: undefined }),
};
const requests: fc.Arbitrary<MixedPageRequest<string>> = fc.oneof(
  fc.record({ kind: fc.constant("scan"), ...from }),
  fc.record({
    ...{ kind: fc.constant("query"), ...from },
    ...{ partitionKey: values, descending: fc.boolean() },
    sortKey: fc.option(conditions, { nil: undefined }),
  }),
);
const mixedStates: fc.Arbitrary<MixedState> = fc
  .record({
    keys: fc.array(fc.record({ table: names, key: itemKeys, ...content }), { maxLength: 20 }),
    pages: fc.array(
      fc.record({ request: requests, rows: fc.nat(), isLast: fc.boolean(), ...content }),
      { maxLength: 5 },
    ),
  })
  .filter(({ keys, pages }) => keys.length + pages.length > 0);
const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const parts = fc.record({
  keys: fc.array(hash, { maxLength: 20 }),
  predicates: fc.array(hash, { maxLength: 5 }),
  readTimestamp: fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((n) => n as Timestamp),
});
const inFirstShard = parts.map((part) => [partOf(part)]);
const inShards = fc.array(
  fc
    .tuple(parts, fc.nat({ max: 255 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }))
    .map(([part, shard, changedAt]) =>
      partOf({ ...part, shard: shard as ShardNumber, changedAt: changedAt as LogPosition }),
    ),
  { maxLength: 5 },
);
const states: fc.Arbitrary<TransactionState> = fc.record({
  name: fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((bytes) => Buffer.from(bytes).toString("hex")),
  isolation: fc.constantFrom("serializable", "snapshot"),
  startedMs: fc.nat({ max: 4_000_000_000_000 }),
  parts: fc.oneof(inFirstShard, inShards),
  mixed: fc.option(mixedStates, { nil: undefined }),
});

const sampleMixed: MixedState = {
  keys: [{ table: "rows", key: { pk: { S: "a" } }, bytes: 3, digest: new Uint8Array(16) }],
  pages: [
    {
      request: { kind: "scan", table: "rows", limit: 2, startKey: { pk: { S: "b" } } },
      ...{ rows: 2, isLast: false, bytes: 9, digest: new Uint8Array(16).fill(1) },
    },
  ],
};

function partOf(part: Partial<Part> = {}): Part {
  return {
    ...{ shard: 0 as ShardNumber, changedAt: 0 as LogPosition, readTimestamp: 1 as Timestamp },
    ...{ keys: [], predicates: [], ...part },
  };
}

function refusal(token: string, nowMs = 0): string {
  try {
    requireYoung(codec.decode(token), nowMs);
    return "accepted";
  } catch (error) {
    expect(error).toBeInstanceOf(ApiProblem);
    return (error as ApiProblem).code;
  }
}

describe("token", () => {
  test("round trip: every state comes back whole", () => {
    fc.assert(
      fc.property(states, (state) => {
        expect(codec.decode(codec.encode(state))).toEqual(state);
      }),
    );
  });

  const part = partOf({ keys: [1n, 2n], predicates: [3n] });
  test.each([
    ["in the first shard", [part]],
    ["in several shards", [part, partOf({ ...part, shard: 1 as ShardNumber })]],
  ])("integrity: no single flipped bit is accepted (%s)", (_, parts) => {
    const state = { ...fc.sample(states, { numRuns: 1, seed: 1 })[0], startedMs: 0 };
    const token = codec.encode({
      ...(state as TransactionState),
      parts,
      mixed: sampleMixed,
    });
    const bytes = Buffer.from(token, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(refusal(changed.toString("base64url"))).toBe("invalid-token");
    }
  });

  test("integrity: no changed, added or missing character is accepted", () => {
    fc.assert(
      fc.property(states, fc.nat(), fc.string({ maxLength: 2 }), (state, at, insert) => {
        const token = codec.encode({ ...state, startedMs: 0 });
        const start = at % token.length;
        const changed = token.slice(0, start) + insert + token.slice(start + 1);
        fc.pre(changed !== token);
        expect(refusal(changed)).toBe("invalid-token");
        expect(refusal(token.slice(0, start))).toBe("invalid-token");
        expect(refusal(token + (insert || "="))).toBe("invalid-token");
      }),
    );
  });

  test.each([
    [limits.transactionAgeMsMax - 1, "accepted"],
    [limits.transactionAgeMsMax, "accepted"],
    [limits.transactionAgeMsMax + 1, "transaction-closed"],
  ])("at an age of %i ms it is %s", (ageMs, expected) => {
    const state: TransactionState = {
      name: "0".repeat(32),
      isolation: "snapshot",
      startedMs: 1_000,
      parts: [partOf()],
      mixed: undefined,
    };
    expect(refusal(codec.encode(state), 1_000 + ageMs)).toBe(expected);
  });

  test("a token of the largest transaction fits a request many times over", () => {
    const keys = Array.from({ length: limits.transactionKeysMax }, (_, index) => BigInt(index));
    const name = "0".repeat(32);
    const state = { name, isolation: "serializable", startedMs: 0, mixed: undefined } as const;
    const token = codec.encode({ ...state, parts: [partOf({ keys })] });
    expect(token.length * 10).toBeLessThan(limits.restRequestBytesMax);
  });
});

describe("what was read of mixed tables, in a token", () => {
  const state: TransactionState = {
    ...{ name: "0".repeat(32), isolation: "serializable", startedMs: 0 },
    ...{ parts: [partOf()], mixed: undefined },
  };
  const mixed = (count: number, keyBytes: number): MixedState => ({
    pages: [],
    keys: Array.from({ length: count }, (_, i) => ({
      ...{ table: "rows", bytes: 100, digest: new Uint8Array(16) },
      key: { pk: { S: i.toString().padStart(keyBytes, "0") } },
    })),
  });

  test("takes as many keys as a transaction may have, if they are short", () => {
    const token = codec.encode({ ...state, mixed: mixed(limits.transactionKeysMax, 32) });
    expect(token.length).toBeLessThanOrEqual(limits.restTokenLengthMax);
    expect(codec.decode(token).mixed?.keys).toHaveLength(limits.transactionKeysMax);
  });

  test("is refused by the limit's name when no request could carry it", () => {
    expect(() => codec.encode({ ...state, mixed: mixed(1_000, 1_024) })).toThrow(
      expect.objectContaining({
        code: "transaction-too-large",
        limit: {
          ...{ name: "restTokenLengthMax", max: limits.restTokenLengthMax },
          actual: expect.any(Number) as number,
        },
      }),
    );
  });

  test("a token of the version before is told to begin again", () => {
    const bytes = Buffer.from(codec.encode(state), "base64url");
    bytes[0] = 2;
    expect(() => codec.decode(bytes.toString("base64url"))).toThrow(/begin again/);
  });
});

describe("token over HTTP", () => {
  test("is replaced by every call, and an expired one gets 410", async () => {
    const { call, clock } = memoryApi();
    const gets = [{ table: "accounts", key: { account: "ada" } }];
    const begun = await call("/v1/transactions/begin", {});
    const { transaction } = begun.body;
    const read = await call("/v1/transactions/read", { transaction, reads: { gets } });
    expect(read.body["transaction"]).not.toBe(transaction);
    expect(Date.parse(String(read.body["expiresAt"])) - clock.nowMs()).toBeLessThanOrEqual(60_000);
    clock.advance(limits.transactionAgeMsMax + 1);
    const late = await call("/v1/transactions/commit", { transaction: read.body["transaction"] });
    expect(late.body).toMatchObject({ status: 410, code: "transaction-closed", retryable: false });
  });

  test("of another deployment is refused by name, of another instance taken", async () => {
    const control = memoryControl();
    const [here, there, elsewhere] = [memoryApi({ control }), memoryApi({ control }), memoryApi()];
    const { transaction } = (await here.call("/v1/transactions/begin", {})).body;
    const request = { transaction, reads: {} };
    expect((await there.call("/v1/transactions/read", request)).status).toBe(200);
    const foreign = await elsewhere.call("/v1/transactions/read", request);
    expect(foreign.body).toMatchObject({
      status: 422,
      code: "invalid-token",
      field: "transaction",
    });
    expect(foreign.body["detail"]).toContain("another deployment");
  });
});

describe("a token commits once", () => {
  const put = (balanceCents: number) => ({
    writes: [{ op: "put", table: "accounts", item: { account: "ada", balanceCents } }],
  });

  test("a second commit of one that read nothing is refused, whatever it writes", async () => {
    const { call } = memoryApi();
    const { transaction } = (await call("/v1/transactions/begin", {})).body;
    const first = await call("/v1/transactions/commit", { transaction, ...put(1) });
    expect(first.status).toBe(200);
    for (const again of [put(1), put(2)]) {
      const second = await call("/v1/transactions/commit", { transaction, ...again });
      expect(second.body).toMatchObject({
        status: 409,
        code: "already-committed",
        retryable: false,
        transactionId: (first.body["receipt"] as { transactionId: string }).transactionId,
      });
      expect(second.headers.has("Retry-After")).toBe(false);
    }
    expect(await balances(call, "ada")).toEqual([1]);
  });

  test("also under another Idempotency-Key, or on a token made of it before", async () => {
    const { call } = memoryApi();
    const { transaction } = (await call("/v1/transactions/begin", {})).body;
    const read = await call("/v1/transactions/read", { transaction, reads: {} });
    const keyed = (key: string) => ({ headers: { "Idempotency-Key": key } });
    const commit = { transaction, ...put(1) };
    expect((await call("/v1/transactions/commit", commit, keyed("a"))).status).toBe(200);
    const repeat = await call("/v1/transactions/commit", commit, keyed("a"));
    expect(repeat.headers.get("Idempotency-Replayed")).toBe("true");
    const other = await call("/v1/transactions/commit", commit, keyed("b"));
    expect(other.body["code"]).toBe("already-committed");
    const later = { ...put(2), transaction: read.body["transaction"] };
    const successor = await call("/v1/transactions/commit", later);
    expect(successor.body["code"]).toBe("already-committed");
    expect(await balances(call, "ada")).toEqual([1]);
  });

  test("an old token says whether it was committed; conditions do not matter", async () => {
    const { call, clock } = memoryApi();
    const [used, unused] = await Promise.all([
      call("/v1/transactions/begin", {}),
      call("/v1/transactions/begin", {}),
    ]);
    const condition = { exists: false };
    const conditions = [{ table: "accounts", key: { account: "ada" }, condition }];
    const commit = { transaction: used.body["transaction"], conditions, ...put(1) };
    expect((await call("/v1/transactions/commit", commit)).status).toBe(200);
    const again = await call("/v1/transactions/commit", commit);
    expect(again.body["code"]).toBe("already-committed");
    clock.advance(limits.transactionAgeMsMax + 1);
    expect((await call("/v1/transactions/commit", commit)).body["code"]).toBe("already-committed");
    const late = { transaction: unused.body["transaction"], ...put(2) };
    expect((await call("/v1/transactions/commit", late)).body).toMatchObject({
      status: 410,
      code: "transaction-closed",
    });
  });

  test("one that writes nothing may be repeated", async () => {
    const { call } = memoryApi();
    const { transaction } = (await call("/v1/transactions/begin", {})).body;
    for (let i = 0; i < 2; i++) {
      const answer = await call("/v1/transactions/commit", { transaction });
      expect(answer.body["receipt"]).toMatchObject({ transactionId: null });
    }
  });
});
