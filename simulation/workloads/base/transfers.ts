/**
 * Transfers in steps, BASE ones: the payer's account first, then the payee's. Some payees are too
 * rich to take it, and then it is given back; some handlers fail, a few until they are parked and
 * let go on. Beside them there are transfers that are ACID, and audits: whoever is no step finds
 * all the money, and each balance as its entries say.
 */
import { defineBase, defineTable, type BaseDefinition } from "../../../sdk/index.ts";
import type { KeyOfTable } from "../../../testing/history/recording-options.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { numbered, pickHot, sumOf } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type BaseProcess,
  type Snapshot,
  type StepContext,
  type Transaction,
  type WorkloadFactory,
} from "../workload.ts";
import { HandlerTroubles, soonParked } from "./handler-troubles.ts";
import {
  atOnce,
  lingering,
  lingerMsMax,
  type Pause,
  putUnawaited,
  resultDeadlineMs,
} from "./lingering.ts";

type Account = { readonly id: string; readonly balance: number };
type EntryKey = { readonly account: string; readonly of: string };
type Entry = EntryKey & { readonly amount: number };
type Transfer = { readonly from: string; readonly to: string; readonly amount: number };

const accounts = defineTable<Account>("accounts", { key: "id" });
const entries = defineTable<Entry, EntryKey, "account">("entries", { key: ["account", "of"] });
const openingBalance = 100;
/** Who has so much takes no more. */
const richBalance = 120;
/** Of each account, written by whoever gives. */
const lastEntry = "last";

class TooRichError extends Error {}
class TooPoorError extends Error {}

export const baseTransfers: WorkloadFactory = ({ keys, history }) => {
  const bank = new Bank(keys);
  return {
    tables: [
      testTable("accounts", { partitionKey: "id", history, base: true }),
      testTable("entries", { partitionKey: "account", sortKey: "of", history, base: true }),
    ],
    universe: bank.universe,
    base: { handlers: (process) => [bank.transferIn(process)] },
    async setUp(client) {
      await client.transact((tx) => {
        for (const id of bank.ids) tx.put(accounts, id, { id, balance: openingBalance });
        return Promise.resolve();
      });
    },
    step: (context) => bank.step(context),
    judge: (client) => client.snapshot((snapshot) => bank.judge(snapshot)),
  };
};

class Bank {
  readonly ids: readonly string[];
  readonly universe: KeyOfTable[];
  readonly #total: number;
  readonly #troubles = new HandlerTroubles();
  /** By id: transfers whose first step is committed, as their callers were told. */
  readonly #accepted = new Map<string, Transfer>();
  readonly #begun: string[] = [];

  constructor(keys: number) {
    this.ids = numbered("account", keys);
    this.#total = keys * openingBalance;
    this.universe = [
      ...this.ids.map((id) => ({ table: "accounts", key: { id: { S: id } } })),
      ...this.ids.map((id) => keyOfEntry(id, lastEntry)),
    ];
  }

