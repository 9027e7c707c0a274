/** Requests of transactions over several shards (docs/formats/commit-record.md, Parts). */
import { describe, expect, test } from "vitest";
import { systemDigest } from "../../aws/system-digest.ts";
import { FrameError } from "../../core/errors.ts";
import { RequestBatch } from "../../core/request-batch.ts";
import type {
  CommitRequest,
  Part,
  ShardNumber,
  Timestamp,
  TransactionId,
} from "../../core/types.ts";
import { CommitRecordScanner } from "../../schemas/commit-record-scan.ts";
import { decodeCommitRecord, fingerprintOfRecord } from "../../schemas/commit-record-reading.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { transactionIdFor } from "../../schemas/transaction-id.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";
import { fromHex, hex } from "./arbitraries.ts";

const id = "00060a24181e4000112233445566778a" as TransactionId;
const from = 0x06_0a24_181e_4000 as Timestamp;
const parts: readonly Part[] = [1, 63].map((shard) => ({ shard: shard as ShardNumber, from }));
const bare = {
  isolation: "serializable",
  checkedTo: from,
  checks: [],
  payload: { kind: "none" },
} as const;
const reader: CommitRequest = { kind: "prepare", id, ...bare, parts };
const header = `544d0100${sampleHashes.fingerprint.toString(16)}`;
const idAndCheckedTo = `${id} 060a24181e4000`;

function recordOf(request: CommitRequest): Uint8Array {
  return encodeCommitRecord(sampleHashes.fingerprint, [encodeCommitRequest(request)]);
}

function scanned(bytes: Uint8Array): RequestBatch {
  const batch = new RequestBatch();
  new CommitRecordScanner(sampleHashes, sampleSeed, systemDigest).scan(bytes, 0, batch);
  return batch;
}

function faultsOf(bytes: Uint8Array): readonly unknown[] {
  return [() => decodeCommitRecord(bytes), () => scanned(bytes)].map((read) => {
    try {
      read();
      return "none";
    } catch (error) {
      return error instanceof FrameError ? error.fault : error;
    }
  });
}

describe("a part of what a vote decides", () => {
  const voted = parts.map((part, i) => ({ ...part, stamps: i }));

  test("says how many of the vote's stamps are its own", () => {
    const bytes = recordOf({ ...reader, parts: voted });
    expect(hex(bytes)).toBe(
      (
        `${header}01 2d 90 ${idAndCheckedTo} 00 8201 ` + "01 060a24181e4000 00 3f 060a24181e4000 01"
      ).replaceAll(" ", ""),
    );
    expect(decodeCommitRecord(bytes)).toEqual([{ ...reader, parts: voted }]);
    expect(scanned(bytes).parts.get(0)).toEqual(voted);
    expect(scanned(bytes).isVotedOn(0)).toBe(true);
    expect(scanned(recordOf(reader)).isVotedOn(0)).toBe(false);
  });

  test.each([
    ["of one", "malformed", "8101 01 060a24181e4000 00"],
    ["with more stamps than a vote has", "oversized", "8201 01 060a24181e4000 8927 3f"],
    ["without a number of stamps", "truncated", "8201 01 060a24181e4000 00 3f 060a24181e4000"],
  ])("is refused %s as %s", (_, fault, named) => {
    const request = fromHex(`90 ${idAndCheckedTo} 00 ${named}`);
    const bytes = encodeCommitRecord(sampleHashes.fingerprint, [request]);
    expect(faultsOf(bytes)).toEqual([fault, fault]);
  });
});

describe("a part that only reads", () => {
  test("names the others, and has no payload", () => {
    const bytes = recordOf(reader);
    expect(hex(bytes)).toBe(
      `${header}01 2a 90 ${idAndCheckedTo} 00 02 01 060a24181e4000 3f 060a24181e4000`.replaceAll(
        " ",
        "",
      ),
    );
    expect(decodeCommitRecord(bytes)).toEqual([reader]);
    expect(scanned(bytes).parts.get(0)).toEqual(parts);
  });

  test.each([
    ["of one", "malformed", "01 01 060a24181e4000"],
    ["out of order", "malformed", "02 3f 060a24181e4000 01 060a24181e4000"],
    ["named twice", "malformed", "02 01 060a24181e4000 01 060a24181e4000"],
    ["more than there are", "truncated", "03 01 060a24181e4000 3f 060a24181e4000"],
  ])("is refused %s as %s", (_, fault, named) => {
    const request = fromHex(`90 ${idAndCheckedTo} 00 ${named}`);
    const bytes = encodeCommitRecord(sampleHashes.fingerprint, [request]);
    expect(faultsOf(bytes)).toEqual([fault, fault]);
  });
});

test.each([
  ["a request to settle that is a probe, too", "41"],
  ["a part that is committed at once", "84"],
  ["a part that is settled", "c0"],
])("%s is refused", (_, flags) => {
  const request = fromHex(`${flags} ${idAndCheckedTo} 00`);
  const bytes = encodeCommitRecord(sampleHashes.fingerprint, [request]);
  expect(faultsOf(bytes)).toEqual(["malformed", "malformed"]);
});

describe("a vote on a part", () => {
  const proof = new Uint8Array(9).fill(7);
  const own = transactionIdFor(from, proof, systemDigest);

  const stamps = [{ kind: "version", version: from }] as const;

  test.each([
    { kind: "aborted" },
    { kind: "committed", timestamp: from },
    { kind: "committed", timestamp: from, stamps },
  ] as const)("says that the whole is $kind", (whole) => {
    const vote = { proof, stamps: [], whole };
    const bytes = recordOf({ kind: "vote", id: own, ...bare, vote });
    expect(decodeCommitRecord(bytes)).toMatchObject([{ vote }]);
    const batch = scanned(bytes);
    expect(batch.wholes.get(0)).toEqual(whole);
    expect(batch.votes.size).toBe(0);
  });

  test("counts for nothing with the proof of another id", () => {
    const vote = { proof: new Uint8Array(9), stamps: [], whole: { kind: "aborted" } } as const;
    expect(scanned(recordOf({ kind: "vote", id: own, ...bare, vote })).wholes.size).toBe(0);
  });
});

test("a record says which log it is for, and what is no record says nothing", () => {
  expect(fingerprintOfRecord(recordOf(reader))).toBe(sampleHashes.fingerprint);
  expect(fingerprintOfRecord(fromHex("00 01 02"))).toBeUndefined();
});
