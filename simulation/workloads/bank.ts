/**
 * Transfers between accounts. No money is made or lost, no account is overdrawn, in any state that
 * anybody sees.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import {
  WorkloadFinding,
  type Client,
  type Transaction,
  type WorkloadFactory,
} from "./workload.ts";

type Account = { readonly id: string; readonly balance: number };

const accounts = defineTable<Account>("accounts", { key: "id" });
const openingBalance = 100;

export const bank: WorkloadFactory = ({ keys, history }) => {
  const ids = Array.from({ length: keys }, (_unused, index) => `account-${index.toString()}`);
  const total = keys * openingBalance;

  const balances = async (reader: Pick<Transaction, "get">): Promise<number[]> => {
    const rows = await Promise.all(ids.map((id) => reader.get(accounts, id)));
    return rows.map((account) => account?.balance ?? 0);
  };
  const wrong = (found: readonly number[]): string | undefined => {
    const sum = found.reduce((a, b) => a + b, 0);
    if (sum !== total) return `the accounts hold ${sum.toString()} of ${total.toString()}`;
    return found.some((balance) => balance < 0) ? "an account is overdrawn" : undefined;
  };

  return {
    tables: [testTable("accounts", { partitionKey: "id", history })],
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const id of ids) tx.put(accounts, id, { id, balance: openingBalance });
        return Promise.resolve();
      });
    },
    async step({ client, random, isolation, pause }) {
      if (random.chance(0.15)) {
        const found = await client.snapshot(balances);
        const complaint = wrong(found);
        if (complaint !== undefined) throw new WorkloadFinding(`seen in a snapshot: ${complaint}`);
        return;
      }
      const from = random.pick(ids);
      const to = random.pick(ids.filter((id) => id !== from));
      const amount = random.integer(1, 40);
      const lingersMs = random.chance(0.2) ? random.between(1, 300) : 0;
      await client.transact({ isolation }, async (tx) => {
        const payer = await tx.get(accounts, from);
        const payee = await tx.get(accounts, to);
        if (lingersMs > 0) await pause(lingersMs);
        if (payer === undefined || payee === undefined) throw new WorkloadFinding("no account");
        tx.put(accounts, from, { ...payer, balance: payer.balance - amount });
        tx.put(accounts, to, { ...payee, balance: payee.balance + amount });
        // Judged last on purpose: what was put before must not be seen anywhere.
        if (payer.balance < amount) tx.rollback();
      });
    },
    async judge(client: Client) {
      const complaint = wrong(await client.snapshot(balances));
      return complaint === undefined ? [] : [complaint];
    },
  };
};
