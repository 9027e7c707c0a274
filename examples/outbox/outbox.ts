/**
 * What follows from an order, outside of the database: it is found by words, and its customer gets
 * a letter. Both are made of the changes of one table, after the transaction, so that selling waits
 * for neither, and no crash loses or doubles one:
 *
 * - the index takes a document again and again: an order's newest state stands in it;
 * - a letter has the name of its change, by which the mail service knows what it has sent.
 */
import type { ChangedRows, Client, KeyOf, RowChange } from "../../sdk/index.ts";
import { type Order, orders } from "../tickets/tickets.ts";

export type SearchIndex = {
  put(id: string, words: readonly string[]): Promise<void>;
  remove(id: string): Promise<void>;
};

export type Letter = { readonly to: string; readonly text: string };

export type MailService = {
  /** Sends a letter of that name once, however often it is asked. */
  send(name: string, letter: Letter): Promise<void>;
};

export type Outside = { readonly index: SearchIndex; readonly mail: MailService };

type Following = { readonly signal?: AbortSignal; readonly until?: "caught-up" | "stopped" };

/** Ends with the signal, or once all is handled. One process is at it, others wait. */
export async function followOrders(
  db: Client,
  outside: Outside,
  { signal, until }: Following = {},
): Promise<void> {
  const options = {
    ...{ name: "order-outbox", first: "oldest", tables: [orders] },
    ...(signal && { signal }),
    ...(until && { until }),
  };
  await db.consume(options, async (change) => {
    for (const order of change.of(orders)) await handle(order, change, outside);
  });
}

async function handle(
  { after: order, key: { orderId } }: RowChange<Order, KeyOf<typeof orders>>,
  { position }: ChangedRows,
  { index, mail }: Outside,
): Promise<void> {
  if (order === undefined) {
    await index.remove(orderId);
    return;
  }
  await index.put(orderId, [order.customer, order.eventId, order.state, ...order.seatIds]);
  const seats = order.seatIds.join(", ");
  const text =
    order.state === "paid" ? `Your seats are ${seats}.` : `Your order of ${seats} is cancelled.`;
  await mail.send(`${orderId}/${position}`, { to: order.customer, text });
}
