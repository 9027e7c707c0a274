/**
 * Finds the payload of a committed transaction where its decision says that it lies. The oracle
 * committed nothing whose payload it could not read, so a payload that is missing has outlived the
 * stream's or the log's retention, or was damaged since.
 */
import { CorruptDataError, FrameError, StoreError } from "../../core/errors.ts";
import * as limits from "../../core/limits.ts";
import type { CallOptions, ClientPorts, StreamRecord } from "../../core/ports.ts";
import { spillName } from "../../core/spill-name.ts";
import type {
  CommittedVerdict,
  Payload,
  PayloadLocation,
  PreparedVerdict,
  ShardId,
  TransactionId,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { readRequestAt } from "../../schemas/commit-record-reading.ts";
import { joinSpilledChunks } from "../../schemas/spill.ts";
import { decodeOrCorrupt, payloadOf } from "./committed-payload.ts";
import { decodeBlock } from "./stored-block.ts";

export type PayloadPorts = Pick<ClientPorts, "stream" | "log" | "clock" | "digest">;

/** It has outlived what held it, or was taken away. */
export class PayloadGoneError extends CorruptDataError {}

export class PayloadLoader {
  readonly #ports: PayloadPorts;
  readonly #shard: ShardId;
  readonly #hashes: KeyHashes;

  constructor(ports: PayloadPorts, log: { readonly shard: ShardId; readonly hashes: KeyHashes }) {
    this.#ports = ports;
    this.#shard = log.shard;
    this.#hashes = log.hashes;
  }

  /**
   * @throws CorruptDataError when the payload is gone for good or damaged.
   * @throws StoreError also when it was not seen, which proves nothing: try again.
   */
  async load(verdict: CommittedVerdict, options: CallOptions = {}): Promise<Payload> {
    return payloadOf(verdict, await this.loadBytes(verdict, options));
  }

  /** @throws as `load`. */
  async loadBytes(verdict: CommittedVerdict, options: CallOptions = {}): Promise<Uint8Array> {
    const bytes = await this.#bytes(verdict, options);
    if (bytes !== undefined) return bytes;
    throw new PayloadGoneError(
      `the payload of transaction ${verdict.id} (${verdict.payload.kind}) is no longer there`,
    );
  }

  async #bytes(verdict: CommittedVerdict, options: CallOptions): Promise<Uint8Array | undefined> {
    const location = await this.locate(verdict, options);
    switch (location?.kind) {
      case "inline":
        return location.bytes;
      case "none":
        return new Uint8Array(0);
      case "spilled":
        return this.#spilled(verdict, location, options);
      case "stream": {
        const records = await this.records(verdict, location, { ...options, recordsMax: 1 });
        const [record] = records ?? [];
        return record && payloadInRecord(verdict.id, location, record.data);
      }
      case undefined:
        return undefined;
    }
  }

  /**
   * Where the payload lies: a commit by vote says only where its prepared verdict stands. Undefined
   * when that is no longer in the log.
   * @throws StoreError, CorruptDataError.
   */
  async locate(
    { id, payload }: CommittedVerdict,
    options: CallOptions,
  ): Promise<PreparedVerdict["payload"] | undefined> {
    if (payload.kind !== "prepared") return payload;
    const stored = await this.#ports.log.readAt(this.#shard, payload.position, options);
    if (stored === undefined) return undefined;
    const { verdicts } = decodeBlock(stored, this.#hashes);
    const found = verdicts.find((each) => each.kind === "prepared" && each.id === id);
    return found?.kind === "prepared" ? found.payload : undefined;
  }

  /**
   * The record that carries the payload, and those behind it; undefined when it is gone, certainly:
   * trimmed, or older than any stream keeps its records and not to be seen.
   * @throws StoreError when it was not seen: it may be there all the same.
   */
  async records(
    verdict: CommittedVerdict,
    location: Extract<PayloadLocation, { kind: "stream" }>,
    options: CallOptions & { readonly recordsMax: number },
  ): Promise<readonly StreamRecord[] | undefined> {
    const { stream, clock } = this.#ports;
    const read = await stream.read(this.#shard, location.sequenceNumber, options);
    if (read.kind === "found") return read.records;
    if (read.kind === "trimmed") return undefined;
    // A decision comes after its record, so the record is at least as old.
    const ageMs = clock.nowMs() - verdict.timestamp / 1_000;
    // mutant: unseen-taken-for-gone
    if (read.complete && ageMs > limits.streamRetentionMsMax) {
      return undefined;
    }
    // probe: payload-not-seen
    throw new StoreError(
      "unavailable",
      `the stream did not show record ${location.sequenceNumber} of transaction ${verdict.id}; ` +
        "it has not been seen to be gone",
    );
  }

  async #spilled(
    verdict: CommittedVerdict,
    location: Extract<PayloadLocation, { kind: "spilled" }>,
    options: CallOptions,
  ): Promise<Uint8Array | undefined> {
    // Before a fork, what is in the log now was sent to another one.
    for (const shard of this.#hashes.shards) {
      const name = spillName(verdict.id, shard);
      const chunks = await this.#ports.log.readSpilled(name, location.chunks, options);
      if (chunks === undefined) continue;
      const { digest } = this.#ports;
      return decodeOrCorrupt(verdict, () => joinSpilledChunks(chunks, location, digest));
    }
    return undefined;
  }
}

/** The payload bytes of a stream-borne transaction, out of the record that carried it. */
export function payloadInRecord(
  id: TransactionId,
  { requestIndex: index }: Extract<PayloadLocation, { kind: "stream" }>,
  record: Uint8Array,
): Uint8Array {
  return decodeOrCorrupt({ id }, () => {
    const request = readRequestAt(record, index);
    if (request.id !== id || request.payload.kind !== "inline") {
      throw new FrameError("malformed", `the record does not carry ${id} at index ${index}`);
    }
    return request.payload.bytes;
  });
}
