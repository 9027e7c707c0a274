/**
 * The bank's audit: what must be true of its tables at any one moment. `readBank` reads such a
 * moment; the rules take plain rows, wherever they come from.
 */
import type { Snapshot } from "../../sdk/index.ts";
import { type Account, accounts, ledger, type LedgerEntry } from "./bank.ts";

export type BankRows = {
  readonly accounts: readonly Account[];
  readonly ledger: readonly LedgerEntry[];
};

/**
 * Both tables, as they were together.
 * @param prefix of the accounts to read; all by default.
 */
export async function readBank(snapshot: Snapshot, prefix = ""): Promise<BankRows> {
  const rows: { accounts: Account[]; ledger: LedgerEntry[] } = { accounts: [], ledger: [] };
  const ours = { filter: ({ id }: Account) => id.startsWith(prefix) };
  for await (const account of snapshot.scan(accounts, ours)) {
    rows.accounts.push(account);
    const entries = snapshot.query(ledger, { where: { accountId: account.id } });
    for await (const entry of entries) rows.ledger.push(entry);
  }
  return rows;
}

export function totalCents(rows: BankRows): number {
  return rows.accounts.reduce((sum, { balanceCents }) => sum + balanceCents, 0);
}

/** What is wrong, one line each; nothing if the books are in order. */
export function auditBank(rows: BankRows): string[] {
  return [...conservation(rows), ...overdrafts(rows), ...balances(rows), ...pairs(rows)];
}

/** Transfers only move money: what the accounts hold together is what was paid in. */
function conservation(rows: BankRows): string[] {
  const depositedCents = rows.ledger
    .filter(({ counterpart }) => counterpart === undefined)
    .reduce((sum, { amountCents }) => sum + amountCents, 0);
  const heldCents = totalCents(rows);
  if (heldCents === depositedCents) return [];
  return [`money: ${depositedCents} cents were deposited, the accounts hold ${heldCents}`];
}

function overdrafts({ accounts }: BankRows): string[] {
  return accounts
    .filter(({ balanceCents, overdraftCents }) => balanceCents < -overdraftCents)
    .map(({ id, balanceCents }) => `overdraft: account ${id} stands at ${balanceCents} cents`);
}

function balances(rows: BankRows): string[] {
  const recorded = new Map<string, number>();
  for (const { accountId, amountCents } of rows.ledger) {
    recorded.set(accountId, (recorded.get(accountId) ?? 0) + amountCents);
  }
  const found: string[] = [];
  for (const { id, balanceCents } of rows.accounts) {
    const entriesCents = recorded.get(id) ?? 0;
    recorded.delete(id);
    if (entriesCents === balanceCents) continue;
    found.push(
      `ledger: account ${id} stands at ${balanceCents} cents, its entries add up to ` +
        `${entriesCents}`,
    );
  }
  for (const id of recorded.keys()) found.push(`ledger: entries of ${id}, which is no account`);
  return found;
}

/** Every transfer stands in both accounts' ledgers, with opposite amounts. */
function pairs({ ledger }: BankRows): string[] {
  const byKey = new Map(ledger.map((entry) => [`${entry.accountId} ${entry.entryId}`, entry]));
  return ledger
    .filter(({ accountId, entryId, amountCents, counterpart }) => {
      if (counterpart === undefined) return false;
      const other = byKey.get(`${counterpart} ${entryId}`);
      return other?.counterpart !== accountId || other.amountCents !== -amountCents;
    })
    .map(
      ({ accountId, entryId }) => `ledger: transfer ${entryId} of ${accountId} has no other half`,
    );
}
