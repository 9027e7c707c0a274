/**
 * Ticket sales after Fusion Ticket, the web shop with which Salt (OSDI 2014) was measured: of its
 * 11 transactions one was made BASE for 6.5 times the throughput.
 *
 * Kept: events with categories, seats and orders; counters of each category beside the seats; few
 * hot events (Zipf with 0.99); as Salt has it, one event. How often each transaction comes is ours.
 * Of the 11 transactions those of buyers and statistics are here;
 * administration, accounts and mail are not.
 *
 * A worker is a succession of visitors. Each browses, reserves seats, makes an order of them, and
 * pays or cancels; now and then the box office looks at statistics. That makes some 37 % browse, 18
 * % reserve, 17 % create order, 14 % pay, 13 % cancel and 2 % statistics. What was paid is refunded
 * once the worker has some later ones, so that a run of any length finds seats. A visitor who got
 * none is rolled back at each step that follows: real visitors leave, but then the mix would depend
 * on the contestant.
 */
import type { BenchRandom, BenchTransaction, Operation, Workload } from "../../harness/workload.ts";
import { between, percent } from "../draws.ts";
import { zipfRanks } from "../zipf.ts";
import { ticketRows, ticketTables, type TicketScale } from "./schema.ts";
import * as transactions from "./transactions.ts";
import { ticketViolations } from "./violations.ts";

/**
 * 5,000 seats in 40 categories, loaded within seconds; the hottest event draws a third of the
 * visitors.
 */
export const ticketSmallScale: TicketScale = { events: 10, categories: 4, seats: 125 };

/** The paper's: one event, two categories of 10,000 seats. */
export const ticketSaltScale: TicketScale = { events: 1, categories: 2, seats: 10_000 };

const seatsPerOrderMax = 4;
/** Seats next to each other that a visitor is content with. */
const choiceMax = 12;
const browsingsMax = 3;
const paidKept = 4;
const eventsInStatistics = 20;
const zipfExponent = 0.99;

/** In percent of the visits. */
const shares = { statistics: 10, cancelling: 20 };

type Visit = transactions.Visit;

type Worker = {
  /** What is left of the visit under way. */
  readonly steps: Operation[];
  /** Visits that ended with a payment, the oldest first. */
  readonly paid: Visit[];
};

/** @throws RangeError for a scale without seats. */
export function ticketing(scale: TicketScale = ticketSmallScale, name = "ticketing"): Workload {
  checkScale(scale);
  const eventRank = zipfRanks(scale.events, zipfExponent);
  const workers = new Map<number, Worker>();
  return {
    name,
    description:
      `Ticket sales after Salt's Fusion Ticket: ${scale.events} events (Zipf ${zipfExponent}), ` +
      `${scale.categories} categories of ${scale.seats} seats; browse, reserve, order, pay, ` +
      "cancel, statistics, in shares of our own.",
    tables: ticketTables,
    rows: () => ticketRows(scale),
    next(random, number) {
      const worker = workers.get(number) ?? { steps: [], paid: [] };
      workers.set(number, worker);
      if (worker.steps.length === 0) {
        const event = eventRank(random) + 1;
        planVisit(worker, random, someVisit(random, { scale, event, number }));
      }
      const [step] = worker.steps.splice(0, 1);
      if (step === undefined) throw new Error("a visit has at least one step");
      return step;
    },
    violations: (read) => ticketViolations(read, scale),
  };

  function planVisit({ steps, paid }: Worker, random: BenchRandom, visit: Visit): void {
    for (let i = between(random, 1, browsingsMax); i > 0; i -= 1) {
      steps.push(readOnly("browse", (transaction) => transactions.browse(transaction, visit)));
    }
    if (percent(random, shares.statistics)) {
      const count = Math.min(scale.events, eventsInStatistics);
      const hottest = Array.from({ length: count }, (_, index) => index + 1);
      steps.push(
        readOnly("statistics", (transaction) => transactions.statistics(transaction, hottest)),
      );
    }
    steps.push(readWrite("reserve", (transaction) => transactions.reserve(transaction, visit)));
    steps.push({
      ...readWrite("create-order", (transaction) => transactions.createOrder(transaction, visit)),
      steps: transactions.createOrderSteps(visit),
    });
    if (percent(random, shares.cancelling)) {
      steps.push(readWrite("cancel", (transaction) => transactions.cancel(transaction, visit)));
      return;
    }
    steps.push(readWrite("pay", (transaction) => transactions.pay(transaction, visit)));
    paid.push(visit);
    if (paid.length <= paidKept) return;
    const [oldest] = paid.splice(0, 1);
    if (oldest === undefined) return;
    steps.push(readWrite("cancel", (transaction) => transactions.cancel(transaction, oldest)));
  }
}

function someVisit(
  random: BenchRandom,
  of: { readonly scale: TicketScale; readonly event: number; readonly number: number },
): Visit {
  const { scale, event, number } = of;
  const first = random.below(scale.seats);
  const length = Math.min(choiceMax, scale.seats);
  return {
    event,
    category: between(random, 1, scale.categories),
    order: `${number}-${random.below(2 ** 32).toString(36)}`,
    choice: Array.from({ length }, (_, index) => ((first + index) % scale.seats) + 1),
    count: between(random, 1, Math.min(seatsPerOrderMax, scale.seats)),
  };
}

/** @throws RangeError */
function checkScale(scale: TicketScale): void {
  for (const name of ["events", "categories", "seats"] as const) {
    const value = scale[name];
    if (!Number.isInteger(value) || value < 1 || value > 10_000) {
      throw new RangeError(`${name} must be a whole number from 1 to 10,000, is ${value}`);
    }
  }
}

function readWrite(
  name: string,
  body: (transaction: BenchTransaction) => Promise<void>,
): Operation {
  return { name, readOnly: false, body };
}

function readOnly(
  name: string,
  body: (transaction: BenchTransaction) => Promise<unknown>,
): Operation {
  return {
    name,
    readOnly: true,
    body: async (transaction) => {
      await body(transaction);
    },
  };
}
