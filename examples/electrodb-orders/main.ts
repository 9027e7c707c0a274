/**
 * The shop at work: `npx tsx examples/electrodb-orders/main.ts` beside a running `npm start`. Six
 * customers, two of them of one address, want the last four lamps at the same time.
 */
import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { TransactionError } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import { openShop } from "./open-shop.ts";
import { accountOf, auditShop, cancelOrder, placeOrder, register } from "./orders.ts";

async function main(endpoint: string): Promise<void> {
  await using opened = await openShop(endpoint);
  const { shop } = opened;
  const run = randomUUID().slice(0, 8);
  const names = ["Ann", "Bob", "Cleo", "Dan", "Eve", "Annie"];
  const idOf = (name: string): string => `${run}-${name}`;
  const lamp = `lamp-${run}`;
  // Outside of a transaction the same entity writes natively, as it always did.
  await shop.entities.stock.create({ article: lamp, count: 4, cents: 4_900 }).go();

  const registered = await Promise.all(
    names.map((name) => {
      const email = `${name.slice(0, 3)}@${run}.example`;
      return register(opened, { customerId: idOf(name), email });
    }),
  );
  for (const [at, name] of names.entries()) console.log(`${name.padEnd(6)}${registered[at] ?? ""}`);

  console.log("\nAll want a lamp at once, of which there are four:");
  const order = (name: string) =>
    placeOrder(opened, {
      orderId: idOf(name),
      customerId: idOf(name),
      lines: [{ article: lamp, count: 1 }],
    });
  const ordered = await Promise.all(names.map((name) => order(name)));
  for (const [at, name] of names.entries()) {
    const result = ordered[at];
    const what = result?.kind === "refused" ? `refused: ${result.reason}` : "ordered";
    console.log(`  ${name.padEnd(6)}${what}`);
  }

  const lucky = names[ordered.findIndex(({ kind }) => kind === "ordered")] ?? "Ann";
  await cancelOrder(opened, { customerId: idOf(lucky), orderId: idOf(lucky) });
  const account = await accountOf(opened, idOf(lucky));
  console.log(`\n${lucky} cancels:`, account.orders.map(({ state }) => state).join());
  const wrong = await auditShop(opened, new Map([[lamp, 4]]));
  console.log(wrong.length === 0 ? "Stock and orders add up." : wrong.join("\n"));
  if (wrong.length > 0) process.exitCode = 1;
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("electrodb-orders").description("Orders by ElectroDB.");
program.addOption(endpointOption()).parse();
try {
  await main(program.opts<{ endpoint: string }>().endpoint);
} catch (error) {
  if (!(error instanceof TransactionError)) throw error;
  console.error(`electrodb-orders: ${error.message}`);
  process.exitCode = 1;
}
