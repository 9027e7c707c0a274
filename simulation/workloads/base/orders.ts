/**
 * Orders in steps: a seat is taken, and the event's count with it, which all orders want; then the
 * customer is charged, outside, which takes its time; then comes the bill, or, where the charge was
 * refused, the seat is given back. Beside them others buy and give back at once. Whoever is no step
 * finds as many seats taken as counted, and a bill for each.
 */
import { defineBase, defineTable, type BaseDefinition } from "../../../sdk/index.ts";
import type { KeyOfTable } from "../../../testing/history/recording-options.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { numbered, pickHot, upTo } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type BaseProcess,
  type Snapshot,
  type StepContext,
  type Transaction,
  type WorkloadFactory,
} from "../workload.ts";
import { HandlerTroubles, soonParked } from "./handler-troubles.ts";
import { atOnce, lingering, type Pause, resultDeadlineMs } from "./lingering.ts";

type SeatKey = { readonly event: string; readonly seat: number };
type Bill = { readonly event: string; readonly order: string; readonly seat: number };
type Order = SeatKey & { readonly isPoor: boolean };

const events = defineTable<{ readonly sold: number }, { readonly event: string }>("events", {
  key: "event",
});
const seats = defineTable<{ readonly order?: string }, SeatKey, "event">("seats", {
  key: ["event", "seat"],
});
const bills = defineTable<Bill, { readonly event: string; readonly order: string }, "event">(
  "bills",
  { key: ["event", "order"] },
);

const eventsMax = 2;
const chargeMsMax = 2_000;

class SeatTakenError extends Error {}

export const baseOrders: WorkloadFactory = ({ keys, history }) => {
  const office = new BoxOffice(keys);
  return {
    tables: [
      testTable("events", { partitionKey: "event", history, base: true }),
      testTable("seats", {
        ...{ partitionKey: "event", sortKey: { name: "seat", type: "N" } },
        ...{ history, base: true },
      }),
      testTable("bills", { partitionKey: "event", sortKey: "order", history, base: true }),
    ],
    universe: office.universe,
    base: { handlers: (process) => [office.orderIn(process)] },
    async setUp(client) {
      await client.transact((tx) => {
        for (const event of office.eventIds) {
          tx.put(events, { event, sold: 0 });
          for (const seat of office.seatIds) tx.put(seats, { event, seat });
        }
        return Promise.resolve();
      });
    },
    step: (context) => office.step(context),
    judge: (client) => client.snapshot((snapshot) => office.complaintsOf(snapshot, atOnce)),
  };
};

class BoxOffice {
  readonly eventIds = numbered("event", eventsMax);
  readonly seatIds: readonly number[];
  readonly universe: KeyOfTable[];
  readonly #troubles = new HandlerTroubles();

  constructor(keys: number) {
    this.seatIds = upTo(keys);
    this.universe = this.eventIds.flatMap((event) => [
      { table: "events", key: { event: { S: event } } },
      ...this.seatIds.map((seat) => ({
        table: "seats",
        key: { event: { S: event }, seat: { N: seat.toString() } },
      })),
    ]);
  }

  orderIn(process: BaseProcess): BaseDefinition<Order, boolean> {
    return defineBase("order", soonParked, async (base, { event, seat, isPoor }: Order) => {
      await base.step("reserve", (tx) => take(tx, { event, seat, order: base.id }));
      await this.#troubles.between(process, base.id);
      await process.pause(process.random.between(0, chargeMsMax));
      await this.#troubles.between(process, base.id);
      if (isPoor) {
        await base.step("give back", (tx) => giveBack(tx, { event, seat }));
        return false;
      }
      await base.step("bill", (tx) => {
        tx.put(bills, { event, order: base.id, seat });
        return Promise.resolve();
      });
      return true;
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random } = context;
    const key = { event: pickHot(random, this.eventIds), seat: random.pick(this.seatIds) };
    const kind = random.next();
    const lingers = lingering(context);
    if (kind < 0.5) await this.#begin(context, key);
    else if (kind < 0.75) {
      const [complaint] = await client.snapshot((snapshot) => this.complaintsOf(snapshot, lingers));
      if (complaint !== undefined) throw new WorkloadFinding(complaint);
    } else if (kind < 0.96) await this.#atOnce(context, key);
    else await this.#troubles.resumeParked(client, this.orderIn(context));
  }

  async complaintsOf(snapshot: Snapshot, pause: Pause): Promise<readonly string[]> {
    const complaints: string[] = [];
    for (const event of this.eventIds) {
      const sold = (await snapshot.get(events, event))?.sold ?? 0;
      await pause();
      const taken = (await snapshot.query(seats, { where: { event } }).all()).filter(
        ({ order }) => order !== undefined,
      );
      await pause();
      const billed = await snapshot.query(bills, { where: { event } }).all();
      if (sold !== taken.length) {
        complaints.push(`${event} counts ${sold} seats sold, and ${taken.length} are taken`);
      }
      const ofSeats = taken.map(({ seat, order }) => `${seat} ${order ?? ""}`).sort();
      const ofBills = billed.map(({ seat, order }) => `${seat} ${order}`).sort();
      if (ofSeats.join() === ofBills.join()) continue;
      complaints.push(`${event} has seats of ${ofSeats.join()}, and bills of ${ofBills.join()}`);
    }
    return complaints;
  }

  async #begin(context: StepContext, key: SeatKey): Promise<void> {
    const { client, random, unique: id } = context;
    if (random.chance(0.03)) this.#troubles.stubborn(id);
    const input = { ...key, isPoor: random.chance(0.4) };
    this.universe.push(keyOfBill(key.event, id));
    try {
      const { accepted } = await client.base(this.orderIn(context), input, { id });
      if (random.chance(0.4)) await accepted.result({ deadlineMs: resultDeadlineMs });
    } catch (error) {
      if (!(error instanceof SeatTakenError)) throw error;
    }
  }

  async #atOnce({ client, unique: order }: StepContext, key: SeatKey): Promise<void> {
    const { event } = key;
    this.universe.push(keyOfBill(event, order));
    await client.transact(async (tx) => {
      const row = await tx.get(seats, key);
      if (row?.order === undefined) {
        await take(tx, { ...key, order });
        tx.put(bills, { event, order, seat: key.seat });
        return;
      }
      const bill = await tx.get(bills, { event, order: row.order });
      if (bill === undefined) throw new WorkloadFinding(`${row.order} has a seat, and no bill`);
      tx.delete(bills, { event, order: row.order });
      await giveBack(tx, key);
    });
  }
}

async function take(
  tx: Transaction,
  { event, seat, order }: SeatKey & { readonly order: string },
): Promise<void> {
  const row = await tx.get(seats, { event, seat });
  if (row?.order !== undefined) throw new SeatTakenError(row.order);
  const { sold = 0 } = (await tx.get(events, event)) ?? {};
  tx.put(seats, { event, seat, order });
  tx.put(events, { event, sold: sold + 1 });
}

async function giveBack(tx: Transaction, { event, seat }: SeatKey): Promise<void> {
  const { sold = 0 } = (await tx.get(events, event)) ?? {};
  tx.put(seats, { event, seat });
  tx.put(events, { event, sold: sold - 1 });
}

function keyOfBill(event: string, order: string): KeyOfTable {
  return { table: "bills", key: { event: { S: event }, order: { S: order } } };
}
