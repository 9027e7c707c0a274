/** A customer leaves: all orders are closed, however many, and the customer with them, or none. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const customers = defineTable<{ isClosed: boolean; orders: number }, { id: string }>(
  "customers",
  { key: "id" },
);
export const orders = defineTable<
  { totalCents: number; isClosed: boolean },
  { customer: string; order: string },
  "customer"
>("orders", { key: ["customer", "order"] });

export async function closeCustomer(db: Client, id: string): Promise<number> {
  const { result } = await db.transact(async (tx) => {
    // An order that is placed meanwhile, too, is a conflict: the body runs again, and closes it.
    const open = await tx
      .query(orders, { where: { customer: id }, filter: ({ isClosed }) => !isClosed })
      .all();
    for (const order of open) tx.put(orders, { ...order, isClosed: true });
    tx.put(customers, id, { isClosed: true, orders: open.length });
    return open.length;
  });
  return result;
}
