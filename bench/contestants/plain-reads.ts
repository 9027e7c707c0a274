/** Consistent reads by plain calls of the AWS SDK, as the contestants beside Tidemark make them. */
import {
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
} from "@aws-sdk/client-dynamodb";
import { unmarshall } from "@aws-sdk/util-dynamodb";
import type { BenchItem, BenchKey, BenchQuery, BenchTable } from "../harness/workload.ts";
import { keyOf, keyText, toSdkItem, type SdkItem } from "./buffered-writes.ts";

/** DynamoDB's limit per BatchGetItem. */
const batchGetKeysMax = 100;

export class PlainReads {
  readonly #client: DynamoDBClient;
  readonly #tableName: (table: BenchTable) => string;

  constructor(client: DynamoDBClient, tableName: (table: BenchTable) => string) {
    this.#client = client;
    this.#tableName = tableName;
  }

  async get(table: BenchTable, key: BenchKey): Promise<BenchItem | undefined> {
    const { Item } = await this.#client.send(
      new GetItemCommand({
        TableName: this.#tableName(table),
        Key: toSdkItem(key),
        ConsistentRead: true,
      }),
    );
    return Item === undefined ? undefined : unmarshall(Item);
  }

  /** In the order of the keys. */
  async batchGet(
    table: BenchTable,
    keys: readonly BenchKey[],
  ): Promise<readonly (BenchItem | undefined)[]> {
    const found = new Map<string, BenchItem>();
    const unique = [...new Map(keys.map((key) => [keyText(table, key), key])).values()];
    const parts: BenchKey[][] = [];
    for (let start = 0; start < unique.length; start += batchGetKeysMax) {
      parts.push(unique.slice(start, start + batchGetKeysMax));
    }
    await Promise.all(
      parts.map(async (part) => {
        for (const item of await this.#readAll(table, part)) {
          found.set(keyText(table, keyOf(table, item)), item);
        }
      }),
    );
    return keys.map((key) => found.get(keyText(table, key)));
  }

  async #readAll(table: BenchTable, keys: readonly BenchKey[]): Promise<BenchItem[]> {
    const name = this.#tableName(table);
    const items: BenchItem[] = [];
    let left: SdkItem[] | undefined = keys.map((key) => toSdkItem(key));
    while (left !== undefined && left.length > 0) {
      const output: {
        readonly Responses?: Readonly<Record<string, SdkItem[]>>;
        readonly UnprocessedKeys?: Readonly<Record<string, { readonly Keys?: SdkItem[] }>>;
      } = (await this.#client.send(
        new BatchGetItemCommand({ RequestItems: { [name]: { Keys: left, ConsistentRead: true } } }),
      )) as never;
      items.push(...(output.Responses?.[name] ?? []).map((item) => unmarshall(item)));
      left = output.UnprocessedKeys?.[name]?.Keys;
    }
    return items;
  }

  async query(table: BenchTable, query: BenchQuery): Promise<readonly BenchItem[]> {
    const items: BenchItem[] = [];
    let start: SdkItem | undefined;
    do {
      const output: { Items?: SdkItem[]; LastEvaluatedKey?: SdkItem } = (await this.#client.send(
        new QueryCommand({
          TableName: this.#tableName(table),
          ConsistentRead: true,
          ScanIndexForward: query.descending !== true,
          ...conditionOf(table, query),
          ...(query.limit === undefined ? {} : { Limit: query.limit - items.length }),
          ...(start === undefined ? {} : { ExclusiveStartKey: start }),
        }),
      )) as never;
      items.push(...(output.Items ?? []).map((item) => unmarshall(item)));
      start = output.LastEvaluatedKey;
    } while (start !== undefined && items.length < (query.limit ?? Infinity));
    return items;
  }
}

function conditionOf(
  { partitionKey, sortKey }: BenchTable,
  { partition, from, to }: BenchQuery,
): {
  readonly KeyConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues: SdkItem;
} {
  const ranged = sortKey !== undefined && (from !== undefined || to !== undefined);
  const bounds =
    from === undefined
      ? "#s <= :to"
      : to === undefined
        ? "#s >= :from"
        : "#s BETWEEN :from AND :to";
  return {
    KeyConditionExpression: ranged ? `#p = :p AND ${bounds}` : "#p = :p",
    ExpressionAttributeNames: {
      "#p": partitionKey.name,
      ...(ranged ? { "#s": sortKey.name } : {}),
    },
    ExpressionAttributeValues: toSdkItem({ ":p": partition, ":from": from, ":to": to }),
  };
}