  transferIn(process: BaseProcess): BaseDefinition<Transfer, boolean> {
    return defineBase("transfer", soonParked, async (base, { from, to, amount }: Transfer) => {
      await base.step("take", (tx) => take(tx, { from, to, amount, of: base.id }));
      await this.#troubles.between(process, base.id);
      const isGiven = await base
        .step("give", (tx) => give(tx, { to, amount, of: base.id }))
        .catch((error: unknown) => {
          if (isRefusal(error)) return false;
          throw error;
        });
      await this.#troubles.between(process, base.id);
      if (isGiven) return true;
      await base.step("give back", async (tx) => {
        const payer = await tx.get(accounts, from);
        tx.put(accounts, from, { id: from, balance: (payer?.balance ?? 0) + amount });
        tx.put(entries, { account: from, of: base.id, amount: 0 });
      });
      return false;
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random } = context;
    const kind = random.next();
    const lingers = lingering(context);
    if (kind < 0.5) await this.#begin(context);
    else if (kind < 0.7) {
      const [complaint] = await client.snapshot((snapshot) => this.#audit(snapshot, lingers));
      if (complaint !== undefined) throw new WorkloadFinding(`seen in a snapshot: ${complaint}`);
    } else if (kind < 0.73) {
      const rows = await client.snapshot((snapshot) => snapshot.scan(accounts).all());
      const complaint = this.#wrong(rows.map(({ balance }) => balance));
      if (complaint !== undefined) throw new WorkloadFinding(`seen by a scan: ${complaint}`);
    } else if (kind < 0.85) {
      const { result } = await client.transact((tx) => this.#balances(tx, lingers));
      const complaint = this.#wrong(result);
      if (complaint !== undefined) throw new WorkloadFinding(`seen by an audit: ${complaint}`);
    } else if (kind < 0.97) await this.#transferAtOnce(context);
    else await this.#troubles.resumeParked(client, this.transferIn(context));
  }

  async judge(snapshot: Snapshot): Promise<readonly string[]> {
    const complaints = [...(await this.#audit(snapshot, atOnce))];
    for (const [id, { from, to }] of this.#accepted) {
      const taken = await snapshot.get(entries, { account: from, of: id });
      const given = await snapshot.get(entries, { account: to, of: id });
      const isWhole = taken !== undefined && taken.amount === -(given?.amount ?? 0);
      if (!isWhole) complaints.push(`transfer ${id} was accepted, and is not made whole`);
    }
    return complaints;
  }

  async #balances(reader: Pick<Transaction, "get">, pause: Pause): Promise<readonly number[]> {
    const found: number[] = [];
    for (const id of this.ids) {
      const account = await reader.get(accounts, id);
      found.push(account?.balance ?? 0);
      await pause();
    }
    return found;
  }

  #wrong(found: readonly number[]): string | undefined {
    const sum = sumOf(found);
    return sum === this.#total ? undefined : `the accounts hold ${sum} of ${this.#total}`;
  }

  async #audit(snapshot: Snapshot, pause: Pause): Promise<readonly string[]> {
    const found = await this.#balances(snapshot, pause);
    const complaint = this.#wrong(found);
    const complaints = complaint === undefined ? [] : [complaint];
    for (const [i, account] of this.ids.entries()) {
      const own = await snapshot.query(entries, { where: { account } }).all();
      const balance = openingBalance + sumOf(own.map(({ amount }) => amount));
      if (balance === found[i]) continue;
      complaints.push(`${account} has ${found[i] ?? 0}, and entries for ${balance}`);
    }
    return complaints;
  }

  #drawn({ random }: StepContext): Transfer {
    const from = pickHot(random, this.ids);
    const to = random.pick(this.ids.filter((each) => each !== from));
    return { from, to, amount: random.integer(1, 30) };
  }

  async #begin(context: StepContext): Promise<void> {
    const { client, random, unique } = context;
    const id = this.#begun.length > 0 && random.chance(0.1) ? random.pick(this.#begun) : unique;
    const input = this.#drawn(context);
    for (const account of [input.from, input.to]) this.universe.push(keyOfEntry(account, id));
    if (id === unique) {
      this.#begun.push(id);
      if (random.chance(0.03)) this.#troubles.stubborn(id);
    }
    try {
      const transfer = this.transferIn(context);
      const { accepted, isNew } = await client.base(transfer, input, { id });
      if (isNew) this.#accepted.set(id, input);
      if (random.chance(0.4)) await accepted.result({ deadlineMs: resultDeadlineMs });
    } catch (error) {
      // Of a handler that failed later nobody is told.
      if (!(error instanceof TooPoorError)) throw error;
    }
  }

  async #transferAtOnce(context: StepContext): Promise<void> {
    const { client, random, unique: of, pause } = context;
    const { from, to, amount } = this.#drawn(context);
    for (const account of [from, to]) this.universe.push(keyOfEntry(account, of));
    const lingersMs = random.chance(0.2) ? random.between(1, lingerMsMax) : 0;
    await client.transact(async (tx) => {
      const [payer, payee] = await tx.batchGet(accounts, [from, to]);
      if (payer === undefined || payee === undefined) throw new WorkloadFinding("no account");
      if (lingersMs > 0) await pause(lingersMs);
      if (payer.balance < amount) return;
      tx.put(accounts, from, { ...payer, balance: payer.balance - amount });
      tx.put(accounts, to, { ...payee, balance: payee.balance + amount });
      tx.put(entries, { account: from, of, amount: -amount });
      tx.put(entries, { account: to, of, amount });
      // Blindly: who holds it as written is met by the look at its lock alone.
      putUnawaited(context, () => {
        tx.put(entries, { account: to, of: lastEntry, amount: 0 });
      });
    });
  }
}

async function take(
  tx: Transaction,
  { from, to, amount, of }: Transfer & { readonly of: string },
): Promise<void> {
  const payer = await tx.get(accounts, from);
  if (payer === undefined) throw new WorkloadFinding(`${from} is gone`);
  if (payer.balance < amount) throw new TooPoorError(from);
  // Held as read, and read again by the next step: nobody lies in between.
  if ((await tx.get(accounts, to)) === undefined) throw new WorkloadFinding(`${to} is gone`);
  tx.put(accounts, from, { ...payer, balance: payer.balance - amount });
  tx.put(entries, { account: from, of, amount: -amount });
}

async function give(
  tx: Transaction,
  { to, amount, of }: { readonly to: string; readonly amount: number; readonly of: string },
): Promise<boolean> {
  const payee = await tx.get(accounts, to);
  const balance = payee?.balance ?? 0;
  tx.put(entries, { account: to, of, amount });
  // Blindly, over whoever was the last: who overwrites is released after them.
  tx.put(entries, { account: to, of: lastEntry, amount: 0 });
  // Judged behind a write on purpose: nothing of a step that fails may stand.
  if (balance >= richBalance) throw new TooRichError(to);
  tx.put(accounts, to, { id: to, balance: balance + amount });
  return true;
}

/** When it is run again, a step that failed is told by name. */
function isRefusal(error: unknown): boolean {
  return error instanceof TooRichError || (error as Error).name === "StepFailedError";
}

function keyOfEntry(account: string, of: string): KeyOfTable {
  return { table: "entries", key: { account: { S: account }, of: { S: of } } };
}
