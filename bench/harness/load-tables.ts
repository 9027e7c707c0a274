/**
 * Makes a workload's tables for a contestant, and puts its rows into them without Tidemark, as an
 * adopted table has them.
 */
import { type BatchWriteItemCommandOutput, BatchWriteItemCommand } from "@aws-sdk/client-dynamodb";
import { createAwsClients, type DynamoDbHandle } from "../../aws/clients.ts";
import { createTables } from "../../aws/create-tables.ts";
import { registerTables } from "../../aws/register-tables.ts";
import { toSdkItem, type SdkItem } from "../contestants/buffered-writes.ts";
import {
  type BenchTarget,
  type ContestantName,
  isMixed,
  isTidemark,
  physicalName,
} from "./contestant.ts";
import type { BenchTable, Workload } from "./workload.ts";

/** DynamoDB's limit per BatchWriteItem. */
const batchItemsMax = 25;
const batchesAtOnce = 16;

export async function loadTables(
  target: BenchTarget,
  contestant: ContestantName,
  workload: Workload,
): Promise<void> {
  const options = { region: target.region, endpoint: target.endpoints };
  const definitions = workload.tables.map((table) => ({
    name: physicalName(contestant, table),
    partitionKey: table.partitionKey,
    ...(table.sortKey === undefined ? {} : { sortKey: table.sortKey }),
  }));
  await createTables(options, definitions);
  if (isTidemark(contestant)) {
    const access = isMixed(contestant) ? "mixed" : "transactional";
    await registerTables(
      { ...options, deployment: target.deployment },
      definitions.map((table) => ({ ...table, history: false, access })),
    );
  }
  const clients = createAwsClients(options);
  try {
    const dynamodb = await clients.dynamodb();
    const batches = batchesOf(contestant, workload);
    const work = async (): Promise<void> => {
      for (const batch of batches) await writeBatch(dynamodb, batch);
    };
    await Promise.all(Array.from({ length: batchesAtOnce }, work));
  } finally {
    await clients.close();
  }
}

type Batch = Record<string, { readonly PutRequest: { readonly Item: SdkItem } }[]>;

function* batchesOf(contestant: ContestantName, workload: Workload): Generator<Batch> {
  let batch: Batch = {};
  let items = 0;
  const names = new Map<BenchTable, string>();
  const wanted = new Set(workload.tables.map(({ name }) => name));
  for (const { table, item } of workload.rows()) {
    if (!wanted.has(table.name)) continue;
    let name = names.get(table);
    if (name === undefined) names.set(table, (name = physicalName(contestant, table)));
    (batch[name] ??= []).push({ PutRequest: { Item: toSdkItem(item) } });
    items += 1;
    if (items < batchItemsMax) continue;
    yield batch;
    batch = {};
    items = 0;
  }
  if (items > 0) yield batch;
}

async function writeBatch({ client }: DynamoDbHandle, batch: Batch): Promise<void> {
  let left: Batch = batch;
  while (Object.keys(left).length > 0) {
    const output: BatchWriteItemCommandOutput = await client.send(
      new BatchWriteItemCommand({ RequestItems: left }),
    );
    left = (output.UnprocessedItems ?? {}) as Batch;
  }
}
