/** What a commit record takes beyond the payloads themselves. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type {
  CommitRequest,
  Item,
  KeyHash,
  Payload,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { utf8Length } from "../../core/utf8.ts";
import { encodeItem, encodeValue } from "../../schemas/attribute-value.ts";
import {
  encodeCommitRecord,
  encodeCommitRequest,
  recordHeaderBytesMax,
  requestBytesInRecord,
} from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";
import { fromHex, varintHex } from "./arbitraries.ts";
import { payloads, votes } from "./requests.ts";

const commit: Omit<CommitRequest, "payload"> = {
  kind: "commit",
  id: "00060a24181e4000112233445566778a" as TransactionId,
  isolation: "serializable",
  checkedTo: 1_700_000_000_000_000 as Timestamp,
  checks: [0x0102030405060708n as KeyHash],
};

function recordOf(requests: readonly CommitRequest[]): Uint8Array {
  return encodeCommitRecord(sampleHashes.fingerprint, requests.map(encodeCommitRequest));
}

/**
 * Table names, key names, keys and items in their own encodings: what no format could leave out.
 */
function payloadItselfBytes(payload: Payload): number {
  let bytes = 0;
  for (const { name, partitionKey, sortKey } of payload.tables) {
    bytes += utf8Length(name) + utf8Length(partitionKey) + utf8Length(sortKey ?? "");
  }
  for (const { table, key, item } of payload.writes) {
    for (const value of Object.values(key)) bytes += encodeValue(value).length;
    if (item === undefined) continue;
    const { partitionKey = "", sortKey } = payload.tables[table] ?? {};
    const others: Item = Object.fromEntries(
      Object.entries(item).filter(([name]) => name !== partitionKey && name !== sortKey),
    );
    bytes += encodeItem(others).length - 1; // Without the tag of a map.
  }
  return bytes;
}

describe("overhead", () => {
  const bound = (requests: number, checks: number, writes: number): number =>
    48 * requests + 9 * (checks + writes);

  test("is at most 48 bytes plus 9 per key, beyond the payload itself", () => {
    const checks = fc.array(fc.constant(5n as KeyHash), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(fc.tuple(payloads, checks), { minLength: 1, maxLength: 4 }), (each) => {
        const requests = each.map(([payload, own]) => ({
          ...commit,
          checks: own,
          payload: { kind: "inline" as const, bytes: encodePayload(payload) },
        }));
        const itself = each.reduce((sum, [payload]) => sum + payloadItselfBytes(payload), 0);
        const checkCount = each.reduce((sum, [, own]) => sum + own.length, 0);
        const writeCount = each.reduce((sum, [payload]) => sum + payload.writes.length, 0);
        const overhead = recordOf(requests).length - itself;
        expect(overhead).toBeLessThanOrEqual(bound(each.length, checkCount, writeCount));
      }),
      { numRuns: 50 },
    );
  });

  test("keeps its bound at the borders: most tables, longest names, most checks and writes", () => {
    const name = (index: number): string => index.toString().padStart(255, "n");
    const tables = Array.from({ length: 255 }, (_, index) => ({
      name: name(index),
      partitionKey: "p".repeat(255),
      sortKey: "s".repeat(255),
      history: true,
    }));
    const key = { ["p".repeat(255)]: { N: "1" }, ["s".repeat(255)]: { N: "1" } };
    const payload = { tables, writes: tables.map((_, table) => ({ table, key, item: undefined })) };
    const checks = Array.from({ length: 9_000 }, () => 5n as KeyHash);
    const bytes = encodePayload(payload);
    const record = recordOf([{ ...commit, checks, payload: { kind: "inline", bytes } }]);
    const overhead = record.length - payloadItselfBytes(payload);
    expect(overhead).toBeLessThanOrEqual(bound(1, 9_000, 255));
  });

  test("of a vote is 39 bytes, and 17 for each stamp; of one on a part 46", () => {
    fc.assert(
      fc.property(votes, (vote) => {
        const { whole: said, stamps: own = [] } = vote.vote ?? {};
        const { length: stamps } = said?.kind === "committed" ? (said.stamps ?? own) : own;
        const whole = said === undefined ? 0 : 7;
        expect(recordOf([vote]).length - 9).toBeLessThanOrEqual(39 + 17 * stamps + whole);
      }),
      { numRuns: 50 },
    );
  });

  test("of a record is known before it is built", () => {
    for (const length of [30, 127 + 10, 20_000]) {
      const bytes = fromHex(`01 00 01 74 01 6b 01 01 c1 01 01 61 06 ${varintHex(length)}`);
      const payload = Uint8Array.from([...bytes, ...new Uint8Array(length)]);
      const request = encodeCommitRequest({
        ...commit,
        payload: { kind: "inline", bytes: payload },
      });
      const record = encodeCommitRecord(sampleHashes.fingerprint, [request, request]);
      expect(record.length).toBe(9 + 2 * requestBytesInRecord(request.length));
      expect(record.length).toBeLessThanOrEqual(
        recordHeaderBytesMax + 2 * requestBytesInRecord(request.length),
      );
    }
  });
});
