/**
 * The tables that a fresh embedded stack has, for a first try and for the examples, and their first
 * rows. These are plain items without a version, as any table has that Tidemark adopts. They keep
 * the examples' rules, so that an audit of everything stays silent, and meet none of the keys that
 * the examples use themselves.
 */
import { marshall } from "@aws-sdk/util-dynamodb";
import type { Item, KeyAttribute } from "../core/types.ts";
import type { TableSetup } from "./table-setup.ts";

const text = (name: string): KeyAttribute => ({ name, type: "S" });

const table = (
  name: string,
  partitionKey: string,
  { sortKey, history = false }: { readonly sortKey?: string; readonly history?: boolean } = {},
): TableSetup => ({
  name,
  partitionKey: text(partitionKey),
  ...(sortKey === undefined ? {} : { sortKey: text(sortKey) }),
  history,
});

/** For a first try: 100 accounts, `account-000` to `account-099`, of 1,000.00 each. */
export const accountsTable = table("accounts", "id");

/** examples/bank. Accounts keep their history, so that an audit can read the past. */
const bankTables = {
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

export const sampleTables: readonly TableSetup[] = [
  accountsTable,
  ...Object.values(bankTables),
  ...Object.values(ticketTables),
];

/** What a sample table holds at first. */
export function sampleRows(tableName: string): readonly Item[] {
  return (rows.get(tableName) ?? []).map((row) => marshall(row) as Item);
}

const sampleAccounts = 100;

const dora = { id: "dora", balanceCents: 95_000, overdraftCents: 0 };
const emil = { id: "emil", balanceCents: 30_000, overdraftCents: 10_000 };
/** Dora has paid Emil a rent; every balance is the sum of its account's entries. */
const ledgerEntries = [
  { accountId: dora.id, entryId: "deposit", amountCents: 120_000 },
  { accountId: dora.id, entryId: "rent", amountCents: -25_000, counterpart: emil.id },
  { accountId: emil.id, entryId: "deposit", amountCents: 5_000 },
  { accountId: emil.id, entryId: "rent", amountCents: 25_000, counterpart: dora.id },
];

const event = { eventId: "matinee", name: "Matinee for two pianos", priceCents: 1_500 };
const doraOrder = { orderId: "matinee-dora", eventId: event.eventId, customer: "Dora" };
const emilOrder = { orderId: "matinee-emil", eventId: event.eventId, customer: "Emil" };
const [doraSeats, emilSeats] = [["A01", "A02"], ["A03"]] as const;
/** Of twelve seats Dora has two; Emil has given his back. */
const seats = Array.from({ length: 12 }, (_unused, index) => {
  const seatId = `A${(index + 1).toString().padStart(2, "0")}`;
  const isSold = doraSeats.some((sold) => sold === seatId);
  const { eventId } = event;
  return { eventId, seatId, ...(isSold ? { orderId: doraOrder.orderId } : {}) };
});

const rows: ReadonlyMap<string, readonly object[]> = new Map<string, readonly object[]>([
  [
    accountsTable.name,
    Array.from({ length: sampleAccounts }, (_unused, index) => ({
      id: `account-${index.toString().padStart(3, "0")}`,
      balanceCents: 100_000,
    })),
  ],
  [bankTables.accounts.name, [dora, emil]],
  [bankTables.ledger.name, ledgerEntries],
  [ticketTables.events.name, [event]],
  [ticketTables.seats.name, seats],
  [
    ticketTables.orders.name,
    [
      { ...doraOrder, seatIds: doraSeats, state: "paid" },
      { ...emilOrder, seatIds: emilSeats, state: "cancelled" },
    ],
  ],
  [
    ticketTables.payments.name,
    [
      { orderId: doraOrder.orderId, amountCents: 3_000, state: "received" },
      { orderId: emilOrder.orderId, amountCents: 1_500, state: "refunded" },
    ],
  ],
]);
