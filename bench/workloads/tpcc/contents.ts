/** Everything in the tables that the consistency conditions speak of. */
import type { BenchTransaction } from "../../harness/workload.ts";
import { getRow, getRows, inTurns, queryRows } from "../typed-rows.ts";
import type { TpccScale } from "./scale.ts";
import * as schema from "./schema.ts";

export type FoundOrder = {
  readonly o: number;
  readonly order: schema.OrderRow | undefined;
  readonly lines: readonly schema.LineRow[];
};

export type DistrictContents = {
  readonly w: number;
  readonly d: number;
  readonly district: schema.DistrictRow | undefined;
  readonly customers: readonly schema.CustomerRow[];
  /** Of this district's customers, wherever they paid. */
  readonly history: readonly schema.HistoryRow[];
  /** Without its head. */
  readonly queue: readonly number[];
  readonly delivered: number;
  /** By number, without gaps: an order that is missing stands here with no rows. */
  readonly orders: readonly FoundOrder[];
  /** Orders that the index by customer knows. */
  readonly indexed: ReadonlySet<number>;
};

export type Contents = {
  readonly warehouses: ReadonlyMap<number, schema.WarehouseRow | undefined>;
  readonly districts: readonly DistrictContents[];
  readonly stocks: ReadonlyMap<string, schema.StockRow | undefined>;
};

export async function readContents(read: BenchTransaction, scale: TpccScale): Promise<Contents> {
  const warehouses = new Map<number, schema.WarehouseRow | undefined>();
  const districts: DistrictContents[] = [];
  const stocks = new Map<string, schema.StockRow | undefined>();
  for (let w = 1; w <= scale.warehouses; w += 1) {
    warehouses.set(w, await getRow(read, schema.warehouses, { w }));
    for (let d = 1; d <= schema.districtsPerWarehouse; d += 1) {
      districts.push(await readDistrict(read, { w, d }));
    }
    const ids = Array.from({ length: scale.items }, (_, index) => schema.stockId(w, index + 1));
    const rows = await inBatches(ids, (batch) =>
      getRows(
        read,
        schema.stocks,
        batch.map((stock) => ({ stock })),
      ),
    );
    for (const [index, id] of ids.entries()) stocks.set(id, rows[index]);
  }
  return { warehouses, districts, stocks };
}

async function readDistrict(
  read: BenchTransaction,
  { w, d }: { readonly w: number; readonly d: number },
): Promise<DistrictContents> {
  const partition = schema.districtId(w, d);
  const [district, customers, history, queueRows] = await Promise.all([
    getRow(read, schema.districts, { district: partition }),
    queryRows(read, schema.customers, { partition }),
    queryRows(read, schema.history, { partition }),
    queryRows(read, schema.newOrders, { partition }),
  ]);
  const queue = queueRows.map(({ o }) => o).filter((o) => o > 0);
  const delivered = queueRows.find(({ o }) => o === 0)?.delivered ?? 0;
  // One more than there should be: an order beyond the district's count would be there.
  const last = Math.max(district?.nextOrder ?? 1, (queue.at(-1) ?? 0) + 1, delivered + 1);
  const numbers = Array.from({ length: last }, (_, index) => index + 1);
  const orders = await inTurns(numbers, async (o): Promise<FoundOrder> => {
    const rows = await queryRows(read, schema.orders, { partition: schema.orderId(partition, o) });
    return { o, ...schema.orderParts(rows) };
  });
  return {
    ...{ w, d, district, customers, history, queue, delivered, orders },
    indexed: await readIndex(read, partition, orders),
  };
}

async function readIndex(
  read: BenchTransaction,
  district: string,
  orders: readonly FoundOrder[],
): Promise<ReadonlySet<number>> {
  const keys = orders.flatMap(({ o, order }) =>
    order === undefined ? [] : [{ customer: schema.customerId(district, order.c), o }],
  );
  const rows = await inBatches(keys, (batch) => getRows(read, schema.customerOrders, batch));
  return new Set(rows.filter((row) => row !== undefined).map(({ o }) => o));
}

async function inBatches<Element, Result>(
  elements: readonly Element[],
  read: (batch: readonly Element[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const keysMax = 100;
  const starts = Array.from(
    { length: Math.ceil(elements.length / keysMax) },
    (_, index) => index * keysMax,
  );
  const batches = await inTurns(starts, (start) => read(elements.slice(start, start + keysMax)));
  return batches.flat();
}
