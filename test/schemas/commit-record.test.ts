/** Commit records: the documented layout, both ways of reading it, and every fault by name. */
import { systemDigest } from "../../aws/system-digest.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { InvariantViolation } from "../../core/assert.ts";
import { FrameError } from "../../core/errors.ts";
import { keyHash } from "../../core/key-hash.ts";
import * as limits from "../../core/limits.ts";
import { checkWords, idWords, RequestBatch, requestKinds } from "../../core/request-batch.ts";
import type {
  CommitRequest,
  InstalledReport,
  KeyHash,
  Payload,
  Stamp,
  Timestamp,
  TransactionId,
  Vote,
} from "../../core/types.ts";
import { CommitRecordScanner } from "../../schemas/commit-record-scan.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { installedBytesMax } from "../../schemas/installed-reports.ts";
import {
  decodeCommitRecord,
  readInstalled,
  readRequestAt,
} from "../../schemas/commit-record-reading.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { decodePayload } from "../../schemas/payload-reading.ts";
import { transactionIdFor, transactionIdOfWords } from "../../schemas/transaction-id.ts";
import { fromHex, hex, varintHex } from "./arbitraries.ts";
import { bytesShownBy } from "./format-documents.ts";
import { commitRequests, countingStamps, hashesIn, proofHex, reportOf } from "./requests.ts";
import { sampleHashes, sampleSeed } from "../../testing/sample-hashes.ts";

const id = "00060a24181e4000112233445566778a" as TransactionId;
const checkedTo = 1_700_000_000_000_000 as Timestamp;

const small: Payload = {
  tables: [{ name: "t", partitionKey: "k", history: false }],
  writes: [{ table: 0, key: { k: { N: "1" } }, item: undefined }],
};
const commit: CommitRequest = {
  kind: "commit",
  id,
  isolation: "serializable",
  checkedTo,
  checks: [0x0102030405060708n as KeyHash],
  payload: { kind: "inline", bytes: encodePayload(small) },
};
const probe: CommitRequest = {
  kind: "abort",
  id,
  isolation: "serializable",
  checkedTo,
  checks: [],
  payload: { kind: "none" },
};
const prepare: CommitRequest = { ...commit, kind: "prepare" };
const nonceHex = "a7".repeat(16);
const stamps: readonly Stamp[] = [
  { kind: "nonce", nonce: fromHex(nonceHex) },
  { kind: "version", version: checkedTo },
];
const proof = fromHex(proofHex);
const vote: CommitRequest = {
  ...probe,
  kind: "vote",
  id: transactionIdFor(checkedTo, proof, systemDigest),
  vote: { proof, stamps },
};
const digestHex = "a1b2c3d4e5f60718".repeat(4);
const sampleDigest = Uint8Array.from(Buffer.from(digestHex, "hex"));
const spilled: CommitRequest = {
  ...commit,
  isolation: "snapshot",
  checks: [],
  payload: { kind: "spilled", chunks: 2, byteLength: 400_000, digest: sampleDigest },
};

const idHex = id as string;
const timestampHex = "060a24181e4000";
const payloadHex = "01 00 01 74 01 6b 01 00 c1";
const commitHex = `2a 04 ${idHex} ${timestampHex} 01 0102030405060708 ${payloadHex}`;
const probeHex = `19 01 ${idHex} ${timestampHex} 00`;
const prepareHex = `2a 14 ${commitHex.slice(6)}`;
const stampsHex = `02 00 ${nonceHex} 01 ${timestampHex}`;
const voteHex = `3c 20 ${vote.id} ${timestampHex} 00 ${proofHex} ${stampsHex}`;
const spilledHex = `3d 0a ${idHex} ${timestampHex} 00 02 80b518 ${digestHex}`;

const scanner = new CommitRecordScanner(sampleHashes, sampleSeed, systemDigest);

function faultOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof FrameError) return error.fault;
    throw error;
  }
  return "none";
}

function scanFault(bytes: Uint8Array): string {
  const batch = new RequestBatch();
  scanner.scan(
    encodeCommitRecord(sampleHashes.fingerprint, [encodeCommitRequest(probe)]),
    0,
    batch,
  );
  const fault = faultOf(() => scanner.scan(bytes, 1, batch));
  expect(fault === "none" || (batch.count === 1 && batch.votes.size === 0)).toBe(true);
  return fault;
}

function recordOf(
  requests: readonly CommitRequest[],
  installed: readonly InstalledReport[] = [],
): Uint8Array {
  return encodeCommitRecord(sampleHashes.fingerprint, requests.map(encodeCommitRequest), installed);
}

