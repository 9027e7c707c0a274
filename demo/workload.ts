/** Which operation comes next: transfers among all accounts, sales and cancellations of seats. */
import type { ClientSettings } from "./messages.ts";
import type { Operation } from "./operations.ts";
import type { SeededRandom } from "./seeded-random.ts";

const amountCentsMax = 8_000;
const seatsPerOrderMax = 4;
const impatientOneIn = 12;
const deadlineMsMax = 500;

/** What one client does. Its own finished orders are what it may cancel. */
export class Workload {
  readonly #settings: ClientSettings;
  readonly #random: SeededRandom;
  readonly #orders: string[] = [];
  #made = 0;

  constructor(settings: ClientSettings, random: SeededRandom) {
    this.#settings = settings;
    this.#random = random;
  }

  next(): Operation | { readonly kind: "report"; readonly eventId: string } {
    const lot = this.#random.below(100);
    if (lot < 60) return this.#transfer();
    if (lot < 82) return this.#purchase();
    const orderId = lot < 95 ? this.#orders.shift() : undefined;
    if (orderId !== undefined) return { kind: "cancellation", id: `${orderId}-c`, orderId };
    return { kind: "report", eventId: this.#random.pick(this.#settings.eventIds) };
  }

  /** An order that was sold may be cancelled later. */
  sold(orderId: string): void {
    this.#orders.push(orderId);
  }

  #transfer(): Operation {
    const { accountIds } = this.#settings;
    const source = this.#random.pick(accountIds);
    const others = accountIds.length - 1;
    const step = 1 + this.#random.below(others);
    const target = accountIds[(accountIds.indexOf(source) + step) % accountIds.length];
    if (target === undefined) throw new RangeError("a transfer needs two accounts");
    const amountCents = 1 + this.#random.below(amountCentsMax);
    const impatient = this.#settings.impatience && this.#random.below(impatientOneIn) === 0;
    const deadlineMs = impatient ? { deadlineMs: 50 + this.#random.below(deadlineMsMax) } : {};
    return { kind: "transfer", id: this.#newId(), source, target, amountCents, ...deadlineMs };
  }

  #purchase(): Operation {
    const { eventIds, seatIds } = this.#settings;
    const first = this.#random.below(seatIds.length);
    const count = 1 + this.#random.below(Math.min(seatsPerOrderMax, seatIds.length));
    const wanted = [...seatIds, ...seatIds].slice(first, first + count);
    const id = this.#newId();
    const eventId = this.#random.pick(eventIds);
    return { kind: "purchase", id, eventId, customer: `customer of ${id}`, seatIds: wanted };
  }

  #newId(): string {
    const { runId, client, life } = this.#settings;
    this.#made += 1;
    return `${runId}-${client}-${life}-${this.#made}`;
  }
}
