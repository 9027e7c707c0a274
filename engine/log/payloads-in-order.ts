/**
 * Payloads for who goes through a log in its order, replay and the change feed: out of the batch
 * that woke it where they are, else from where the decision says; of a commit by vote, from where
 * its prepared verdict says. Records read for one payload serve its neighbours.
 */
import * as limits from "../../core/limits.ts";
import type { CallOptions, StreamRecord } from "../../core/ports.ts";
import type { OpenTransaction } from "../../core/open-transactions.ts";
import type {
  CommittedVerdict,
  Payload,
  PayloadLocation,
  PreparedVerdict,
  ShardId,
  TransactionId,
} from "../../core/types.ts";
import type { KeyHashes } from "../../schemas/key-hashes.ts";
import { payloadOf } from "./committed-payload.ts";
import {
  PayloadGoneError,
  PayloadLoader,
  payloadInRecord,
  type PayloadPorts,
} from "./payload-loader.ts";

type PreparedAs = (id: TransactionId) => OpenTransaction | undefined;

export class PayloadsInOrder {
  readonly #loader: PayloadLoader;
  readonly #call: CallOptions;
  /** What woke the function. */
  readonly #batch: ReadonlyMap<bigint, Uint8Array>;
  /**
   * What was read last; the log follows the stream's order, so what came before is not asked for
   * again.
   */
  #ahead: ReadonlyMap<bigint, Uint8Array> = new Map();
  readonly #preparedAs: PreparedAs;
  /** Bytes of all payloads handed out. */
  bytesLoaded = 0;

  constructor(
    ports: PayloadPorts,
    {
      records,
      preparedAs,
      ...log
    }: {
      readonly shard: ShardId;
      readonly hashes: KeyHashes;
      readonly records: readonly StreamRecord[];
      /** What was met before the vote was, so that it need not be read again. */
      readonly preparedAs: PreparedAs;
    },
    call: CallOptions = {},
  ) {
    this.#preparedAs = preparedAs;
    this.#loader = new PayloadLoader(ports, log);
    this.#call = call;
    this.#batch = bySequenceNumber(records);
  }

  /** @throws as PayloadLoader: CorruptDataError only when the payload is gone or damaged. */
  async load(verdict: CommittedVerdict, call: CallOptions = this.#call): Promise<Payload> {
    const bytes = await this.#bytes(verdict, call);
    this.bytesLoaded += bytes.length;
    return payloadOf(verdict, bytes);
  }

  async #bytes(verdict: CommittedVerdict, call: CallOptions): Promise<Uint8Array> {
    const location = this.#known(verdict) ?? (await this.#loader.locate(verdict, call));
    if (location === undefined) return this.#loader.loadBytes(verdict, call);
    if (location.kind !== "stream") {
      return this.#loader.loadBytes({ ...verdict, payload: location }, call);
    }
    const record = await this.#record(verdict, location, call);
    if (record === undefined) {
      throw new PayloadGoneError(
        `the record ${location.sequenceNumber} of transaction ${verdict.id} ` +
          "is no longer in the stream",
      );
    }
    return payloadInRecord(verdict.id, location, record);
  }

  #known({ id, payload }: CommittedVerdict): PreparedVerdict["payload"] | undefined {
    if (payload.kind !== "prepared") return undefined;
    const opened = this.#preparedAs(id);
    return opened?.position === payload.position ? opened.prepared.payload : undefined;
  }

  async #record(
    verdict: CommittedVerdict,
    location: Extract<PayloadLocation, { kind: "stream" }>,
    call: CallOptions,
  ): Promise<Uint8Array | undefined> {
    const wanted = BigInt(location.sequenceNumber);
    const known = this.#batch.get(wanted) ?? this.#ahead.get(wanted);
    if (known !== undefined) return known;
    const options = { ...call, recordsMax: limits.replayReadAheadRecordsMax };
    this.#ahead = bySequenceNumber((await this.#loader.records(verdict, location, options)) ?? []);
    return this.#ahead.get(wanted);
  }
}

function bySequenceNumber(records: readonly StreamRecord[]): ReadonlyMap<bigint, Uint8Array> {
  return new Map(records.map(({ sequenceNumber, data }) => [BigInt(sequenceNumber), data]));
}
