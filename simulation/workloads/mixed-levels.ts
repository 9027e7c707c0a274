/**
 * Transactions of both isolation levels on the same rows. Each customer has a checking and a
 * savings account, and must not owe on both together. Withdrawals look at both and change one, so
 * they are serializable; deposits and moves write all that they read, so either level keeps the
 * promise. Beside them go blind writes and patches; and who looks back at the moment of a blind
 * write finds what it wrote, however soon it was overwritten: unless by a later one of those that
 * were certified with it as one, which share its timestamp.
 */
import type { Isolation } from "../../core/types.ts";
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered, pickHot } from "./key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type Snapshot,
  type StepContext,
  type Transaction,
  type WorkloadFactory,
} from "./workload.ts";

type Account = { readonly balance: number };
const checking = defineTable<Account, { readonly customer: string }>("checking", {
  key: "customer",
});
const savings = defineTable<Account, { readonly customer: string }>("savings", {
  key: "customer",
});
/** The newest statement of each customer: written without being read, or patched. */
const statements = defineTable<
  { readonly by: string; readonly read?: boolean; readonly copy?: string },
  { readonly customer: string }
>("statements", { key: "customer" });

const openingBalance = 50;
/** Statements to look back at; without history hardly any but the newest can be. */
const stampsMax = 40;
const stampsWithoutHistory = 2;
type Act = "withdraw" | "deposit" | "move" | "state" | "acknowledge" | "look" | "look back";
/** That this statement was committed at this timestamp, at this place among those of its group. */
export type Stamp = {
  readonly at: number;
  readonly place: number;
  readonly customer: string;
  readonly by: string;
};
/** Whoever looked back at it found another one. */
export type Missed = { readonly stamp: Stamp; readonly found: string | undefined };
const acts: readonly Act[] = [
  "withdraw",
  "withdraw",
  "deposit",
  "move",
  "state",
  "acknowledge",
  "look",
  "look back",
];

export const mixedLevels: WorkloadFactory = ({ keys, history }) => {
  const customers = numbered("customer", Math.max(2, Math.ceil(keys / 2)));
  const stamps: Stamp[] = [];
  const written = new Map<string, Stamp>();
  const missed: Missed[] = [];

  return {
    tables: ["checking", "savings", "statements"].map((name) =>
      testTable(name, { partitionKey: "customer", history }),
    ),
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const customer of customers) {
          tx.put(checking, { customer, balance: openingBalance });
          tx.put(savings, { customer, balance: openingBalance });
        }
        return Promise.resolve();
      });
    },
    async step({ client, random, unique, pause }) {
      const act = random.pick(acts);
      const customer = pickHot(random, customers);
      if (act === "look") {
        const found = await client.snapshot((snapshot) => complaintsOf(snapshot, customers));
        if (found[0] !== undefined) throw new WorkloadFinding(`seen in a snapshot: ${found[0]}`);
        return;
      }
      if (act === "look back") {
        const stamp = stamps.length === 0 ? undefined : random.pick(stamps);
        if (stamp === undefined) return;
        const found = await lookBack(client, stamp, customers);
        if (found !== stamp.by) missed.push({ stamp, found });
        return;
      }
      const either = random.pick<Isolation>(["serializable", "snapshot"]);
      const isolation = act === "withdraw" ? "serializable" : either;
      const ack = random.chance(0.2) ? "certified" : "installed";
      const order = { customer, amount: random.integer(1, 60), first: random.chance(0.5), unique };
      const lingersMs = random.chance(0.7) ? random.between(1, 300) : 0;
      const { receipt } = await client.transact({ isolation, ack }, async (tx) => {
        await perform(tx, act, {
          ...order,
          linger: () => (lingersMs > 0 ? pause(lingersMs) : undefined),
        });
      });
      const { commitTimestamp: at, place } = receipt;
      if ((act !== "state" && act !== "acknowledge") || at === undefined) return;
      const stamp = { at, place, customer, by: unique };
      written.set(unique, stamp);
      if (act === "acknowledge") return;
      stamps.push(stamp);
      if (stamps.length > (history ? stampsMax : stampsWithoutHistory)) stamps.shift();
    },
    async judge(client) {
      const owing = await client.snapshot((snapshot) => complaintsOf(snapshot, customers));
      return [...owing, ...missed.flatMap((each) => complaintOfPast(each, written) ?? [])];
    },
  };
};

