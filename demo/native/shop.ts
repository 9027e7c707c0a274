/**
 * A shop on a mixed table, beside the bank and the box office: programs sell its goods by plain
 * conditional UpdateItems, and restock them from a depot by transactions. What stands on the
 * shelves and in the depot, and what was sold, is what there was in the beginning.
 */
import { type DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { type Client, defineTable } from "../../sdk/index.ts";
import type { StackDescription } from "../../sdk/discovery.ts";
import { registerTables } from "../../sdk/tables.ts";
import { makeTable, plainClient } from "../plain-dynamodb.ts";
import { type NativeEntry, nativeEntries } from "./native-journal.ts";

type GoodKey = { readonly id: string };

export const goods = defineTable<{ readonly units: number }, GoodKey>("demo-goods", { key: "id" });

const goodCount = 12;
const unitsPerGood = 200;
const depotUnits = 20_000;
const settledMsMax = 90_000;
const lookEveryMs = 500;

export function depotOf(runId: string): string {
  return `${runId}-depot`;
}

export function goodsOf(runId: string): readonly string[] {
  return Array.from({ length: goodCount }, (_unused, i) => `${runId}-good-${i}`);
}

/** Creates and registers the table, and fills the shelves. */
export async function openShop(
  {
    db,
    endpoint,
    runId,
  }: { readonly db: Client; readonly endpoint: string; readonly runId: string },
  stack: StackDescription,
): Promise<void> {
  await makeTable(stack, { name: goods.name, keyNames: ["id"] });
  await registerTables({ endpoint }, [{ name: goods.name, access: "mixed" }]);
  await db.transact((tx) => {
    for (const id of goodsOf(runId)) tx.put(goods, { id, units: unitsPerGood });
    tx.put(goods, { id: depotOf(runId), units: depotUnits });
    return Promise.resolve();
  });
}

export type ShopAudit = {
  /** Units sold by plain updates, and those of which nobody heard whether they were. */
  readonly sold: number;
  readonly unheard: number;
  /** Sales that found too little. */
  readonly refused: number;
  /** Transactions beside them. */
  readonly restocks: number;
  readonly faults: readonly string[];
};

/** When all is installed: what the table holds against what the programs were told. */
export async function auditShop(
  stack: StackDescription,
  { folder, runId }: { readonly folder: string; readonly runId: string },
): Promise<ShopAudit> {
  const entries = nativeEntries(folder);
  const count = (kind: NativeEntry["kind"]): number =>
    entries.filter((entry) => entry.kind === kind).length;
  const { sold, unheard } = salesIn(entries);
  const { units, left, negative } = await settled(stack, runId);
  const opened = goodCount * unitsPerGood + depotUnits;
  const gone = opened - units;
  const faults = [
    ...(gone >= sold && gone <= sold + unheard
      ? []
      : [`stock: ${gone} units are gone; ${sold} were sold, ${unheard} more may have been`]),
    ...negative.map((id) => `stock: more of ${id} was sold than there was`),
    ...left.map((id) => `stock: a fence or a placeholder is left on ${id}`),
  ];
  return { sold, unheard, refused: count("refused"), restocks: count("restocked"), faults };
}

function salesIn(entries: readonly NativeEntry[]): { sold: number; unheard: number } {
  const open = new Map<string, number>();
  let sold = 0;
  for (const entry of entries) {
    if (entry.kind === "sale") open.set(entry.id, entry.amount);
    else if (entry.kind === "sold" || entry.kind === "refused") {
      if (entry.kind === "sold") sold += open.get(entry.id) ?? 0;
      open.delete(entry.id);
    }
  }
  return { sold, unheard: [...open.values()].reduce((sum, amount) => sum + amount, 0) };
}

type Stock = {
  readonly units: number;
  readonly left: readonly string[];
  readonly negative: readonly string[];
};

/** Transactions whose client died are voted down by replay, which then takes away their fences. */
async function settled(stack: StackDescription, runId: string): Promise<Stock> {
  const client = plainClient(stack);
  const endMs = Date.now() + settledMsMax;
  try {
    for (;;) {
      const stock = await stockIn(client, runId);
      if (stock.left.length === 0 || Date.now() > endMs) return stock;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  } finally {
    client.destroy();
  }
}

async function stockIn(client: DynamoDBClient, runId: string): Promise<Stock> {
  let units = 0;
  const left: string[] = [];
  const negative: string[] = [];
  const pages = paginateScan({ client }, { TableName: goods.name, ConsistentRead: true });
  for await (const { Items = [] } of pages) {
    for (const item of Items) {
      const id = item["id"]?.S ?? "";
      if (!id.startsWith(runId)) continue;
      const here = Number(item["units"]?.N ?? "0");
      units += here;
      if (here < 0) negative.push(id);
      if (item["_f"] !== undefined || item["_x"] !== undefined) left.push(id);
    }
  }
  return { units, left, negative };
}
