/**
 * Bytes per commit request: how large a record is, how much of it is overhead beyond the payload
 * itself (names, keys and items in their own encodings), single and with as many requests as are
 * batched. Run: npx tsx bench/record-bytes.ts
 */
import { systemDigest } from "../aws/system-digest.ts";
import { RequestBatch } from "../core/request-batch.ts";
import { CommitRecordScanner } from "../schemas/commit-record-scan.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../schemas/commit-record.ts";
import { itselfBytes, payloadOf, requestOf } from "./sample-requests.ts";
import { sampleHashes, sampleSeed } from "../testing/sample-hashes.ts";

const batchedRequests = 50;

function printBytes(): void {
  console.log("bytes; n checks and n writes; items of about 40 bytes");
  const head = [
    "writes",
    "payload itself",
    "one request",
    "overhead",
    "bound",
    "batched",
    "overhead",
  ];
  console.log(head.map((name) => name.padStart(14)).join(""));
  for (const writes of [1, 2, 5, 25, 100]) {
    const payloads = Array.from({ length: batchedRequests }, (_, i) =>
      payloadOf(writes, i * writes),
    );
    const requests = payloads.map((each, i) => encodeCommitRequest(requestOf(each, i)));
    const itself = payloads.reduce((sum, each) => sum + itselfBytes(each), 0) / batchedRequests;
    const single = encodeCommitRecord(sampleHashes.fingerprint, requests.slice(0, 1)).length;
    const batched = encodeCommitRecord(sampleHashes.fingerprint, requests).length / batchedRequests;
    const row = [
      writes,
      itself,
      single,
      single - itself,
      48 + 18 * writes,
      batched,
      batched - itself,
    ];
    console.log(row.map((value) => value.toFixed(1).replace(".0", "").padStart(14)).join(""));
  }
}

function printScanSpeed(): void {
  const requests = Array.from({ length: 4_000 }, (_, i) =>
    encodeCommitRequest(requestOf(payloadOf(4, i * 4), i % 256)),
  );
  const records: Uint8Array[] = [];
  for (let i = 0; i < requests.length; i += batchedRequests) {
    records.push(
      encodeCommitRecord(sampleHashes.fingerprint, requests.slice(i, i + batchedRequests)),
    );
  }
  const batch = new RequestBatch();
  const scanner = new CommitRecordScanner(sampleHashes, sampleSeed, systemDigest);
  const rates: number[] = [];
  for (let round = 0; round < 12; round++) {
    // CPU time: on a busy machine the clock would measure the neighbours.
    const start = process.cpuUsage().user;
    let scanned = 0;
    for (let pass = 0; pass < 40; pass++) {
      batch.clear();
      records.forEach((record, index) => scanner.scan(record, index, batch));
      scanned += batch.count;
    }
    rates.push((scanned / (process.cpuUsage().user - start)) * 1_000_000);
  }
  const rate = rates.slice(2).sort((a, b) => a - b)[5] ?? 0;
  console.log(
    `\nscan of 4 checks + 4 writes: ${Math.round(rate).toLocaleString("en")} requests per CPU ` +
      "second (median)",
  );
}

printBytes();
printScanSpeed();
