/** How requests of concurrent transactions share records and calls. */
import { expect, test } from "vitest";
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CommitStream, PutRecordResult } from "../../core/ports.ts";
import type {
  CommitRequest,
  InstalledReport,
  SequenceNumber,
  ShardId,
  Timestamp,
} from "../../core/types.ts";
import { CommitSender, type SendResult } from "../../engine/committing/commit-sender.ts";
import { InstallOutbox } from "../../engine/installing/install-outbox.ts";
import { encodeCommitRequest } from "../../schemas/commit-record.ts";
import { decodeCommitRecord, readInstalled } from "../../schemas/commit-record-reading.ts";
import { idOf } from "./memory-log.ts";
import { sampleHashes } from "../../testing/sample-hashes.ts";

const shard = "shardId-000000000000" as ShardId;

function request(n: number, payloadBytes = 0): Uint8Array {
  const commit: CommitRequest = {
    kind: "commit",
    id: idOf(n),
    isolation: "serializable",
    checkedTo: 1 as Timestamp,
    checks: [],
    payload: { kind: "inline", bytes: new Uint8Array(payloadBytes) },
  };
  return encodeCommitRequest(commit);
}

type Call = {
  readonly records: readonly Uint8Array[];
  answer(result: PutRecordResult["kind"]): void;
};

/** A stream that answers when it is told to. */
function scriptedSender(): {
  readonly sender: CommitSender;
  readonly reports: InstallOutbox;
  readonly calls: Call[];
} {
  const calls: Call[] = [];
  const put: CommitStream["put"] = (_, records) =>
    new Promise((resolve) => {
      calls.push({
        records,
        answer: (kind) => {
          resolve(records.map(() => resultOf(kind)));
        },
      });
    });
  const reports = new InstallOutbox();
  const sender = new CommitSender(
    { put } as CommitStream,
    { shard, hashes: sampleHashes },
    reports,
  );
  return { sender, reports, calls };
}

function senderOf(put: CommitStream["put"]): CommitSender {
  const target = { shard, hashes: sampleHashes };
  return new CommitSender({ put } as CommitStream, target, new InstallOutbox());
}

function resultOf(kind: PutRecordResult["kind"]): PutRecordResult {
  if (kind === "stored") return { kind, sequenceNumber: "1" as SequenceNumber };
  return kind === "throttled" ? { kind } : { kind, cause: new Error("lost") };
}

async function kindsOf(sent: readonly Promise<SendResult>[]): Promise<string[]> {
  return (await Promise.all(sent)).map(({ kind }) => kind);
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function idsOf(call: Call | undefined): string[][] {
  return (call?.records ?? []).map((record) => decodeCommitRecord(record).map(({ id }) => id));
}

function report(at: number): InstalledReport {
  return { timestamp: at as Timestamp, proof: new Uint8Array(9).fill(at % 256) };
}

/** The timestamps that a record says, each with its own proof. */
function saidIn(record: Uint8Array): number[] {
  return readInstalled(record).map(({ timestamp, proof }) => {
    expect(proof).toEqual(report(timestamp).proof);
    return timestamp;
  });
}

test("requests that become ready together travel in one record, in order", async () => {
  const { sender, calls } = scriptedSender();
  const sent = [1, 2, 3].map((n) => sender.send(request(n)));
  await turn();
  expect(calls).toHaveLength(1);
  expect(idsOf(calls[0])).toEqual([[idOf(1), idOf(2), idOf(3)]]);
  calls[0]?.answer("stored");
  expect(await kindsOf(sent)).toEqual(["stored", "stored", "stored"]);
});

test("the next record says which commits were installed, each once, in order", async () => {
  const { sender, reports, calls } = scriptedSender();
  const said = (call: number): readonly (readonly number[])[] =>
    (calls[call]?.records ?? []).map(saidIn);
  for (const at of [30, 10, 20, 10]) reports.add(report(at));
  await turn();
  // Nothing is sent for that alone.
  expect(calls).toHaveLength(0);
  void sender.send(request(1));
  void sender.send(request(2, 450_000));
  void sender.send(request(3, 450_000));
  void sender.send(request(4, 450_000));
  await turn();
  expect(said(0)).toEqual([[10, 20, 30], []]);
  void sender.send(request(5));
  await turn();
  expect(said(1)).toEqual([[]]);
});

test("of more installed commits than a record takes, some are not said", async () => {
  const { sender, reports, calls } = scriptedSender();
  const most = limits.installedReportsMax;
  for (let at = 1; at <= most + 100; at += 1) reports.add(report(at));
  void sender.send(request(1));
  await turn();
  const said = saidIn(calls[0]?.records[0] ?? new Uint8Array());
  expect([said.length, said[0], said.at(-1)]).toEqual([most, 1, most]);
});

test("while two calls are under way the next requests gather, and all are sent", async () => {
  const { sender, calls } = scriptedSender();
  void sender.send(request(1));
  await turn();
  void sender.send(request(2));
  await turn();
  const gathered = [3, 4, 5].map((n) => sender.send(request(n)));
  await turn();
  expect(calls).toHaveLength(2);
  calls[0]?.answer("stored");
  await turn();
  expect(idsOf(calls[2])).toEqual([[idOf(3), idOf(4), idOf(5)]]);
  calls[2]?.answer("throttled");
  expect(await kindsOf(gathered)).toEqual(["throttled", "throttled", "throttled"]);
});

test("a call that fails leaves its requests unknown, and the next ones go on", async () => {
  let calls = 0;
  const put: CommitStream["put"] = (_, records) => {
    calls += 1;
    if (calls === 1) return Promise.reject(new Error("down"));
    return Promise.resolve(records.map(() => resultOf("stored")));
  };
  const sender = senderOf(put);
  expect(await sender.send(request(1))).toMatchObject({ kind: "unknown" });
  expect(await sender.send(request(2))).toMatchObject({ kind: "stored" });
});

test("a call that the stream refuses for good says so, with the reason", async () => {
  const cause = new StoreError("rejected", "no such stream");
  const put: CommitStream["put"] = () => Promise.reject(cause);
  const sender = senderOf(put);
  expect(await sender.send(request(1))).toEqual({ kind: "rejected", cause });
});

test("no record and no call exceeds its limits, and no request is lost or sent twice", async () => {
  const { sender, reports, calls } = scriptedSender();
  const sizes = Array.from({ length: 60 }, (_, i) => ((i * 7_919) % 500) * 1_000 + 1);
  const sent = sizes.map((bytes, i) => sender.send(request(i, bytes)));
  for (let i = 1; i <= limits.installedReportsMax; i += 1) {
    reports.add(report(i * 2 ** 42));
  }
  const seen: string[] = [];
  for (let answered = 0; ; answered += 1) {
    await turn();
    const call = calls[answered];
    if (call === undefined) break;
    const bytes = call.records.reduce((sum, record) => sum + record.length, 0);
    expect(bytes).toBeLessThanOrEqual(limits.putBytesMax);
    for (const record of call.records) {
      expect(record.length).toBeLessThanOrEqual(limits.recordBytesMax);
    }
    seen.push(...idsOf(call).flat());
    call.answer("stored");
  }
  expect(await kindsOf(sent)).toEqual(sizes.map(() => "stored"));
  expect(seen).toEqual(sizes.map((_, i) => idOf(i)));
});
