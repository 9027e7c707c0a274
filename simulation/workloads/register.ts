/**
 * Counters that are read, incremented and written back. No increment that was acknowledged is lost,
 * none is made twice, and who begins to read after an increment was acknowledged sees it.
 */
import { TransactionError } from "../../core/errors.ts";
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered } from "./key-spaces.ts";
import { WorkloadFinding, type Transaction, type WorkloadFactory } from "./workload.ts";

const counters = defineTable<{ readonly value: number }, { readonly id: string }>("counters", {
  key: "id",
});

/** What a counter's value must lie between. */
type Account = { acknowledged: number; open: number };
type Way = "update" | "get and put" | "batchGet and patch";

export const register: WorkloadFactory = ({ keys, history }) => {
  const ids = numbered("counter", keys);
  const accounts = new Map<string, Account>(ids.map((id) => [id, { acknowledged: 0, open: 0 }]));
  const accountOf = (id: string): Account => accounts.get(id) ?? { acknowledged: 0, open: 0 };
  /** Counted as open beforehand, since a process that dies cannot count any more. */
  const counted = async (
    touched: readonly string[],
    amount: number,
    run: () => Promise<unknown>,
  ): Promise<void> => {
    for (const id of touched) accountOf(id).open += amount;
    try {
      await run();
      for (const id of touched) accountOf(id).acknowledged += amount;
    } catch (error) {
      if (!(error instanceof TransactionError) || error.outcome === "unknown") throw error;
      for (const id of touched) accountOf(id).open -= amount;
      throw error;
    }
    for (const id of touched) accountOf(id).open -= amount;
  };

  return {
    tables: [testTable("counters", { partitionKey: "id", history })],
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const id of ids) tx.put(counters, { id, value: 0 });
        return Promise.resolve();
      });
    },
    async step({ client, random, isolation, pause }) {
      const floors = new Map(ids.map((id) => [id, accountOf(id).acknowledged]));
      const checked = (id: string, value: number | undefined): number => {
        const floor = floors.get(id) ?? 0;
        if (value !== undefined && value >= floor) return value;
        throw new WorkloadFinding(
          `${id} was read as ${String(value)}, and ${floor.toString()} had been acknowledged`,
        );
      };
      if (random.chance(0.2)) {
        await client.snapshot(async (snapshot) => {
          for (const id of ids) checked(id, (await snapshot.get(counters, { id }))?.value);
        });
        return;
      }
      const touched = [...new Set([random.pick(ids), ...ids.filter(() => random.chance(0.1))])];
      const amount = random.integer(1, 9);
      const way = random.pick<Way>(["update", "get and put", "batchGet and patch"]);
      const lingersMs = random.chance(0.2) ? random.between(1, 200) : 0;
      // What is acknowledged before it is installed, the next one has to see all the same.
      const ack = random.chance(0.5) ? "certified" : "installed";
      await counted(touched, amount, () =>
        client.transact({ isolation, ack }, async (tx) => {
          if (lingersMs > 0) await pause(lingersMs);
          await increment(tx, way, { touched, amount, checked });
        }),
      );
    },
    async judge(client) {
      const rows = await client.snapshot((snapshot) => snapshot.batchGet(counters, ids));
      return ids.flatMap((id, index) => {
        const value = rows[index]?.value ?? 0;
        const { acknowledged, open } = accountOf(id);
        if (value >= acknowledged && value <= acknowledged + open) return [];
        return [
          `${id} is ${value.toString()}; ${acknowledged.toString()} were acknowledged, ` +
            `${open.toString()} more may have been counted`,
        ];
      });
    },
  };
};

async function increment(
  tx: Transaction,
  way: Way,
  {
    touched,
    amount,
    checked,
  }: {
    readonly touched: readonly string[];
    readonly amount: number;
    readonly checked: (id: string, value: number | undefined) => number;
  },
): Promise<void> {
  if (way === "batchGet and patch") {
    const rows = await tx.batchGet(counters, touched);
    for (const [index, id] of touched.entries()) {
      await tx.update(counters, id, { value: checked(id, rows[index]?.value) + amount });
    }
    return;
  }
  for (const id of touched) {
    if (way === "update") {
      await tx.update(counters, id, (row) => ({ value: checked(id, row?.value) + amount }));
    } else {
      const row = await tx.get(counters, id);
      tx.put(counters, { id, value: checked(id, row?.value) + amount });
    }
  }
}
