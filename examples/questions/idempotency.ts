/** A payment that is taken once, however often its request arrives. */
import { type Client, CommitUnknownError, defineTable } from "../../sdk/index.ts";

export const balances = defineTable<{ cents: number }, { id: string }>("balances", { key: "id" });
export const payments = defineTable<{ account: string; cents: number }, { id: string }>(
  "payments",
  { key: "id" },
);

export type Payment = { readonly id: string; readonly account: string; readonly cents: number };

const triesMax = 3;

/** `id` is made by who asks, once for each payment: an `Idempotency-Key` header, say. */
export async function pay(db: Client, payment: Payment): Promise<"paid" | "too little"> {
  const once = { idempotencyKey: `pay ${payment.id}`, idempotencyRequest: payment };
  for (let tries = 1; ; tries += 1) {
    try {
      const { result } = await db.transact(once, async (tx) => {
        const { account, cents } = payment;
        const balance = await tx.get(balances, account);
        if (balance === undefined || balance.cents < cents) return "too little";
        tx.put(balances, account, { cents: balance.cents - cents });
        tx.put(payments, payment.id, { account, cents });
        return "paid";
      });
      return result; // The first answer, also to whoever comes second.
    } catch (error) {
      // Sent, and no answer: under its key it can be asked again without being done twice.
      if (!(error instanceof CommitUnknownError) || tries === triesMax) throw error;
    }
  }
}
