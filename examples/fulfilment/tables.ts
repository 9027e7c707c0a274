/** Makes the example's tables on a stack on this machine, and registers them for BASE. */
import { registerTables } from "../../sdk/tables.ts";
import { localDynamoDB, makeTable } from "../local-dynamodb.ts";
import { fulfilments, stock } from "./fulfilment.ts";

const made = [
  { name: stock.name, key: ["article"] },
  { name: fulfilments.name, key: ["orderId"] },
];

/** Again and again: what is there stays. */
export async function makeTables(endpoint: string): Promise<void> {
  const dynamodb = await localDynamoDB(endpoint);
  try {
    for (const table of made) await makeTable(dynamodb, table);
  } finally {
    dynamodb.destroy();
  }
  // With history: then who only reads waits for no order that is under way.
  const tables = made.map(({ name }) => ({ name, base: true, history: true }));
  await registerTables({ endpoint }, tables);
}
