/**
 * The DynamoDB operations that the adapters use, each with its capacity added up, its faults
 * classified and its abort signal handed through. Adapters above this module know tables and
 * attributes; this one knows calls.
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
import { callRead, callWrite, type Call, type SignDeadline } from "./call.ts";
import type { DynamoDbHandle } from "./clients.ts";
import { inKnownOrder } from "./middleware-order.ts";

type Source = () => Promise<DynamoDbHandle>;

export type ClientDynamoDb = {
  /** For operations that few need (dynamodb-append.ts). */
  readonly handle: Source;
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
};

/** Functions alone delete anything; a client's deletes are tombstones, which are puts. */
export type DynamoDb = ClientDynamoDb & {
  delete(
    input: DeleteItemCommandInput,
    options?: CallOptions,
  ): Promise<"done" | "condition-failed">;
};

type Metered = { readonly ReturnConsumedCapacity?: "TOTAL" };

/**
 * Capacity is asked for only when someone adds it up; it costs the store nothing and the wire
 * little.
 */
function metered(options: CallOptions | undefined): Metered {
  return options?.consumption === undefined ? {} : { ReturnConsumedCapacity: "TOTAL" };
}

export function count(
  options: CallOptions | undefined,
  kind: "readUnits" | "writeUnits",
  consumed: ConsumedCapacity | readonly ConsumedCapacity[] | undefined,
): void {
  const consumption = options?.consumption;
  if (consumption === undefined || consumed === undefined) return;
  for (const { CapacityUnits } of [consumed].flat()) consumption[kind] += CapacityUnits ?? 0;
}

export function createClientDynamoDb(handle: Source): ClientDynamoDb {
  return { handle, ...reads(handle), ...puts(handle) };
}

type Operation = {
  readonly handle: Source;
  readonly name: string;
  readonly table: string | undefined;
  readonly options: CallOptions | undefined;
  readonly signDeadline?: SignDeadline | undefined;
};

/** Makes a command, and gives what sends it. */
type Prepare<Output> = (
  to: DynamoDbHandle,
  metered: Metered,
) => Pick<Call<Output>, "command" | "send">;

/** The call, counted as one that is made, whatever comes of it. */
export async function prepared<Output>(
  { handle, name, table, options, signDeadline }: Operation,
  prepare: Prepare<Output>,
): Promise<Call<Output>> {
  const to = await handle();
  const consumption = options?.consumption;
  if (consumption !== undefined) consumption.calls += 1;
  const operation = table === undefined ? name : `${name} on ${table}`;
  return { operation, options, signDeadline, ...prepare(to, metered(options)) };
}

async function read<
  Output extends { ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined },
>(operation: Operation, prepare: Prepare<Output>): Promise<Output> {
  const output = await callRead(await prepared(operation, prepare));
  count(operation.options, "readUnits", output.ConsumedCapacity);
  return output;
}

async function write<Output extends { ConsumedCapacity?: ConsumedCapacity | undefined }>(
  operation: Operation,
  prepare: Prepare<Output>,
): Promise<"done" | "condition-failed"> {
  const result = await callWrite(await prepared(operation, prepare));
  if (result.kind === "done") {
    count(operation.options, "writeUnits", result.output.ConsumedCapacity);
  }
  return result.kind;
}

function reads(handle: Source): Pick<ClientDynamoDb, "get" | "batchGet" | "query" | "scan"> {
  return {
    async get(input, options) {
      const { Item } = await read(
        { handle, name: "GetItem", table: input.TableName, options },
        (to, metered) => {
          const command = inKnownOrder(
            to.client,
            new to.sdk.GetItemCommand({ ...input, ...metered }),
          );
          return { command, send: (http) => to.client.send(command, http) };
        },
      );
      return Item === undefined ? undefined : fromSdkItem(Item);
    },
    batchGet: (input, options) =>
      read({ handle, name: "BatchGetItem", table: undefined, options }, (to, metered) => {
        const command = inKnownOrder(
          to.client,
          new to.sdk.BatchGetItemCommand({ ...input, ...metered }),
        );
        return { command, send: (http) => to.client.send(command, http) };
      }),
    query: (input, options) =>
      read({ handle, name: "Query", table: input.TableName, options }, (to, metered) => {
        const command = inKnownOrder(to.client, new to.sdk.QueryCommand({ ...input, ...metered }));
        return { command, send: (http) => to.client.send(command, http) };
      }),
    scan: (input, options) =>
      read({ handle, name: "Scan", table: input.TableName, options }, (to, metered) => {
        const command = inKnownOrder(to.client, new to.sdk.ScanCommand({ ...input, ...metered }));
        return { command, send: (http) => to.client.send(command, http) };
      }),
  };
}

function puts(handle: Source): Pick<ClientDynamoDb, "put"> {
  return {
    put: (input, options, signDeadline) =>
      write(
        { handle, name: "PutItem", table: input.TableName, options, signDeadline },
        (to, metered) => {
          const command = inKnownOrder(
            to.client,
            new to.sdk.PutItemCommand({ ...input, ...metered }),
          );
          return { command, send: (http) => to.client.send(command, http) };
        },
      ),
  };
}

export function createDynamoDb(handle: Source): DynamoDb {
  return {
    ...createClientDynamoDb(handle),
    delete: (input, options) =>
      write({ handle, name: "DeleteItem", table: input.TableName, options }, (to, metered) => {
        const command = inKnownOrder(
          to.client,
          new to.sdk.DeleteItemCommand({ ...input, ...metered }),
        );
        return { command, send: (http) => to.client.send(command, http) };
      }),
  };
}
