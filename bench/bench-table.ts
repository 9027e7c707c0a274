/** The table that the benchmarks work on: 10,000 accounts of about 100 bytes, filled natively. */
import type { DynamoDbHandle } from "../aws/clients.ts";
import type { Item, TableDescription } from "../core/types.ts";

export const benchTable = {
  name: "bench-accounts",
  partitionKey: { name: "id", type: "S" },
  history: false,
  access: "transactional",
} as const satisfies TableDescription;

export const benchAccounts = 10_000;

/** DynamoDB's limit per BatchWriteItem. */
const batchWriteItemsMax = 25;

export function accountId(n: number): string {
  return `account-${n.toString().padStart(5, "0")}`;
}

export function accountItem(n: number): Item {
  return {
    id: { S: accountId(n) },
    balanceCents: { N: "100000" },
    owner: { S: `Customer ${n.toString().padStart(5, "0")}` },
    currency: { S: "EUR" },
    updatedAt: { S: "2026-01-01T00:00:00.000Z" },
  };
}

/** Written without Tidemark, as a table that is adopted is. */
export async function fillAccounts({ client, sdk }: DynamoDbHandle): Promise<void> {
  for (let start = 0; start < benchAccounts; start += batchWriteItemsMax) {
    const requests = Array.from({ length: batchWriteItemsMax }, (_, n) => ({
      PutRequest: { Item: { ...accountItem(start + n) } as never },
    }));
    const { UnprocessedItems } = await client.send(
      new sdk.BatchWriteItemCommand({ RequestItems: { [benchTable.name]: requests } }),
    );
    if (Object.keys(UnprocessedItems ?? {}).length > 0) throw new Error("the table was not filled");
  }
}
