/**
 * AWS SDK clients that add up what the stores say each call consumed, whoever makes it: the
 * middleware asks for the capacity itself, so nothing that a part of Tidemark forgets to count is
 * missing.
 *
 * One correction: dynalite reports 0 for a Query that found nothing, where DynamoDB charges one
 * unit of the smallest size; the meter counts that unit.
 */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { KinesisClient } from "@aws-sdk/client-kinesis";
import { NodeHttpHandler } from "@smithy/node-http-handler";

/** Sums since the last `reset`. */
export type Usage = {
  readUnits: number;
  writeUnits: number;
  calls: number;
  /** Kinesis: calls and 25-KB units put. */
  streamCalls: number;
  streamUnits: number;
};

export type MeteredClients = {
  readonly dynamodb: DynamoDBClient;
  readonly kinesis: KinesisClient;
  readonly usage: Readonly<Usage>;
  reset(): void;
  close(): void;
};

const reads = new Set(["GetItemCommand", "BatchGetItemCommand", "QueryCommand", "ScanCommand"]);
const writes = new Set([
  ...["PutItemCommand", "UpdateItemCommand", "DeleteItemCommand", "TransactWriteItemsCommand"],
]);
const putUnitBytes = 25 * 1024;

type Capacity = { readonly CapacityUnits?: number };

type Fields = Readonly<Record<string, unknown>>;

type Handler = (args: { input: Fields }) => Promise<{ readonly output: Fields }>;

export function meteredClients(endpoint: {
  readonly dynamodb: string;
  readonly kinesis: string;
}): MeteredClients {
  const usage = noUsage();
  const shared = {
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
  const dynamodb = new DynamoDBClient({ ...shared, endpoint: endpoint.dynamodb });
  const kinesis = new KinesisClient({
    ...shared,
    endpoint: endpoint.kinesis,
    requestHandler: new NodeHttpHandler(),
  });
  const meterStore =
    (next: Handler, { commandName = "" }: { commandName?: string }): Handler =>
    async (args) => {
      const isRead = reads.has(commandName);
      if (!isRead && !writes.has(commandName)) return next(args);
      usage.calls += 1;
      const input = { ...args.input, ReturnConsumedCapacity: "TOTAL" };
      try {
        const result = await next({ ...args, input });
        const units = capacityOf(result.output["ConsumedCapacity"]);
        if (isRead) usage.readUnits += commandName === "QueryCommand" ? Math.max(units, 1) : units;
        else usage.writeUnits += units;
        return result;
      } catch (error) {
        // A condition that failed is charged like the write it prevented; items here are below 1
        // KB.
        if (error instanceof Error && error.name === "ConditionalCheckFailedException") {
          usage.writeUnits += 1;
        }
        throw error;
      }
    };
  const meterStream =
    (next: Handler, { commandName = "" }: { commandName?: string }): Handler =>
    async (args) => {
      if (commandName === "PutRecordsCommand") {
        usage.streamCalls += 1;
        const records = args.input["Records"] as readonly { readonly Data: Uint8Array }[];
        for (const { Data } of records) usage.streamUnits += Math.ceil(Data.length / putUnitBytes);
      }
      return next(args);
    };
  dynamodb.middlewareStack.add(meterStore as never, { step: "initialize", name: "benchMeter" });
  kinesis.middlewareStack.add(meterStream as never, { step: "initialize", name: "benchMeter" });
  return {
    dynamodb,
    kinesis,
    usage,
    reset() {
      Object.assign(usage, noUsage());
    },
    close() {
      dynamodb.destroy();
      kinesis.destroy();
    },
  };
}

function noUsage(): Usage {
  return { readUnits: 0, writeUnits: 0, calls: 0, streamCalls: 0, streamUnits: 0 };
}

function capacityOf(consumed: unknown): number {
  const list = (Array.isArray(consumed) ? consumed : [consumed]) as readonly (
    | Capacity
    | undefined
  )[];
  return list.reduce((sum, capacity) => sum + (capacity?.CapacityUnits ?? 0), 0);
}
