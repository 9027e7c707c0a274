/** The token of an interactive transaction: whole, signed, expiring. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import type { Timestamp } from "../../core/types.ts";
import type { TransactionState } from "../../engine/types.ts";
import { ApiProblem } from "../../functions/api/problem.ts";
import { createTokenCodec } from "../../functions/api/token.ts";
import { memoryApi, memoryControl } from "./fixtures/api-harness.ts";

const codec = createTokenCodec(new Uint8Array(32).fill(7));
const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const states: fc.Arbitrary<TransactionState> = fc.record({
  isolation: fc.constantFrom("serializable", "snapshot"),
  readTimestamp: fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((n) => n as Timestamp),
  startedMs: fc.nat({ max: 4_000_000_000_000 }),
  keys: fc.array(hash, { maxLength: 20 }),
  predicates: fc.array(hash, { maxLength: 5 }),
});

function refusal(token: string, nowMs = 0): string {
  try {
    codec.decode(token, nowMs);
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
        expect(codec.decode(codec.encode(state), state.startedMs)).toEqual(state);
      }),
    );
  });

  test("integrity: no single flipped bit is accepted", () => {
    const state = { ...fc.sample(states, { numRuns: 1, seed: 1 })[0], startedMs: 0 };
    const token = codec.encode({
      ...(state as TransactionState),
      keys: [1n, 2n],
      predicates: [3n],
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
      isolation: "snapshot",
      readTimestamp: 1 as Timestamp,
      startedMs: 1_000,
      keys: [],
      predicates: [],
    };
    expect(refusal(codec.encode(state), 1_000 + ageMs)).toBe(expected);
  });

  test("a token of the largest transaction fits a request many times over", () => {
    const keys = Array.from({ length: limits.transactionKeysMax }, (_, index) => BigInt(index));
    const state = { isolation: "serializable", startedMs: 0, keys, predicates: [] } as const;
    const token = codec.encode({ ...state, readTimestamp: 1 as Timestamp });
    expect(token.length * 10).toBeLessThan(limits.restRequestBytesMax);
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

  test("of another deployment is refused by name, of this deployment's other instances taken", async () => {
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
