/** Which tables BASE transactions may use, and from when on. */
import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../../core/errors.ts";
import { baseRecordsTable, baseSinceAfter } from "../../core/base-tables.ts";
import * as limits from "../../core/limits.ts";
import type { TableDescription, Timestamp } from "../../core/types.ts";

const keys = { name: "orders", partitionKey: { name: "id", type: "S" } } as const;
const registered: TableDescription = { ...keys, history: true, access: "transactional" };
const wanted = { ...registered, base: true };
const nowMs = 5_000_000;

describe("a table for BASE transactions", () => {
  test("takes them at once where nobody can have used it", () => {
    expect(baseSinceAfter(undefined, wanted, nowMs)).toEqual({ baseSince: 0 });
  });

  test("takes them once nobody goes by an older registry, where it is in use", () => {
    const { baseSince = 0 } = baseSinceAfter(registered, wanted, nowMs);
    const oldest = nowMs + limits.registryMsMax + limits.transactionAgeMsMax;
    expect(baseSince / 1000).toBeGreaterThanOrEqual(oldest);
  });

  test("keeps its time when it is registered again, with or without a word of it", () => {
    const before = { ...registered, baseSince: 7 as Timestamp };
    expect(baseSinceAfter(before, wanted, nowMs)).toEqual({ baseSince: 7 });
    expect(baseSinceAfter(before, registered, nowMs)).toEqual({ baseSince: 7 });
  });

  test("is not taken back, nor mixed or on the way there", () => {
    const before = { ...registered, baseSince: 7 as Timestamp };
    const isRefused = (register: () => unknown): void => {
      expect(register).toThrow(InvalidRequestError);
      expect(register).toThrow(expect.objectContaining({ field: "base" }));
    };
    isRefused(() => baseSinceAfter(before, { ...wanted, base: false }, nowMs));
    isRefused(() => baseSinceAfter(undefined, { ...wanted, access: "mixed" }, nowMs));
    const move = { to: "mixed", stage: "closed" } as const;
    isRefused(() => baseSinceAfter(registered, { ...wanted, move }, nowMs));
  });

  test("stays without them if nobody asks for it", () => {
    expect(baseSinceAfter(registered, { ...registered, base: false }, nowMs)).toEqual({});
    expect(baseSinceAfter(undefined, registered, nowMs)).toEqual({});
  });
});

test("locks and records have a table beside the deployment's control table", () => {
  expect(baseRecordsTable("tidemark-prod-control")).toBe("tidemark-prod-base");
});
