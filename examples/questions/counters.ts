/** Seats of a show: counted down to 0 and never below, with the tickets that were sold. */
import { type Client, defineTable } from "../../sdk/index.ts";

export const shows = defineTable<{ left: number; sold: number }, { id: string }>("shows", {
  key: "id",
});
export const tickets = defineTable<{ show: string; number: number }, { id: string }>("tickets", {
  key: "id",
});

export type Buy = { readonly show: string; readonly ticket: string };

/** The ticket's number, without gaps; undefined: sold out. */
export async function buy(db: Client, { show, ticket }: Buy): Promise<number | undefined> {
  const { result } = await db.transact({ idempotencyKey: `buy ${ticket}` }, async (tx) => {
    const row = await tx.get(shows, show);
    if (row === undefined || row.left === 0) return undefined;
    const number = row.sold + 1;
    tx.put(shows, show, { left: row.left - 1, sold: number });
    tx.put(tickets, ticket, { show, number });
    return number;
  });
  return result;
}
