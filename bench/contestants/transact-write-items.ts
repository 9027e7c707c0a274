/**
 * Optimistic transactions by hand, as an application does them with DynamoDB's own means: every
 * item carries a version, reads are consistent, and one TransactWriteItems writes on condition that
 * the versions read are still there, with a ConditionCheck for each key that was only read. After a
 * cancellation the body runs again, with capped backoff.
 *
 * What it does not do: more than 100 items (refused), and phantoms: what a query found, or did not
 * find, may have changed by the commit, unless the transaction writes that very row. One item alone
 * needs no TransactWriteItems: a read of one is atomic, and a write of one is a conditional
 * PutItem, at half the price.
 */
import {
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  TransactWriteItemsCommand,
  type TransactWriteItem,
} from "@aws-sdk/client-dynamodb";
import { createAwsClients } from "../../aws/clients.ts";
import {
  type BenchTarget,
  type ContestantClient,
  GaveUp,
  type Outcome,
  physicalName,
} from "../harness/contestant.ts";
import {
  type BenchItem,
  type BenchKey,
  type BenchTable,
  type BenchTransaction,
  type Operation,
  RolledBack,
} from "../harness/workload.ts";
import { BufferedWrites, keyOf, keyText, toSdkItem } from "./buffered-writes.ts";
import { PlainReads } from "./plain-reads.ts";
import { retryLimits } from "./retry-limits.ts";

/** DynamoDB's limit per TransactWriteItems. */
const itemsMax = 100;
const versionAttribute = "version";
const backoff = { baseMs: 5, capMs: 500 };

class TooManyItems extends Error {
  override readonly name = "TooManyItems";
}

/** A key as the transaction met it. `version` undefined: a row as loaded; absent: no row. */
type Met = {
  readonly table: BenchTable;
  readonly key: BenchKey;
  readonly row: { readonly version: string | undefined } | undefined;
  /** Asked for by key, and so to be checked; else a query showed it. */
  readonly byKey: boolean;
};

const tableName = (table: BenchTable): string => physicalName("transact-write-items", table);

export async function openTransactWriteItems(target: BenchTarget): Promise<ContestantClient> {
  const aws = createAwsClients({ region: target.region, endpoint: target.endpoints });
  const { client } = await aws.dynamodb();
  return { ...transactWriteItemsOn(client), close: () => aws.close() };
}

export function transactWriteItemsOn(client: DynamoDBClient): Omit<ContestantClient, "close"> {
  const reads = new PlainReads(client, tableName);
  return {
    run: (operation) => run(client, reads, operation),
    read: (body) => body(new VersionedTransaction(reads)),
  };
}

async function run(
  client: DynamoDBClient,
  reads: PlainReads,
  operation: Operation,
): Promise<Outcome> {
  const startMs = performance.now();
  for (let attempts = 1; ; attempts += 1) {
    const transaction = new VersionedTransaction(reads);
    try {
      await operation.body(transaction);
    } catch (error) {
      if (error instanceof RolledBack) return { kind: "rolled-back", attempts };
      throw error;
    }
    if (await committed(client, transaction)) return { kind: "committed", attempts };
    const late = performance.now() - startMs > retryLimits.deadlineMs;
    if (late || attempts >= retryLimits.attemptsMax) {
      throw new GaveUp("conflicts to the end", attempts);
    }
    const ceilingMs = Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempts - 1, 20));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ceilingMs));
  }
}

class VersionedTransaction implements BenchTransaction {
  readonly met = new Map<string, Met>();
  readonly writes = new BufferedWrites();
  readonly #reads: PlainReads;

  constructor(reads: PlainReads) {
    this.#reads = reads;
  }

  async get(table: BenchTable, key: BenchKey): Promise<BenchItem | undefined> {
    const own = this.writes.find(table, key);
    if (own !== undefined) return own.item;
    return this.#meet(table, key, await this.#reads.get(table, key));
  }

  async batchGet(
    table: BenchTable,
    keys: readonly BenchKey[],
  ): Promise<readonly (BenchItem | undefined)[]> {
    const foreign = keys.filter((key) => this.writes.find(table, key) === undefined);
    const stored = await this.#reads.batchGet(table, foreign);
    let next = 0;
    return keys.map((key) => {
      const own = this.writes.find(table, key);
      return own === undefined ? this.#meet(table, key, stored[next++]) : own.item;
    });
  }

