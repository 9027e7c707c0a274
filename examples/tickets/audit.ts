/**
 * The box office's audit: what must be true of its four tables at any one moment. `readSales` reads
 * such a moment; the rules take plain rows, wherever they come from.
 */
import type { Snapshot } from "../../sdk/index.ts";
import {
  events,
  type Order,
  orders,
  type Payment,
  payments,
  type Seat,
  seats,
  type TicketEvent,
} from "./tickets.ts";

export type SalesRows = {
  readonly events: readonly TicketEvent[];
  readonly seats: readonly Seat[];
  readonly orders: readonly Order[];
  readonly payments: readonly Payment[];
};

/**
 * The four tables, as they were together.
 * @param prefix of the events to read, and of the orders; all by default.
 */
export async function readSales(snapshot: Snapshot, prefix = ""): Promise<SalesRows> {
  const ofEvent = { filter: (row: { eventId: string }) => row.eventId.startsWith(prefix) };
  const ofOrder = { filter: (row: { orderId: string }) => row.orderId.startsWith(prefix) };
  return {
    events: await collect(snapshot.scan(events, ofEvent)),
    seats: await collect(snapshot.scan(seats, ofEvent)),
    orders: await collect(snapshot.scan(orders, ofOrder)),
    payments: await collect(snapshot.scan(payments, ofOrder)),
  };
}

async function collect<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** What is wrong, one line each; nothing if every sale is in order. */
export function auditSales(rows: SalesRows): string[] {
  return [...doubleSales(rows), ...seatOwners(rows), ...orderSeats(rows), ...paid(rows)];
}

const seatName = (eventId: string, seatId: string): string => `seat ${seatId} of ${eventId}`;

/** No two paid orders hold the same seat. */
function doubleSales({ orders }: SalesRows): string[] {
  const owners = new Map<string, string>();
  const found: string[] = [];
  for (const { orderId, eventId, seatIds, state } of orders) {
    if (state !== "paid") continue;
    for (const seatId of seatIds) {
      const seat = seatName(eventId, seatId);
      const other = owners.get(seat);
      if (other !== undefined) found.push(`sold twice: ${seat}, to ${other} and to ${orderId}`);
      owners.set(seat, orderId);
    }
  }
  return found;
}

/** A seat that says it is sold belongs to a paid order that says so as well. */
function seatOwners({ seats, orders }: SalesRows): string[] {
  const byId = new Map(orders.map((order) => [order.orderId, order]));
  return seats
    .filter(({ eventId, seatId, orderId }) => {
      if (orderId === undefined) return false;
      const order = byId.get(orderId);
      const owns = order?.eventId === eventId && order.seatIds.includes(seatId);
      return !owns || order.state !== "paid";
    })
    .map(({ eventId, seatId, orderId }) => {
      const seat = seatName(eventId, seatId);
      return `seat: ${seat} is held by ${orderId ?? ""}, which has not paid it`;
    });
}

/** A paid order has exactly the seats that it names. */
function orderSeats({ seats, orders }: SalesRows): string[] {
  const owners = new Map(seats.map((seat) => [seatName(seat.eventId, seat.seatId), seat.orderId]));
  return orders
    .filter(({ state }) => state === "paid")
    .flatMap(({ orderId, eventId, seatIds }) =>
      seatIds
        .map((seatId) => seatName(eventId, seatId))
        .filter((seat) => owners.get(seat) !== orderId)
        .map((seat) => `order: ${orderId} has paid ${seat} and does not have it`),
    );
}

/**
 * Every order has its payment, of the right amount and in the same state; no payment is without
 * order.
 */
function paid({ events, orders, payments }: SalesRows): string[] {
  const prices = new Map(events.map(({ eventId, priceCents }) => [eventId, priceCents]));
  const byOrder = new Map(payments.map((payment) => [payment.orderId, payment]));
  const found: string[] = [];
  for (const { orderId, eventId, seatIds, state } of orders) {
    const payment = byOrder.get(orderId);
    byOrder.delete(orderId);
    const dueCents = (prices.get(eventId) ?? NaN) * seatIds.length;
    if (payment?.amountCents !== dueCents) {
      found.push(
        `payment: order ${orderId} costs ${dueCents} cents, paid ${payment?.amountCents ?? 0}`,
      );
    } else if (payment.state !== (state === "paid" ? "received" : "refunded")) {
      found.push(`payment: order ${orderId} is ${state}, its payment ${payment.state}`);
    }
  }
  for (const orderId of byOrder.keys()) found.push(`payment: of ${orderId}, which is no order`);
  return found;
}
