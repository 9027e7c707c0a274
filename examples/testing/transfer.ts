/** A money transfer as a backend has it: what transfer.test.ts tests. */
import { type Client, CommitUnknownError, defineTable } from "../../sdk/index.ts";

export const accounts = defineTable<{ balanceCents: number }, { id: string }>("accounts", {
  key: "id",
});

export type Transfer = {
  /**
   * Made by the caller, once per transfer: whoever repeats a call does not move the money twice.
   */
  readonly transferId: string;
  readonly source: string;
  readonly target: string;
  readonly amountCents: number;
};

const triesMax = 3;

/**
 * Moves the money, or refuses because the source has too little.
 * @throws CommitUnknownError when nobody could say for a quarter of a minute; call again with the
 * same `transferId`.
 */
export async function transfer(db: Client, order: Transfer): Promise<"done" | "refused"> {
  const { transferId, source, target, amountCents } = order;
  const options = { idempotencyKey: `transfer ${transferId}`, deadlineMs: 5_000 };
  for (let tries = 1; ; tries += 1) {
    try {
      const { result } = await db.transact<"done" | "refused">(options, async (tx) => {
        const [from, to] = await tx.batchGet(accounts, [source, target]);
        if (source === target || from === undefined || to === undefined) return "refused";
        if (from.balanceCents < amountCents) return "refused";
        tx.put(accounts, { ...from, balanceCents: from.balanceCents - amountCents });
        tx.put(accounts, { ...to, balanceCents: to.balanceCents + amountCents });
        return "done";
      });
      return result;
    } catch (error) {
      // If it was committed, the key makes the next call return what the first one would have.
      if (!(error instanceof CommitUnknownError) || tries === triesMax) throw error;
    }
  }
}