  async query(
    table: BenchTable,
    query: Parameters<BenchTransaction["query"]>[1],
  ): Promise<readonly BenchItem[]> {
    const items = await this.#reads.query(table, query);
    return items.map((item) => this.#meet(table, undefined, item) ?? item);
  }

  put(table: BenchTable, item: BenchItem): void {
    this.writes.put(table, item);
  }

  delete(table: BenchTable, key: BenchKey): void {
    this.writes.delete(table, key);
  }

  /** Notes the version first met, and takes it out of what the body sees. */
  #meet(
    table: BenchTable,
    key: BenchKey | undefined,
    item: BenchItem | undefined,
  ): BenchItem | undefined {
    const own = key ?? keyOf(table, item ?? {});
    const text = keyText(table, own);
    const before = this.met.get(text);
    if (before === undefined || (key !== undefined && !before.byKey)) {
      const version = item?.[versionAttribute] as string | undefined;
      const row =
        before === undefined ? (item === undefined ? undefined : { version }) : before.row;
      this.met.set(text, { table, key: own, row, byKey: key !== undefined });
    }
    if (item === undefined) return undefined;
    const { [versionAttribute]: _version, ...rest } = item;
    return rest;
  }
}

/** False when something read has changed. */
async function committed(
  client: DynamoDBClient,
  { met, writes }: VersionedTransaction,
): Promise<boolean> {
  const read = [...met.values()].filter(({ byKey }) => byKey);
  const touched = new Set([
    ...read.map((one) => keyText(one.table, one.key)),
    ...writes.entries.keys(),
  ]);
  if (writes.entries.size === 0 && touched.size <= 1) return true;
  if (touched.size > itemsMax) {
    throw new TooManyItems(`above the ${itemsMax} items that a TransactWriteItems takes`);
  }
  const actions = actionsOf(read, { met, writes });
  try {
    const [only] = actions;
    if (actions.length === 1 && only !== undefined) await sendAlone(client, only);
    else await client.send(new TransactWriteItemsCommand({ TransactItems: actions }));
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

function actionsOf(
  read: readonly Met[],
  { met, writes }: Pick<VersionedTransaction, "met" | "writes">,
): TransactWriteItem[] {
  const checks = read
    .filter(({ table, key }) => writes.find(table, key) === undefined)
    .map((one) => ({
      ConditionCheck: {
        TableName: tableName(one.table),
        Key: toSdkItem(one.key),
        ...conditionOf(one),
      },
    }));
  const changes = Array.from(writes.entries, ([text, { table, key, item }]): TransactWriteItem => {
    const before = met.get(text);
    const TableName = tableName(table);
    const condition = before === undefined ? {} : conditionOf(before);
    return item === undefined
      ? { Delete: { TableName, Key: toSdkItem(key), ...condition } }
      : {
          Put: {
            TableName,
            Item: toSdkItem({ ...item, [versionAttribute]: newVersion() }),
            ...condition,
          },
        };
  });
  return [...checks, ...changes] as TransactWriteItem[];
}

type Condition = {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, { readonly S: string }>;
};

function conditionOf({ table, row }: Met): Condition {
  const key = { "#key": table.partitionKey.name };
  if (row === undefined) {
    return {
      ConditionExpression: "attribute_not_exists(#key)",
      ExpressionAttributeNames: key,
    };
  }
  if (row.version === undefined) {
    return {
      ConditionExpression: "attribute_exists(#key) AND attribute_not_exists(#version)",
      ExpressionAttributeNames: { ...key, "#version": versionAttribute },
    };
  }
  return {
    ConditionExpression: "#version = :version",
    ExpressionAttributeNames: { "#version": versionAttribute },
    ExpressionAttributeValues: { ":version": { S: row.version } },
  };
}

async function sendAlone(client: DynamoDBClient, action: TransactWriteItem): Promise<void> {
  if (action.Put !== undefined) await client.send(new PutItemCommand(action.Put as never));
  else await client.send(new DeleteItemCommand(action.Delete as never));
}

const conflictReasons = new Set(["ConditionalCheckFailed", "TransactionConflict"]);

function isConflict(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === "ConditionalCheckFailedException") return true;
  if (error.name === "TransactionConflictException") return true;
  if (error.name !== "TransactionCanceledException") return false;
  const { CancellationReasons = [] } = error as { CancellationReasons?: { Code?: string }[] };
  return CancellationReasons.some(({ Code = "" }) => conflictReasons.has(Code));
}

const versionPrefix = Math.random().toString(36).slice(2, 10);
let versions = 0;

/** Never the same twice, so that an item cannot come back to a version that somebody has read. */
function newVersion(): string {
  versions += 1;
  return `${versionPrefix}${versions.toString(36)}`;
}
