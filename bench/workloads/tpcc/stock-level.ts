/**
 * The stock-level transaction (clause 2.8.2): how many items of a district's last 20 orders run
 * low.
 */
import type { BenchTransaction } from "../../harness/workload.ts";
import { getRows, queryRows, standingRow } from "../typed-rows.ts";
import type { StockLevelInput } from "./inputs.ts";
import * as schema from "./schema.ts";

const ordersLookedAt = 20;

export async function stockLevel(
  transaction: BenchTransaction,
  { w, d, threshold }: StockLevelInput,
): Promise<number> {
  const district = schema.districtId(w, d);
  const { nextOrder } = await standingRow(transaction, schema.districts, { district });
  const first = Math.max(1, nextOrder - ordersLookedAt);
  const recent = await Promise.all(
    Array.from({ length: nextOrder - first }, (_, index) =>
      queryRows(transaction, schema.orders, {
        partition: schema.orderId(district, first + index),
        from: 1,
      }),
    ),
  );
  const sold = new Set(
    recent.flatMap((rows) => schema.orderParts(rows).lines).map((line) => line.item),
  );
  const stocks = await getRows(
    transaction,
    schema.stocks,
    [...sold].map((i) => ({ stock: schema.stockId(w, i) })),
  );
  return stocks.filter((stock) => stock !== undefined && stock.quantity < threshold).length;
}
