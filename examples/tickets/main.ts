/**
 * The box office at work: `npx tsx examples/tickets/main.ts` beside a running `npm start`. Ten
 * customers want overlapping seats of one concert at the same time, then one cancels and another
 * gets the seats.
 */
import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { createClient, TransactionError } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import { auditSales, readSales } from "./audit.ts";
import { buySeats, cancelOrder, openSale, salesReport } from "./tickets.ts";

const seatIds = Array.from(
  { length: 12 },
  (_unused, index) => `A${(index + 1).toString().padStart(2, "0")}`,
);
const customers = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jo"];

async function main(endpoint: string): Promise<void> {
  await using db = createClient({ endpoint });
  const eventId = `concert-${randomUUID().slice(0, 8)}`;
  await openSale(db, { eventId, name: "Quartet for the End of Time", priceCents: 2_500 }, seatIds);
  const report = async (): Promise<string> => {
    const sale = await db.snapshot((snapshot) => salesReport(snapshot, eventId));
    if (sale === undefined) throw new Error("the sale has just been opened");
    const free = sale.freeSeatIds.length === 0 ? "none" : sale.freeSeatIds.join(" ");
    return (
      `${sale.sold} of ${sale.seats} sold for ${(sale.takenCents / 100).toFixed(2)}; free: ` + free
    );
  };

  console.log(`${customers.length} customers at once, for three seats each:`);
  const orders = await Promise.all(
    customers.map(async (customer, index) => {
      const wanted = [0, 1, 2].map((next) => seatIds[(index * 2 + next) % seatIds.length] ?? "A01");
      const order = { orderId: `${eventId}-${customer}`, eventId, customer, seatIds: wanted };
      return { ...order, ...(await buySeats(db, order)) };
    }),
  );
  for (const { customer, seatIds: wanted, result } of orders) {
    const what =
      result.kind === "sold"
        ? `sold for ${(result.amountCents / 100).toFixed(2)}`
        : result.reason === "not-free"
          ? `refused: ${result.seatIds.join(" ")} not free`
          : `refused: ${result.reason}`;
    console.log(`  ${customer.padEnd(5)} ${wanted.join(" ").padEnd(12)} ${what}`);
  }
  console.log(`  ${await report()}`);

  const lucky = orders.find(({ result }) => result.kind === "sold");
  if (lucky === undefined) throw new Error("somebody comes first");
  await cancelOrder(db, lucky.orderId);
  console.log(`\n${lucky.customer} cancels:\n  ${await report()}`);

  const late = { orderId: `${eventId}-Kim`, eventId, customer: "Kim", seatIds: lucky.seatIds };
  const { result } = await buySeats(db, late);
  console.log(`\nKim wants these seats: ${result.kind}\n  ${await report()}`);

  const faults = auditSales(await db.snapshot((snapshot) => readSales(snapshot, eventId)));
  console.log(faults.length === 0 ? "  Every sale is in order." : faults.join("\n"));
  if (faults.length > 0) process.exitCode = 1;
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("tickets").description("Sales of seats and their audit.");
program.addOption(endpointOption()).parse();
try {
  await main(program.opts<{ endpoint: string }>().endpoint);
} catch (error) {
  if (!(error instanceof TransactionError)) throw error;
  console.error(`tickets: ${error.message}`);
  process.exitCode = 1;
}
