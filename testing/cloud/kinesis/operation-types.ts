/**
 * Inputs and outputs by operation, as the commands of AWS SDK v3 have them, less what only a real
 * call has.
 */
import type * as Sdk from "@aws-sdk/client-kinesis";

type Operation<Input, Output> = {
  readonly input: Input;
  readonly output: Omit<Output, "$metadata">;
};

export type Operations = {
  CreateStream: Operation<Sdk.CreateStreamCommandInput, Sdk.CreateStreamCommandOutput>;
  DeleteStream: Operation<Sdk.DeleteStreamCommandInput, Sdk.DeleteStreamCommandOutput>;
  DescribeStream: Operation<Sdk.DescribeStreamCommandInput, Sdk.DescribeStreamCommandOutput>;
  DescribeStreamSummary: Operation<
    Sdk.DescribeStreamSummaryCommandInput,
    Sdk.DescribeStreamSummaryCommandOutput
  >;
  IncreaseStreamRetentionPeriod: Operation<
    Sdk.IncreaseStreamRetentionPeriodCommandInput,
    Sdk.IncreaseStreamRetentionPeriodCommandOutput
  >;
  DecreaseStreamRetentionPeriod: Operation<
    Sdk.DecreaseStreamRetentionPeriodCommandInput,
    Sdk.DecreaseStreamRetentionPeriodCommandOutput
  >;
  ListShards: Operation<Sdk.ListShardsCommandInput, Sdk.ListShardsCommandOutput>;
  SplitShard: Operation<Sdk.SplitShardCommandInput, Sdk.SplitShardCommandOutput>;
  MergeShards: Operation<Sdk.MergeShardsCommandInput, Sdk.MergeShardsCommandOutput>;
  PutRecord: Operation<Sdk.PutRecordCommandInput, Sdk.PutRecordCommandOutput>;
  PutRecords: Operation<Sdk.PutRecordsCommandInput, Sdk.PutRecordsCommandOutput>;
  GetShardIterator: Operation<Sdk.GetShardIteratorCommandInput, Sdk.GetShardIteratorCommandOutput>;
  GetRecords: Operation<Sdk.GetRecordsCommandInput, Sdk.GetRecordsCommandOutput>;
};

export type OperationName = keyof Operations;

/** What goes wrong with one call, as the documentation admits it. */
export type CallConditions = {
  /** For each entry of PutRecords, by its index, the error that it alone fails with, if it does. */
  readonly failEntries?:
    | ((index: number) => "ProvisionedThroughputExceededException" | "InternalFailure" | undefined)
    | undefined;
};
