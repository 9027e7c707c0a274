/**
 * Transfers in two steps between a few accounts, by processes that crash, beside audits. Whatever
 * happens, no audit sees money on its way, and each transfer that was begun is made, once.
 */
import { defineBase, defineTable, type BaseDefinition } from "../../../sdk/index.ts";
import { testTable, type TestCloud } from "../../../testing/index.ts";

type Client = ReturnType<TestCloud["createClient"]>;
type Move = { readonly from: string; readonly to: string };

export const accounts = defineTable<{ readonly amount: number }, { readonly id: string }>(
  "accounts",
  { key: "id" },
);
const entries = defineTable<
  { readonly amount: number },
  { readonly account: string; readonly transfer: string },
  "account"
>("entries", { key: ["account", "transfer"] });
export const tables = [
  testTable("accounts", { partitionKey: "id", history: true, base: true }),
  testTable("entries", {
    ...{ partitionKey: "account", sortKey: "transfer" },
    ...{ history: true, base: true },
  }),
];
export const ids = ["a", "b", "c", "d", "e"];
export const whole = 100 * ids.length;

export async function openAccounts(client: Client): Promise<void> {
  await client.transact((tx) => {
    for (const id of ids) tx.put(accounts, { id, amount: 100 });
    return Promise.resolve();
  });
}

/** @param pauseMs between two steps. */
export function transferOf(
  cloud: TestCloud,
  pauseMs: () => number,
): BaseDefinition<Move, { readonly left: number }> {
  return defineBase("transfer", async (base, { from, to }: Move) => {
    const left = await base.step("take", async (tx) => {
      const row = await tx.get(accounts, from);
      const amount = (row?.amount ?? 0) - 1;
      tx.put(accounts, { id: from, amount });
      tx.put(entries, { account: from, transfer: base.id, amount: -1 });
      return amount;
    });
    await cloud.clock.sleep(pauseMs());
    await base.step("give", async (tx) => {
      const row = await tx.get(accounts, to);
      tx.put(accounts, { id: to, amount: (row?.amount ?? 0) + 1 });
      tx.put(entries, { account: to, transfer: base.id, amount: 1 });
      return null;
    });
    return { left };
  });
}

/** What one that only reads finds in all accounts; what it read of them twice has to agree. */
export async function audit(client: Client): Promise<number> {
  return client.snapshot({ deadlineMs: 60_000, attemptsMax: 200 }, async (s) => {
    let sum = 0;
    for (const id of ids) {
      const row = await s.get(accounts, id);
      const booked = await s.query(entries, { where: { account: id } }).all();
      const sumOfEntries = booked.reduce((all, { amount }) => all + amount, 0);
      if ((row?.amount ?? 0) !== 100 + sumOfEntries) return Number.NaN;
      sum += row?.amount ?? 0;
    }
    return sum;
  });
}

/** The same by one that writes, too: it waits for who has not ended. */
export async function auditAndNote(client: Client, name: string): Promise<number> {
  const { result } = await client.transact({ deadlineMs: 60_000, attemptsMax: 200 }, async (tx) => {
    const rows = await tx.batchGet(accounts, ids);
    tx.put(entries, { account: "audits", transfer: name, amount: 0 });
    return rows.reduce((sum, row) => sum + (row?.amount ?? 0), 0);
  });
  return result;
}

/** Of each transfer that has an entry, how many it has. */
export function entriesPerTransfer(cloud: TestCloud): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { account, transfer } of cloud.rows(entries)) {
    if (account !== "audits") found.set(transfer, (found.get(transfer) ?? 0) + 1);
  }
  return found;
}
