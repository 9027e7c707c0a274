/** What an oracle's blocks hold of prepared transactions and votes, at their largest. */
import { expect, test } from "vitest";
import * as limits from "../../core/limits.ts";
import { certify, hash, id, newOracle, startTimestamp } from "./oracle-harness.ts";
import type { TestRequest } from "./oracle-harness.ts";

const arrivalMs = startTimestamp / 1000 + 1;

test("sort keys are left out of a commit by vote that would not fit with its stamps", () => {
  const writes = Array.from({ length: limits.preparedWritesMax }, (_, n) => ({
    table: hash(1),
    partition: hash(2),
    sortKey: new Uint8Array(60).fill(n >> 8).fill(n & 255, 32),
  }));
  const stamps = writes.map(() => ({ kind: "nonce", nonce: new Uint8Array(16) }) as const);
  const of = { id: id(1), checkedTo: startTimestamp };
  const oracle = newOracle();
  const decide = (sequence: bigint, request: TestRequest) =>
    certify(oracle, [{ sequence, arrivalMs, requests: [request] }])[0]?.verdicts[0];
  const prepared = decide(1n, { ...of, kind: "prepare", writes });
  const committed = decide(2n, { ...of, kind: "vote", stamps });
  if (prepared?.kind !== "prepared" || committed?.kind !== "committed") {
    throw new Error("prepared, then committed");
  }
  expect(prepared.writes[0]?.sortKey).toHaveLength(60);
  expect(committed.stamps).toHaveLength(limits.preparedWritesMax);
  expect(committed.writes).toEqual(
    prepared.writes.map((write) => ({ ...write, sortKey: undefined })),
  );
});