/** Now that every receipt that comes is there. */
export function complaintOfPast(
  { stamp: { at, place, customer, by }, found }: Missed,
  written: ReadonlyMap<string, Stamp>,
): string | undefined {
  const other = found === undefined ? undefined : written.get(found);
  if (other?.at === at && other.place > place) return undefined;
  // Who wrote it there may have ended before it was told: of the same group is one of its process.
  if (other === undefined && found?.split("/")[0] === by.split("/")[0]) return undefined;
  return `at ${at.toString()} the statement of ${customer} was by ${String(found)}, not ${by}`;
}

type ActInput = {
  readonly customer: string;
  readonly amount: number;
  /** Which of the two accounts to take from. */
  readonly first: boolean;
  readonly unique: string;
  readonly linger: () => ReturnType<StepContext["pause"]> | undefined;
};

async function perform(
  tx: Transaction,
  act: Exclude<Act, "look" | "look back">,
  { customer, amount, first, unique, linger }: ActInput,
): Promise<void> {
  const account = first ? checking : savings;
  if (act === "state") {
    tx.put(statements, { customer, by: unique, copy: unique });
  } else if (act === "acknowledge") {
    const patched = await tx.update(statements, customer, { read: true, by: unique, copy: unique });
    if (patched !== undefined && patched.by !== unique) throw new WorkloadFinding("a lost patch");
  } else if (act === "deposit") {
    await tx.update(account, customer, (row) => ({ balance: (row?.balance ?? 0) + amount }));
  } else {
    const [a, b] = await balances(tx, customer);
    await linger();
    if (act === "move") {
      tx.put(checking, { customer, balance: a - amount });
      tx.put(savings, { customer, balance: b + amount });
    } else if (a + b >= amount) {
      tx.put(account, { customer, balance: (first ? a : b) - amount });
    }
  }
}

/** All that was true when the statement was committed. Gives whose statement stood there. */
async function lookBack(
  client: Client,
  { at, customer }: Stamp,
  customers: readonly string[],
): Promise<string | undefined> {
  return client.snapshot({ asOf: at }, async (snapshot) => {
    const statement = await snapshot.get(statements, customer);
    const [complaint] = await complaintsOf(snapshot, customers);
    if (complaint !== undefined) throw new WorkloadFinding(`seen in the past: ${complaint}`);
    return statement?.by;
  });
}

async function balances(
  reader: Pick<Snapshot, "batchGet">,
  customer: string,
): Promise<readonly [number, number]> {
  const [a, b] = await reader.batchGet([
    [checking, customer],
    [savings, customer],
  ]);
  if (a === undefined || b === undefined) throw new WorkloadFinding(`${customer} lacks an account`);
  if (a.balance + b.balance >= 0) return [a.balance, b.balance];
  throw new WorkloadFinding(
    `${customer} owes: ${a.balance.toString()} and ${b.balance.toString()}`,
  );
}

async function complaintsOf(
  reader: Pick<Snapshot, "batchGet">,
  customers: readonly string[],
): Promise<readonly string[]> {
  const complaints: string[] = [];
  const [a, b, c] = await Promise.all([
    reader.batchGet(checking, customers),
    reader.batchGet(savings, customers),
    reader.batchGet(statements, customers),
  ]);
  customers.forEach((customer, index) => {
    const sum = (a[index]?.balance ?? 0) + (b[index]?.balance ?? 0);
    if (sum < 0) complaints.push(`${customer} owes ${(-sum).toString()} in all`);
    const statement = c[index];
    if (statement !== undefined && statement.by !== statement.copy) {
      complaints.push(`the statement of ${customer} is of two writers`);
    }
  });
  return complaints;
}
