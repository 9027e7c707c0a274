/**
 * What the examples in the comments of public functions may use without saying where it comes from
 * (api-examples.test.ts). Nothing here runs.
 */
import type { DynamoDBClient as AwsClient } from "@aws-sdk/client-dynamodb";
import { z } from "zod";
import {
  defineBase,
  defineTable,
  type BaseHandle,
  type BaseSteps,
  type ChangedRows,
  type Client,
  type FeedContext,
  type Transaction,
} from "../../sdk/index.ts";
import type { TestCloud, TestProcess } from "../../testing/index.ts";

export { z };
export {
  DynamoDBClient,
  GetItemCommand,
  ListTablesCommand,
  PutItemCommand,
} from "@aws-sdk/client-dynamodb";

export type Order = { readonly id: string; readonly seat: string };

export const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts", {
  key: "id",
});
export const orders = defineTable<
  { totalCents: number },
  { customer: string; order: string },
  "customer"
>("orders", { key: ["customer", "order"] });
export const createOrder = defineBase("create-order", async (base, order: Order) => {
  await base.step("bill", async (tx) => {
    tx.put(accounts, order.id, { balanceCents: 0 });
  });
  return { paid: true };
});

export declare const order: Order;
export declare const db: Client;
export declare const tx: Transaction;
export declare const base: BaseSteps;
export declare const handle: BaseHandle<{ readonly paid: boolean }>;
export declare const change: ChangedRows;
export declare const feed: FeedContext;
export declare const cloud: TestCloud;
export declare const app: TestProcess;
/** Of another process. */
export declare const other: Client;
export declare const dynamodb: AwsClient;
export declare function index(key: object, row: object | undefined): Promise<void>;
export declare function reserve(tx: Transaction, order: Order): Promise<string>;
export declare function bill(tx: Transaction, order: Order, seat: string): Promise<void>;
