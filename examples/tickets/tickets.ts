/**
 * A box office: a seat is sold to one order, an order is paid by one payment, and a cancelled order
 * gives its seats back. Seats, order and payment lie in three tables; one transaction keeps them
 * in step, so nobody ever sees a paid order without its seats.
 */
import { z } from "zod";
import { type Client, defineTable, type Snapshot, type Transacted } from "../../sdk/index.ts";
import { withKnownOutcome } from "../known-outcome.ts";

export const eventSchema = z.object({
  eventId: z.string(),
  name: z.string(),
  priceCents: z.int().min(0),
});

export const seatSchema = z.object({
  eventId: z.string(),
  seatId: z.string(),
  /** Who has it; a free seat has none. */
  orderId: z.string().optional(),
});

export const orderSchema = z.object({
  orderId: z.string(),
  eventId: z.string(),
  customer: z.string(),
  seatIds: z.array(z.string()),
  state: z.enum(["paid", "cancelled"]),
});

export const paymentSchema = z.object({
  orderId: z.string(),
  amountCents: z.int(),
  state: z.enum(["received", "refunded"]),
});

export type TicketEvent = z.infer<typeof eventSchema>;
export type Seat = z.infer<typeof seatSchema>;
export type Order = z.infer<typeof orderSchema>;
export type Payment = z.infer<typeof paymentSchema>;

export const events = defineTable("ticket-events", { schema: eventSchema, key: "eventId" });
export const seats = defineTable("ticket-seats", {
  schema: seatSchema,
  key: ["eventId", "seatId"],
});
export const orders = defineTable("ticket-orders", { schema: orderSchema, key: "orderId" });
export const payments = defineTable("ticket-payments", { schema: paymentSchema, key: "orderId" });

const options = { attemptsMax: 20, deadlineMs: 10_000 };

/** Puts an event on sale, with all of its seats free. */
export async function openSale(
  db: Client,
  event: TicketEvent,
  seatIds: readonly string[],
): Promise<void> {
  await db.transact(async (tx) => {
    tx.put(events, event);
    for (const seatId of seatIds) tx.put(seats, { eventId: event.eventId, seatId });
  });
}

export type Purchase = {
  /** Made by the caller, once per purchase: repeating a call does not buy twice. */
  readonly orderId: string;
  readonly eventId: string;
  readonly customer: string;
  readonly seatIds: readonly string[];
};

export type PurchaseResult =
  | { readonly kind: "sold"; readonly amountCents: number }
  | { readonly kind: "refused"; readonly reason: "unknown-event" }
  | { readonly kind: "refused"; readonly reason: "not-free"; readonly seatIds: readonly string[] };

/** Sells these seats to one order: all of them, or none. */
export async function buySeats(
  db: Client,
  purchase: Purchase,
): Promise<Transacted<PurchaseResult>> {
  const { orderId, eventId, customer } = purchase;
  const seatIds = [...new Set(purchase.seatIds)];
  if (seatIds.length === 0) throw new RangeError("an order has at least one seat");
  const once = { ...options, idempotencyKey: `order#${orderId}` };
  return withKnownOutcome(db, () =>
    db.transact<PurchaseResult>(once, async (tx) => {
      const keys = seatIds.map((seatId) => ({ eventId, seatId }));
      const [event, wanted] = await Promise.all([
        tx.get(events, eventId),
        tx.batchGet(seats, keys),
      ]);
      if (event === undefined) return { kind: "refused", reason: "unknown-event" };
      const free = wanted.filter((seat) => seat !== undefined && seat.orderId === undefined);
      if (free.length < seatIds.length) {
        const freeIds = new Set(free.map((seat) => seat?.seatId));
        const taken = seatIds.filter((seatId) => !freeIds.has(seatId));
        return { kind: "refused", reason: "not-free", seatIds: taken };
      }
      const amountCents = event.priceCents * seatIds.length;
      for (const key of keys) tx.put(seats, { ...key, orderId });
      tx.put(orders, { orderId, eventId, customer, seatIds, state: "paid" });
      tx.put(payments, { orderId, amountCents, state: "received" });
      return { kind: "sold", amountCents };
    }),
  );
}

export type CancelResult =
  | { readonly kind: "cancelled"; readonly refundedCents: number }
  | { readonly kind: "refused"; readonly reason: "unknown-order" | "cancelled-before" };

/** Gives an order's seats back and its money, too. */
export async function cancelOrder(db: Client, orderId: string): Promise<Transacted<CancelResult>> {
  const once = { ...options, idempotencyKey: `cancel#${orderId}` };
  return withKnownOutcome(db, () =>
    db.transact<CancelResult>(once, async (tx) => {
      const [order, payment] = await tx.batchGet([
        [orders, orderId],
        [payments, orderId],
      ]);
      if (order === undefined || payment === undefined) {
        return { kind: "refused", reason: "unknown-order" };
      }
      if (order.state === "cancelled") return { kind: "refused", reason: "cancelled-before" };
      const { eventId } = order;
      for (const seatId of order.seatIds) tx.put(seats, { eventId, seatId });
      tx.put(orders, { ...order, state: "cancelled" });
      tx.put(payments, { ...payment, state: "refunded" });
      return { kind: "cancelled", refundedCents: payment.amountCents };
    }),
  );
}

export type SalesReport = {
  readonly seats: number;
  readonly sold: number;
  readonly freeSeatIds: readonly string[];
  readonly takenCents: number;
};

/** How the sale of one event stands, by a query over its seats: one consistent state. */
export async function salesReport(
  snapshot: Snapshot,
  eventId: string,
): Promise<SalesReport | undefined> {
  const event = await snapshot.get(events, eventId);
  if (event === undefined) return undefined;
  const all = await snapshot.query(seats, { where: { eventId } }).all();
  const freeSeatIds = all.filter((seat) => seat.orderId === undefined).map(({ seatId }) => seatId);
  const sold = all.length - freeSeatIds.length;
  return { seats: all.length, sold, freeSeatIds, takenCents: sold * event.priceCents };
}
