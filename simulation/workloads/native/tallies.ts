/**
 * Counters that programs which know nothing of Tidemark add to, by plain UpdateItems, while
 * transactions take them over into totals. Such a program may lose an addition that falls between
 * fence and install of that very item, and no other one: the changes of the table tell which.
 */
import {
  attribute,
  fenceAttribute,
  nonceAttribute,
  versionAttribute,
} from "../../../core/attributes.ts";
import type { Item } from "../../../core/types.ts";
import { defineTable } from "../../../sdk/index.ts";
import { testTable } from "../../../testing/test-tables.ts";
import type { StoredChange } from "../../judges/store-judge.ts";
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

type Tally = { readonly count: number };

const tallies = defineTable<Tally, { readonly id: string }>("tallies", { key: "id" });
const taken = defineTable<Tally, { readonly id: string }>("taken-over", { key: "id" });
const talliesTable = mixedTable(testTable("tallies", { partitionKey: "id" }));

export const talliesWorkload: WorkloadFactory = (settings) => new Tallies(settings);

class Tallies implements Workload {
  readonly tables: Workload["tables"];
  readonly native: NativePart = {
    kinds: ["unaware", "aware"],
    looseTables: [talliesTable.name],
    step: (context) => this.#add(context),
  };
  readonly #ids: readonly string[];
  readonly #added = new Ledger();
  /** What was added to items that were fenced then. */
  #inGaps = 0;

  constructor({ keys, history }: WorkloadSettings) {
    this.#ids = numbered("tally", keys);
    this.tables = [talliesTable, testTable("taken-over", { partitionKey: "id", history })];
  }

  observe({ table, before, after }: StoredChange): void {
    if (table !== talliesTable.name || !isAddition(before, after)) return;
    this.#inGaps += numberIn(after, "count") - numberIn(before, "count");
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const id of this.#ids) {
        tx.put(tallies, { id, count: 0 });
        tx.put(taken, { id, count: 0 });
      }
      return Promise.resolve();
    });
  }

  async step({ client, random, isolation, pause }: StepContext): Promise<void> {
    if (random.chance(0.2)) {
      const { acknowledged } = this.#added;
      const { result } = await client.transact((tx) => this.#countIn(tx));
      const most = this.#added.acknowledged + this.#added.open;
      const wrong = this.#complaint(result, { acknowledged, most });
      if (wrong !== undefined) throw new WorkloadFinding(`seen: ${wrong}`);
      return;
    }
    const lingersMs = random.chance(0.3) ? random.between(1, 200) : 0;
    if (random.chance(0.3)) {
      const amount = random.integer(1, 5);
      const id = pickHot(random, this.#ids);
      await this.#added.transacted(amount, async () => {
        // Of the one item alone: no log is needed, and no fence.
        await client.transact({ isolation }, async (tx) => {
          const tally = await tx.get(tallies, id);
          if (lingersMs > 0) await pause(lingersMs);
          if (tally === undefined) throw new WorkloadFinding("no such tally");
          tx.put(tallies, { ...tally, count: tally.count + amount });
        });
        return true;
      });
      return;
    }
    const touched = [...new Set([pickHot(random, this.#ids), random.pick(this.#ids)])];
    await client.transact({ isolation }, async (tx) => {
      for (const id of touched) {
        const tally = await tx.get(tallies, id);
        const over = await tx.get(taken, id);
        if (tally === undefined || over === undefined) throw new WorkloadFinding("no such tally");
        tx.put(tallies, { ...tally, count: 0 });
        tx.put(taken, { ...over, count: over.count + tally.count });
      }
      if (lingersMs > 0) await pause(lingersMs);
    });
  }

  async judge(client: Client): Promise<readonly string[]> {
    const found = await client.snapshot((snapshot) => this.#countIn(snapshot));
    const { acknowledged, open } = this.#added;
    const wrong = this.#complaint(found, { acknowledged, most: acknowledged + open });
    return wrong === undefined ? [] : [wrong];
  }

  async #add({ items, random }: NativeContext): Promise<void> {
    const amount = random.integer(1, 5);
    const key = { id: { S: pickHot(random, this.#ids) } };
    await this.#added.native(amount, () =>
      items.write(talliesTable, { kind: "update", key, add: { count: amount } }),
    );
  }

  async #countIn(reader: Pick<Snapshot, "batchGet">): Promise<number> {
    const standing = await reader.batchGet(tallies, this.#ids);
    const over = await reader.batchGet(taken, this.#ids);
    return sumOf([...standing, ...over].map((row) => row?.count ?? 0));
  }

  #complaint(
    found: number,
    counted: { readonly acknowledged: number; readonly most: number },
  ): string | undefined {
    const least = counted.acknowledged - this.#inGaps;
    if (found >= least && found <= counted.most) return undefined;
    return `${found.toString()} are counted, of ${least.toString()} to ${counted.most.toString()}`;
  }
}

/** Whether somebody has added to an item under a fence: identity and fence stay as they were. */
function isAddition(before: Item | undefined, after: Item | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  if (attribute(before, fenceAttribute) === undefined) return false;
  const stays = [fenceAttribute, nonceAttribute, versionAttribute].every((name) => {
    return attribute(before, name) === attribute(after, name);
  });
  return stays && numberIn(after, "count") > numberIn(before, "count");
}
