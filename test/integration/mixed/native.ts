/** What a program that knows nothing of Tidemark does to a table, by the AWS SDK as it comes. */
import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateItemCommand,
  type DynamoDBClient,
} from "@aws-sdk/client-dynamodb";
import type { Item, TableDescription } from "../../../core/types.ts";
import type { LocalStores } from "../../harness/local-stores.ts";
import { openDynamoDb } from "../support.ts";

type Plain = Record<string, never>;

export class Native {
  readonly #client: DynamoDBClient;

  constructor(stores: LocalStores) {
    this.#client = openDynamoDb(stores);
  }

  async get({ name }: TableDescription, key: Item): Promise<Item | undefined> {
    const input = { TableName: name, Key: key as Plain, ConsistentRead: true };
    const { Item: item } = await this.#client.send(new GetItemCommand(input));
    return item as Item | undefined;
  }

  async put({ name }: TableDescription, item: Item): Promise<void> {
    await this.#client.send(new PutItemCommand({ TableName: name, Item: item as Plain }));
  }

  async delete({ name }: TableDescription, key: Item): Promise<void> {
    await this.#client.send(new DeleteItemCommand({ TableName: name, Key: key as Plain }));
  }

  /** Adds to `n` as an aware writer does: one attribute more, and one condition. */
  async add({ name }: TableDescription, key: Item, by: number): Promise<void> {
    const nonce = crypto.getRandomValues(new Uint8Array(16));
    for (;;) {
      try {
        await this.#client.send(
          new UpdateItemCommand({
            TableName: name,
            Key: key as Plain,
            UpdateExpression: "SET #nonce = :nonce ADD n :by",
            ConditionExpression: "attribute_not_exists(#fence)",
            ExpressionAttributeNames: { "#nonce": "_n", "#fence": "_f" },
            ExpressionAttributeValues: { ":nonce": { B: nonce }, ":by": { N: `${by}` } },
          }),
        );
        return;
      } catch (error) {
        if (!(error instanceof Error) || error.name !== "ConditionalCheckFailedException")
          throw error;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  /** Adds to `n` as a writer does that knows of nothing. */
  async addUnaware({ name }: TableDescription, key: Item, by: number): Promise<void> {
    await this.#client.send(
      new UpdateItemCommand({
        TableName: name,
        Key: key as Plain,
        UpdateExpression: "ADD n :by",
        ExpressionAttributeValues: { ":by": { N: `${by}` } },
      }),
    );
  }

  async scan({ name }: TableDescription): Promise<readonly Item[]> {
    const input = { TableName: name, ConsistentRead: true };
    const { Items = [] } = await this.#client.send(new ScanCommand(input));
    return Items as Item[];
  }

  close(): void {
    this.#client.destroy();
  }
}
