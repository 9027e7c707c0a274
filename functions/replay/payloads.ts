/**
 * Payloads for replay: out of the batch that woke it where they are, else from where the decision says. Records read
 * for one payload serve its neighbours.
 */
import { CorruptDataError } from "../../core/errors.ts";
import type { Ports, StreamRecord } from "../../core/ports.ts";
import type { CommittedVerdict, Payload, SequenceNumber, ShardId } from "../../core/types.ts";
import { PayloadLoader, payloadInRecord } from "../../engine/payload-loader.ts";
import { decodePayload } from "../../schemas/payload.ts";

/** Records fetched ahead, on the guess that the next payloads lie in the next records. */
const readAheadRecords = 100;

export class ReplayPayloads {
  readonly #ports: Pick<Ports, "stream" | "log">;
  readonly #shard: ShardId;
  readonly #loader: PayloadLoader;
  readonly #records = new Map<bigint, Uint8Array>();

  constructor(
    ports: Pick<Ports, "stream" | "log">,
    shard: ShardId,
    records: readonly StreamRecord[],
  ) {
    this.#ports = ports;
    this.#shard = shard;
    this.#loader = new PayloadLoader(ports, shard);
    this.#remember(records);
  }

  #remember(records: readonly StreamRecord[]): void {
    for (const { sequenceNumber, data } of records) this.#records.set(BigInt(sequenceNumber), data);
  }

  /** @throws CorruptDataError when the payload is gone or damaged; StoreError */
  async load(verdict: CommittedVerdict): Promise<Payload> {
    const location = verdict.payload;
    if (location.kind !== "stream") return this.#loader.load(verdict);
    const record = await this.#record(location.sequenceNumber);
    if (record === undefined) {
      throw new CorruptDataError(
        `the record ${location.sequenceNumber} of transaction ${verdict.id} is no longer in the stream`,
      );
    }
    return decodePayload(payloadInRecord(verdict, record));
  }

  async #record(sequenceNumber: SequenceNumber): Promise<Uint8Array | undefined> {
    const known = this.#records.get(BigInt(sequenceNumber));
    if (known !== undefined) return known;
    const records = await this.#ports.stream.read(this.#shard, sequenceNumber, {
      recordsMax: readAheadRecords,
    });
    this.#remember(records);
    return this.#records.get(BigInt(sequenceNumber));
  }
}