/** Rising, near to each other and far apart. */
const timestamps = fc
  .uniqueArray(
    fc.oneof(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: checkedTo, max: checkedTo + 1_000_000 }),
      fc.maxSafeInteger().filter((n) => n > 0),
    ),
    { maxLength: 40 },
  )
  .map((numbers) => numbers.sort((a, b) => a - b).map(reportOf));

const manyReports = `01${proofHex}`.repeat(512);

describe("the layout", () => {
  test.each([
    ["a commit", [commit], `544d 01 00 7d57ca93 01 ${commitHex}`],
    ["a probe", [probe], `544d 01 00 7d57ca93 01 ${probeHex}`],
    ["what is to be prepared", [prepare], `544d 01 00 7d57ca93 01 ${prepareHex}`],
    ["a vote", [vote], `544d 01 00 7d57ca93 01 ${voteHex}`],
    [
      "a spilled commit under snapshot isolation",
      [spilled],
      `544d 01 00 7d57ca93 01 ${spilledHex}`,
    ],
    [
      "several requests",
      [commit, vote, probe, prepare, spilled],
      `544d 01 00 7d57ca93 05 ${commitHex} ${voteHex} ${probeHex} ${prepareHex} ${spilledHex}`,
    ],
  ])("of %s is the documented one", (_, requests, bytes) => {
    expect(hex(recordOf(requests))).toBe(bytes.replaceAll(" ", ""));
    expect(decodeCommitRecord(fromHex(bytes))).toEqual(requests);
    expect(readInstalled(fromHex(bytes))).toEqual([]);
  });

  test("of commits that are said to be installed is the documented one", () => {
    const later = [checkedTo, checkedTo + 1, checkedTo + 301].map(reportOf);
    const reports = `${proofHex} 01 ${proofHex} ac02 ${proofHex}`;
    const bytes = `544d 01 01 7d57ca93 03 ${timestampHex} ${reports} 01 ${probeHex}`;
    expect(hex(recordOf([probe], later))).toBe(bytes.replaceAll(" ", ""));
    expect(decodeCommitRecord(fromHex(bytes))).toEqual([probe]);
    expect(readInstalled(fromHex(bytes))).toEqual(later);
  });
});

test("the document shows a commit and a probe, what is to be prepared, and a vote", () => {
  const shown = bytesShownBy("docs/formats/commit-record.md");
  expect(shown).toContain(hex(recordOf([commit, probe])));
  expect(shown).toContain(hex(recordOf([prepare, vote])));
});

describe("reading", () => {
  const records = fc.array(commitRequests, { minLength: 1, maxLength: 5 });

  test("every request comes back, from the whole record and by index, reports or not", () => {
    fc.assert(
      fc.property(records, timestamps, (requests, installed) => {
        const bytes = recordOf(requests, installed);
        expect(bytes.length - recordOf(requests).length).toBeLessThanOrEqual(
          installedBytesMax(installed.length),
        );
        expect(readInstalled(bytes)).toEqual(installed);
        expect(decodeCommitRecord(bytes)).toEqual(requests);
        requests.forEach((request, index) => {
          expect(readRequestAt(bytes, index)).toEqual(request);
        });
        expect(faultOf(() => readRequestAt(bytes, requests.length))).toBe("malformed");
      }),
    );
  });

  test("the scan sees what decoding sees: ids, checks, and hashes of every write", () => {
    fc.assert(
      fc.property(records, records, timestamps, (first, second, installed) => {
        const batch = new RequestBatch();
        scanner.scan(recordOf(first), 0, batch);
        const bytes = recordOf(second, installed);
        const references = scanner.scan(bytes, 1, batch);
        expect(batch.count).toBe(first.length + second.length);
        expect(references.map((each) => each.indexInRecord)).toEqual(
          second.flatMap(({ payload }, index) => (payload.kind === "spilled" ? [index] : [])),
        );
        second.forEach((request, index) => {
          expect(requestIn(batch, first.length + index)).toEqual(expectedInBatch(request, index));
        });
      }),
    );
  });

  test("a batch that grew and was cleared gives the same as a new one", () => {
    const batch = new RequestBatch();
    const bytes = recordOf(Array.from({ length: 3_000 }, () => commit));
    scanner.scan(bytes, 0, batch);
    batch.clear();
    scanner.scan(recordOf([probe, commit]), 4, batch);
    expect(batch.count).toBe(2);
    expect(requestIn(batch, 1)).toEqual({ ...expectedInBatch(commit, 1), record: 4 });
  });
});

