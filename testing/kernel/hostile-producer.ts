/**
 * Somebody who may write to the commit stream and means harm, or has a bug: records that are no
 * records, cut, oversized, of a later version; old records once more; requests that claim to have
 * seen the future, or to commit nothing; commits that lie about tables. The oracle has to count or
 * to refuse them, and go on. And commits over those of others, reported as if they were installed.
 */
import {
  commitRecordMagic,
  commitRecordVersion,
  encodeCommitRecord,
  encodeCommitRequest,
} from "../../schemas/commit-record.ts";
import { encodePayload } from "../../schemas/payload.ts";
import { makeTransactionId, transactionIdRandomBytes } from "../../schemas/transaction-id.ts";
import type { Payload, Timestamp } from "../../core/types.ts";
import { forgedReports } from "./forged-reports.ts";
import { nobodysTable, overwrittenCommit, type OverwrittenCommit } from "./overwritten-commits.ts";
import type { SeededRandom } from "./seeded-random.ts";
import { checkedToOf, tableLie, tableLies, type HostileAims } from "./table-lies.ts";

export type HostileRecord = {
  readonly kind: string;
  readonly data: Uint8Array;
  /** What follows at once, where something does. */
  readonly report?: OverwrittenCommit["report"];
};

const recordBytesMax = 1024 * 1024;
/** After magic, version and flags. */
const fingerprintAt = 4;
const anyWrite: Payload = {
  tables: [{ name: "t", partitionKey: "k", history: false }],
  writes: [{ table: 0, key: { k: { N: "1" } }, item: undefined }],
};

/** @param recent a record that an honest client has sent, if there is one. */
export function hostileRecord(
  random: SeededRandom,
  recent: Uint8Array | undefined,
  aims: HostileAims & { readonly arrivals: readonly number[] },
): HostileRecord {
  const kinds = ["noise", "empty", "large", "future-checked", "payload-less"];
  if (recent !== undefined) {
    kinds.push("cut", "later-version", "other-secret", "replayed", "trailing");
  }
  if (aims.arrivals.length > 0) kinds.push("forged-reports");
  const checkedTo = recent === undefined ? undefined : checkedToOf(recent);
  if (checkedTo !== undefined) kinds.push(...tableLies);
  const nobodys = aims.tables.find(({ name }) => name === nobodysTable);
  if (nobodys !== undefined && checkedTo !== undefined) kinds.push("overwritten-commit");
  const kind = random.pick(kinds);
  const lie = tableLies.find((each) => each === kind);
  if (lie !== undefined && checkedTo !== undefined) {
    return { kind, data: tableLie(lie, random, { aims, checkedTo }) };
  }
  if (kind === "overwritten-commit" && nobodys !== undefined && checkedTo !== undefined) {
    const { hashFingerprint } = aims;
    return { kind, ...overwrittenCommit(random, { hashFingerprint, table: nobodys, checkedTo }) };
  }
  if (kind === "future-checked") return { kind, data: futureChecked(random, aims) };
  if (kind === "payload-less") return { kind, data: payloadLess(random, aims) };
  if (kind === "forged-reports") return { kind, data: forgedReports(random, aims) };
  return { kind, data: dataOf(kind, random, recent ?? new Uint8Array(0)) };
}

function dataOf(kind: string, random: SeededRandom, recent: Uint8Array): Uint8Array {
  switch (kind) {
    case "empty":
      return new Uint8Array([0]);
    case "large":
      return new Uint8Array(recordBytesMax - 64).fill(random.integer(0, 255));
    case "cut":
      return recent.slice(0, random.integer(1, Math.max(1, recent.length - 1)));
    case "later-version": {
      const data = recent.slice();
      data[2] = 250;
      return data;
    }
    case "other-secret": {
      const data = recent.slice();
      data[fingerprintAt] = (data[fingerprintAt] ?? 0) ^ 1;
      return data;
    }
    case "replayed":
      return recent.slice();
    case "trailing":
      return Uint8Array.from([...recent, ...random.bytes(random.integer(1, 20))]);
    default:
      return random.bytes(random.integer(1, 300));
  }
}

function futureChecked(random: SeededRandom, { hashFingerprint }: HostileAims): Uint8Array {
  const checkedTo = Number.MAX_SAFE_INTEGER as Timestamp;
  const id = makeTransactionId(0 as Timestamp, random.bytes(transactionIdRandomBytes));
  const request = encodeCommitRequest({
    kind: "commit",
    id,
    isolation: "serializable",
    checkedTo,
    checks: [],
    payload: { kind: "inline", bytes: encodePayload(anyWrite) },
  });
  return encodeCommitRecord(hashFingerprint, [request]);
}

/** A commit of nothing: were it certified, replay would look for its payload for ever. */
function payloadLess(random: SeededRandom, { hashFingerprint }: HostileAims): Uint8Array {
  const fingerprint = new Uint8Array(4);
  new DataView(fingerprint.buffer).setUint32(0, hashFingerprint);
  const id = random.bytes(16);
  id[0] = 0;
  const checkedTo = new Uint8Array(7);
  const request = [0, ...id, ...checkedTo, 0];
  return Uint8Array.from([
    ...commitRecordMagic,
    commitRecordVersion,
    0,
    ...fingerprint,
    1,
    request.length,
    ...request,
  ]);
}
