/**
 * The DynamoDB operations that the adapters use, each with its capacity added up, its faults classified and its
 * abort signal handed through. Adapters above this module know tables and attributes; this one knows calls.
 */
import type {
  BatchGetItemCommandInput,
  BatchGetItemCommandOutput,
  ConsumedCapacity,
  DeleteItemCommandInput,
  GetItemCommandInput,
  PutItemCommandInput,
  QueryCommandInput,
  QueryCommandOutput,
  ScanCommandInput,
  ScanCommandOutput,
} from "@aws-sdk/client-dynamodb";
import type { CallOptions } from "../core/ports.ts";
import type { Item } from "../core/types.ts";
import { fromSdkItem } from "./attribute-values.ts";
import { callRead, callWrite } from "./call.ts";
import type { SignDeadline } from "./call.ts";
import type { DynamoDbHandle } from "./clients.ts";

export type DynamoDb = {
  get(input: GetItemCommandInput, options?: CallOptions): Promise<Item | undefined>;
  batchGet(
    input: BatchGetItemCommandInput,
    options?: CallOptions,
  ): Promise<BatchGetItemCommandOutput>;
  query(input: QueryCommandInput, options?: CallOptions): Promise<QueryCommandOutput>;
  scan(input: ScanCommandInput, options?: CallOptions): Promise<ScanCommandOutput>;
  /** `"condition-failed"` also when an own earlier try succeeded and its answer was lost. */
  put(
    input: PutItemCommandInput,
    options?: CallOptions,
    signDeadline?: SignDeadline,
  ): Promise<"done" | "condition-failed">;
  delete(
    input: DeleteItemCommandInput,
    options?: CallOptions,
  ): Promise<"done" | "condition-failed">;
};

type Metered = { readonly ReturnConsumedCapacity?: "TOTAL" };

/** Capacity is asked for only when someone adds it up; it costs the store nothing and the wire little. */
function metered(options: CallOptions | undefined): Metered {
  return options?.consumption === undefined ? {} : { ReturnConsumedCapacity: "TOTAL" };
}

function count(
  options: CallOptions | undefined,
  kind: "readUnits" | "writeUnits",
  consumed: readonly (ConsumedCapacity | undefined)[],
): void {
  const consumption = options?.consumption;
  if (consumption === undefined) return;
  for (const capacity of consumed) consumption[kind] += capacity?.CapacityUnits ?? 0;
}

/** A call counts when it is made, whatever comes of it. */
function countCall(options: CallOptions | undefined): void {
  if (options?.consumption !== undefined) options.consumption.calls += 1;
}

type Source = () => Promise<DynamoDbHandle>;

export function createDynamoDb(handle: Source): DynamoDb {
  return { ...reads(handle), ...writes(handle) };
}

function reads(handle: Source): Pick<DynamoDb, "get" | "batchGet" | "query" | "scan"> {
  return {
    async get(input, options) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.GetItemCommand({ ...input, ...metered(options) });
      const output = await callRead({
        operation: `GetItem on ${String(input.TableName)}`,
        send: (http) => client.send(command, http),
        options,
      });
      count(options, "readUnits", [output.ConsumedCapacity]);
      return output.Item === undefined ? undefined : fromSdkItem(output.Item);
    },
    async batchGet(input, options) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.BatchGetItemCommand({ ...input, ...metered(options) });
      const output = await callRead({
        operation: "BatchGetItem",
        send: (http) => client.send(command, http),
        options,
      });
      count(options, "readUnits", output.ConsumedCapacity ?? []);
      return output;
    },
    async query(input, options) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.QueryCommand({ ...input, ...metered(options) });
      const output = await callRead({
        operation: `Query on ${String(input.TableName)}`,
        send: (http) => client.send(command, http),
        options,
      });
      count(options, "readUnits", [output.ConsumedCapacity]);
      return output;
    },
    async scan(input, options) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.ScanCommand({ ...input, ...metered(options) });
      const output = await callRead({
        operation: `Scan on ${String(input.TableName)}`,
        send: (http) => client.send(command, http),
        options,
      });
      count(options, "readUnits", [output.ConsumedCapacity]);
      return output;
    },
  };
}

function writes(handle: Source): Pick<DynamoDb, "put" | "delete"> {
  return {
    async put(input, options, signDeadline) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.PutItemCommand({ ...input, ...metered(options) });
      const result = await callWrite({
        operation: `PutItem on ${String(input.TableName)}`,
        command,
        send: (http) => client.send(command, http),
        options,
        signDeadline,
      });
      if (result.kind === "done") count(options, "writeUnits", [result.output.ConsumedCapacity]);
      return result.kind;
    },
    async delete(input, options) {
      const { sdk, client } = await handle();
      countCall(options);
      const command = new sdk.DeleteItemCommand({ ...input, ...metered(options) });
      const result = await callWrite({
        operation: `DeleteItem on ${String(input.TableName)}`,
        command,
        send: (http) => client.send(command, http),
        options,
      });
      if (result.kind === "done") count(options, "writeUnits", [result.output.ConsumedCapacity]);
      return result.kind;
    },
  };
}
