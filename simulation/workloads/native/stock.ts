/**
 * Stock that a shop's old program sells by conditional decrements, while transactions restock it
 * from a depot and move it between goods. No unit is made or lost: what stands on the shelves and
 * in the depot, and what was sold, is what there was in the beginning. Nothing is sold that is not
 * there.
 */
import { defineTable } from "../../../sdk/index.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { numberIn } from "../../native/native-write.ts";
import { numbered, pickHot, sumOf } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type Snapshot,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";
import { Ledger } from "./ledger.ts";

type GoodKey = { readonly id: string };

const goods = defineTable<{ readonly units: number }, GoodKey>("goods", { key: "id" });
const depots = defineTable<{ readonly units: number }, GoodKey>("depots", { key: "id" });
const goodsTable = mixedTable(testTable("goods", { partitionKey: "id" }));
const depot = "depot";
const openingUnits = 40;
const depotUnits = 400;

export const stock: WorkloadFactory = (settings) => new Stock(settings);

class Stock implements Workload {
  readonly tables: Workload["tables"];
  readonly native: NativePart = { kinds: ["aware"], step: (context) => this.#sell(context) };
  readonly #ids: readonly string[];
  readonly #total: number;
  readonly #sold = new Ledger();

  constructor({ keys, history }: WorkloadSettings) {
    this.#ids = numbered("good", keys);
    this.#total = keys * openingUnits + depotUnits;
    this.tables = [goodsTable, testTable("depots", { partitionKey: "id", history })];
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const id of this.#ids) tx.put(goods, { id, units: openingUnits });
      tx.put(depots, { id: depot, units: depotUnits });
      return Promise.resolve();
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random, isolation, pause } = context;
    if (random.chance(0.2)) {
      await this.#count(context);
      return;
    }
    const lingersMs = random.chance(0.3) ? random.between(1, 200) : 0;
    const amount = random.integer(1, 9);
    const [from, to] = [pickHot(random, this.#ids), random.pick(this.#ids)];
    const isRestock = random.chance(0.4) || from === to;
    await client.transact({ isolation }, async (tx) => {
      const source = isRestock ? depots : goods;
      const given = await tx.get(source, isRestock ? depot : from);
      const taken = await tx.get(goods, to);
      if (lingersMs > 0) await pause(lingersMs);
      if (given === undefined || taken === undefined) throw new WorkloadFinding("no such good");
      if (given.units < amount) {
        tx.rollback();
        return;
      }
      tx.put(source, { ...given, units: given.units - amount });
      tx.put(goods, { ...taken, units: taken.units + amount });
    });
  }

  async judge(client: Client): Promise<readonly string[]> {
    try {
      const found = await client.snapshot((snapshot) => this.#unitsIn(snapshot));
      const complaint = this.#sold.complaint("what was sold", this.#total - found);
      return complaint === undefined ? [] : [complaint];
    } catch (error) {
      if (!(error instanceof WorkloadFinding)) throw error;
      return [error.message];
    }
  }

  async #sell({ items, random }: NativeContext): Promise<void> {
    const id = pickHot(random, this.#ids);
    const key = { id: { S: id } };
    if (random.chance(0.2)) {
      const read = await items.get(goodsTable, key);
      if (read === undefined || numberIn(read.item, "units") >= 0) return;
      throw new WorkloadFinding(`seen natively: ${id} has no units`);
    }
    const amount = random.integer(1, 4);
    await this.#sold.native(amount, () =>
      items.write(goodsTable, {
        ...{ kind: "update", key, add: { units: -amount } },
        condition: { kind: "at-least", name: "units", amount },
        ...(random.chance(0.5) ? { returnsOld: true } : {}),
      }),
    );
  }

  async #count({ client, isolation }: StepContext): Promise<void> {
    const sold = this.#sold;
    const most = this.#total - sold.acknowledged;
    const { result } = await client.transact({ isolation }, (tx) => this.#unitsIn(tx));
    const least = this.#total - sold.acknowledged - sold.open;
    if (result >= least && result <= most) return;
    throw new WorkloadFinding(
      `seen: ${result.toString()} units, of ${least.toString()} to ${most.toString()}`,
    );
  }

  async #unitsIn(reader: Pick<Snapshot, "get">): Promise<number> {
    const rows = await Promise.all([
      reader.get(depots, depot),
      ...this.#ids.map((id) => reader.get(goods, id)),
    ]);
    if (rows.some((row) => row === undefined || row.units < 0)) {
      throw new WorkloadFinding("seen: a good is missing, or more of it is sold than there was");
    }
    return sumOf(rows.map((row) => row?.units ?? 0));
  }
}
