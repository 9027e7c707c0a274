/** Operations that read or write items, by the names of the AWS SDK's commands. */
import { batchGetItem, batchWriteItem } from "./batches.ts";
import { deleteItem, getItem, putItem, updateItem } from "./items.ts";
import { query, scan } from "./pages.ts";
import { refuseStatement } from "./refused.ts";
import { transactGetItems, transactWriteItems } from "./transactions.ts";
import type { TransactionCommands } from "./transaction-commands.ts";

type Operation = (input: object, commands: TransactionCommands) => Promise<object>;

const partiQl = ["ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"];

export const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["GetItemCommand", getItem],
  ["BatchGetItemCommand", batchGetItem],
  ["QueryCommand", query],
  ["ScanCommand", scan],
  ["PutItemCommand", putItem],
  ["UpdateItemCommand", updateItem],
  ["DeleteItemCommand", deleteItem],
  ["BatchWriteItemCommand", batchWriteItem],
  ["TransactWriteItemsCommand", transactWriteItems],
  ["TransactGetItemsCommand", transactGetItems],
  ...partiQl.map((name): [string, Operation] => [
    `${name}Command`,
    async () => refuseStatement(name),
  ]),
]);
