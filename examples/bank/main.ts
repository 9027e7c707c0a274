/**
 * The bank at work: `npx tsx examples/bank/main.ts` beside a running `npm start`. Clerks transfer
 * money between the same few accounts at the same time, one of them tries to overdraw, one repeats
 * a call; then the audit reads everything at one moment.
 */
import { randomUUID } from "node:crypto";
import { Command } from "commander";
import { createClient, TransactionError } from "../../sdk/index.ts";
import { endpointOption } from "../endpoint-option.ts";
import { auditBank, readBank, totalCents } from "./audit.ts";
import { type Account, openAccounts, transfer } from "./bank.ts";

const customers: readonly Account[] = [
  { id: "ann", balanceCents: 100_000, overdraftCents: 0 },
  { id: "bob", balanceCents: 50_000, overdraftCents: 20_000 },
  { id: "cleo", balanceCents: 0, overdraftCents: 0 },
];
const routes = [
  ["ann", "bob"],
  ["bob", "cleo"],
  ["cleo", "ann"],
] as const;
const transfersAtOnce = 12;

const euros = (cents: number): string => (cents / 100).toFixed(2).padStart(9);

async function main(endpoint: string): Promise<void> {
  await using db = createClient({ endpoint });
  await openAccounts(db, customers);

  const outcomes = await Promise.all(
    Array.from({ length: transfersAtOnce }, async (_unused, index) => {
      const [source, target] = routes[index % routes.length] ?? routes[0];
      const order = { transferId: randomUUID(), source, target, amountCents: 1_000 + index };
      const { result, receipt } = await transfer(db, order);
      return { ...order, result, receipt };
    }),
  );
  console.log(`${transfersAtOnce} transfers at once:`);
  for (const { source, target, amountCents, result, receipt } of outcomes) {
    const what = result.kind === "done" ? "done" : `refused: ${result.reason}`;
    const runs = receipt.attempts === 1 ? "" : `  (at the ${receipt.attempts}th attempt)`;
    console.log(
      `  ${source.padEnd(4)} → ${target.padEnd(4)} ${euros(amountCents)}  ${what}${runs}`,
    );
  }

  const greedy = {
    transferId: randomUUID(),
    source: "cleo",
    target: "ann",
    amountCents: 9_999_900,
  };
  const first = await transfer(db, greedy);
  const again = await transfer(db, greedy);
  console.log(`\nMore than the account holds: ${JSON.stringify(first.result)}`);
  console.log(`The same call once more: its first result, replayed: ${again.receipt.replayed}`);

  const books = await db.snapshot((snapshot) => readBank(snapshot));
  console.log("\nAt one moment:");
  for (const { id, balanceCents } of books.accounts)
    console.log(`  ${id.padEnd(20)}${euros(balanceCents)}`);
  console.log(`  ${"together".padEnd(20)}${euros(totalCents(books))}`);
  const faults = auditBank(books);
  console.log(faults.length === 0 ? "  The books are in order." : faults.join("\n"));
  if (faults.length > 0) process.exitCode = 1;
}

process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true";
const program = new Command("bank").description("Transfers and their audit.");
program.addOption(endpointOption()).parse();
try {
  await main(program.opts<{ endpoint: string }>().endpoint);
} catch (error) {
  if (!(error instanceof TransactionError)) throw error;
  console.error(`bank: ${error.message}`);
  process.exitCode = 1;
}
