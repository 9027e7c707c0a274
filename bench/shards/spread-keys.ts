/** Which item lies in which shard, and transactions that choose theirs by it. */
import type { AttributeValue } from "../../core/types.ts";
import type { SeededRandom } from "../../testing/kernel/seeded-random.ts";
import { itemsTable, type ProjectedDeployment } from "../projection/projected-deployment.ts";
import { itemIdAt } from "../projection/transactions.ts";

export class SpreadKeys {
  /** Of each shard, the numbers of its items. */
  readonly #byShard: readonly (readonly number[])[];
  readonly count: number;

  /** Those of the items with the numbers `[0, count)`. */
  static async of(deployment: ProjectedDeployment, count: number): Promise<SpreadKeys> {
    const byShard: number[][] = deployment.shards.map(() => []);
    const locate = await deployment.locator(itemsTable);
    for (let n = 0; n < count; n += 1) {
      const id: AttributeValue = { S: itemIdAt(n) };
      byShard[locate(id)]?.push(n);
    }
    if (byShard.some((numbers) => numbers.length === 0)) {
      throw new RangeError("too few items: a shard has none of them");
    }
    return new SpreadKeys(byShard, count);
  }

  private constructor(byShard: readonly (readonly number[])[], count: number) {
    this.#byShard = byShard;
    this.count = count;
  }

  get shards(): number {
    return this.#byShard.length;
  }

  /** So many different items, wherever they lie. */
  anywhere(random: SeededRandom, count: number): readonly number[] {
    return differentItems(random, count, this.count);
  }

  /** So many different items of one shard. */
  within(random: SeededRandom, shard: number, count: number): readonly number[] {
    const numbers = this.#byShard[shard] ?? [];
    return different(Math.min(count, numbers.length), () => random.pick(numbers));
  }

  /** An item of each of so many different shards. */
  across(random: SeededRandom, count: number): readonly number[] {
    return this.inEach(random, this.someShards(random, count), 1);
  }

  /** So many different shards. */
  someShards(random: SeededRandom, count: number): readonly number[] {
    return different(count, () => random.integer(0, this.shards - 1));
  }

  /** So many different items of each of these shards. */
  inEach(random: SeededRandom, shards: readonly number[], count: number): readonly number[] {
    return shards.flatMap((shard) => this.within(random, shard, count));
  }
}

/** So many different ones of the items `[0, below)`. */
export function differentItems(
  random: SeededRandom,
  count: number,
  below: number,
): readonly number[] {
  return different(count, () => random.integer(0, below - 1));
}

/** So many different ones of what is drawn; the same are drawn anew. */
function different(count: number, draw: () => number): readonly number[] {
  const found = new Set<number>();
  while (found.size < count) found.add(draw());
  return [...found];
}
