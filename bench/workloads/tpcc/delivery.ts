/**
 * The delivery transaction (clause 2.7.4): the oldest undelivered order of each of a warehouse's
 * ten districts, all in one transaction. It is deferred there (queued, with a result file); here it
 * runs at once. Some 140 rows are written, more than a TransactWriteItems takes; the specification
 * would allow a transaction for each district.
 */
import type { BenchTransaction } from "../../harness/workload.ts";
import { getRows, putRow, queryRows, standing } from "../typed-rows.ts";
import type { DeliveryInput } from "./inputs.ts";
import * as schema from "./schema.ts";

type Delivered = {
  readonly district: string;
  readonly o: number;
  readonly order: schema.OrderRow;
  readonly lines: readonly schema.LineRow[];
};

/** The orders delivered; a district without an undelivered one is skipped. */
export async function delivery(
  transaction: BenchTransaction,
  { w, carrier, date }: DeliveryInput,
): Promise<readonly Delivered[]> {
  const delivered = await readOrders(transaction, await oldestUndelivered(transaction, w));
  const buyers = await getRows(
    transaction,
    schema.customers,
    delivered.map(({ district, order }) => ({ district, c: order.c })),
  );
  for (const [index, { district, o, order, lines }] of delivered.entries()) {
    const customer = standing(buyers[index], `customer ${order.c} in district ${district}`);
    transaction.delete(schema.newOrders, { district, o });
    putRow(transaction, schema.newOrders, { district, o: 0, delivered: o });
    putRow(transaction, schema.orders, { ...order, carrier });
    for (const line of lines) putRow(transaction, schema.orders, { ...line, deliveryDate: date });
    putRow(transaction, schema.customers, {
      ...customer,
      balance: customer.balance + lines.reduce((sum, { amount }) => sum + amount, 0),
      deliveryCount: customer.deliveryCount + 1,
    });
  }
  return delivered;
}

/** By condition 3 the queue has no gaps: its oldest order follows the last one delivered. */
async function oldestUndelivered(
  transaction: BenchTransaction,
  w: number,
): Promise<readonly schema.NewOrderRow[]> {
  const districts = Array.from({ length: schema.districtsPerWarehouse }, (_, index) =>
    schema.districtId(w, index + 1),
  );
  const heads = await getRows(
    transaction,
    schema.newOrders,
    districts.map((district) => ({ district, o: 0 })),
  );
  const oldest = await getRows(
    transaction,
    schema.newOrders,
    districts.map((district, index) => ({ district, o: (heads[index]?.delivered ?? 0) + 1 })),
  );
  return oldest.filter((row) => row !== undefined);
}

async function readOrders(
  transaction: BenchTransaction,
  queued: readonly schema.NewOrderRow[],
): Promise<readonly Delivered[]> {
  const found = await Promise.all(
    queued.map(async ({ district, o }): Promise<Delivered | undefined> => {
      const partition = schema.orderId(district, o);
      const { order, lines } = schema.orderParts(
        await queryRows(transaction, schema.orders, { partition }),
      );
      // Without transactions an order may be queued before it is written.
      return order === undefined ? undefined : { district, o, order, lines };
    }),
  );
  return found.filter((each) => each !== undefined);
}
