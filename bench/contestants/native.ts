/**
 * The same reads and writes as plain DynamoDB calls: consistent reads, and when the body ends all
 * its writes, unconditional. No isolation, no atomicity, lost updates: what ACID is the price
 * above. The writes go side by side, or one after another, as the pH1 paper measures a store
 * without transactions.
 */
import { DeleteItemCommand, type DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../../aws/clients.ts";
import {
  type BenchTarget,
  type ContestantClient,
  type ContestantName,
  physicalName,
} from "../harness/contestant.ts";
import {
  type BenchTable,
  type BenchTransaction,
  type Operation,
  RolledBack,
} from "../harness/workload.ts";
import { BufferedWrites, type BufferedWrite, toSdkItem } from "./buffered-writes.ts";
import { PlainReads } from "./plain-reads.ts";

type NativeContestant = "native" | "native-in-turn";
type TableName = (table: BenchTable) => string;

export function openNative(
  name: NativeContestant,
): (target: BenchTarget) => Promise<ContestantClient> {
  return async (target) => {
    const aws = createAwsClients({ region: target.region, endpoint: target.endpoints });
    const { client } = await aws.dynamodb();
    return { ...nativeOn(client, name), close: () => aws.close() };
  };
}

/** @param name whose tables it reads and writes. */
export function nativeOn(
  client: DynamoDBClient,
  name: ContestantName = "native",
): Omit<ContestantClient, "close"> {
  const tableName: TableName = (table) => physicalName(name, table);
  return plainCalls(client, { tableName, inTurn: name === "native-in-turn" });
}

/** @param options.inTurn whether writes go one after another. */
export function plainCalls(
  client: DynamoDBClient,
  { tableName, inTurn }: { readonly tableName: TableName; readonly inTurn: boolean },
): Omit<ContestantClient, "close"> {
  const reads = new PlainReads(client, tableName);
  return {
    async run(operation) {
      const writes = await writesOf(reads, operation);
      if (writes === undefined) return { kind: "rolled-back", attempts: 1 };
      const sends = writes.map((write) => () => send(client, tableName, write));
      if (inTurn) for (const sendNext of sends) await sendNext();
      else await Promise.all(sends.map((start) => start()));
      return { kind: "committed", attempts: 1 };
    },
    read: (body) => body(transactionOf(reads, new BufferedWrites())),
  };
}

/** Undefined: it was rolled back. */
async function writesOf(
  reads: PlainReads,
  operation: Operation,
): Promise<readonly BufferedWrite[] | undefined> {
  const writes = new BufferedWrites();
  try {
    await operation.body(transactionOf(reads, writes));
  } catch (error) {
    if (error instanceof RolledBack) return undefined;
    throw error;
  }
  return [...writes.entries.values()];
}

function transactionOf(reads: PlainReads, writes: BufferedWrites): BenchTransaction {
  return {
    async get(table, key) {
      const own = writes.find(table, key);
      return own === undefined ? reads.get(table, key) : own.item;
    },
    async batchGet(table, keys) {
      const stored = await reads.batchGet(
        table,
        keys.filter((key) => writes.find(table, key) === undefined),
      );
      let next = 0;
      return keys.map((key) => {
        const own = writes.find(table, key);
        return own === undefined ? stored[next++] : own.item;
      });
    },
    query: (table, query) => reads.query(table, query),
    put: (table, item) => {
      writes.put(table, item);
    },
    delete: (table, key) => {
      writes.delete(table, key);
    },
  };
}

async function send(
  client: DynamoDBClient,
  tableName: TableName,
  { table, key, item }: BufferedWrite,
): Promise<void> {
  const TableName = tableName(table);
  await (item === undefined
    ? client.send(new DeleteItemCommand({ TableName, Key: toSdkItem(key) }))
    : client.send(new PutItemCommand({ TableName, Item: toSdkItem(item) })));
}
