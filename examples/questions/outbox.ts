/** An order, and a letter about it: no letter without an order, and no order without a letter. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const orders = defineTable<{ customer: string; sku: string }, { id: string }>("orders", {
  key: "id",
});
export const stock = defineTable<{ left: number }, { sku: string }>("stock", { key: "sku" });

export type Order = { readonly id: string; readonly customer: string; readonly sku: string };

export async function placeOrder(db: Client, { id, ...order }: Order): Promise<boolean> {
  const { result } = await db.transact(async (tx) => {
    const row = await tx.get(stock, order.sku);
    if (row === undefined || row.left === 0) return false;
    tx.put(stock, order.sku, { left: row.left - 1 });
    tx.put(orders, id, order); // The letter follows from this row: there is no table of letters.
    return true;
  });
  return result;
}

/** Takes a letter of one name once, as mail services do by an idempotency key. */
export type Mail = { send(name: string, to: string, text: string): Promise<void> };

/** In a service of its own, or as a function (`feedHandler`); it goes on where it was. */
export async function sendLetters(
  db: Client,
  mail: Mail,
  until: "caught-up" | "stopped" = "stopped",
): Promise<void> {
  const consumer = { name: "letters", first: "oldest", tables: [orders], until } as const;
  await db.consume(consumer, async (change) => {
    for (const { after } of change.of(orders)) {
      if (after === undefined) continue; // An order that was deleted.
      await mail.send(
        `${after.id} ${change.position}`,
        after.customer,
        `You have ordered ${after.sku}.`,
      );
    }
  });
}
