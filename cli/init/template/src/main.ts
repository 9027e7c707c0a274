/** A first transaction: `npx tsx src/main.ts` beside a running `npm start`. */
import { randomUUID } from "node:crypto";
import { accounts, transfer } from "./accounts.ts";
import { connect } from "./client.ts";

const db = connect(process.env);
try {
  await db.transact(async (tx) => {
    tx.put(accounts, { id: "ann", balanceCents: 10_000 });
    tx.put(accounts, { id: "bob", balanceCents: 0 });
  });
  const order = { transferId: randomUUID(), source: "ann", target: "bob", amountCents: 2_500 };
  console.log("Ann sends Bob 25.00:", await transfer(db, order));
  console.log("The same call once more:", await transfer(db, order));

  const rows = await db.snapshot((snapshot) => snapshot.batchGet(accounts, ["ann", "bob"]));
  for (const row of rows) console.log(`  ${row?.id ?? "?"}: ${row?.balanceCents ?? 0} cents`);
} finally {
  await db.close();
}
