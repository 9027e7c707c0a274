/**
 * Kinesis in memory: the documented behaviour at the level of operation name and command input,
 * synchronous and deterministic. Time comes from outside; what may go wrong is asked for with each
 * call, by whoever simulates a service. Inputs are taken over and outputs share structure with the
 * store: neither may be changed afterwards.
 */
import { NotModelledError } from "../not-modelled.ts";
import type { CallConditions, OperationName, Operations } from "./operation-types.ts";
import { getRecords, getShardIterator, putRecord, putRecords } from "./record-operations.ts";
import type { StoredRecord } from "./stream.ts";
import {
  changeRetention,
  createStream,
  deleteStream,
  describeStream,
  describeStreamSummary,
  listShards,
  mergeShards,
  splitShard,
} from "./stream-operations.ts";
import { requireShard, Streams } from "./streams.ts";

export type KinesisModelOptions = {
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** What the service notes as a record's time of arrival; may step back. Default `nowMs`. */
  readonly arrivalMs?: () => number;
};

/** How each operation is served. */
type Handlers = {
  readonly [Name in OperationName]: (
    input: Operations[Name]["input"],
    conditions: CallConditions,
  ) => Operations[Name]["output"];
};

export class KinesisModel {
  readonly #streams: Streams;
  readonly #handlers: Handlers;

  constructor({ nowMs, arrivalMs = nowMs }: KinesisModelOptions) {
    const streams = new Streams({ nowMs, arrivalMs });
    this.#streams = streams;
    this.#handlers = {
      CreateStream: (input) => createStream(streams, input),
      DeleteStream: (input) => deleteStream(streams, input),
      DescribeStream: (input) => describeStream(streams, input),
      DescribeStreamSummary: (input) => describeStreamSummary(streams, input),
      IncreaseStreamRetentionPeriod: (input) => changeRetention(streams, "increase", input),
      DecreaseStreamRetentionPeriod: (input) => changeRetention(streams, "decrease", input),
      ListShards: (input) => listShards(streams, input),
      SplitShard: (input) => splitShard(streams, input),
      MergeShards: (input) => mergeShards(streams, input),
      PutRecord: (input) => putRecord(streams, input),
      PutRecords: (input, conditions) => putRecords(streams, input, conditions),
      GetShardIterator: (input) => getShardIterator(streams, input),
      GetRecords: (input) => getRecords(streams, input),
    };
  }

  /**
   * Performs one operation at once.
   * @throws ServiceError as the service refuses; NotModelledError for what this model has not.
   */
  execute<Name extends OperationName>(
    operation: Name,
    input: Operations[Name]["input"],
    conditions: CallConditions = {},
  ): Operations[Name]["output"] {
    if (!Object.hasOwn(this.#handlers, operation)) {
      throw new NotModelledError(`${operation} of Kinesis is not modelled`);
    }
    return this.#handlers[operation](input, conditions);
  }

  /**
   * All records ever put into a shard, in its order, also those that retention has taken from
   * readers: the index of a record never changes. The array is the store's own.
   * @throws ServiceError when there is no such shard.
   */
  records(stream: string, shard: string): readonly StoredRecord[] {
    return requireShard(this.#streams.find({ StreamName: stream }), shard).records;
  }
}