function requestIn(batch: RequestBatch, request: number): unknown {
  const word = (index: number): number => batch.ids[request * idWords + index] ?? 0;
  const checks: KeyHash[] = [];
  for (let i = batch.checkStart[request] ?? 0; i < (batch.checkStart[request + 1] ?? 0); i++) {
    checks.push(keyHash(batch.checks[i * checkWords] ?? 0, batch.checks[i * checkWords + 1] ?? 0));
  }
  return {
    id: transactionIdOfWords({ id0: word(0), id1: word(1), id2: word(2), id3: word(3) }),
    kind: batch.kinds[request],
    isolation: batch.isolations[request],
    payload: batch.payloads[request],
    checkedTo: batch.checkedTo[request],
    record: batch.records[request],
    indexInRecord: batch.indexInRecord[request],
    checks,
    writes: hashesIn(batch, request),
    vote: batch.votes.get(request),
  };
}

function expectedInBatch(request: CommitRequest, indexInRecord: number): Record<string, unknown> {
  const payload =
    request.payload.kind === "inline" ? decodePayload(request.payload.bytes) : undefined;
  return {
    id: request.id,
    kind: requestKinds.indexOf(request.kind),
    isolation: request.isolation === "serializable" ? 0 : 1,
    payload: ["none", "inline", "spilled"].indexOf(request.payload.kind),
    checkedTo: request.checkedTo,
    record: 1,
    indexInRecord,
    checks: request.checks,
    writes: (payload?.writes ?? []).map((write) => {
      const table = payload?.tables[write.table];
      return table === undefined ? undefined : sampleHashes.item(table, write.key);
    }),
    vote: countingStamps(request),
  };
}

describe("spilled payloads", () => {
  test("are reported with their place, and bring no writes into the batch", () => {
    const batch = new RequestBatch();
    scanner.scan(recordOf([commit]), 0, batch);
    const references = scanner.scan(recordOf([probe, spilled, commit]), 1, batch);
    expect(references).toEqual([
      {
        request: 2,
        indexInRecord: 1,
        isVotedOn: false,
        id,
        chunks: 2,
        byteLength: 400_000,
        digest: sampleDigest,
      },
    ]);
    expect([0, 1, 2, 3].map((request) => hashesIn(batch, request).length)).toEqual([1, 0, 0, 1]);
  });
});

