/**
 * Inputs and outputs by operation, as the commands of AWS SDK v3 have them, less what only a real
 * call has.
 */
import type * as Sdk from "@aws-sdk/client-dynamodb";

type Operation<Input, Output> = {
  readonly input: Input;
  readonly output: Omit<Output, "$metadata">;
};

export type Operations = {
  CreateTable: Operation<Sdk.CreateTableCommandInput, Sdk.CreateTableCommandOutput>;
  DescribeTable: Operation<Sdk.DescribeTableCommandInput, Sdk.DescribeTableCommandOutput>;
  DeleteTable: Operation<Sdk.DeleteTableCommandInput, Sdk.DeleteTableCommandOutput>;
  ListTables: Operation<Sdk.ListTablesCommandInput, Sdk.ListTablesCommandOutput>;
  UpdateTimeToLive: Operation<Sdk.UpdateTimeToLiveCommandInput, Sdk.UpdateTimeToLiveCommandOutput>;
  DescribeTimeToLive: Operation<
    Sdk.DescribeTimeToLiveCommandInput,
    Sdk.DescribeTimeToLiveCommandOutput
  >;
  GetItem: Operation<Sdk.GetItemCommandInput, Sdk.GetItemCommandOutput>;
  PutItem: Operation<Sdk.PutItemCommandInput, Sdk.PutItemCommandOutput>;
  UpdateItem: Operation<Sdk.UpdateItemCommandInput, Sdk.UpdateItemCommandOutput>;
  DeleteItem: Operation<Sdk.DeleteItemCommandInput, Sdk.DeleteItemCommandOutput>;
  Query: Operation<Sdk.QueryCommandInput, Sdk.QueryCommandOutput>;
  Scan: Operation<Sdk.ScanCommandInput, Sdk.ScanCommandOutput>;
  BatchGetItem: Operation<Sdk.BatchGetItemCommandInput, Sdk.BatchGetItemCommandOutput>;
  BatchWriteItem: Operation<Sdk.BatchWriteItemCommandInput, Sdk.BatchWriteItemCommandOutput>;
  TransactWriteItems: Operation<
    Sdk.TransactWriteItemsCommandInput,
    Sdk.TransactWriteItemsCommandOutput
  >;
  TransactGetItems: Operation<Sdk.TransactGetItemsCommandInput, Sdk.TransactGetItemsCommandOutput>;
};

export type OperationName = keyof Operations;

/** Operations that look at many items, one after the other. */
export type SteppedOperation = "Query" | "Scan" | "BatchGetItem";

/** What goes wrong with one call, as the documentation admits it. */
export type CallConditions = {
  /**
   * Reads that need not be consistent, and all reads of global indexes, see the state of so long
   * ago.
   */
  readonly staleMs?: number | undefined;
  /**
   * Of a batch only this part is done, though at least one entry; the rest comes back as
   * unprocessed.
   */
  readonly batchPart?: number | undefined;
};
