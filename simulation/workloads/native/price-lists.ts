/**
 * Prices that stand in lists, which transactions alone write, and on labels, which programs look at
 * and count natively. Whoever has raised a list's price reprints one of its labels at once, by a
 * commit of that one item, which needs no log. Other transactions read the list, and print two of
 * its labels unseen. A label never goes back to an older price than one that was reprinted: what a
 * transaction has only read stays as it is until that one is decided.
 */
import { defineTable } from "../../../sdk/index.ts";
import { testTable } from "../../../testing/test-tables.ts";
import { mixedTable } from "../../mixed-tables.ts";
import { numberIn } from "../../native/native-write.ts";
import { numbered, pickHot } from "../key-spaces.ts";
import {
  WorkloadFinding,
  type Client,
  type NativeContext,
  type NativePart,
  type StepContext,
  type Workload,
  type WorkloadFactory,
  type WorkloadSettings,
} from "../workload.ts";

type Price = { readonly price: number };
type Label = Price & { readonly looks: number };

const lists = defineTable<Price, { readonly id: string }>("price-lists", { key: "id" });
const labels = defineTable<Label, { readonly id: string }>("labels", { key: "id" });
const labelsTable = mixedTable(testTable("labels", { partitionKey: "id" }));
const listIds = numbered("list", 3);

export const priceLists: WorkloadFactory = (settings) => new PriceLists(settings);

class PriceLists implements Workload {
  readonly tables: Workload["tables"];
  readonly native: NativePart = { kinds: ["aware"], step: (context) => this.#look(context) };
  readonly #ids: readonly string[];
  /** By label, the newest price that it was reprinted with, and that acknowledged. */
  readonly #reprinted = new Map<string, number>();

  constructor({ keys, history }: WorkloadSettings) {
    this.#ids = numbered("label", Math.max(2 * listIds.length, keys));
    this.tables = [labelsTable, testTable("price-lists", { partitionKey: "id", history })];
  }

  async setUp(client: Client): Promise<void> {
    await client.transact(async (tx) => {
      for (const id of listIds) tx.put(lists, { id, price: 1 });
      for (const id of this.#ids) tx.put(labels, { id, price: 1, looks: 0 });
      return Promise.resolve();
    });
  }

  async step(context: StepContext): Promise<void> {
    const { client, random, pause } = context;
    if (random.chance(0.2)) {
      await this.#raise(context);
      return;
    }
    if (random.chance(0.2)) {
      const id = random.pick(this.#ids);
      const floor = this.#floorOf(id);
      const { result } = await client.transact((tx) => tx.get(labels, id));
      requireAtLeast(id, result?.price, floor);
      return;
    }
    const lingersMs = random.chance(0.3) ? random.between(1, 100) : 0;
    const list = random.pick(listIds);
    const ids = this.#labelsOf(list);
    const printed = new Set([pickHot(random, ids), random.pick(ids)]);
    // Of snapshot isolation it is no promise: the list may have been raised since.
    await client.transact({ isolation: "serializable" }, async (tx) => {
      const price = (await tx.get(lists, list))?.price ?? 0;
      if (lingersMs > 0) await pause(lingersMs);
      for (const id of printed) tx.put(labels, { id, price, looks: 0 });
    });
  }

  async judge(client: Client): Promise<readonly string[]> {
    const rows = await client.snapshot((snapshot) => snapshot.batchGet(labels, this.#ids));
    return this.#ids.flatMap((id, i) => complaint(id, rows[i]?.price, this.#floorOf(id)) ?? []);
  }

  async #raise({ client, random }: StepContext): Promise<void> {
    const list = random.pick(listIds);
    const { result: raised } = await client.transact({ isolation: "serializable" }, async (tx) => {
      const price = ((await tx.get(lists, list))?.price ?? 0) + 1;
      tx.put(lists, { id: list, price });
      return price;
    });
    const id = pickHot(random, this.#labelsOf(list));
    const { result: printed } = await client.transact({ isolation: "serializable" }, async (tx) => {
      const label = await tx.get(labels, id);
      const price = Math.max(raised, label?.price ?? 0);
      tx.put(labels, { id, price, looks: label?.looks ?? 0 });
      return price;
    });
    this.#reprinted.set(id, Math.max(printed, this.#floorOf(id)));
  }

  async #look({ items, random }: NativeContext): Promise<void> {
    const id = pickHot(random, this.#ids);
    const key = { id: { S: id } };
    if (random.chance(0.3)) {
      await items.write(labelsTable, { kind: "update", key, add: { looks: 1 } });
      return;
    }
    const floor = this.#floorOf(id);
    const read = await items.get(labelsTable, key);
    if (read !== undefined) requireAtLeast(id, numberIn(read.item, "price"), floor);
  }

  #labelsOf(list: string): readonly string[] {
    return this.#ids.filter((_id, i) => i % listIds.length === listIds.indexOf(list));
  }

  #floorOf(id: string): number {
    return this.#reprinted.get(id) ?? 0;
  }
}

function complaint(id: string, price: number | undefined, floor: number): string | undefined {
  if ((price ?? 0) >= floor) return undefined;
  return `${id} shows the price ${price?.toString() ?? "none"}, after ${floor.toString()}`;
}

function requireAtLeast(id: string, price: number | undefined, floor: number): void {
  const wrong = complaint(id, price, floor);
  if (wrong !== undefined) throw new WorkloadFinding(wrong);
}
