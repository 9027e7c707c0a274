/**
 * Puts commit requests onto one shard of the stream. Requests of concurrent transactions share
 * records and calls: while a call is under way the next ones gather, so a busy process pays for few
 * calls and a lone transaction waits for no other.
 * A record also says what the process has installed (install-outbox.ts).
 */
import { StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CommitStream, PutRecordResult } from "../../core/ports.ts";
import type { InstalledReport, ShardId } from "../../core/types.ts";
import {
  encodeCommitRecord,
  recordHeaderBytesMax,
  requestBytesInRecord,
} from "../../schemas/commit-record.ts";
import { installedBytesMax } from "../../schemas/installed-reports.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import type { InstallOutbox } from "../installing/install-outbox.ts";

/** `throttled` and `rejected` were certainly not stored; `unknown` possibly. */
export type SendResult =
  | PutRecordResult
  /** The stream refuses the call for good: it does not exist, or access is denied. */
  | { readonly kind: "rejected"; readonly cause: StoreError };

/** The shard that it sends to, and under which key the requests' checks are made. */
export type SendTarget = {
  readonly shard: ShardId;
  readonly hashes: Pick<KeyHashes, "fingerprint">;
};

type Queued = { readonly request: Uint8Array; readonly resolve: (result: SendResult) => void };

export class CommitSender {
  readonly #stream: CommitStream;
  readonly #shard: ShardId;
  readonly #hashFingerprint: number;
  #queue: Queued[] = [];
  #puts = 0;
  readonly #reports: InstallOutbox;

  constructor(stream: CommitStream, { shard, hashes }: SendTarget, reports: InstallOutbox) {
    this.#stream = stream;
    this.#reports = reports;
    this.#shard = shard;
    this.#hashFingerprint = hashes.fingerprint;
  }

  /** `request` is one encoded request. Never rejects. */
  send(request: Uint8Array): Promise<SendResult> {
    return new Promise((resolve) => {
      this.#queue.push({ request, resolve });
      if (this.#puts < limits.putsMax) {
        this.#puts += 1;
        // After the current turn of the event loop, so that transactions that became ready together
        // travel together.
        queueMicrotask(() => void this.#drain());
      }
    });
  }

  async #drain(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const records = this.#takeRecords();
        const results = await this.#put(records.map(({ bytes }) => bytes));
        records.forEach(({ queued }, i) => {
          const result = results[i] ?? { kind: "unknown", cause: undefined };
          for (const { resolve } of queued) resolve(result);
        });
      }
    } finally {
      this.#puts -= 1;
    }
  }

  async #put(records: readonly Uint8Array[]): Promise<readonly SendResult[]> {
    try {
      return await this.#stream.put(this.#shard, records);
    } catch (cause) {
      const refused = cause instanceof StoreError && cause.fault === "rejected";
      const result: SendResult = refused ? { kind: "rejected", cause } : { kind: "unknown", cause };
      return records.map(() => result);
    }
  }

  /**
   * Packs what is waiting into as few records as its order allows, up to one call's limits. The
   * first says what is installed.
   */
  #takeRecords(): { readonly bytes: Uint8Array; readonly queued: readonly Queued[] }[] {
    const records: { bytes: Uint8Array; queued: Queued[] }[] = [];
    let installed: readonly InstalledReport[] = this.#reports.take();
    let taken = 0;
    let callBytes = 0;
    while (taken < this.#queue.length && records.length < limits.recordsPerPutMax) {
      const queued: Queued[] = [];
      let bytes = recordHeaderBytesMax + installedBytesMax(installed.length);
      for (let i = taken; i < this.#queue.length; i += 1) {
        const next = this.#queue[i];
        if (next === undefined || queued.length >= limits.requestsPerRecordMax) break;
        const added = requestBytesInRecord(next.request.length);
        if (queued.length > 0 && bytes + added > limits.recordBytesMax) break;
        queued.push(next);
        bytes += added;
      }
      if (records.length > 0 && callBytes + bytes > limits.putBytesMax) break;
      callBytes += bytes;
      taken += queued.length;
      const requests = queued.map(({ request }) => request);
      records.push({
        bytes: encodeCommitRecord(this.#hashFingerprint, requests, installed),
        queued,
      });
      installed = [];
    }
    this.#queue = this.#queue.slice(taken);
    return records;
  }
}
