/**
 * The tables that a fresh embedded stack has, for a first try and for the examples. `accounts` is
 * filled; the examples fill theirs themselves.
 */
import type { Item, KeyAttribute, TableDescription } from "../core/types.ts";

const text = (name: string): KeyAttribute => ({ name, type: "S" });

const table = (
  name: string,
  partitionKey: string,
  { sortKey, history = false }: { readonly sortKey?: string; readonly history?: boolean } = {},
): TableDescription => ({
  name,
  partitionKey: text(partitionKey),
  ...(sortKey === undefined ? {} : { sortKey: text(sortKey) }),
  history,
  access: "transactional",
});

/** For a first try: 100 accounts, `account-000` to `account-099`, of 1,000.00 each. */
export const accountsTable = table("accounts", "id");

/** examples/bank. Accounts keep their history, so that an audit can read the past. */
export const bankTables = {
  accounts: table("bank-accounts", "id", { history: true }),
  ledger: table("bank-ledger", "accountId", { sortKey: "entryId" }),
} as const;

/** examples/tickets. */
export const ticketTables = {
  events: table("ticket-events", "eventId"),
  seats: table("ticket-seats", "eventId", { sortKey: "seatId" }),
  orders: table("ticket-orders", "orderId"),
  payments: table("ticket-payments", "orderId"),
} as const;

export const sampleTables: readonly TableDescription[] = [
  accountsTable,
  ...Object.values(bankTables),
  ...Object.values(ticketTables),
];

export const sampleAccountBalanceCents = 100_000;
const sampleAccounts = 100;

/** What a sample table holds at first. */
export function sampleRows(tableName: string): readonly Item[] {
  if (tableName !== accountsTable.name) return [];
  return Array.from({ length: sampleAccounts }, (_unused, index) => ({
    id: { S: `account-${index.toString().padStart(3, "0")}` },
    balanceCents: { N: sampleAccountBalanceCents.toString() },
  }));
}
