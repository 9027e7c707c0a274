/** No seat is sold twice, and what is counted is what is there. */
import type { BenchTransaction } from "../../harness/workload.ts";
import { getRow, inTurns, queryRows } from "../typed-rows.ts";
import * as schema from "./schema.ts";

export async function ticketViolations(
  read: BenchTransaction,
  scale: schema.TicketScale,
): Promise<readonly string[]> {
  const numbers = Array.from({ length: scale.events }, (_, index) => index + 1);
  const found = await inTurns(numbers, async (event): Promise<readonly string[]> => {
    const orders = await queryRows(read, schema.orders, { partition: event });
    const violations: string[] = [];
    for (let category = 1; category <= scale.categories; category += 1) {
      const place = schema.placeOf(event, category);
      const [counters, seats] = await Promise.all([
        getRow(read, schema.categories, { event, category }),
        queryRows(read, schema.seats, { partition: place }),
      ]);
      const own = orders.filter((order) => order.category === category);
      if (seats.length !== scale.seats) {
        violations.push(
          `Category ${place} has ${seats.length} seats, but was built with ${scale.seats}.`,
        );
      }
      violations.push(
        ...seatViolations(seats, own),
        ...counterViolations(place, { counters, seats, orders: own }),
      );
    }
    return violations;
  });
  return found.flat();
}

/** Every seat is of one open order, which names it, or free. */
function seatViolations(
  seats: readonly schema.SeatRow[],
  orders: readonly schema.OrderRow[],
): string[] {
  const claims = new Map<number, schema.OrderRow[]>();
  for (const order of orders.filter(({ state }) => state !== "cancelled")) {
    for (const seat of order.seats) claims.set(seat, [...(claims.get(seat) ?? []), order]);
  }
  return seats.flatMap(({ place, seat, state, order }) => {
    const claimants = claims.get(seat) ?? [];
    const names = claimants.map((each) => each.order).join(" and ");
    if (claimants.length > 1) return [`Seat ${seat} of ${place} is of both ${names}.`];
    const [claimant] = claimants;
    const right =
      claimant === undefined
        ? state === "free" && order === undefined
        : state === claimant.state && order === claimant.order;
    if (right) return [];
    const said = claimant === undefined ? "no order names it" : `${names} is ${claimant.state}`;
    return [`Seat ${seat} of ${place} is ${state} for ${order ?? "nobody"}, but ${said}.`];
  });
}

function counterViolations(
  place: string,
  found: {
    readonly counters: schema.CategoryRow | undefined;
    readonly seats: readonly schema.SeatRow[];
    readonly orders: readonly schema.OrderRow[];
  },
): string[] {
  const { counters, seats, orders } = found;
  if (counters === undefined) return [`Category ${place} is missing.`];
  const revenue = orders
    .filter(({ state }) => state === "sold")
    .reduce((sum, { amount }) => sum + amount, 0);
  return [
    ...schema.seatStates.flatMap((state) => {
      const count = seats.filter((seat) => seat.state === state).length;
      return counters[state] === count
        ? []
        : [`Category ${place} counts ${counters[state]} ${state} seats, but ${count} are.`];
    }),
    ...(counters.revenue === revenue
      ? []
      : [`Category ${place} has a revenue of ${counters.revenue}, but orders of ${revenue}.`]),
  ];
}
