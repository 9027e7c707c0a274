/**
 * Events, their categories, seats and orders. A seat is in one of four states; each category counts
 * how many of its seats are in which, and takes part in every step of every order: it is the hot
 * row.
 */
import type { BenchItem, BenchTable } from "../../harness/workload.ts";
import { between, namedRandom, someText, someTime } from "../draws.ts";
import type { TypedTable } from "../typed-rows.ts";

export type TicketScale = {
  readonly events: number;
  /** Of each event. */
  readonly categories: number;
  /** Of each category. */
  readonly seats: number;
};

export const seatStates = ["free", "reserved", "ordered", "sold"] as const;
export type SeatState = (typeof seatStates)[number];

export type EventRow = {
  readonly event: number;
  readonly name: string;
  readonly venue: string;
  readonly date: number;
};
export const events: TypedTable<EventRow> = {
  name: "ticket-events",
  partitionKey: { name: "event", type: "N" },
};

export type CategoryRow = {
  readonly event: number;
  readonly category: number;
  /** In cents, as is all money. */
  readonly price: number;
  readonly revenue: number;
} & Readonly<Record<SeatState, number>>;
export const categories: TypedTable<CategoryRow> = {
  name: "ticket-categories",
  partitionKey: { name: "event", type: "N" },
  sortKey: { name: "category", type: "N" },
};

export type SeatRow = {
  readonly place: string;
  readonly seat: number;
  readonly state: SeatState;
  /** Whose it is, unless it is free. */
  readonly order?: string;
};
export const seats: TypedTable<SeatRow> = {
  name: "ticket-seats",
  partitionKey: { name: "place", type: "S" },
  sortKey: { name: "seat", type: "N" },
};

export type OrderRow = {
  readonly event: number;
  readonly order: string;
  readonly category: number;
  readonly seats: readonly number[];
  /** That of its seats, until it is cancelled and they are free again. */
  readonly state: Exclude<SeatState, "free"> | "cancelled";
  readonly amount: number;
};
export const orders: TypedTable<OrderRow> = {
  name: "ticket-orders",
  partitionKey: { name: "event", type: "N" },
  sortKey: { name: "order", type: "S" },
};

export const ticketTables: readonly BenchTable[] = [events, categories, seats, orders];

/** Of the partition with a category's seats. */
export function placeOf(event: number, category: number): string {
  return `${event}-${category}`;
}

export function* ticketRows(scale: TicketScale): Generator<{ table: BenchTable; item: BenchItem }> {
  const random = namedRandom("ticketing");
  for (let event = 1; event <= scale.events; event += 1) {
    const row: EventRow = {
      event,
      name: someText(random, 10, 40),
      venue: someText(random, 10, 40),
      date: someTime(random),
    };
    yield { table: events, item: row };
    for (let category = 1; category <= scale.categories; category += 1) {
      const counters: CategoryRow = {
        ...{ event, category, price: between(random, 1_000, 20_000), revenue: 0 },
        ...{ free: scale.seats, reserved: 0, ordered: 0, sold: 0 },
      };
      yield { table: categories, item: counters };
      for (let seat = 1; seat <= scale.seats; seat += 1) {
        const free: SeatRow = { place: placeOf(event, category), seat, state: "free" };
        yield { table: seats, item: free };
      }
    }
  }
}
