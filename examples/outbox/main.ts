/**
 * The outbox at work: `npx tsx examples/outbox/main.ts` beside a running `npm start`. Seats are
 * sold while a consumer of changes writes letters and keeps a search index; it is stopped in
 * between, and goes on where it was.
 */
import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { createClient, TransactionError } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import { buySeats, cancelOrder, openSale } from "../tickets/tickets.ts";
import { followOrders } from "./outbox.ts";
import { standIns } from "./stand-ins.ts";

async function main(endpoint: string): Promise<void> {
  await using db = createClient({ endpoint });
  const eventId = `concert-${randomUUID().slice(0, 8)}`;
  await openSale(db, { eventId, name: "Vingt regards", priceCents: 3_000 }, ["A1", "A2", "A3"]);
  const outside = standIns();
  const buy = (customer: string, seatId: string) =>
    buySeats(db, { orderId: `${eventId}-${customer}`, eventId, customer, seatIds: [seatId] });

  await buy("Ann", "A1");
  await followOrders(db, outside, { until: "caught-up" });
  console.log(`Found by "${eventId}": ${outside.find(eventId).join(", ")}`);

  console.log("Nobody follows for a while; seats are sold all the same.");
  await buy("Bob", "A2");
  await cancelOrder(db, `${eventId}-Ann`);

  await followOrders(db, outside, { until: "caught-up" });
  for (const { to, text } of outside.letters.slice(-3)) console.log(`  To ${to}: ${text}`);
  const paid = outside.find("paid").filter((id) => id.startsWith(eventId));
  console.log(`Found as paid: ${paid.join(", ")}`);
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("outbox").description("Letters and a search index made of changes.");
program.addOption(endpointOption()).parse();
try {
  await main(program.opts<{ endpoint: string }>().endpoint);
} catch (error) {
  if (!(error instanceof TransactionError)) throw error;
  console.error(`outbox: ${error.message}`);
  process.exitCode = 1;
}
