/** Accounts, and money that moves between them. */
import { type Client, defineTable } from "tidemark";

export const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts", {
  key: "id",
});

export type Transfer = {
  /** Made by the caller, once per transfer: repeating a call does not move the money twice. */
  readonly transferId: string;
  readonly source: string;
  readonly target: string;
  readonly amountCents: number;
};

/**
 * Moves money, or refuses because the source has too little. The body may run more than once; only
 * its last run counts, so it touches nothing but `tx`.
 * @throws CommitUnknownError when nobody could say in time whether it was committed; call again
 * with the same `transferId`, and the answer is that of the first call.
 */
export async function transfer(db: Client, order: Transfer): Promise<"done" | "refused"> {
  const { transferId, source, target, amountCents } = order;
  if (source === target) throw new RangeError("source and target must differ");
  if (!Number.isSafeInteger(amountCents) || amountCents <= 0) {
    throw new RangeError("the amount must be a positive number of cents");
  }
  const once = { idempotencyKey: `transfer#${transferId}`, idempotencyRequest: order };
  const { result } = await db.transact<"done" | "refused">(once, async (tx) => {
    const [from, to] = await tx.batchGet(accounts, [source, target]);
    if (from === undefined || to === undefined) return "refused";
    if (from.balanceCents < amountCents) return "refused";
    tx.put(accounts, { ...from, balanceCents: from.balanceCents - amountCents });
    tx.put(accounts, { ...to, balanceCents: to.balanceCents + amountCents });
    return "done"; // Returning commits; conflicts run the body again.
  });
  return result;
}
