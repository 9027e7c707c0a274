/** Ways to break a workload's promise, and those of the workloads with BASE transactions. */
import type { Transaction } from "../../simulation/workloads/workload.ts";
import { defineTable, type Attributes } from "../../sdk/index.ts";

export type Damage = (tx: Transaction) => void | Promise<void>;
export type Case = {
  readonly promise: string;
  readonly damage: Damage;
  readonly complaint: RegExp;
};

export function put(tx: Transaction, table: string, row: Attributes): void {
  tx.put(defineTable<Attributes, Attributes>(table), row);
}

export const baseDamages = {
  "base-orders": [
    {
      promise: "as many seats are taken as are counted",
      damage: (tx) => {
        put(tx, "events", { event: "event-0", sold: 99 });
      },
      complaint: /event-0 counts 99 seats sold, and \d+ are taken/u,
    },
    {
      promise: "there is a seat for each bill",
      damage: (tx) => {
        put(tx, "bills", { event: "event-1", order: "nobody", seat: 0 });
      },
      complaint: /event-1 has seats of .*, and bills of .*0 nobody/u,
    },
  ],
  "base-requests": [
    {
      promise: "nothing is done that nobody wanted",
      damage: (tx) => {
        put(tx, "errands", { id: "nobody", by: "nobody", takes: 1, gives: 1 });
      },
      complaint: /request nobody is done, and nobody wanted it/u,
    },
    {
      promise: "each is done once",
      damage: async (tx) => {
        const errands = defineTable<Attributes, { id: string }>("errands", { key: "id" });
        for (const row of await tx.scan(errands).all()) tx.put(errands, { ...row, takes: 2 });
      },
      complaint: /request step-\d+ has taken 2 times and given 1 times; it is ended/u,
    },
    {
      promise: "what has ended is done",
      damage: async (tx) => {
        const errands = defineTable<Attributes, { id: string }>("errands", { key: "id" });
        for (const row of await tx.scan(errands).all()) tx.delete(errands, row);
      },
      complaint: /request step-\d+ is not done; it is ended/u,
    },
  ],
  "base-transfers": [
    {
      promise: "no money is lost",
      damage: (tx) => {
        put(tx, "accounts", { id: "account-0", balance: 0 });
      },
      complaint: /hold .* of 400/u,
    },
    {
      promise: "a balance is as its entries say",
      damage: (tx) => {
        put(tx, "entries", { account: "account-1", of: "nobody", amount: 7 });
      },
      complaint: /account-1 has \d+, and entries for \d+/u,
    },
  ],
} satisfies Readonly<Record<string, readonly Case[]>>;
