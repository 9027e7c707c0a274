/**
 * Stream records of transfers for the benchmarks of the oracle: two accounts read and written,
 * items of about 120 bytes, 24 requests to a record. They are encoded once, and stamped anew with
 * ids and `checkedTo` whenever they are used, so that their making is no part of what is measured,
 * its garbage included.
 */
import type { StreamRecord } from "../core/ports.ts";
import type { KeyHash, SequenceNumber, Timestamp, TransactionId } from "../core/types.ts";
import {
  encodeCommitRecord,
  encodeCommitRequest,
  requestBytesInRecord,
} from "../schemas/commit-record.ts";
import { encodePayload } from "../schemas/payload.ts";
import { seededWords } from "./measure.ts";
import { sampleHashes } from "../testing/sample-hashes.ts";

export const requestsPerRecord = 24;
const accounts = 1_000_000;
export const transferTable = { name: "accounts", partitionKey: "accountId" } as const;
/**
 * Where a request's id ends with random bytes, and its `checkedTo` follows
 * (docs/formats/commit-record.md).
 */
const idRandomStart = 1 + 7;
const checkedToStart = 1 + 16;
const checkedToBytes = 7;

type Stamped = { readonly data: Uint8Array; readonly requestStarts: readonly number[] };

export class TransferRecords {
  readonly #words = seededWords(7);
  readonly #records: readonly Stamped[];
  #next = 0;
  #sequence = 49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898n;

  /** @param count records that differ; after them the first comes again, under new ids. */
  constructor(count: number) {
    this.#records = Array.from({ length: count }, () => this.#record());
  }

  /** The next record, valid until it comes around again. */
  next(checkedTo: Timestamp, arrivalMs: number): StreamRecord {
    const stamped = this.#records[this.#next % this.#records.length];
    if (stamped === undefined) throw new RangeError("there are no records");
    this.#next += 1;
    const { data, requestStarts } = stamped;
    const view = new DataView(data.buffer, data.byteOffset);
    for (const start of requestStarts) {
      for (let word = 0; word < 2; word++) {
        view.setUint32(start + idRandomStart + 1 + word * 4, this.#words());
      }
      let rest: number = checkedTo;
      for (let byte = checkedToBytes - 1; byte >= 0; byte--) {
        data[start + checkedToStart + byte] = rest % 256;
        rest = Math.floor(rest / 256);
      }
    }
    this.#sequence += BigInt(this.#words());
    return { sequenceNumber: this.#sequence.toString() as SequenceNumber, arrivalMs, data };
  }

  #record(): Stamped {
    const requests = Array.from({ length: requestsPerRecord }, () => this.#transfer());
    const data = encodeCommitRecord(sampleHashes.fingerprint, requests);
    let end = data.length;
    const requestStarts = requests.toReversed().map((request) => {
      const start = end - request.length;
      end -= requestBytesInRecord(request.length);
      return start;
    });
    return { data, requestStarts };
  }

  #transfer(): Uint8Array {
    const ids = [this.#account(0), this.#account(accounts)];
    const writes = ids.map((accountId) => ({
      table: 0,
      key: { accountId: { S: accountId } },
      item: {
        accountId: { S: accountId },
        owner: { S: `Customer ${this.#hex(12)}` },
        balanceCents: { N: (this.#words() % 10_000_000).toString() },
        currency: { S: "EUR" },
        updatedAt: { S: "2026-01-01T00:00:00.000Z" },
      },
    }));
    const checks = writes.map(({ key }): KeyHash => sampleHashes.item(transferTable, key).key);
    const bytes = encodePayload({ tables: [{ ...transferTable, history: false }], writes });
    return encodeCommitRequest({
      kind: "commit",
      id: `00060a24181e40${this.#hex(18)}` as TransactionId,
      isolation: "serializable",
      checkedTo: 0 as Timestamp,
      checks,
      payload: { kind: "inline", bytes },
    });
  }

  #account(from: number): string {
    return `account-${(from + (this.#words() % accounts)).toString().padStart(9, "0")}`;
  }

  #hex(length: number): string {
    let text = "";
    while (text.length < length) text += this.#words().toString(16).padStart(8, "0");
    return text.slice(0, length);
  }
}
