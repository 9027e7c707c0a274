/**
 * The same reads and writes as plain DynamoDB calls: consistent reads, and when the body ends all
 * its writes side by side, unconditional. No isolation, no atomicity, lost updates: what ACID is
 * the price above.
 */
import { DeleteItemCommand, type DynamoDBClient, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../../aws/clients.ts";
import {
  type BenchTarget,
  type ContestantClient,
  type Outcome,
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

const tableName = (table: BenchTable): string => physicalName("native", table);

export async function openNative(target: BenchTarget): Promise<ContestantClient> {
  const aws = createAwsClients({ region: target.region, endpoint: target.endpoints });
  const { client } = await aws.dynamodb();
  return { ...nativeOn(client), close: () => aws.close() };
}

export function nativeOn(client: DynamoDBClient): Omit<ContestantClient, "close"> {
  const reads = new PlainReads(client, tableName);
  return {
    run: (operation) => run(client, reads, operation),
    read: (body) => body(transactionOf(reads, new BufferedWrites())),
  };
}

async function run(
  client: DynamoDBClient,
  reads: PlainReads,
  operation: Operation,
): Promise<Outcome> {
  const writes = new BufferedWrites();
  try {
    await operation.body(transactionOf(reads, writes));
  } catch (error) {
    if (error instanceof RolledBack) return { kind: "rolled-back", attempts: 1 };
    throw error;
  }
  await Promise.all(Array.from(writes.entries.values(), (write) => send(client, write)));
  return { kind: "committed", attempts: 1 };
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

async function send(client: DynamoDBClient, { table, key, item }: BufferedWrite): Promise<void> {
  const TableName = tableName(table);
  await (item === undefined
    ? client.send(new DeleteItemCommand({ TableName, Key: toSdkItem(key) }))
    : client.send(new PutItemCommand({ TableName, Item: toSdkItem(item) })));
}