describe("faults", () => {
  const header = "544d 01 00 7d57ca93";
  const rest = `${idHex} ${timestampHex}`;
  const spilledAs = (chunksAndBytes: string): string => {
    const body = `08 ${rest} 00 ${chunksAndBytes} ${digestHex}`;
    return `${header} 01 ${fromHex(body).length.toString(16)} ${body}`;
  };
  const voteWith = (said: string): string => {
    const body = `20 ${rest} 00 ${proofHex} ${said}`;
    return `${header} 01 ${varintHex(fromHex(body).length)} ${body}`;
  };
  test.each([
    ["an empty record", "not-a-frame", ""],
    ["half of the magic", "not-a-frame", "54"],
    ["another magic", "not-a-frame", "534d 01 00 01"],
    ["version 0", "not-a-frame", "544d 00 00 01"],
    ["version 2", "future-version", "544d 02 00 01"],
    ["version 255, whatever follows", "future-version", "544d ff"],
    ["an unknown flag of the record", "future-version", "544d 01 02 01"],
    ["commits installed, of which there is none", "malformed", "544d 01 01 7d57ca93 00 01"],
    ["more commits installed than bytes", "truncated", `544d 01 01 7d57ca93 03 ${timestampHex}`],
    [
      "a commit installed at no time",
      "malformed",
      `544d 01 01 7d57ca93 01 00000000000000 ${proofHex} 01`,
    ],
    [
      "commits installed that do not rise",
      "malformed",
      `544d 01 01 7d57ca93 02 ${timestampHex} ${proofHex} 00 ${proofHex} 01 ${probeHex}`,
    ],
    [
      "a commit installed beyond 2^53",
      "malformed",
      `544d 01 01 7d57ca93 02 1fffffffffffff ${proofHex} 01 ${proofHex} 01 ${probeHex}`,
    ],
    [
      "more commits installed than the limit",
      "oversized",
      `544d 01 01 7d57ca93 8104 ${timestampHex} ${proofHex} ${manyReports} 01 ${probeHex}`,
    ],
    ["the magic alone", "truncated", "544d"],
    ["a count of 0", "malformed", `${header} 00`],
    ["a count above the requests there", "truncated", `${header} 02 ${probeHex}`],
    ["a byte after the last request", "trailing-bytes", `${header} 01 ${probeHex} 00`],
    ["a byte after a request's end", "trailing-bytes", `${header} 01 1a 01 ${rest} 00 00`],
    [
      "a byte between requests that could be a length",
      "trailing-bytes",
      `${header} 02 1a 01 ${rest} 00 19 01 ${rest} 00`,
    ],
    ["a request cut by its length", "truncated", `${header} 01 18 01 ${rest} 00`],
    ["a vote that is a probe, too", "malformed", `${header} 01 19 21 ${rest} 00`],
    ["a vote under snapshot isolation", "malformed", `${header} 01 19 22 ${rest} 00`],
    ["a vote with a payload", "malformed", `${header} 01 19 24 ${rest} 00`],
    ["a vote with a spilled payload", "malformed", `${header} 01 19 28 ${rest} 00`],
    ["a vote to be prepared", "malformed", `${header} 01 19 30 ${rest} 00`],
    ["a vote with a check", "malformed", `${header} 01 21 20 ${rest} 01 0102030405060708`],
    ["a vote without a proof", "truncated", `${header} 01 19 20 ${rest} 00`],
    ["a vote that says nothing", "truncated", `${header} 01 22 20 ${rest} 00 ${proofHex}`],
    ["a vote with more stamps than bytes", "truncated", voteWith(`02 01 ${timestampHex}`)],
    ["a vote with a stamp of an unknown kind", "malformed", voteWith(`01 02 ${timestampHex}`)],
    ["a vote with half a nonce", "truncated", voteWith(`01 00 ${timestampHex}`)],
    ["a stamp beyond 2^53", "malformed", voteWith(`01 01 20${timestampHex.slice(2)}`)],
    ["a vote with a byte behind its stamps", "trailing-bytes", voteWith("00 00")],
    ["more stamps than the limit", "oversized", voteWith(`8927 ${"00".repeat(17 * 5_001)}`)],
    ["a probe to be prepared", "malformed", `${header} 01 19 11 ${rest} 00`],
    ["what is to be prepared without a payload", "malformed", `${header} 01 19 10 ${rest} 00`],
    ["a probe under snapshot isolation", "malformed", `${header} 01 19 03 ${rest} 00`],
    ["a probe with a payload", "malformed", `${header} 01 19 05 ${rest} 00`],
    ["a commit without a payload", "malformed", `${header} 01 19 00 ${rest} 00`],
    [
      "a commit without a payload under snapshot isolation",
      "malformed",
      `${header} 01 19 02 ${rest} 00`,
    ],
    ["a payload in two places", "malformed", `${header} 01 19 0c ${rest} 00`],
    ["a probe with a check", "malformed", `${header} 01 21 01 ${rest} 01 0102030405060708`],
    ["an id from beyond 2^53", "malformed", `${header} 01 19 01 20${rest.slice(2)} 00`],
    [
      "a timestamp beyond 2^53",
      "malformed",
      `${header} 01 19 01 ${idHex} 20${timestampHex.slice(2)} 00`,
    ],
    ["more checks than bytes", "truncated", `${header} 01 19 04 ${rest} 01`],
    ["a payload larger than its chunks", "malformed", spilledAs("01 80b518")],
    ["a spilled payload of no bytes", "malformed", spilledAs("00 00")],
    ["more chunks than the limit", "oversized", spilledAs("41 01")],
    ["a spilled payload above the limit", "oversized", spilledAs("40 80808010")],
    ["a count above the limit", "oversized", `${header} 8120 ${"19".repeat(10)}`],
    [
      "a request above the limit",
      "oversized",
      `${header} 01 818020 ${"00".repeat(512 * 1024 + 1)}`,
    ],
    ["a record above the limit", "oversized", `${header} 01 ${"00".repeat(1024 * 1024)}`],
    [
      "more checks than the limit",
      "oversized",
      `${header} 01 a2f104 04 ${rest} 914e ${"00".repeat(80_008)}`,
    ],
  ])("%s is refused as %s by both readers", (_, expected, bytes) => {
    expect(faultOf(() => decodeCommitRecord(fromHex(bytes)))).toBe(expected);
    expect(scanFault(fromHex(bytes))).toBe(expected);
  });

  test("nothing is written that a reader refuses: it would take others with it", () => {
    const beyond = `2${id.slice(1)}` as TransactionId;
    const wrong: readonly CommitRequest[] = [
      { ...commit, id: beyond },
      { ...probe, id: beyond },
      { ...probe, id: "0".repeat(31) as TransactionId },
      { ...commit, payload: { kind: "none" } },
      { ...probe, checkedTo: (Number.MAX_SAFE_INTEGER + 1) as Timestamp },
    ];
    for (const request of wrong) {
      expect(() => encodeCommitRequest(request)).toThrow(InvariantViolation);
    }
  });

  test("a record of another hash secret refuses the scan: its checks are void (I4)", () => {
    const bytes = recordOf([commit]);
    bytes[4] = (bytes[4] ?? 0) ^ 1;
    expect(scanFault(bytes)).toBe("other-hash-secret");
    expect(decodeCommitRecord(bytes)).toEqual([commit]);
  });

  test("a damaged payload refuses the record in the scan, before it can be certified (I7)", () => {
    const payload = { kind: "inline", bytes: fromHex("01 00 01 74 01 6b 01 00 80") } as const;
    expect(scanFault(recordOf([commit, { ...commit, payload }]))).toBe("malformed");
  });

  test("every truncation of a record is refused by both readers", () => {
    const bytes = recordOf([commit, probe, vote, spilled, prepare], [reportOf(checkedTo)]);
    for (let length = 0; length < bytes.length; length++) {
      expect(faultOf(() => decodeCommitRecord(bytes.subarray(0, length)))).not.toBe("none");
      expect(scanFault(bytes.subarray(0, length))).not.toBe("none");
    }
  });

  test("one changed byte, or random ones after the header, give a named fault or a record", () => {
    const original = recordOf([commit, vote, spilled, prepare], [reportOf(checkedTo)]);
    const changed = fc
      .tuple(fc.nat(original.length - 1), fc.integer({ min: 1, max: 255 }))
      .map(([at, change]) => original.map((byte, index) => (index === at ? byte ^ change : byte)));
    const random = fc
      .uint8Array({ maxLength: 120 })
      .map((tail) => Uint8Array.from([0x54, 0x4d, 1, tail.length & 1, ...tail]));
    fc.assert(
      fc.property(fc.oneof(changed, random, fc.uint8Array()), (bytes) => {
        if (scanFault(bytes) !== "none") return;
        // What the oracle takes, replay can read.
        const requests = decodeCommitRecord(bytes);
        expect(hex(recordOf(requests, readInstalled(bytes)))).toBe(hex(bytes));
        for (const { payload } of requests) {
          if (payload.kind === "inline") decodePayload(payload.bytes);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("what an encoder is given", () => {
  const shortNonce: Stamp = { kind: "nonce", nonce: new Uint8Array(8) };
  const voteOf = (said: Vote): CommitRequest => ({ ...vote, vote: said });
  test.each<readonly [string, CommitRequest]>([
    ["a probe with checks", { ...probe, checks: [1n as KeyHash] }],
    ["a probe with a payload", { ...probe, payload: commit.payload }],
    ["a vote with checks", { ...vote, checks: [1n as KeyHash] }],
    ["a vote with a payload", { ...vote, payload: commit.payload }],
    ["a vote that says nothing", { ...probe, kind: "vote" }],
    ["a probe that votes", { ...vote, kind: "abort" }],
    ["a vote with a proof of eight bytes", voteOf({ proof: new Uint8Array(8), stamps })],
    ["a vote with a nonce of eight", voteOf({ proof, stamps: [shortNonce] })],
    [
      "a spilled payload of too few chunks",
      {
        ...spilled,
        payload: { kind: "spilled", chunks: 1, byteLength: 400_000, digest: sampleDigest },
      },
    ],
    [
      "a payload that ought to be spilled",
      {
        ...commit,
        payload: { kind: "inline", bytes: new Uint8Array(limits.inlineRequestBytesMax) },
      },
    ],
  ])("%s is a bug of the caller", (_, request) => {
    expect(() => encodeCommitRequest(request)).toThrow(InvariantViolation);
  });

  test("too many requests, none, too large or disordered ones are a bug of the caller", () => {
    const request = encodeCommitRequest(probe);
    const large = new Uint8Array(limits.recordBytesMax);
    expect(() => encodeCommitRecord(sampleHashes.fingerprint, [])).toThrow(InvariantViolation);
    expect(() =>
      encodeCommitRecord(
        sampleHashes.fingerprint,
        Array.from({ length: 4_097 }, () => request),
      ),
    ).toThrow(InvariantViolation);
    expect(() => encodeCommitRecord(sampleHashes.fingerprint, [large])).toThrow(InvariantViolation);
    for (const installed of [[2, 1], [1, 1], Array.from({ length: 513 }, (_, i) => i + 1)]) {
      expect(() =>
        encodeCommitRecord(sampleHashes.fingerprint, [request], installed.map(reportOf)),
      ).toThrow(InvariantViolation);
    }
    const most = encodeCommitRecord(
      sampleHashes.fingerprint,
      Array.from({ length: 4_096 }, () => request),
    );
    expect(decodeCommitRecord(most).length).toBe(4_096);
  });
});
