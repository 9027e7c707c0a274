/**
 * A bank: money moves between accounts, none is overdrawn beyond what it is allowed, and the ledger
 * has an entry for every change of a balance. All three hold at every moment, for every reader,
 * because a balance and its ledger entry are written by one transaction.
 */
import { z } from "zod";
import { type Client, defineTable, type Transacted } from "../../sdk/index.ts";
import { withKnownOutcome } from "../known-outcome.ts";

export const accountSchema = z.object({
  id: z.string(),
  balanceCents: z.int(),
  /** How far below zero the balance may go. */
  overdraftCents: z.int().min(0),
});

/** One change of one account's balance. A transfer has two, under the same `entryId`. */
export const ledgerEntrySchema = z.object({
  accountId: z.string(),
  entryId: z.string(),
  amountCents: z.int(),
  /** The other account; a deposit has none. */
  counterpart: z.string().optional(),
});

export type Account = z.infer<typeof accountSchema>;
export type LedgerEntry = z.infer<typeof ledgerEntrySchema>;

export const accounts = defineTable("bank-accounts", { schema: accountSchema, key: "id" });
export const ledger = defineTable("bank-ledger", {
  schema: ledgerEntrySchema,
  key: ["accountId", "entryId"],
});

/** Opens accounts with a first deposit each; those that exist already stay as they are. */
export async function openAccounts(db: Client, opened: readonly Account[]): Promise<void> {
  await db.transact(async (tx) => {
    const standing = await tx.batchGet(
      accounts,
      opened.map(({ id }) => id),
    );
    for (const [index, account] of opened.entries()) {
      if (standing[index] !== undefined) continue;
      const { id: accountId, balanceCents: amountCents } = account;
      tx.put(accounts, account);
      tx.put(ledger, { accountId, entryId: "deposit", amountCents });
    }
  });
}

export type Transfer = {
  /** Made by the caller, once per transfer: repeating a call does not move the money twice. */
  readonly transferId: string;
  readonly source: string;
  readonly target: string;
  readonly amountCents: number;
};

export type TransferResult =
  | { readonly kind: "done"; readonly sourceBalanceCents: number }
  | { readonly kind: "refused"; readonly reason: "overdraft" | "unknown-account" };

type TransferOptions = { readonly deadlineMs?: number };

/** Moves money between two accounts, and settles by itself what became of it. */
export function transfer(
  db: Client,
  order: Transfer,
  options: TransferOptions = {},
): Promise<Transacted<TransferResult>> {
  return withKnownOutcome(db, () => transferOnce(db, order, options));
}

/**
 * The same, where the caller settles an unknown outcome: by calling again. The body may run more
 * than once; only its last run counts.
 * @throws CommitUnknownError
 */
export async function transferOnce(
  db: Client,
  order: Transfer,
  { deadlineMs = 10_000 }: TransferOptions = {},
): Promise<Transacted<TransferResult>> {
  const { transferId, source, target, amountCents } = order;
  if (source === target) throw new RangeError("source and target must differ");
  if (!Number.isSafeInteger(amountCents) || amountCents <= 0) {
    throw new RangeError("the amount must be a positive number of cents");
  }
  const options = { idempotencyKey: `transfer#${transferId}`, attemptsMax: 20, deadlineMs };
  return db.transact<TransferResult>(options, async (tx) => {
    const [from, to] = await tx.batchGet(accounts, [source, target]);
    if (from === undefined || to === undefined) {
      return { kind: "refused", reason: "unknown-account" };
    }
    const sourceBalanceCents = from.balanceCents - amountCents;
    if (sourceBalanceCents < -from.overdraftCents) {
      return { kind: "refused", reason: "overdraft" };
    }
    tx.put(accounts, { ...from, balanceCents: sourceBalanceCents });
    tx.put(accounts, { ...to, balanceCents: to.balanceCents + amountCents });
    const entry = { entryId: transferId, amountCents };
    tx.put(ledger, { ...entry, accountId: source, amountCents: -amountCents, counterpart: target });
    tx.put(ledger, { ...entry, accountId: target, counterpart: source });
    return { kind: "done", sourceBalanceCents };
  });
}
