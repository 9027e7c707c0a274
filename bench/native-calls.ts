/**
 * The same reads and writes without Tidemark: by plain calls (a consistent BatchGetItem and n
 * PutItem), and by the least that gives the same guarantee, a consistent BatchGetItem and a
 * TransactWriteItems whose conditions name the versions read. By DynamoDB's documented rule for
 * items below 1 KB, and as a store reports it that knows transactions.
 */
import {
  BatchGetItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { accountItem, benchAccounts, benchTable } from "./bench-table.ts";
import { priced, type PricedCost } from "./cost.ts";
import type { MeteredClients } from "./metered-clients.ts";

export type NativeTask = {
  readonly shape: "read and write" | "write only";
  /** At most 100: neither call takes more. */
  readonly items: number;
};

export type NativeCosts = { readonly plain: PricedCost; readonly transact: PricedCost };

/** A unit per item read, one per item put, two per item put in a transaction. */
export function nativeByRule({ shape, items }: NativeTask): NativeCosts {
  const reads = shape === "read and write";
  const common = { readUnits: reads ? items : 0, streamUnits: 0, invocations: 0 };
  const readCalls = reads ? 1 : 0;
  return {
    plain: priced({ ...common, calls: readCalls + items, writeUnits: items }),
    transact: priced({ ...common, calls: readCalls + 1, writeUnits: 2 * items }),
  };
}

/** On the last accounts of the table, which no other measurement touches. */
export async function nativeAsReported(
  meter: MeteredClients,
  task: NativeTask,
): Promise<NativeCosts> {
  return {
    plain: await measured(meter, () => callPlain(meter.dynamodb, task)),
    transact: await measured(meter, () => callTransact(meter.dynamodb, task)),
  };
}

async function measured(meter: MeteredClients, run: () => Promise<void>): Promise<PricedCost> {
  meter.reset();
  await run();
  const { calls, readUnits, writeUnits } = meter.usage;
  return priced({ calls, readUnits, writeUnits, streamUnits: 0, invocations: 0 });
}

type AccountItem = ReturnType<typeof accountItem>;

const TableName = benchTable.name;

async function itemsOf(client: DynamoDBClient, task: NativeTask): Promise<readonly AccountItem[]> {
  const rows = Array.from({ length: task.items }, (_, n) => accountItem(benchAccounts - 1 - n));
  if (task.shape === "write only") return rows;
  const Keys = rows.map(({ id }) => ({ id: id as never }));
  const { Responses, UnprocessedKeys } = await client.send(
    new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } }),
  );
  const read = Responses?.[TableName] ?? [];
  if (read.length < rows.length || Object.keys(UnprocessedKeys ?? {}).length > 0) {
    throw new Error("not every item was read");
  }
  return read as unknown as readonly AccountItem[];
}

async function callPlain(client: DynamoDBClient, task: NativeTask): Promise<void> {
  for (const item of await itemsOf(client, task)) {
    await client.send(new PutItemCommand({ TableName, Item: { ...item } as never }));
  }
}

async function callTransact(client: DynamoDBClient, task: NativeTask): Promise<void> {
  const items = await itemsOf(client, task);
  const condition =
    task.shape === "write only"
      ? {}
      : {
          // The rows have no version yet, and are put without one again.
          ConditionExpression: "attribute_exists(id) AND attribute_not_exists(#version)",
          ExpressionAttributeNames: { "#version": "version" },
        };
  await client.send(
    new TransactWriteItemsCommand({
      TransactItems: items.map((item) => ({
        Put: { TableName, Item: { ...item } as never, ...condition },
      })),
    }),
  );
}
