/** Bytes of what is stored, sent and kept in memory per transaction or key. */
import { systemDigest } from "../../aws/system-digest.ts";
import type { StreamRecord } from "../../core/ports.ts";
import type { SequenceNumber, ShardId } from "../../core/types.ts";
import { timeLimitMs } from "../../functions/shared/settings.ts";
import { encodeCommitRecord, encodeCommitRequest } from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { spillPayload } from "../../schemas/spill.ts";
import { ShardUnderLoad } from "../certification-load.ts";
import { oracleControl, oracleInMemory } from "../oracle-control.ts";
import { checkedTo, itselfBytes, payloadOf, requestOf, sampleTable } from "../sample-requests.ts";
import type { Count } from "./budgets.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const batchedRequests = 50;
/** As many as a transaction may have. */
const spilledWrites = 10_000;
const indexKeys = 100_000;
/** 600 batches are 12 s of stream time: more than a window. */
const indexBatches = 600;
const indexBytesTarget = 24;
const shard = "shardId-000000000000" as ShardId;

export async function byteCounts(): Promise<readonly Count[]> {
  return [...(await encodedCounts()), indexBytes()];
}

/** Of what is sent and stored. */
export async function encodedCounts(): Promise<readonly Count[]> {
  return [
    ...[1, 2, 5, 25].flatMap(requestBytes),
    spilledBytes(),
    ...(await Promise.all([
      blockCount(1, 2),
      blockCount(batchedRequests, 2),
      blockCount(batchedRequests, 5),
    ])),
  ];
}

/** Beyond the payload itself: its names, keys and items in their own encodings. */
function requestBytes(writes: number): readonly Count[] {
  const payloads = Array.from({ length: batchedRequests }, (_, i) => payloadOf(writes, i * writes));
  const requests = payloads.map((payload, i) => encodeCommitRequest(requestOf(payload, i)));
  const itself = payloads.map(itselfBytes);
  const single =
    encodeCommitRecord(sampleHashes.fingerprint, requests.slice(0, 1)).length - (itself[0] ?? 0);
  const batched =
    (encodeCommitRecord(sampleHashes.fingerprint, requests).length -
      itself.reduce((sum, bytes) => sum + bytes, 0)) /
    batchedRequests;
  const name = `${writes.toString()} checks and writes`;
  return [
    {
      group: "request beyond its payload",
      name: `${name}, alone in its record`,
      figure: single,
      targetMax: 48 + 18 * writes,
    },
    { group: "request beyond its payload", name: `${name}, one of 50`, figure: batched },
  ];
}

/** All chunks, and the request that refers to them. */
function spilledBytes(): Count {
  const payload = payloadOf(spilledWrites, 0);
  const { chunks, source } = spillPayload(encodePayload(payload), systemDigest);
  const request = { ...requestOf(payloadOf(1, 0), 0), payload: source };
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const whole =
    bytes + encodeCommitRecord(sampleHashes.fingerprint, [encodeCommitRequest(request)]).length;
  return {
    group: "spilled request",
    name: `${spilledWrites.toString()} writes, in ${chunks.length.toString()} chunks`,
    figure: (whole - itselfBytes(payload)) / spilledWrites,
  };
}

/** What the oracle's service appends for one batch of requests, of one record. */
async function blockCount(requests: number, writes: number): Promise<Count> {
  let bytes = 0;
  const service = oracleInMemory({
    control: oracleControl(checkedTo, sampleTable),
    appended: (block) => (bytes += block.bytes.length),
  });
  const encoded = Array.from({ length: requests }, (_, i) =>
    encodeCommitRequest(requestOf(payloadOf(writes, i * writes), i)),
  );
  const record: StreamRecord = {
    sequenceNumber: `4959${"0123456789".repeat(5)}12` as SequenceNumber,
    arrivalMs: checkedTo / 1_000 + 1,
    data: encodeCommitRecord(sampleHashes.fingerprint, encoded),
  };
  const { verdicts } = await service.handle(
    { shard, records: [record] },
    { remainingMs: () => timeLimitMs("oracle") },
  );
  if (verdicts.committed !== requests) throw new Error("not every request was committed");
  return {
    group: "log block",
    name: `${requests.toString()} commits of ${writes.toString()} writes`,
    figure: bytes / requests,
  };
}

function indexBytes(): Count {
  const loaded = new ShardUnderLoad(indexKeys);
  loaded.certify(indexBatches);
  const { indexBytes: bytes, indexLive } = loaded.oracle.figures();
  return {
    group: "certification index",
    name: "100,000 keys, after a full window",
    figure: bytes / indexLive,
    targetMax: indexBytesTarget,
  };
}
